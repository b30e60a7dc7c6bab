// SPDX-License-Identifier: BSD-2-Clause
// Puts a draft in force: one call for each layer that was changed.

import {call} from './api.js';
import {ask} from './dialog.js';
import * as drafts from './draft.js';

function callOf(draft, id, text) {
    const more = draft.revision === undefined ? {} : {revision: draft.revision};
    return id === ''
        ? ['Set', {name: draft.name, filters: text, ...more}]
        : ['Hide', {name: draft.name, id, filters: text, ...more}];
}

async function applyLayer(draft, {layer, id, text, moved}) {
    const answer = await call(...callOf(draft, id, text));
    if (draft.revision !== undefined)
        draft.revision = answer?.revision ?? draft.revision + 1;
    if (layer.id === id) // one that was renamed meanwhile is another one, and not applied yet
        drafts.settle(draft, layer, text);
    if (moved)
        await call('Keep', {name: draft.name});
    layer.moved = false;
}

function describe({base, hides}) {
    return [`Base: ${base}`,
        ...Object.entries(hides ?? {}).map(([id, text]) => `${id}: ${text}`)];
}

// Somebody else was faster. Returns 'mine', 'theirs' or null.
function askWhose(draft, theirs) {
    return ask('Somebody else was faster', [
        `The filters of ${draft.name} were changed while you were editing. Their version:`,
        ...describe(theirs),
    ], [['theirs', 'Load theirs', 'plain'], ['mine', 'Overwrite with mine']]);
}

// Resolves to {done: true} when everything is in force, {problem} with the refusal (as a check
// reports it), or {conflict}: what the user chose. A change of somebody else may not be in force
// yet, so the draft takes over only its revision: the rest comes with a status. What the user does
// meanwhile is left for the next time.
export async function applyDraft(draft, choose = askWhose) {
    const changes = drafts.changedLayers(draft).map(
        (layer) => ({layer, id: layer.id, text: drafts.layerText(layer), moved: layer.moved}));
    while (changes.length) {
        const {layer} = changes[0];
        try {
            await applyLayer(draft, changes[0]);
            changes.shift();
        } catch (error) {
            const theirs = error.body ?? {};
            if (error.status !== 409 || !('revision' in theirs))
                return {problem: {layer, filter: theirs.filter, option: theirs.option,
                    text: layer.id ? `${layer.id}: ${error.message}` : error.message}};
            const choice = await choose(draft, theirs);
            if (choice !== 'mine')
                return {conflict: choice};
            draft.revision = theirs.revision;
        }
    }
    return {done: true};
}
