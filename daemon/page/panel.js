// SPDX-License-Identifier: BSD-2-Clause
// Beside the picture: the filters of a stream.

import {h, setText} from './dom.js';

export function createFilterPanel() {
    const words = h('p', {});
    const chain = h('code', {class: 'chain'});
    return {
        element: h('aside', {class: 'panel card'}, h('h2', {}, 'What is hidden'), words, chain),
        update(stream) {
            setText(words, stream?.coverage?.words ?? '');
            setText(chain, stream?.filters ?? '');
        },
        destroy() {},
    };
}
