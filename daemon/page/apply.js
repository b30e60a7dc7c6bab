// SPDX-License-Identifier: BSD-2-Clause
// Puts a draft in force: one call for each layer that was changed.

import {call} from './api.js';
import {problemOf} from './chain.js';
import {ask} from './dialog.js';
import * as drafts from './draft.js';
import {plainError} from './format.js';

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

// Somebody else has changed the same layer. Returns 'mine', 'theirs', 'both' or null. What hides is
// given up only on purpose: the main answer keeps both regions.
function askWhose(draft, theirs, layer) {
    const both = layer.id !== '' && !layer.removed;
    return ask('Somebody else changed the filters first', [
        `${layer.id || 'The base'} of ${draft.name} was changed while you were editing. ` +
            'Their version:',
        ...describe(theirs),
    ], [['theirs', 'Load theirs', 'plain'], ['mine', 'Replace theirs with mine', 'danger'],
        ...both ? [['both', 'Keep both']] : []]);
}

// Whether somebody else has changed this layer, and not only others.
function isTaken(layer, text, {base, hides}) {
    const theirs = layer.id === '' ? base : hides?.[layer.id];
    return (theirs ?? '') !== (layer.server ?? '') && (theirs ?? '') !== text;
}

// A refusal, as a check reports it.
function refusalOf({layer, id, text}, error) {
    const {filter, option, text: said} = problemOf(text, error.message);
    const what = plainError(said);
    return {layer, filter, option, text: id && !option ? `${id}: ${what}` : what};
}

function changeOf(layer) {
    return {layer, id: layer.id, text: drafts.layerText(layer), moved: layer.moved};
}

// Resolves to {done: true} when everything is in force, {problem} with the refusal (as a check
// reports it), or {conflict}: what the user chose. Changes of somebody else to other layers are no
// conflict. They may not be in force yet, so the draft takes over only their revision: the rest comes
// with a status. What the user does meanwhile is left for the next time.
export async function applyDraft(draft, choose = askWhose) {
    const changes = drafts.changedLayers(draft).map(changeOf);
    while (changes.length) {
        const {layer} = changes[0];
        try {
            await applyLayer(draft, changes[0]);
            changes.shift();
        } catch (error) {
            const theirs = error.body ?? {};
            if (error.status !== 409 || !('revision' in theirs))
                return {problem: refusalOf(changes[0], error)};
            const taken = isTaken(layer, changes[0].text, theirs);
            const choice = !taken ? 'mine' : drafts.isNew(layer) ? 'both'
                : await choose(draft, theirs, layer);
            if (choice !== 'mine' && choice !== 'both')
                return {conflict: choice};
            draft.revision = theirs.revision;
            if (choice === 'both') {
                drafts.asNew(draft, layer, theirs.hides);
                changes[0] = changeOf(layer);
            }
        }
    }
    return {done: true};
}
