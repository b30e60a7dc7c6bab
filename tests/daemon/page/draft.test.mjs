// SPDX-License-Identifier: BSD-2-Clause
// Tests of daemon/page/draft.js.
import assert from 'node:assert/strict';
import test from 'node:test';

import * as drafts from '../../../daemon/page/draft.js';

const BASE = 'gblur=sigma=12:region=rect 10 10 50% 50%';

function stream(revision, hides, base = BASE) {
    return {name: 'door', width: 1000, height: 500, revision, base, hides};
}

function filter(shapes) {
    const made = {kind: 'gblur', options: {sigma: '20'}, values: [], shapes};
    drafts.shapesChanged(made);
    return made;
}

const box = () => ({kind: 'rect', x: 1, y: 2, w: 3, h: 4});
const layerOf = (draft, id) => draft.layers.find((layer) => layer.id === id);

test('what was not touched keeps its text', () => {
    const draft = drafts.createDraft(stream(1, {a: " solid = c='red' "}));
    assert.deepEqual(drafts.changedLayers(draft), []);
    assert.equal(drafts.wholeChain(draft).text, `${BASE},solid = c='red'`);
    assert.deepEqual(layerOf(draft, '').filters[0].shapes,
        [{kind: 'rect', x: 1, y: 2, w: 50, h: 50}]);
});

test('a new region gets a free id and is removed at once', () => {
    const draft = drafts.createDraft(stream(1, {'page-1': 'solid'}));
    const layer = drafts.addLayer(draft, filter([box()]));
    assert.match(layer.id, /^page-[0-9a-z]+$/);
    assert.notEqual(layer.id, 'page-1');
    assert.equal(drafts.layerText(layer), 'gblur=sigma=20:region=rect 1% 2% 3% 4%');
    drafts.removeLayer(draft, layer);
    assert.equal(draft.layers.length, 2);
    drafts.removeLayer(draft, layerOf(draft, 'page-1'));
    assert.equal(drafts.wholeChain(draft).text, BASE);
    drafts.revert(draft, layerOf(draft, 'page-1'));
    assert.deepEqual(drafts.changedLayers(draft), []);
});

test('regions replace the base', () => {
    const draft = drafts.createDraft(stream(1, {a: 'hide=region=rect 1 1 9 9'}, 'gblur=sigma=20'));
    drafts.addLayer(draft, filter([box()]));
    assert.ok(drafts.hasOnlyRegions(draft));
    drafts.moveToBase(draft);
    const drawn = 'gblur=sigma=20:region=rect 1% 2% 3% 4%';
    assert.deepEqual(drafts.changedLayers(draft).map((layer) => [layer.id, drafts.layerText(layer)]),
        [['', `hide=region=rect 1 1 9 9,${drawn}`], ['a', '']], 'the base is applied first');
    assert.equal(drafts.wholeChain(draft).text, `hide=region=rect 1 1 9 9,${drawn}`);
    assert.deepEqual(layerOf(draft, '').filters[1].shapes, [box()]);
    assert.ok(!drafts.hasOnlyRegions(draft), 'nothing is left to be moved');
    drafts.revert(draft, layerOf(draft, ''));
    assert.deepEqual(drafts.changedLayers(draft), [], 'what was in force is not removed');
});

test('regions stay where renditions have a base of their own', () => {
    const hides = {a: 'hide=region=rect 1 1 9 9'};
    const draft = drafts.createDraft({...stream(1, hides), renditions: {record: 'gblur'}});
    assert.ok(!drafts.hasOnlyRegions(draft));
    drafts.sync(draft, stream(2, hides));
    assert.ok(drafts.hasOnlyRegions(draft));
    drafts.sync(draft, {...stream(3, hides), renditions: {record: 'gblur'}});
    assert.ok(!drafts.hasOnlyRegions(draft));
});

test('layers are in the order of their names, as the daemon has them', () => {
    const draft = drafts.createDraft(stream(1, {m: 'solid'}));
    const layer = drafts.addLayer(draft, filter([box()]));
    assert.deepEqual(draft.layers.map(({id}) => id), ['', 'm', layer.id]);
    drafts.rename(draft, layer, 'a');
    assert.deepEqual(draft.layers.map(({id}) => id), ['', 'a', 'm']);
});

test('what hides the whole picture is no region', () => {
    const draft = drafts.createDraft(stream(1, {a: 'solid', b: 'hide=region=rect 1 1 9 9'}));
    assert.ok(!drafts.hasOnlyRegions(draft));
    drafts.removeLayer(draft, layerOf(draft, 'a'));
    assert.ok(drafts.hasOnlyRegions(draft));
    drafts.setText(layerOf(draft, 'b'), "hide=region='", draft.frame);
    assert.ok(!drafts.hasOnlyRegions(draft), 'a text that cannot be read');
});

test('a filter without shapes applies everywhere', () => {
    const made = filter([box()]);
    Object.assign(made.options, {invert: '1', feather: '5'});
    made.shapes = [];
    drafts.shapesChanged(made);
    assert.deepEqual(made.options, {sigma: '20'});
});

test('the whole chain says where its filters come from', () => {
    const draft = drafts.createDraft(stream(1, {b: 'solid,null', a: 'pixelize'}));
    const {text, from} = drafts.wholeChain(draft);
    assert.equal(text, `${BASE},pixelize,solid,null`);
    assert.deepEqual(from.map(([layer, i]) => [layer.id, i]),
        [['', 0], ['a', 0], ['b', 0], ['b', 1]]);
});

test('changes of others are taken over where nothing was drawn', () => {
    const draft = drafts.createDraft(stream(1, {a: 'solid'}));
    const {id} = drafts.addLayer(draft, filter([box()]));
    assert.equal(drafts.sync(draft, stream(2, {b: 'pixelize'}, 'null')), false);
    assert.deepEqual(draft.layers.map((layer) => layer.id), ['', 'b', id]);
    assert.equal(draft.revision, 2);
    assert.equal(layerOf(draft, '').server, 'null');
});

test('a layer that both changed is a conflict', () => {
    const draft = drafts.createDraft(stream(1, {a: 'solid'}));
    const layer = layerOf(draft, 'a');
    layer.filters[0].options.color = 'red';
    layer.touched = true;
    assert.equal(drafts.sync(draft, stream(2, {a: 'pixelize'})), true);
    assert.equal(draft.revision, 1);
    assert.equal(drafts.layerText(layer), 'solid=color=red');
});

test('a layer that others removed meanwhile is a conflict', () => {
    const draft = drafts.createDraft(stream(1, {a: 'solid'}));
    const layer = layerOf(draft, 'a');
    Object.assign(layer.filters[0].options, {color: 'red'});
    layer.touched = true;
    assert.equal(drafts.sync(draft, stream(2, {})), true);
    assert.deepEqual(drafts.changedLayers(draft), [layer]);
});

test('what was applied is in force, also if the status says so first', () => {
    const draft = drafts.createDraft(stream(1, {}));
    const layer = drafts.addLayer(draft, filter([box()]));
    const text = drafts.layerText(layer);
    assert.equal(drafts.sync(draft, stream(2, {[layer.id]: text})), false);
    assert.deepEqual(drafts.changedLayers(draft), []);
    layer.filters[0].options.sigma = '30';
    layer.touched = true;
    drafts.settle(draft, layer, text); // an older text: the newer one is still to be applied
    assert.deepEqual(drafts.changedLayers(draft), [layer]);
    drafts.settle(draft, layer, drafts.layerText(layer));
    assert.deepEqual(drafts.changedLayers(draft), []);
    drafts.removeLayer(draft, layer);
    drafts.settle(draft, layer, '');
    assert.equal(draft.layers.length, 1);
});

test('text that is no chain is kept as text', () => {
    const draft = drafts.createDraft(stream(1, {a: "gblur='"}));
    assert.equal(layerOf(draft, 'a').raw, "gblur='");
    assert.equal(drafts.wholeChain(draft).text, `${BASE},gblur='`);
});

test('two people who draw at the same time choose other names', () => {
    const ids = new Set(Array.from({length: 200}, () =>
        drafts.addLayer(drafts.createDraft(stream(1, {})), filter([box()])).id));
    assert.equal(ids.size, 200);
});

test('a new region with a name that somebody else has taken stays beside theirs', () => {
    const draft = drafts.createDraft(stream(1, {}));
    const layer = drafts.addLayer(draft, filter([box()]));
    drafts.rename(draft, layer, 'sign');
    assert.equal(drafts.sync(draft, stream(2, {sign: 'solid'})), false);
    assert.notEqual(layer.id, 'sign');
    assert.equal(layerOf(draft, 'sign').server, 'solid');
    assert.deepEqual(drafts.changedLayers(draft), [layer]);
});

test('what was drawn can be undone', () => {
    const draft = drafts.createDraft(stream(1, {a: 'solid'}));
    const before = drafts.snapshot(draft);
    const layer = drafts.addLayer(draft, filter([box()]));
    const drawn = drafts.snapshot(draft);
    layer.filters[0].shapes[0].x = 50;
    drafts.shapesChanged(layer.filters[0]);
    drafts.removeLayer(draft, layerOf(draft, 'a'));
    drafts.restore(draft, drawn);
    assert.equal(drafts.wholeChain(draft).text,
        `${BASE},solid,gblur=sigma=20:region=rect 1% 2% 3% 4%`);
    assert.deepEqual(layerOf(draft, layer.id).filters[0].shapes, [box()]);
    drafts.restore(draft, before);
    assert.equal(drafts.wholeChain(draft).text, `${BASE},solid`);
    assert.deepEqual(drafts.changedLayers(draft), []);
});

test('a summary is in plain words where there are some', () => {
    const draft = drafts.createDraft(stream(1, {a: 'hide=how=solid:region=rect 1 1 9 9',
        b: 'hide=cells', c: 'gblur=sigma=20,unsharp', d: 'unsharp=la=-1:region=faces'}));
    assert.deepEqual(draft.layers.slice(1).map(drafts.summary),
        ['One colour', 'A few cells', 'Blurred and 1 more', 'unsharp=la=-1']);
});
