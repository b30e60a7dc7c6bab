// SPDX-License-Identifier: BSD-2-Clause
// Tests of daemon/page/format.js.
import assert from 'node:assert/strict';
import test from 'node:test';

import {capital, hiddenPart, plainError} from '../../../daemon/page/format.js';

test('sentences begin with a capital, addresses and chains stay', () => {
    for (const [text, shown] of [['no frame for 3 s', 'No frame for 3 s'], ['running', 'Running'],
        ['on-demand: closed', 'On-demand: closed'], ['rtsp://door/***: away', 'rtsp://door/***: away'],
        ['hide=how=solid', 'hide=how=solid'], ['/dev/video0: busy', '/dev/video0: busy'],
        ['x264 failed', 'x264 failed'], ['', ''], [undefined, '']])
        assert.equal(capital(text), shown);
});

test('what is hidden is said of the picture', () => {
    for (const [planes, words] of [[[0.241, 0.243, 0.243], '24 % of the picture'],
        [[1, 1, 1], 'all of the picture'], [[0, 0, 0], 'nothing'],
        [[0.999], '99 % of the picture'], [[0.004, 0.004], 'less than 1 % of the picture'],
        [[1, 0, 0], 'all of the brightness, nothing of the colours']])
        assert.equal(hiddenPart({planes, words: 'x'}), words);
    assert.equal(hiddenPart({feed: true, words: 'as a detector says'}), 'as a detector says');
    assert.equal(hiddenPart(undefined), 'not known yet');
});

test('errors are about the field under which they stand', () => {
    assert.equal(plainError('filters: column 1: unknown filter gblr (nearest: gblur)'),
        'Unknown filter gblr (nearest: gblur)');
});
