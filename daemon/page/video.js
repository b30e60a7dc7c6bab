// SPDX-License-Identifier: BSD-2-Clause
// Live video: plays the fragments of /api/live with a MediaSource, close to their arrival.

import {h, topic} from './dom.js';
import {decodeJson} from './frames.js';

const FARTHEST_S = 0.8; // playing farther behind the newest frame than this, it jumps
const BEHIND_S = 0.2;   // to this distance
const KEPT_S = 10;
const STALLED_MS = 2500;
const MOST_RESTARTS = 5;
const MOST_QUEUED = 400; // fragments; when decoding does not keep up, it starts again

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

    // Goes on with other parameters in the same buffer. It is emptied first: after a
    // restart, times may start from 0 again. Returns false if that is impossible.
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

// take(kind, payload) is given the messages of /api/live about the video. While nothing plays, the
// element is transparent, so that the picture under it shows. `changed` tells when `playing`,
// `audio` or `why` (why it cannot play) changes.
export class Player {
    constructor(name) {
        this.changed = topic();
        this.playing = false;
        this.audio = false;
        this.why = '';
        this.feed = null;
        this.parameters = null;     // those of the last B
        this.initialization = null;
        this.restarts = 0;
        this.stalled = 0;
        this.resume = () => {
            if (!document.hidden && this.feed)
                this.element.play().catch(() => {});
        };
        this.element = h('video', {playsinline: true, autoplay: true,
            'aria-label': `Live video of ${name}`,
            onloadeddata: this.resume, onpause: this.resume,
            onplaying: () => this.onPlaying(), onwaiting: () => this.onWaiting(),
            onerror: () => this.feed && this.renew()});
        this.element.muted = true; // the attribute is only the default
        document.addEventListener('visibilitychange', this.resume);
    }

    take(kind, payload) {
        if (kind === '' || kind === 'X') // a new connection begins, or the video has ended
            this.drop();
        else if (kind === 'B')
            this.begin(decodeJson(payload));
        else if (kind === 'I')
            this.feed?.push(this.initialization = payload);
        else if (kind === 'F')
            this.feed?.push(payload);
    }

    begin(parameters) {
        this.parameters = parameters;
        this.initialization = null;
        this.audio = parameters.audio;
        this.changed.say();
        if (!supported(parameters.mime)) {
            this.drop();
            this.set(false, `This browser cannot play ${parameters.mime}. It shows still images.`);
        } else if (!this.feed?.change(parameters.mime)) {
            this.start();
        }
    }

    start() {
        this.drop();
        this.feed = new Feed(this.element, this.parameters.mime, () => this.renew());
    }

    // After a failure of the decoder, a new source begins with the next keyframe.
    renew() {
        this.drop();
        if (!this.initialization || ++this.restarts > MOST_RESTARTS)
            return this.set(false,
                'This browser could not decode the video. It shows still images.');
        this.start();
        this.feed.push(this.initialization);
    }

    drop() {
        this.feed?.destroy();
        this.feed = null;
        this.set(false);
    }

    set(playing, why = '') {
        if (this.playing === playing && this.why === why)
            return;
        Object.assign(this, {playing, why});
        this.element.classList.toggle('playing', playing);
        this.changed.say();
    }

    onPlaying() {
        clearTimeout(this.stalled);
        this.restarts = 0;
        this.set(true);
    }

    // While no frames come, the picture below tells why.
    onWaiting() {
        clearTimeout(this.stalled);
        this.stalled = setTimeout(() => this.set(false), STALLED_MS);
    }

    destroy() {
        clearTimeout(this.stalled);
        document.removeEventListener('visibilitychange', this.resume);
        this.drop();
        this.element.removeAttribute('src');
        this.element.load();
    }
}
