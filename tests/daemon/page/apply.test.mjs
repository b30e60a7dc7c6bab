// SPDX-License-Identifier: BSD-2-Clause
// Tests of daemon/page/apply.js, before a daemon that answers as told.
import assert from 'node:assert/strict';
import test from 'node:test';

import {applyDraft} from '../../../daemon/page/apply.js';
import * as drafts from '../../../daemon/page/draft.js';

function stream(revision, hides, base = 'gblur=sigma=12') {
    return {name: 'door', width: 1000, height: 500, revision, base, hides};
}

// Answers the calls of a page, in turn: each is [STATUS, BODY], or returns it. Returns the list of
// the calls as they come: [METHOD, ...VALUES].
function answerWith(...answers) {
    const calls = [];
    globalThis.fetch = async (path, {body}) => {
        calls.push([path.split('/').at(-1), ...Object.values(JSON.parse(body)).slice(1)]);
        const answer = answers[calls.length - 1];
        const [status, value] = typeof answer === 'function' ? answer() : answer;
        return {ok: status === 200, status, headers: new Headers(), json: async () => value};
    };
    return calls;
}

const layerOf = (draft, id) => draft.layers.find((layer) => layer.id === id);

function change(draft, id, text) {
    drafts.setText(layerOf(draft, id), text, draft.frame);
    layerOf(draft, id).touched = true;
}

test('what others have requested may not be in force yet', async () => {
    const draft = drafts.createDraft(stream(1, {a: 'solid'}));
    change(draft, 'a', 'negate');
    answerWith([409, stream(2, {a: 'pixelize', b: 'solid'})]);
    assert.deepEqual(await applyDraft(draft, async () => 'theirs'), {conflict: 'theirs'});
    assert.deepEqual(draft.layers.map(({id, server}) => [id, server]),
        [['', 'gblur=sigma=12'], ['a', 'solid']]);
});

test('what others have requested is overwritten, also where it is the same', async () => {
    const draft = drafts.createDraft(stream(1, {a: 'solid'}));
    change(draft, 'a', 'pixelize');
    const calls = answerWith([409, stream(2, {a: 'pixelize'})], [200, {revision: 3}]);
    assert.deepEqual(await applyDraft(draft, async () => 'mine'), {done: true});
    assert.deepEqual(calls, [['Hide', 'a', 'pixelize', 1], ['Hide', 'a', 'pixelize', 2]]);
    assert.equal(draft.revision, 3);
});

test('regions that replace the base stay until it is kept', async () => {
    const draft = drafts.createDraft(stream(1, {a: 'hide=region=rect 1 1 9 9'}));
    drafts.moveToBase(draft);
    const base = drafts.layerText(layerOf(draft, ''));
    const refused = answerWith([200, {revision: 2}], [500, {what: 'the disk is full'}]);
    assert.equal((await applyDraft(draft)).problem.text, 'The disk is full');
    assert.deepEqual(refused, [['Set', base, 1], ['Keep']]);
    assert.equal(drafts.sync(draft, stream(2, {a: 'hide=region=rect 1 1 9 9'}, base)), false);
    const calls = answerWith([200, {revision: 3}], [200, {}], [200, {revision: 4}]);
    assert.deepEqual(await applyDraft(draft), {done: true});
    assert.deepEqual(calls, [['Set', base, 2], ['Keep'], ['Hide', 'a', '', 3]]);
    assert.deepEqual(drafts.changedLayers(draft), []);
});

test('what is done meanwhile is not applied with the rest', async () => {
    const draft = drafts.createDraft(stream(1, {a: 'solid', b: 'solid', c: 'solid', d: 'solid'}));
    change(draft, 'a', 'pixelize');
    change(draft, 'b', 'pixelize');
    drafts.removeLayer(draft, layerOf(draft, 'c'));
    const added = drafts.addLayer(draft, {kind: 'solid', options: {}, values: []});
    draft.busy = true;
    const calls = answerWith(() => {
        change(draft, 'a', 'negate');
        for (const layer of [layerOf(draft, 'd'), added])
            drafts.removeLayer(draft, layer);
        for (const id of ['b', 'c'])
            drafts.revert(draft, layerOf(draft, id));
        return [409, stream(2, {a: 'solid'})];
    }, [200, {}], [200, {}], [200, {}], [200, {}]);
    assert.deepEqual(await applyDraft(draft, async () => 'mine'), {done: true});
    assert.deepEqual(calls.slice(1).map((call) => call.slice(1, 3)),
        [['a', 'pixelize'], ['b', 'pixelize'], ['c', ''], [added.id, 'solid']]);
    assert.deepEqual(drafts.changedLayers(draft).map((layer) =>
        [layer.id, layer.server, drafts.layerText(layer)]),
    [['a', 'pixelize', 'negate'], ['b', 'pixelize', 'solid'], ['c', null, 'solid'],
        ['d', 'solid', ''], [added.id, 'solid', '']]);
});

test('a region that is renamed meanwhile is applied under its new name next time', async () => {
    const draft = drafts.createDraft(stream(1, {}));
    const added = drafts.addLayer(draft, {kind: 'solid', options: {}, values: []});
    const {id: first} = added;
    answerWith(() => {
        drafts.rename(draft, added, 'sign');
        return [200, {revision: 2}];
    });
    assert.deepEqual(await applyDraft(draft), {done: true});
    drafts.sync(draft, stream(2, {[first]: 'solid'}));
    assert.deepEqual(draft.layers.map(({id, server}) => [id, server]),
        [['', 'gblur=sigma=12'], [first, 'solid'], ['sign', null]]);
});

const nobody = async () => assert.fail('there is nothing to choose');

test('changes of others to other layers are no conflict', async () => {
    const draft = drafts.createDraft(stream(1, {a: 'solid'}));
    change(draft, 'a', 'pixelize');
    const calls = answerWith([409, stream(2, {a: 'solid', b: 'solid'}, 'avgblur')],
        [200, {revision: 3}]);
    assert.deepEqual(await applyDraft(draft, nobody), {done: true});
    assert.deepEqual(calls, [['Hide', 'a', 'pixelize', 1], ['Hide', 'a', 'pixelize', 2]]);
});

test('two people draw: both regions are kept', async () => {
    const draft = drafts.createDraft(stream(1, {}));
    const layer = drafts.addLayer(draft, {kind: 'solid', options: {}, values: []});
    drafts.rename(draft, layer, 'sign');
    const calls = answerWith([409, stream(2, {sign: 'pixelize'})], [200, {revision: 3}]);
    assert.deepEqual(await applyDraft(draft, nobody), {done: true});
    assert.notEqual(calls[1][1], 'sign');
    assert.deepEqual(calls[1], ['Hide', layer.id, 'solid', 2]);
});

test('a region that two people changed can be kept twice', async () => {
    const draft = drafts.createDraft(stream(1, {a: 'solid'}));
    change(draft, 'a', 'gblur');
    const changed = layerOf(draft, 'a');
    const calls = answerWith([409, stream(2, {a: 'pixelize'})], [200, {revision: 3}]);
    assert.deepEqual(await applyDraft(draft, async () => 'both'), {done: true});
    assert.deepEqual(calls[1], ['Hide', changed.id, 'gblur', 2]);
    assert.notEqual(changed.id, 'a');
    drafts.sync(draft, stream(3, {a: 'pixelize', [changed.id]: 'gblur'}));
    assert.equal(layerOf(draft, 'a').server, 'pixelize');
});
