// SPDX-License-Identifier: BSD-2-Clause
// Events and graphs of all streams.

import {h} from './dom.js';
import {createEventList} from './events.js';
import {createGraphs} from './graphs.js';
import * as live from './live.js';

export function showActivity(root) {
    const events = createEventList();
    const graphs = createGraphs();
    root.append(h('div', {class: 'head'}, h('h1', {}, 'Activity')),
        h('section', {class: 'card'}, h('h2', {}, 'Events'), events.element),
        h('section', {class: 'card'}, h('h2', {}, 'The last hour'), graphs.element));
    live.show([]);
    return () => {
        events.destroy();
        graphs.destroy();
    };
}
