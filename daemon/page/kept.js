// SPDX-License-Identifier: BSD-2-Clause
// Drafts of all streams. They stay in memory while the page shows something else, and until they
// are applied or discarded.

import {changedLayers} from './draft.js';

const drafts = new Map(); // by the name of the stream

export function load(name) {
    return drafts.get(name) ?? null;
}

export function store(draft) {
    drafts.set(draft.name, draft);
}

// Forgets a draft in which nothing was changed.
export function release(name) {
    if (!isChanged(drafts.get(name)))
        drafts.delete(name);
}

function isChanged(draft) {
    return Boolean(draft && changedLayers(draft).length);
}

// The names of the streams with changes that were not applied.
export function changed() {
    return [...drafts.values()].filter(isChanged).map((draft) => draft.name);
}

export function forgetAll() {
    drafts.clear();
}

globalThis.addEventListener?.('beforeunload', (event) => {
    if (changed().length)
        event.preventDefault();
});
