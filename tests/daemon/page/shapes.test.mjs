// SPDX-License-Identifier: BSD-2-Clause
// Tests of daemon/page/shapes.js.
import assert from 'node:assert/strict';
import test from 'node:test';

import {
    bounds, boxOf, dragHandle, handlesOf, moveShape, parseShapes, writeShapes,
} from '../../../daemon/page/shapes.js';

test('reads and writes', () => {
    const text = 'rect 10% 20% 30% 40%+ellipse 1.25% 2% 3% 4%+polygon 0% 0% 50% 0% 25% 100%';
    assert.equal(writeShapes(parseShapes(text)), text);
    assert.equal(parseShapes('rect 1% 1% 1% 1% ellipse 2% 2% 2% 2%').length, 2);
});

test('pixels become percent of the frame', () => {
    const frame = {width: 1280, height: 720};
    assert.deepEqual(parseShapes('rect 640 360 128 72', frame),
        [{kind: 'rect', x: 50, y: 50, w: 10, h: 10}]);
    assert.equal(parseShapes('rect 640 360 128 72'), null);
    assert.deepEqual(parseShapes('rect 0 0 25% 100%'), [{kind: 'rect', x: 0, y: 0, w: 25, h: 100}]);
});

test('refuses what cannot be drawn', () => {
    for (const text of ['', 'faces', 'mask a.png', 'rect 1% 2% 3%', 'rect 1% 2% 0% 4%',
        'polygon 1% 2% 3% 4%', 'polygon 1% 2% 3% 4% 5% 6% 7%', 'rect a b c d'])
        assert.equal(parseShapes(text), null, text);
});

test('moves, but not out of the frame', () => {
    const box = {kind: 'rect', x: 10, y: 10, w: 20, h: 20};
    moveShape(box, 5, -5);
    assert.deepEqual(box, {kind: 'rect', x: 15, y: 5, w: 20, h: 20});
    moveShape(box, 1000, 0);
    assert.equal(box.x, 90);
    const polygon = {kind: 'polygon', points: [[0, 0], [10, 0], [10, 10]]};
    moveShape(polygon, 1, 2);
    assert.deepEqual(polygon.points, [[1, 2], [11, 2], [11, 12]]);
});

test('handles', () => {
    const box = {kind: 'ellipse', x: 10, y: 10, w: 20, h: 20};
    assert.deepEqual(dragHandle(box, 'se', [50, 60]),
        {kind: 'ellipse', x: 10, y: 10, w: 40, h: 50});
    assert.deepEqual(dragHandle(box, 'n', [0, 0]), {kind: 'ellipse', x: 10, y: 0, w: 20, h: 30});
    // Across the opposite edge: the box turns over.
    assert.deepEqual(dragHandle(box, 'w', [50, 0]), {kind: 'ellipse', x: 30, y: 10, w: 20, h: 20});
    assert.equal(handlesOf(box).length, 8);
    const polygon = {kind: 'polygon', points: [[0, 0], [10, 0], [10, 10]]};
    assert.deepEqual(dragHandle(polygon, '1', [20, 5]).points[1], [20, 5]);
    assert.deepEqual(bounds(polygon), {x: 0, y: 0, w: 10, h: 10});
    assert.ok(boxOf('rect', [5, 5], [5, 5]).w > 0);
});
