// SPDX-License-Identifier: BSD-2-Clause
// The list of events, newest first.

import {h} from './dom.js';
import {capital, clock} from './format.js';
import * as live from './live.js';

const MOST = 200;

const TEXTS = {
    set: 'The filters were changed.',
    added: 'The stream was added.',
    removed: 'The stream was removed.',
    recovered: 'The stream works as configured again.',
};

function textOf(event) {
    if (event.lost)
        return `${event.lost} events are missing here.`;
    const why = event.why ? `: ${event.why}` : '';
    if (event.event === 'asked')
        return `${event.method} was requested${event.why ? ` ${event.why}` : ''}`;
    if (TEXTS[event.event])
        return TEXTS[event.event];
    return capital(`${event.event}${event.state ? ` ${event.state}` : ''}${why}`);
}

function row(event, withName) {
    const name = event.stream ?? event.engine;
    return h('li', {},
        h('time', {}, event.time ? clock(event.time) : ''),
        withName && name && (event.stream
            ? h('a', {href: `#/stream/${encodeURIComponent(name)}`}, name)
            : h('span', {class: 'muted'}, name)),
        h('span', {class: 'event-text'}, textOf(event)));
}

// Events of one stream, or of all ('').
export function createEventList(name = '') {
    const list = h('ol', {class: 'events', tabindex: '0', 'aria-label': 'Events, newest first'});
    const none = h('p', {class: 'muted'}, 'Nothing has happened since this page was opened.');
    const mine = (event) => !name || event.lost || event.stream === name;

    function add(event) {
        if (!mine(event))
            return;
        list.prepend(row(event, !name));
        if (list.children.length > MOST)
            list.lastChild.remove();
        none.hidden = list.children.length > 0;
        list.hidden = !none.hidden;
    }

    list.hidden = true;
    for (const event of live.events.toReversed())
        add(event);
    return {
        element: h('div', {role: 'log', 'aria-label': 'Events'}, none, list),
        destroy: live.eventArrived.on(add),
    };
}
