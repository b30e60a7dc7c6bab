// SPDX-License-Identifier: BSD-2-Clause
// Tests of daemon/page/charts.js and format.js.
import assert from 'node:assert/strict';
import test from 'node:test';

import {extremes, niceTop, pathOf} from '../../../daemon/page/charts.js';
import {bytes, duration, figures, milliseconds} from '../../../daemon/page/format.js';

test('round numbers above the samples', () => {
    assert.deepEqual([0, 0.4, 1, 1.1, 24, 31, 99, 1000].map((n) => niceTop(n)),
        [1, 0.4, 1, 1.5, 30, 40, 100, 1000]);
});

test('round numbers of bytes', () => {
    assert.equal(niceTop(300 << 20, true), 300 << 20);
    assert.equal(niceTop(1000 << 20, true), 1000 << 20);
    assert.equal(niceTop(1.2 * 2 ** 30, true), 1.5 * 2 ** 30);
});

test('paths end at the right, and are interrupted where nothing is known', () => {
    assert.equal(pathOf([0, 10], 3, 10, 100, 50), 'M50.0 50.0L100.0 0.0');
    assert.equal(pathOf([5, null, 5], 3, 10, 100, 50), 'M0.0 25.0M100.0 25.0');
    assert.equal(pathOf([], 3, 10, 100, 50), '');
    assert.equal(pathOf([20], 3, 10, 100, 50), 'M100.0 0.0'); // clipped
});

test('extremes', () => {
    assert.equal(extremes([null]), null);
    assert.deepEqual(extremes([1, null, 3, 2]), {now: 2, least: 1, most: 3});
});

test('texts', () => {
    assert.equal(bytes(1536), '1.5 KiB');
    assert.equal(bytes(null), '-');
    assert.equal(milliseconds(3.14), '3.1 ms');
    assert.equal(duration(7200), '2 hours');
    const shown = figures({rate: 25, dropped: {late: 1, rate: 2},
        stages: {total: {count: 1, p50: 3, p99: 12}}, viewers: 2, coverage: {words: 'all'}});
    assert.deepEqual(shown, {rate: '25.0 fps', p50: '3.0 ms', p99: '12 ms', drops: '1',
        viewers: '2', coverage: 'all'});
});
