// SPDX-License-Identifier: BSD-2-Clause
// The cards of the panel: one for each chain that was added to a stream, and one for its base.

import {button, field, h, setText as setLine} from './dom.js';
import {isChanged, layerText, setText, summary} from './draft.js';
import {createFilterForm, newFilter} from './forms.js';

function badgeOf(layer) {
    if (layer.removed)
        return 'to be removed';
    if (layer.server === null)
        return 'new';
    return isChanged(layer) ? 'changed' : '';
}

// The buttons of one filter of several: its place in the order, and removal.
function filterHead(layer, i, changed) {
    const move = (to) => {
        layer.filters.splice(to, 0, ...layer.filters.splice(i, 1));
        changed(true);
    };
    const remove = () => {
        layer.filters.splice(i, 1);
        changed(true);
    };
    const what = `filter ${i + 1}`;
    return h('div', {class: 'filter-head'}, h('h4', {}, `Filter ${i + 1}`),
        button('Up', () => move(i - 1), {class: 'small quiet', disabled: i === 0,
            'aria-label': `Move ${what} up`}),
        button('Down', () => move(i + 1), {class: 'small quiet',
            disabled: i === layer.filters.length - 1, 'aria-label': `Move ${what} down`}),
        button('Remove', remove, {class: 'small quiet', 'aria-label': `Remove ${what}`,
            disabled: layer.filters.length === 1}));
}

function createFilters(layer, context, changed) {
    const shapeContext = {...context, allKinds: layer.id === '',
        removeShape: (filter, shape) => context.removeShape(layer, filter, shape)};
    const forms = layer.filters.map(
        (filter) => createFilterForm(filter, shapeContext, changed));
    const several = layer.id === '' || forms.length > 1;
    const add = () => {
        layer.filters.push(newFilter('gblur'));
        changed(true);
    };
    return {
        forms,
        elements: [
            forms.map((form, i) => [several && filterHead(layer, i, changed), form.element]),
            several && button('Add a filter', add, {class: 'small'}),
        ],
    };
}

// The chain as text; what is typed there replaces the forms when the field is left.
function createText(layer, context) {
    const text = h('textarea', {value: layerText(layer), spellcheck: 'false', rows: 3,
        oninput: () => {
            layer.touched = true;
            setText(layer, text.value, context.frame());
            context.changed(layer, false, true);
        },
        onchange: () => context.changed(layer, true)});
    const made = field('As text', text, 'FFmpeg\'s syntax: gblur=sigma=20,pixelize=w=16:h=16');
    return {...made, refresh: () => {
        if (text !== document.activeElement)
            text.value = layerText(layer);
    }};
}

function createName(layer, context) {
    if (layer.server !== null || layer.id === '')
        return null;
    const input = h('input', {value: layer.id, maxlength: 31, pattern: '[A-Za-z0-9_\\-]+',
        spellcheck: 'false', autocapitalize: 'none'});
    const made = field('Name', input);
    made.element.classList.add('row');
    input.addEventListener('change', () => {
        const problem = !input.validity.valid || !input.value ? 'Use letters, digits, - and _.'
            : context.rename(layer, input.value) ? '' : 'There is a region with this name.';
        made.showError(problem);
    });
    return made.element;
}

function createButtons(layer, context) {
    const undo = button('Undo', () => context.revert(layer), {class: 'small quiet'});
    const remove = button('Remove', () => context.remove(layer), {class: 'small quiet'});
    return {undo, remove};
}

// Returns {element, layer, refresh, showErrors(list of {filter, option, text})}.
export function createLayerCard(layer, context) {
    const open = context.isOpen(layer);
    const name = h('span', {class: 'layer-title'});
    const badge = h('span', {class: 'badge'});
    const line = h('span', {class: 'layer-summary'});
    const error = h('p', {class: 'error', role: 'alert'});
    const toggle = h('button', {type: 'button', class: 'layer-toggle', 'aria-expanded':
        String(open), onclick: () => context.toggle(layer)},
    name, line);
    const {undo, remove} = createButtons(layer, context);
    const changed = (structure) => {
        layer.touched = true;
        context.changed(layer, structure);
    };
    const shown = open && !layer.removed;
    const filters = shown && layer.raw === null && context.schema
        ? createFilters(layer, context, changed) : {forms: [], elements: []};
    const text = shown && (layer.id === '' || layer.raw !== null)
        ? createText(layer, context) : null;
    const element = h('section', {class: 'layer'},
        h('div', {class: 'layer-head'}, toggle, badge, undo, layer.id !== '' && remove),
        shown && h('div', {class: 'layer-body'}, createName(layer, context), filters.elements,
            text?.element), error);

    function refresh() {
        const word = badgeOf(layer);
        const title = context.titleOf(layer);
        setLine(name, title);
        element.setAttribute('aria-label', title);
        undo.setAttribute('aria-label', `Undo the changes of ${title}`);
        remove.setAttribute('aria-label', `Remove ${title}`);
        setLine(badge, word);
        badge.hidden = !word;
        undo.hidden = !word;
        remove.hidden = layer.removed;
        setLine(line, summary(layer));
        setLine(error, layer.error ?? '');
        element.classList.toggle('removed', layer.removed);
        filters.forms.forEach((form) => form.refresh());
        text?.refresh();
    }

    // An error goes under its field if there is one; otherwise it is returned.
    function showProblem(problem) {
        filters.forms.forEach((form) => form.clearErrors());
        const form = filters.forms[problem?.filter];
        return Boolean(form && problem.option && form.showError(problem.option, problem.text));
    }

    refresh();
    return {element, layer, refresh, showProblem};
}
