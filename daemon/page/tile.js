// SPDX-License-Identifier: BSD-2-Clause
// What tiles and the large view share: the state of a stream, and its figures.

import {h, setText} from './dom.js';
import {capital, figures} from './format.js';

const TONES = {
    running: 'good', overloaded: 'warn', waiting: 'warn', starting: 'busy', restarting: 'busy',
    failed: 'bad', ended: 'off', stopped: 'off', disabled: 'off', removed: 'off',
};

export function createState() {
    const word = h('span', {});
    const element = h('span', {class: 'state'}, h('span', {class: 'dot', 'aria-hidden': 'true'}),
        word);
    return {
        element,
        update(state) {
            element.dataset.tone = TONES[state] ?? 'off';
            setText(word, capital(state));
        },
    };
}

// Tiles show the short label; screen readers and tooltips get the long one.
const LABELS = {
    rate: ['Rate', 'Frames per second'],
    p50: ['Delay', 'Half of the frames have at most this delay'],
    p99: ['Longest delay', '99 % of the frames have at most this delay'],
    drops: ['Dropped', 'Dropped frames'],
    viewers: ['Watching', 'Number of viewers'],
    coverage: ['Hidden', 'The part of the picture that is filtered'],
};

// A list of figures; update(stream) fills it in.
export function createFigures() {
    const values = {};
    const rows = Object.entries(LABELS).map(([key, [label, title]]) => {
        values[key] = h('dd', {});
        return h('div', {class: `figure ${key}`, title}, h('dt', {}, label), values[key]);
    });
    return {
        element: h('dl', {class: 'figures'}, rows),
        update(stream) {
            for (const [key, text] of Object.entries(figures(stream)))
                setText(values[key], text);
        },
    };
}
