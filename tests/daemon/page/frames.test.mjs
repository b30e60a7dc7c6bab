// SPDX-License-Identifier: BSD-2-Clause
// Tests of daemon/page/frames.js.
import assert from 'node:assert/strict';
import test from 'node:test';

import {createReader, decodeJson} from '../../../daemon/page/frames.js';

function message(kind, slot, payload) {
    const bytes = new Uint8Array(8 + payload.length);
    const view = new DataView(bytes.buffer);
    view.setUint8(0, kind.charCodeAt(0));
    view.setUint8(1, slot);
    view.setUint32(4, payload.length);
    bytes.set(payload, 8);
    return bytes;
}

const text = (s) => new TextEncoder().encode(s);
const sent = [['J', 3, text('jpeg')], ['S', 0, text('{"status":{}}')], ['X', 255, text('')],
    ['F', 255, new Uint8Array(5000).fill(7)]];
const stream = Buffer.concat(sent.map((m) => message(...m)));

for (const size of [1, 2, 3, 7, 8, 9, 100, stream.length])
    test(`pieces of ${size} bytes`, () => {
        const got = [];
        const reader = createReader((m) => got.push([m.kind, m.slot, m.payload]));
        for (let at = 0; at < stream.length; at += size)
            reader.feed(new Uint8Array(stream.subarray(at, at + size)));
        assert.deepEqual(got, sent);
    });

test('impossible lengths', () => {
    const reader = createReader(() => {});
    assert.throws(() => reader.feed(new Uint8Array([74, 0, 0, 0, 255, 255, 255, 255])));
});

test('JSON', () => {
    assert.deepEqual(decodeJson(text('{"lost":3}')), {lost: 3});
});
