// SPDX-License-Identifier: BSD-2-Clause
// Small charts of samples over time. The first half is arithmetic, and needs no browser.

import {h, svg} from './dom.js';

// The smallest round number (1, 1.5, 2, 3, 4, 6, 8, 10, 15 ...) that is at least `value`; of bytes,
// in the unit in which they are shown.
export function niceTop(value, inBytes = false) {
    if (!(value > 0))
        return 1;
    const unit = inBytes ? 1024 ** Math.floor(Math.log2(value) / 10) : 1;
    const power = unit * 10 ** Math.floor(Math.log10(value / unit));
    return [1, 1.5, 2, 3, 4, 6, 8, 10].map((n) => n * power)
        .find((top) => top >= value * (1 - 1e-9));
}

// Returns the SVG path of samples, newest last, in a box of width x height. `span` is the number
// of samples that fill the width; null samples interrupt the line.
export function pathOf(samples, span, top, width, height) {
    const step = width / Math.max(span - 1, 1);
    const left = width - (samples.length - 1) * step;
    let path = '';
    let pen = false;
    samples.forEach((value, i) => {
        if (Number.isFinite(value)) {
            const y = height - Math.min(Math.max(value / top, 0), 1) * height;
            path += `${pen ? 'L' : 'M'}${(left + i * step).toFixed(1)} ${y.toFixed(1)}`;
        }
        pen = Number.isFinite(value);
    });
    return path;
}

export function extremes(samples) {
    const known = samples.filter(Number.isFinite);
    if (!known.length)
        return null;
    return {now: known.at(-1), least: Math.min(...known), most: Math.max(...known)};
}

const WIDTH = 300;
const HEIGHT = 80;
const HEADROOM = 1.05;

function describe(lines, show) {
    return lines.map(({label, samples}) => {
        const found = extremes(samples);
        return found ? `${label}: now ${show(found.now)}, between ${show(found.least)} and ` +
            `${show(found.most)}.` : `${label}: not known.`;
    }).join(' ');
}

function legend({label, samples}, i, show) {
    const found = extremes(samples);
    return h('span', {class: 'legend'},
        h('span', {class: `swatch line${i}`, 'aria-hidden': 'true'}),
        `${label} ${found ? show(found.now) : '-'}`);
}

// lines: [{label, samples}]; show(value) is the text of a value; top: the upper end, or 0 for a
// round number above all samples; span: the number of samples of an hour.
export function chart({title, lines, show, top = 0, span, inBytes = false}) {
    const most = Math.max(0, ...lines.map((line) => extremes(line.samples)?.most ?? 0));
    const upper = top || niceTop(most * HEADROOM, inBytes);
    const grid = [0, 0.5, 1].map((part) => svg('line', {class: 'rule', x1: 0, x2: WIDTH,
        y1: part * HEIGHT, y2: part * HEIGHT}));
    const paths = lines.map((line, i) => svg('path', {class: `line line${i}`,
        d: pathOf(line.samples, span, upper, WIDTH, HEIGHT)}));
    return h('figure', {class: 'chart'},
        h('figcaption', {}, h('span', {class: 'chart-title'}, title),
            h('span', {class: 'legends'}, lines.map((line, i) => legend(line, i, show)))),
        svg('svg', {viewBox: `0 -2 ${WIDTH} ${HEIGHT + 4}`, preserveAspectRatio: 'none',
            role: 'img', 'aria-label': `${title} in the last hour. ${describe(lines, show)}`},
        grid, paths),
        h('div', {class: 'axis', 'aria-hidden': 'true'}, h('span', {}, 'an hour ago'),
            h('span', {}, `0 to ${show(upper)}`), h('span', {}, 'now')));
}
