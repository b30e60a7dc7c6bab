// SPDX-License-Identifier: BSD-2-Clause
// Graphs of the last hour, from History.

import {callQuietly} from './api.js';
import {chart} from './charts.js';
import {h} from './dom.js';
import {bytes, milliseconds, number, rate} from './format.js';

const HOUR_S = 3600;
const REFRESH_MS = 10000;

function streamCharts(name, history, span, alone) {
    const of = alone ? '' : `${name}: `;
    return [
        chart({title: `${of}${alone ? 'Rate' : 'rate'}`, span, show: rate,
            lines: [{label: 'Now', samples: history.rate}]}),
        chart({title: `${of}${alone ? 'Delay' : 'delay'}`, span, show: milliseconds, lines: [
            {label: 'Half of the frames', samples: history.p50_ms},
            {label: 'All but the slowest 1 %', samples: history.p99_ms}]}),
    ];
}

function increase(samples) {
    return samples.map((value, i) => {
        const before = samples[i - 1];
        return Number.isFinite(value) && Number.isFinite(before) ? Math.max(value - before, 0)
            : null;
    });
}

function machineCharts({gpus, memory}, span) {
    return [
        ...Object.entries(gpus ?? {}).map(([gpu, {used, size}]) => chart({
            title: `Memory of GPU ${gpu}, of ${bytes(size)}`, span, top: size, show: bytes,
            lines: [{label: 'Now', samples: used}]})),
        memory?.length > 0 && chart({title: 'Memory of halod', span, show: bytes, inBytes: true,
            lines: [{label: 'Now', samples: memory}]}),
    ];
}

function draw(history, name) {
    const span = Math.round(HOUR_S / history.interval);
    const own = history.streams[name];
    if (name)
        return own ? [...streamCharts(name, own, span, true),
            chart({title: `Dropped in ${history.interval} s`, span, show: (n) => number(n),
                lines: [{label: 'Now', samples: increase(own.dropped)}]}),
            ...machineCharts({gpus: history.gpus}, span)] : [];
    return [...machineCharts(history, span), ...Object.entries(history.streams).flatMap(
        ([stream, samples]) => streamCharts(stream, samples, span, false))];
}

// Graphs of one stream, or of the machine and all streams ('').
export function createGraphs(name = '') {
    const element = h('div', {class: 'charts'});

    async function refresh() {
        if (document.hidden)
            return;
        try {
            const history = await callQuietly('History', name ? {name} : {});
            const drawn = draw(history, name).filter(Boolean);
            element.replaceChildren(...(drawn.length ? drawn
                : [h('p', {class: 'muted'}, 'There are no samples yet.')]));
        } catch (error) {
            if (!element.querySelector('.chart'))
                element.replaceChildren(h('p', {class: 'muted'}, error.message));
        }
    }

    refresh();
    const timer = setInterval(refresh, REFRESH_MS);
    return {element, destroy: () => clearInterval(timer)};
}
