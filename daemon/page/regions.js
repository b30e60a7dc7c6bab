// SPDX-License-Identifier: BSD-2-Clause
// Where a filter applies: the fields for its shapes, in percent of the frame, for feather and
// invert. The same shapes can be dragged in the picture (overlay.js).

import {shapesChanged} from './draft.js';
import {button, field, h} from './dom.js';
import {MOST_CORNERS, MOST_SHAPES, middleShape, round} from './shapes.js';

const PLACES = [
    ['', 'Everywhere'], ['shapes', 'In shapes drawn on the picture'],
    ['faces', 'Faces (detector)'], ['people', 'People (detector)'],
    ['background', 'Everything except people (detector)'], ['feed', 'What a region feed reports'],
    ['text', 'Other, as text'],
];
const NAMES = {rect: 'Rectangle', ellipse: 'Ellipse', polygon: 'Polygon'};

function placeOf({options, shapes}) {
    const text = options.region?.trim() ?? '';
    if (shapes)
        return 'shapes';
    return PLACES.some(([place]) => place === text) ? text : 'text';
}

// A number that belongs to a shape; refresh() shows its value after it was dragged.
function createNumber(label, get, set, changed) {
    const input = h('input', {type: 'number', step: 'any', value: round(get()), 'aria-label': label,
        oninput: () => {
            if (input.value === '' || !Number.isFinite(input.valueAsNumber))
                return;
            set(round(input.valueAsNumber));
            changed();
        }});
    return {
        element: h('label', {class: 'number'}, h('span', {'aria-hidden': 'true'},
            label.split(',')[0]), input),
        refresh() {
            if (input !== document.activeElement || input.valueAsNumber !== round(get()))
                input.value = round(get());
        },
    };
}

function boxNumbers(shape, name, changed) {
    return [['X', 'x'], ['Y', 'y'], ['Width', 'w'], ['Height', 'h']].map(([label, key]) =>
        createNumber(`${label}, ${name}, percent`, () => shape[key], (value) => {
            if (value > 0 || key === 'x' || key === 'y')
                shape[key] = value;
        }, changed));
}

function cornerNumbers(shape, name, i, changed) {
    return ['X', 'Y'].map((label, axis) =>
        createNumber(`${label}, corner ${i + 1} of ${name}, percent`,
            () => shape.points[i]?.[axis] ?? 0,
            (value) => {
                shape.points[i][axis] = value;
            }, changed));
}

// The rows of a polygon's corners, with buttons that add and remove one.
function createCorners(shape, name, changed, structure) {
    const numbers = [];
    const rows = shape.points.map((_, i) => {
        const pair = cornerNumbers(shape, name, i, changed);
        numbers.push(...pair);
        return h('div', {class: 'corner'}, pair.map((n) => n.element),
            button('Remove', () => {
                shape.points.splice(i, 1);
                structure();
            }, {class: 'small quiet', disabled: shape.points.length <= 3,
                'aria-label': `Remove corner ${i + 1} of ${name}`}));
    });
    const add = button('Add a corner', () => {
        const [[ax, ay], [bx, by]] = [shape.points.at(-1), shape.points[0]];
        shape.points.push([round((ax + bx) / 2), round((ay + by) / 2)]);
        structure();
    }, {class: 'small', disabled: shape.points.length >= MOST_CORNERS});
    return {element: [rows, add], numbers};
}

function createShape(filter, shape, i, context, changed) {
    const name = `${NAMES[shape.kind].toLowerCase()} ${i + 1}`;
    const update = () => {
        shapesChanged(filter);
        changed(false);
    };
    const structure = () => {
        shapesChanged(filter);
        changed(true);
    };
    const corners = shape.kind === 'polygon' ? createCorners(shape, name, update, structure) : null;
    const numbers = corners?.numbers ?? boxNumbers(shape, name, update);
    const remove = button('Remove', () => context.removeShape(filter, shape),
        {class: 'small quiet', 'aria-label': `Remove ${name}`});
    const element = h('fieldset', {class: 'shape', onfocusin: () => context.select(shape)},
        h('legend', {}, `${NAMES[shape.kind]} ${i + 1}`),
        corners ? corners.element : h('div', {class: 'numbers'}, numbers.map((n) => n.element)),
        h('div', {class: 'shape-end'}, h('span', {class: 'hint'}, 'In % of the picture'), remove));
    return {element, shape, refresh: () => numbers.forEach((n) => n.refresh())};
}

function setPlace(filter, place) {
    filter.shapes = place === 'shapes' ? [middleShape('rect')] : null;
    if (place === '' || place === 'shapes')
        shapesChanged(filter);
    else
        filter.options.region = place === 'text' ? 'mask /etc/halod/mask.png' : place;
}

function createAdd(filter, context, changed) {
    return h('div', {class: 'actions left'}, Object.entries(NAMES).map(([kind, name]) =>
        button(`Add ${name.toLowerCase()}`, () => {
            const shape = middleShape(kind);
            filter.shapes.push(shape);
            shapesChanged(filter);
            changed(true);
            context.select(shape);
        }, {class: 'small', disabled: filter.shapes.length >= MOST_SHAPES})));
}

function optionField(filter, name, label, hint, changed) {
    const input = h('input', {type: 'number', min: 0, max: 512, step: 'any', placeholder: '0',
        value: filter.options[name] ?? '', oninput: () => {
            if (input.value === '')
                delete filter.options[name];
            else
                filter.options[name] = input.value;
            changed(false);
        }});
    const made = field(label, input, hint);
    made.element.classList.add('row');
    return made;
}

function invertField(filter, changed) {
    const input = h('input', {type: 'checkbox', onchange: () => {
        if (input.checked)
            filter.options.invert = '1';
        else
            delete filter.options.invert;
        changed(false);
    }});
    input.checked = filter.options.invert === '1';
    const made = field('Invert: hide everything outside', input);
    made.element.classList.add('switch');
    return made;
}

// Returns {element, fields, refresh}, as createFilterForm() does.
export function createRegionFields(filter, context, changed) {
    const place = placeOf(filter);
    const select = h('select', {value: place, onchange: () => {
        setPlace(filter, select.value);
        changed(true);
    }}, PLACES.map(([value, label]) => h('option', {value}, label)));
    const fields = {region: field('Where', select)};
    const shapes = (filter.shapes ?? []).map(
        (shape, i) => createShape(filter, shape, i, context, changed));
    const text = h('input', {value: filter.options.region ?? '', spellcheck: 'false',
        'aria-label': 'Region as text', oninput: () => {
            filter.options.region = text.value.trim();
            changed(false);
        }});
    if (place) {
        fields.feather = optionField(filter, 'feather', 'Feather',
            'Pixels over which the edge fades, outside the shapes.', changed);
        fields.invert = invertField(filter, changed);
    }
    const element = h('div', {class: 'region'}, fields.region.element,
        place === 'text' && text, shapes.map((shape) => shape.element),
        place === 'shapes' && createAdd(filter, context, changed),
        fields.feather?.element, fields.invert?.element);
    return {element, fields, refresh: () => shapes.forEach((shape) => shape.refresh())};
}
