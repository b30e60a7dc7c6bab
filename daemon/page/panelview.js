// SPDX-License-Identifier: BSD-2-Clause
// The elements of the panel beside the picture.

import {button, h, setText} from './dom.js';
import {capital, count, hiddenPart} from './format.js';

// What the filters leave of each region, and what they have left of objects until now.
function createLeaves() {
    const list = h('ul', {});
    const element = h('details', {class: 'leaves'}, h('summary', {}, 'What is left'), list);
    let shown = '';
    return {
        element,
        show(leaves = [], hidden = null) {
            const lines = leaves.map(({where, words}) => `${where}: ${words}.`);
            if (hidden?.objects > 0)
                lines.push(`So far: ${count(hidden.objects, 'object')} replaced by cells, which show ` +
                    `at most ${Math.ceil(hidden.bits)} bits in all` +
                    `${hidden.epsilon > 0 ? `; epsilons of ${hidden.epsilon} in all` : ''}.`);
            if (shown !== (shown = lines.join('\n')))
                list.replaceChildren(...lines.map((line) => h('li', {}, line)));
            element.hidden = !lines.length;
        },
    };
}

// For those who may only look.
export function createReadOnly() {
    const words = h('p', {});
    const left = createLeaves();
    const chain = h('code', {class: 'chain'});
    return {
        element: h('aside', {class: 'panel card', 'aria-label': 'Filters'},
            h('h2', {}, 'What is hidden'), words, chain, left.element),
        update(stream) {
            words.title = stream?.coverage?.words ?? '';
            setText(words, capital(hiddenPart(stream?.coverage)));
            setText(chain, stream?.filters ?? '');
            left.show(stream?.leaves, stream?.hidden);
        },
        destroy() {},
    };
}

// actions: {hideAll, hideOnly, apply, discard}; keep: the element of keep.js; preview: the button of
// preview.js.
export function createView(actions, keep, preview) {
    const now = h('dd', {});
    const then = h('dd', {});
    const left = createLeaves();
    const leftThen = createLeaves();
    const thenRow = h('div', {hidden: true}, h('dt', {}, 'With your changes'), then,
        h('dd', {}, leftThen.element));
    const conflict = h('p', {class: 'notice warn', role: 'alert', hidden: true},
        'Somebody else has changed the same filters. Your changes are still here; when you ' +
        'apply them, you can choose.');
    const list = h('div', {class: 'layers'});
    const none = h('p', {class: 'muted'}, 'Nothing was added yet. Draw a rectangle, an ellipse ' +
        'or a polygon on the picture, or hide everything.');
    const base = h('div', {});
    const only = button('Hide only these', actions.hideOnly, {class: 'small', hidden: true,
        title: 'The added regions replace the base filters; the rest of the picture is shown'});
    const error = h('p', {class: 'error', role: 'alert'});
    const apply = button('Apply', actions.apply, {class: 'primary'});
    const discard = button('Discard', actions.discard);
    const heading = h('h2', {tabindex: '-1'}, 'What is hidden');
    const element = h('aside', {class: 'panel card', 'aria-label': 'Regions and filters'},
        heading,
        h('dl', {class: 'coverage-words'}, h('div', {}, h('dt', {}, 'In force'), now,
            h('dd', {}, left.element)), thenRow),
        conflict,
        h('div', {class: 'head'}, h('h3', {}, 'Added regions'), only,
            button('Hide everything', actions.hideAll, {class: 'small'})),
        none, list, h('h3', {}, 'Base'), base, keep,
        h('div', {class: 'panel-end'}, error, h('div', {class: 'actions'}, preview, discard, apply)));
    return {element, heading, now, left, then, leftThen, thenRow, conflict, list, none, only, base, error,
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
