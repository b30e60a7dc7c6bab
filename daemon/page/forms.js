// SPDX-License-Identifier: BSD-2-Clause
// The form of a filter, generated from the JSON Schema of its options.

import {field, h} from './dom.js';
import {capital} from './format.js';
import {createRegionFields} from './regions.js';

// What a filter begins with, instead of defaults that hide little.
const STRENGTHS = {
    hide: {how: 'solid'}, gblur: {sigma: '20'}, pixelize: {width: '24', height: '24'},
    solid: {color: 'black'},
    avgblur: {sizeX: '20'}, boxblur: {luma_radius: '12'}, discblur: {radius: '15'},
};
const HIDING = Object.keys(STRENGTHS);
const REGION = ['region', 'invert', 'feather'];
const COMMON = ['planes', 'border', 'border_value', 'strategy'];
const SELDOM = [...COMMON, 'p']; // p is FFmpeg's word for planes

export function newFilter(kind, options = {}) {
    return {kind, options: {...STRENGTHS[kind], ...options}, values: [], shapes: null};
}

function isSwitch(property) {
    return property.type === 'boolean' ||
        (property.enum?.length === 2 && property.enum.every((v) => v === 0 || v === 1));
}

function createSwitch(label, value, change) {
    const input = h('input', {type: 'checkbox', onchange: () => change(input.checked ? '1' : '')});
    input.checked = value === '1' || value === 'true';
    const {element, showError} = field(label, input);
    element.classList.add('switch');
    return {element, showError};
}

function numberRange(property) {
    const numeric = (p) => p.type === 'number' || p.type === 'integer';
    const found = [property, ...property.anyOf ?? [], ...property.oneOf ?? []].find(numeric);
    return {range: found ?? {}, only: numeric(property)};
}

function createInput(property, value, change) {
    const standard = property.default ?? '';
    if (property.enum) {
        const select = h('select', {value, onchange: () => change(select.value)},
            h('option', {value: ''}, standard === '' ? 'Default' : `Default (${standard})`),
            property.enum.map((word) => h('option', {value: String(word)}, String(word))));
        return select;
    }
    const {range, only: numeric} = numberRange(property);
    const only = numeric && (value === '' || Number.isFinite(Number(value)));
    const input = h('input', {
        type: only ? 'number' : 'text', value, spellcheck: 'false', autocapitalize: 'none',
        min: only && range.minimum, max: only && range.maximum,
        step: only && (range.type === 'integer' ? 1 : 'any'),
        placeholder: standard === '' ? null : String(standard),
        oninput: () => change(input.value.trim()),
    });
    return input;
}

function createOption(name, property, options, change) {
    const set = (value) => {
        if (value === '')
            delete options[name];
        else
            options[name] = value;
        change();
    };
    const label = property.title && property.title !== name ? property.title : capital(name);
    if (isSwitch(property))
        return createSwitch(label, options[name], set);
    const made = field(label, createInput(property, options[name] ?? '', set),
        property.description ?? '');
    made.element.classList.add('row');
    return made;
}

// Sorts the options of a filter: its own, and those that are seldom needed. Options that the
// schema does not name, such as short names, are shown as they are written.
function sortOptions(properties, options) {
    const names = Object.keys(properties).filter((name) => !REGION.includes(name));
    const unknown = Object.keys(options).filter(
        (name) => !(name in properties) && !REGION.includes(name));
    const rare = (name) => SELDOM.includes(name) ||
        properties[name]?.deprecated || /no effect/.test(properties[name]?.description ?? '');
    return [[...names.filter((name) => !rare(name)), ...unknown], names.filter(rare)];
}

// Replaces the kind of a filter; options that every filter has are kept.
function changeKind(filter, kind) {
    const kept = Object.fromEntries(Object.entries(filter.options).filter(
        ([name]) => REGION.includes(name) || COMMON.includes(name)));
    filter.kind = kind;
    filter.options = {...STRENGTHS[kind], ...kept};
    filter.values = [];
}

// "gblur: Gaussian blur"
function titleOf(kind, schema) {
    const words = schema[kind]?.description?.split(/[,;.]/)[0];
    return words ? `${kind}: ${words}` : kind;
}

function kindField(filter, context, changed) {
    const kinds = Object.keys(context.schema).filter(
        (kind) => context.allKinds || HIDING.includes(kind));
    if (!kinds.includes(filter.kind))
        kinds.push(filter.kind);
    const select = h('select', {value: filter.kind, onchange: () => {
        changeKind(filter, select.value);
        changed(true);
    }}, kinds.map((kind) => h('option', {value: kind}, titleOf(kind, context.schema))));
    return field('Filter', select);
}

// context: {schema, allKinds, ...} and what regions.js needs. changed(structure) is called after
// each change; with `structure`, the form must be made again. Returns {element, refresh, showError}.
export function createFilterForm(filter, context, changed) {
    const properties = context.schema[filter.kind]?.properties ?? {};
    const fields = {kind: kindField(filter, context, changed)};
    const [own, rare] = sortOptions(properties, filter.options);
    for (const name of [...own, ...rare])
        fields[name] = createOption(name, properties[name] ?? {}, filter.options,
            () => changed(false));
    const region = createRegionFields(filter, context, changed);
    Object.assign(fields, region.fields);
    const more = h('details', {}, h('summary', {}, 'More options'),
        h('div', {class: 'fields'}, rare.map((name) => fields[name].element)));
    more.open = rare.some((name) => name in filter.options);
    const element = h('div', {class: 'filter'}, fields.kind.element,
        filter.values.length > 0 && h('p', {class: 'hint'},
            `Values without a name, in their order: ${filter.values.join(', ')}`),
        h('div', {class: 'fields'}, own.map((name) => fields[name].element)),
        region.element, rare.length > 0 && more);
    return {
        element,
        refresh: region.refresh,
        clearErrors: () => Object.values(fields).forEach((f) => f.showError('')),
        // Returns whether the option has a field.
        showError(option, text) {
            if (rare.includes(option))
                more.open = true;
            fields[option]?.showError(text);
            return option in fields;
        },
    };
}
