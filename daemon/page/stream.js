// SPDX-License-Identifier: BSD-2-Clause
// One stream large: live video, what can be done with it, its figures, graphs and events.

import {call, mayBe} from './api.js';
import {ask} from './dialog.js';
import {button, h, setText} from './dom.js';
import {createEventList} from './events.js';
import {capital} from './format.js';
import {createFilterPanel} from './panel.js';
import {createGraphs} from './graphs.js';
import * as live from './live.js';
import {say} from './notices.js';
import {createPicture} from './picture.js';
import {createFigures, createState} from './tile.js';
import {Player} from './video.js';

// The picture: JPEG images below, video above them while it plays, and the overlay on top.
function createStage(name) {
    const picture = createPicture(name);
    const player = new Player(name);
    const mute = button('Unmute', () => {
        player.element.muted = !player.element.muted;
        showMuted();
    }, {class: 'quiet', hidden: true});
    const note = h('p', {class: 'muted', role: 'status', hidden: true});
    const frame = h('div', {class: 'frame'}, picture.element, player.element);
    const full = button('Full screen', () => frame.requestFullscreen?.(), {class: 'quiet'});
    const bar = h('div', {class: 'stage-bar'}, mute, full, note);
    const element = h('div', {class: 'stage'}, frame, bar);

    function setSize(width, height) {
        if (width > 0 && height > 0)
            frame.style.setProperty('--aspect', String(width / height));
    }
    function showMuted() {
        setText(mute, player.element.muted ? 'Unmute' : 'Mute');
    }
    function update() {
        mute.hidden = !(player.playing && player.audio);
        setText(note, player.why);
        note.hidden = !player.why;
        picture.element.classList.toggle('covered', player.playing);
    }
    player.changed.on(update);
    player.element.addEventListener('resize',
        () => setSize(player.element.videoWidth, player.element.videoHeight));
    const ends = [
        live.videoMessage.on((kind, payload) => player.take(kind, payload)),
        live.connectionChanged.on(({up}) => frame.classList.toggle('lost', !up)),
    ];
    return {
        element, frame, bar,
        // The size in the status; the video knows better, once it plays.
        resize({width, height}) {
            if (!player.element.videoWidth)
                setSize(width, height);
        },
        destroy() {
            ends.forEach((end) => end());
            player.destroy();
            picture.destroy();
        },
    };
}

// Runs an action; its button is disabled until the daemon has answered.
function actionButton(label, action, more = {}) {
    const element = button(label, async () => {
        element.disabled = true;
        try {
            await action();
        } catch (error) {
            say(error.message, 'bad');
        }
        element.disabled = false;
    }, more);
    return element;
}

async function stop(name) {
    const sure = await ask(`Stop ${name}?`,
        'Viewers see nothing, and recording stops, until somebody starts it again.',
        [[true, 'Stop', 'primary danger']]);
    if (sure)
        await call('Stop', {name});
}

function createActions(name) {
    const file = `${name}.jpg`;
    const start = actionButton('Start', () => call('Start', {name}));
    const halt = actionButton('Stop', () => stop(name));
    const restart = actionButton('Restart', () => call('Restart', {name}));
    const element = h('div', {class: 'actions left'},
        h('a', {class: 'button', href: `/${encodeURIComponent(name)}/snapshot.jpg`,
            download: file}, 'Snapshot'),
        mayBe('operate') && [start, halt, restart]);
    return {
        element,
        update(state) {
            start.hidden = !['stopped', 'failed', 'ended'].includes(state);
            halt.hidden = state === 'stopped' || state === 'disabled';
            restart.hidden = halt.hidden;
        },
    };
}

// Where the pictures come from. Administrators get the whole address, which may have a password, when
// they ask for it.
function createAddress(name) {
    const text = h('code', {});
    const note = h('span', {class: 'muted'}, 'Input');
    const show = actionButton('Show', async () => {
        const {input} = await call('Reveal', {name});
        setText(text, input);
        show.hidden = true;
    }, {class: 'quiet', 'aria-label': 'Show the whole address', hidden: true});
    const element = h('p', {class: 'address'}, note, ' ', text, ' ', show);
    let shown = null; // for which text the button was used or not
    return {
        element,
        update(input) {
            element.hidden = !input;
            if (input === shown)
                return;
            shown = input;
            setText(text, input ?? '');
            show.hidden = !mayBe('admin') || !input?.includes('***');
        },
    };
}

export function showStream(root, name) {
    const stage = createStage(name);
    const state = createState();
    const why = h('p', {class: 'why', role: 'status'});
    const figures = createFigures();
    const actions = createActions(name);
    const address = createAddress(name);
    const panel = createFilterPanel(name, stage);
    const gone = h('p', {class: 'notice bad', role: 'alert', hidden: true},
        `The stream ${name} does not exist, or was removed.`);
    const events = createEventList(name);
    const graphs = createGraphs(name);
    root.append(
        h('div', {class: 'head'}, h('a', {href: '#/', class: 'back'}, 'Streams'),
            h('h1', {}, name), state.element, actions.element),
        gone, why,
        h('div', {class: 'columns'},
            stage.element, panel.element,
            h('div', {class: 'column'},
                h('section', {class: 'card', 'aria-label': 'Figures'}, figures.element,
                    address.element),
                h('section', {class: 'card'}, h('h2', {}, 'The last hour'), graphs.element),
                h('section', {class: 'card'}, h('h2', {}, 'Events'), events.element))));

    function update(status) {
        if (!status)
            return;
        const stream = status.streams.find((s) => s.name === name);
        gone.hidden = Boolean(stream);
        actions.element.hidden = !stream;
        panel.update(stream);
        state.update(stream?.state ?? 'removed');
        if (!stream)
            return;
        setText(why, capital(stream.why));
        why.hidden = !stream.why;
        stage.resize(stream);
        figures.update(stream);
        address.update(stream.input);
        actions.update(stream.state);
    }

    live.show([name], name);
    const end = live.statusArrived.on(update);
    update(live.status);
    return () => {
        end();
        for (const part of [stage, panel, events, graphs])
            part.destroy();
    };
}
