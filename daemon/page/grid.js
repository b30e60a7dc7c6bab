// SPDX-License-Identifier: BSD-2-Clause
// The first page: all streams, live.

import {getSession, mayBe} from './api.js';
import {addCamera, cameraForm} from './camera.js';
import {button, h, setText} from './dom.js';
import {capital, count} from './format.js';
import * as live from './live.js';
import {createPicture} from './picture.js';
import {setUp} from './session.js';
import {createFigures, createState} from './tile.js';

function createTile(name) {
    const picture = createPicture(name);
    const state = createState();
    const figures = createFigures();
    const why = h('p', {class: 'why'});
    const link = h('a', {href: `#/stream/${encodeURIComponent(name)}`, class: 'cover'}, name);
    const element = h('li', {class: 'tile'}, picture.element,
        h('div', {class: 'tile-text'},
            h('div', {class: 'tile-head'}, h('h2', {}, link), state.element),
            why, figures.element));
    return {
        element,
        update(stream) {
            state.update(stream.state);
            setText(why, capital(stream.why));
            why.hidden = !stream.why;
            figures.update(stream);
        },
        destroy: picture.destroy,
    };
}

function summary(streams) {
    const not = streams.filter((s) => s.state !== 'running').length;
    return not ? `${count(streams.length, 'stream')}, ${not} not running normally`
        : `${count(streams.length, 'stream')}, all running`;
}

function namesNow() {
    return live.status.streams.map((stream) => stream.name);
}

function emptyPage() {
    if (getSession().setup)
        return [h('h2', {}, 'No streams yet'),
            h('p', {}, 'Set up the first administrator, who can then add a camera here.'),
            button('Set up the first administrator', setUp, {class: 'primary'})];
    if (!mayBe('admin'))
        return [h('h2', {}, 'No streams yet'),
            h('p', {}, 'An administrator can add a camera here, or in the file halod.yaml.')];
    return [h('h2', {}, 'Add the first camera'), cameraForm(namesNow)];
}

export function showGrid(root) {
    const tiles = new Map();
    const list = h('ul', {class: 'grid'});
    const empty = h('section', {class: 'card empty', hidden: true});
    const total = h('p', {class: 'muted', role: 'status'});
    const add = button('Add a camera', () => addCamera(namesNow));
    root.append(h('div', {class: 'head'}, h('h1', {}, 'Streams'), total, add), list, empty);

    function removeOthers(names) {
        for (const [name, tile] of tiles)
            if (!names.includes(name)) {
                tile.destroy();
                tile.element.remove();
                tiles.delete(name);
            }
    }

    function update(status) {
        if (!status)
            return;
        const names = status.streams.map((stream) => stream.name);
        removeOthers(names);
        for (const stream of status.streams) {
            if (!tiles.has(stream.name)) {
                tiles.set(stream.name, createTile(stream.name));
                list.append(tiles.get(stream.name).element);
            }
            tiles.get(stream.name).update(stream);
        }
        live.show(names);
        setText(total, names.length ? summary(status.streams) : '');
        add.hidden = !mayBe('admin') || !names.length;
        if (empty.hidden && !names.length)
            empty.replaceChildren(...emptyPage());
        empty.hidden = names.length > 0;
    }

    if (!live.status)
        live.show([]);
    const end = live.statusArrived.on(update);
    update(live.status);
    return () => {
        end();
        removeOthers([]);
    };
}
