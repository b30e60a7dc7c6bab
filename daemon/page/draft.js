// SPDX-License-Identifier: BSD-2-Clause
// What a user has drawn and typed for a stream, and how it meets what is in force. No browser is
// needed here.
//
// A draft has layers: the base chain (id '') and the chains that were added to it ("hides"), by
// their ids. A layer is {id, server: text in force or null, filters, raw: text that replaces
// filters or null, touched, removed, moved: replaced by regions and not kept yet, error}. Filters
// are those of chain.js, and may have `shapes`, the parsed region.

import {parseChain, writeChain, writeFilter} from './chain.js';
import {parseShapes, writeShapes} from './shapes.js';

function textsOf(stream) {
    return new Map([['', stream.base ?? stream.filters ?? ''],
        ...Object.entries(stream.hides ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

// Parses the regions again, once the size of the frame is known.
export function readShapes(filter, frame) {
    filter.shapes = 'region' in filter.options ? parseShapes(filter.options.region, frame) : null;
}

// Call this after filter.shapes was changed. Without shapes, the filter applies everywhere.
export function shapesChanged(filter) {
    if (filter.shapes?.length) {
        filter.options.region = writeShapes(filter.shapes);
    } else {
        filter.shapes = null;
        for (const name of ['region', 'invert', 'feather'])
            delete filter.options[name];
    }
}

export function setText(layer, text, frame) {
    layer.raw = null;
    try {
        layer.filters = parseChain(text);
        layer.filters.forEach((filter) => readShapes(filter, frame));
    } catch {
        layer.filters = [];
        layer.raw = text;
    }
}

function fromServer(id, text, frame) {
    const layer = {id, server: text, touched: false, removed: false, error: null};
    setText(layer, text, frame);
    return layer;
}

export function createDraft(stream) {
    const frame = {width: stream.width, height: stream.height};
    return {
        name: stream.name, frame, revision: stream.revision, busy: false,
        renditions: hasRenditions(stream),
        layers: [...textsOf(stream)].map(([id, text]) => fromServer(id, text, frame)),
    };
}

export function layerText(layer) {
    if (layer.removed)
        return '';
    if (!layer.touched)
        return layer.server ?? '';
    return layer.raw ?? writeChain(layer.filters);
}

export function isChanged(layer) {
    return Boolean(layer.removed || layer.moved) || layerText(layer) !== (layer.server ?? '');
}

export function changedLayers(draft) {
    return draft.layers.filter(isChanged);
}

// The layer is in force as `text`, which may be older than what is drawn now.
export function settle(draft, layer, text) {
    const drawn = layerText(layer);
    const removed = text === '' && layer.id !== '';
    if (removed && drawn === '')
        draft.layers = draft.layers.filter((other) => other !== layer);
    layer.server = removed ? null : text;
    layer.error = null;
    layer.touched = drawn !== text;
}

function byId(a, b) {
    return a.id < b.id ? -1 : 1;
}

function keepMine(layer, text) {
    if (layer.removed)
        return text === null;
    return text !== null && layerText(layer) === text;
}

// Takes over what is in force now. Layers that were changed here stay as they are. Returns whether
// one of them was also changed by somebody else; then the revision stays old, so that applying it
// is refused until the user has chosen.
export function sync(draft, stream) {
    const texts = textsOf(stream);
    for (const layer of draft.layers)
        if (isNew(layer) && texts.has(layer.id) && texts.get(layer.id) !== layerText(layer))
            asNew(draft, layer, stream.hides);
    draft.frame = {width: stream.width, height: stream.height};
    draft.renditions = hasRenditions(stream);
    const conflicts = draft.layers.filter((layer) => isChanged(layer) &&
        (texts.get(layer.id) ?? null) !== layer.server &&
        !keepMine(layer, texts.get(layer.id) ?? null));
    draft.layers = draft.layers.filter((layer) => isChanged(layer) ? !(layer.removed &&
        !texts.has(layer.id)) : texts.has(layer.id));
    for (const layer of draft.layers) {
        const text = texts.get(layer.id) ?? null;
        texts.delete(layer.id);
        if (conflicts.includes(layer) || text === layer.server)
            continue;
        if (!isChanged(layer))
            setText(layer, text, draft.frame);
        layer.server = text;
        layer.touched = false;
    }
    for (const [id, text] of texts)
        draft.layers.push(fromServer(id, text, draft.frame));
    draft.layers.sort(byId);
    if (!conflicts.length)
        draft.revision = stream.revision;
    return conflicts.length > 0;
}

// An id that nobody uses, nor somebody else chooses at the same time; hides: those in force.
function freeId(draft, hides = {}) {
    for (;;) {
        const id = `page-${Math.random().toString(36).slice(2, 8)}`;
        if (!(id in hides) && !draft.layers.some((layer) => layer.id === id))
            return id;
    }
}

export function isNew(layer) {
    return layer.server === null && !layer.removed;
}

// Makes a layer a region of its own, beside the one of somebody else under its id.
export function asNew(draft, layer, hides) {
    Object.assign(layer, {id: freeId(draft, hides), server: null, touched: true});
    draft.layers.sort(byId);
}

// A new region.
export function addLayer(draft, filter) {
    const layer = {id: freeId(draft), server: null, filters: [filter], raw: null, touched: true,
        removed: false, error: null};
    draft.layers.push(layer);
    draft.layers.sort(byId);
    return layer;
}

// Takes a layer away: one that was never applied at once, others when the draft is applied (next,
// if it is just being applied).
export function removeLayer(draft, layer) {
    if (layer.server === null && !draft.busy)
        draft.layers = draft.layers.filter((other) => other !== layer);
    else
        layer.removed = true;
}

function hasRenditions(stream) {
    return Object.keys(stream.renditions ?? {}).length > 0;
}

// Whether regions were added, and nothing that was added applies to the whole picture. Renditions
// have what was added, but a base of their own.
export function hasOnlyRegions(draft) {
    if (draft.renditions)
        return false;
    const added = draft.layers.filter((layer) => layer.id !== '' && !layer.removed);
    return added.length > 0 && added.every((layer) => layer.raw === null &&
        layer.filters.every((filter) => 'region' in filter.options));
}

// Replaces the base by the regions that were added, so that the rest of the picture is shown. When
// the draft is applied, the base comes first, and is kept as the regions were: they are never without
// a filter, even if the daemon is started again.
export function moveToBase(draft) {
    const [base, ...added] = draft.layers;
    setText(base, added.map(layerText).filter(Boolean).join(','), draft.frame);
    base.touched = true;
    base.moved = true;
    for (const layer of added)
        removeLayer(draft, layer);
}

export function rename(draft, layer, id) {
    layer.id = id;
    draft.layers.sort(byId);
}

// Gives up what was changed in a layer.
export function revert(draft, layer) {
    if (layer.server === null)
        return removeLayer(draft, layer);
    const taken = layer.moved ? draft.layers : [layer];
    taken.forEach((other) => (other.removed = false));
    setText(layer, layer.server, draft.frame);
    Object.assign(layer, {touched: false, moved: false, error: null});
}

// The whole chain as it would be, and where each of its filters comes from: [layer, index].
export function wholeChain(draft) {
    const texts = [];
    const from = [];
    for (const layer of draft.layers) {
        const text = layerText(layer).trim();
        if (!text)
            continue;
        texts.push(text);
        layer.filters.forEach((_, i) => from.push([layer, i]));
    }
    return {text: texts.join(','), from};
}

const EFFECTS = {
    solid: 'One colour', pixelize: 'Pixelized', gblur: 'Blurred', avgblur: 'Blurred',
    boxblur: 'Blurred', discblur: 'Blurred',
};
const WAYS = {'': 'One colour', solid: 'One colour', cells: 'A few cells',
    noise: 'A few cells with noise'};

function effectOf({kind, options, values}) {
    return kind === 'hide' ? WAYS[options.how ?? values?.[0] ?? ''] : EFFECTS[kind];
}

// What a layer does, in plain words if there are any.
export function summary(layer) {
    if (layer.raw !== null || !layer.filters.length)
        return layer.raw ?? '';
    const [first, ...others] = layer.filters;
    const text = effectOf(first) ?? writeFilter(first).replace(/:(region|invert|feather)=[^:]*/g, '');
    return others.length ? `${text} and ${others.length} more` : text;
}

/* ---- undoing ---- */

// What was drawn and typed, as text.
export function snapshot(draft) {
    return JSON.stringify(draft.layers);
}

// Puts back what was drawn and typed at the time of a snapshot. What is in force is as it is now.
export function restore(draft, text) {
    const now = new Map(draft.layers.map((layer) => [layer.id, layer.server]));
    draft.layers = JSON.parse(text);
    for (const layer of draft.layers)
        layer.server = now.get(layer.id) ?? null;
    draft.layers = draft.layers.filter((layer) => layer.server !== null || layer.touched);
}
