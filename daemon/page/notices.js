// SPDX-License-Identifier: BSD-2-Clause
// Short messages at the top of the page. Screen readers read them.

import {button, h, setText} from './dom.js';

const SHOWN_MS = 6000;

// Shows a message; errors ('bad') stay until they are dismissed.
export function say(text, tone = 'good') {
    const notice = h('div', {class: `notice ${tone}`},
        h('span', {}, text),
        button('Dismiss', () => notice.remove(), {class: 'quiet'}));
    const place = document.getElementById('notices');
    place.querySelector('.good')?.remove();
    place.append(notice);
    while (place.children.length > 3)
        place.firstChild.remove();
    if (tone !== 'bad')
        setTimeout(() => notice.remove(), SHOWN_MS);
}

// A line that is always there, and hidden while its text is empty. It may have a button.
export function createBanner(tone, action = null) {
    const words = h('span', {});
    const element = h('div', {class: `banner ${tone}`, role: 'status', hidden: true}, words,
        action);
    return {
        element,
        show(text, withAction = false) {
            setText(words, text);
            element.hidden = !text;
            if (action)
                action.hidden = !withAction;
        },
    };
}
