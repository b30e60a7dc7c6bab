// SPDX-License-Identifier: BSD-2-Clause
// Live video: plays the fragments of /api/live with a MediaSource, close to their arrival.

import {h, topic} from './dom.js';
import {decodeJson} from './frames.js';

const FARTHEST_S = 0.8; // playing farther behind the newest frame than this, it jumps
const BEHIND_S = 0.2;   // to this distance
const KEPT_S = 10;
const STALLED_MS = 2500;
const MOST_QUEUED = 400; // fragments; when decoding does not keep up, it begins anew

function supported(mime) {
    return 'MediaSource' in globalThis && MediaSource.isTypeSupported(mime);
}

// A SourceBuffer with a queue of steps: it accepts one at a time.
class Feed {
    constructor(video, mime, onFailure) {
        this.video = video;
        this.mime = mime;
        this.onFailure = onFailure;
        this.queue = [];
        this.buffer = null;
        this.source = new MediaSource();
        this.url = URL.createObjectURL(this.source);
        this.source.addEventListener('sourceopen', () => this.begin(), {once: true});
        video.src = this.url;
    }

    begin() {
        try {
            this.buffer = this.source.addSourceBuffer(this.mime);
        } catch {
            return this.onFailure();
        }
        this.buffer.mode = 'segments';
        this.buffer.addEventListener('updateend', () => this.step());
        this.buffer.addEventListener('error', () => this.onFailure());
        this.step();
    }

    push(bytes) {
        if (this.queue.length >= MOST_QUEUED)
            return this.onFailure();
        this.queue.push(bytes);
        this.step();
    }

    // Goes on with other parameters in the same buffer. What is buffered is dropped first: after a
    // restart, times may begin anew. Returns false if that is impossible.
    change(mime) {
        if (!this.buffer || mime !== this.mime && !this.buffer.changeType)
            return false;
        this.queue.push({mime: mime === this.mime ? '' : mime});
        this.mime = mime;
        return true;
    }

    // Carries out one item of the queue: a change of parameters, or bytes.
    carryOut(item) {
        if (item.mime === undefined)
            return this.buffer.appendBuffer(item);
        if (item.mime)
            this.buffer.changeType(item.mime);
        this.buffer.remove(0, Infinity);
    }

    step() {
        if (!this.buffer || this.buffer.updating || this.source.readyState !== 'open')
            return;
        this.follow();
        if (this.trim() || !this.queue.length)
            return;
        try {
            this.carryOut(this.queue[0]);
            this.queue.shift();
        } catch (error) {
            if (error.name !== 'QuotaExceededError' || !this.trim(1))
                this.onFailure();
        }
    }

    // Removes what was played more than `kept` seconds ago. Returns whether something is removed.
    trim(kept = KEPT_S) {
        const ranges = this.buffer.buffered;
        const end = this.video.currentTime - kept;
        if (!ranges.length || ranges.start(0) >= end - (kept === KEPT_S ? 5 : 0))
            return false;
        this.buffer.remove(ranges.start(0), end);
        return true;
    }

    // Keeps the position in the newest range, and close to its end.
    follow() {
        const ranges = this.buffer.buffered;
        if (!ranges.length)
            return;
        const start = ranges.start(ranges.length - 1);
        const end = ranges.end(ranges.length - 1);
        const at = this.video.currentTime;
        if (at < start || at > end || end - at > FARTHEST_S)
            this.video.currentTime = Math.max(start, end - BEHIND_S);
    }

    destroy() {
        URL.revokeObjectURL(this.url);
        this.queue = [];
        this.buffer = null;
    }
}

// Returns {element, take, changed, playing, destroy}. take(kind, payload) is given the messages of
// /api/live about the video. While nothing plays, the element is transparent, so that the picture
// under it shows; changed tells when `playing` or `why` (why it cannot play) changes.
export function createPlayer(name) {
    const video = h('video', {muted: true, playsinline: true, autoplay: true,
        'aria-label': `Live video of ${name}`});
    video.muted = true; // the attribute alone is only the default
    const player = {element: video, changed: topic(), playing: false, why: '', audio: false,
        take, destroy};
    let feed = null;
    let parameters = null; // those of the last B
    let initialization = null;
    let restarts = 0;
    let stalled = 0;

    function set(playing, why = '') {
        if (player.playing === playing && player.why === why)
            return;
        Object.assign(player, {playing, why});
        video.classList.toggle('playing', playing);
        player.changed.say();
    }

    function drop() {
        feed?.destroy();
        feed = null;
        set(false);
    }

    // After a failure of the decoder, a new source begins with the next keyframe.
    function renew() {
        drop();
        if (!parameters || !initialization || ++restarts > 5)
            return set(false, 'This browser could not decode the video. It shows still images.');
        feed = new Feed(video, parameters.mime, renew);
        feed.push(initialization);
    }

    function begin(payload) {
        parameters = decodeJson(payload);
        initialization = null;
        player.audio = parameters.audio;
        player.changed.say();
        if (!supported(parameters.mime)) {
            drop();
            set(false, `This browser cannot play ${parameters.mime}. It shows still images.`);
        } else if (!feed?.change(parameters.mime)) {
            drop();
            feed = new Feed(video, parameters.mime, renew);
        }
    }

    function take(kind, payload) {
        if (kind === '' || kind === 'X') // a new connection begins, or the video has ended
            drop();
        else if (kind === 'B')
            begin(payload);
        else if (kind === 'I')
            feed?.push(initialization = payload);
        else if (kind === 'F')
            feed?.push(payload);
    }

    const resume = () => {
        if (!document.hidden && feed)
            video.play().catch(() => {});
    };
    video.addEventListener('loadeddata', resume);
    video.addEventListener('playing', () => {
        clearTimeout(stalled);
        restarts = 0;
        set(true);
    });
    // While no frames come, the picture below tells why.
    video.addEventListener('waiting', () => {
        clearTimeout(stalled);
        stalled = setTimeout(() => set(false), STALLED_MS);
    });
    video.addEventListener('error', () => feed && renew());
    video.addEventListener('pause', resume);
    document.addEventListener('visibilitychange', resume);

    function destroy() {
        clearTimeout(stalled);
        document.removeEventListener('visibilitychange', resume);
        drop();
        video.removeAttribute('src');
        video.load();
    }
    return player;
}
