// SPDX-License-Identifier: BSD-2-Clause
// The elements of the panel beside the picture.

import {button, h, setText} from './dom.js';

// For those who may only look.
export function createReadOnly() {
    const words = h('p', {});
    const chain = h('code', {class: 'chain'});
    return {
        element: h('aside', {class: 'panel card', 'aria-label': 'Filters'},
            h('h2', {}, 'What is hidden'), words, chain),
        update(stream) {
            setText(words, stream?.coverage?.words || 'Not known yet.');
            setText(chain, stream?.filters ?? '');
        },
        destroy() {},
    };
}

// actions: {hideAll, hideOnly, apply, discard}; keep: the element of keep.js; preview: the button of
// preview.js.
export function createView(actions, keep, preview) {
    const now = h('dd', {});
    const then = h('dd', {});
    const thenRow = h('div', {hidden: true}, h('dt', {}, 'With your changes'), then);
    const conflict = h('p', {class: 'notice warn', role: 'alert', hidden: true},
        'Somebody else has changed the same filters. Your changes are still here; when you ' +
        'apply them, you can choose.');
    const list = h('div', {class: 'layers'});
    const none = h('p', {class: 'muted'}, 'Nothing was added yet. Draw a rectangle, an ellipse ' +
        'or a polygon on the picture, or hide everything.');
    const base = h('div', {});
    const only = button('Hide only these', actions.hideOnly, {class: 'small', hidden: true,
        title: 'The regions replace the base filters; the rest of the picture is shown'});
    const error = h('p', {class: 'error', role: 'alert'});
    const apply = button('Apply', actions.apply, {class: 'primary'});
    const discard = button('Discard', actions.discard);
    const heading = h('h2', {tabindex: '-1'}, 'What is hidden');
    const element = h('aside', {class: 'panel card', 'aria-label': 'Regions and filters'},
        heading,
        h('dl', {class: 'coverage-words'}, h('div', {}, h('dt', {}, 'In force'), now), thenRow),
        conflict,
        h('div', {class: 'head'}, h('h3', {}, 'Added regions'), only,
            button('Hide everything', actions.hideAll, {class: 'small'})),
        none, list, h('h3', {}, 'Base'), base, keep,
        h('div', {class: 'panel-end'}, error, h('div', {class: 'actions'}, preview, discard, apply)));
    return {element, heading, now, then, thenRow, conflict, list, none, only, base, error,
        apply, discard};
}

// Remembers which control has the focus; the returned function gives it to its successor.
export function focusIn(element) {
    const all = () => [...element.querySelectorAll('button, input, select, textarea, summary')];
    const at = all().indexOf(document.activeElement);
    return () => {
        if (at >= 0)
            all()[Math.min(at, all().length - 1)]?.focus({preventScroll: true});
    };
}
