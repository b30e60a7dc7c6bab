// SPDX-License-Identifier: BSD-2-Clause
// Tests of daemon/page/chain.js.
import assert from 'node:assert/strict';
import test from 'node:test';

import {ChainError, parseChain, problemOf, writeChain} from '../../../daemon/page/chain.js';

test('names, values and options', () => {
    assert.deepEqual(parseChain('gblur=sigma=12:planes=1,pixelize=16:24,null'), [
        {kind: 'gblur', options: {sigma: '12', planes: '1'}, values: []},
        {kind: 'pixelize', options: {}, values: ['16', '24']},
        {kind: 'null', options: {}, values: []},
    ]);
    assert.deepEqual(parseChain(' '), []);
});

test('quotes and backslashes are processed twice', () => {
    const [filter] = parseChain("solid=region='mask /a\\:b, c.png'");
    assert.equal(filter.options.region, 'mask /a:b, c.png');
    const [other] = parseChain("convolution=0m='1 2 1':0rdiv=1/4");
    assert.deepEqual(other.options, {'0m': '1 2 1', '0rdiv': '1/4'});
});

test('regions need no quotes', () => {
    const text = 'gblur=sigma=20:region=rect 10% 20% 30% 40%+ellipse 1% 2% 3% 4%:feather=5';
    assert.equal(writeChain(parseChain(text)), text);
});

test('what is written is read again', () => {
    const pieces = ['a', ' ', "'", '\\', ':', ',', ';', '[', ']', '=', '%', '#', 'é', '\n'];
    let seed = 1;
    const next = (n) => (seed = (seed * 48271) % 2147483647) % n;
    for (let i = 0; i < 20000; i++) {
        const piece = () => pieces[next(pieces.length)];
        const text = () => Array.from({length: next(8)}, piece).join('');
        const filters = [
            {kind: 'solid', options: {region: text(), color: text()}, values: []},
            {kind: 'gblur', options: {sigma: text()}, values: []},
        ];
        assert.deepEqual(parseChain(writeChain(filters)), filters, writeChain(filters));
    }
});

test('errors', () => {
    for (const text of ["gblur='", 'gblur\\', 'a,', 'a;b', '[in]a', ',a', 'a=b=1:b=2'])
        assert.throws(() => parseChain(text), ChainError, text);
});

test('errors of the daemon belong to a field', () => {
    for (const [chain, message, problem] of [
        ['solid,gblur=sigma=-4', 'column 19: gblur: sigma=-4: must be between 0 and 200',
            {filter: 1, option: 'sigma', text: 'must be between 0 and 200'}],
        ["solid=region='mask a,b',hide=n=99", 'filters: column 32: hide: n=99: must be between 1 and 16',
            {filter: 1, option: 'n', text: 'must be between 1 and 16'}],
        ['solid=region=rect 1 1', 'column 14: solid: region, column 9: a width is missing here',
            {filter: 0, option: 'region', text: 'a width is missing here'}],
        ['solid=color=a:b', 'column 13: solid: color=a: must be an opaque colour: a name such as gray',
            {filter: 0, option: 'color', text: 'must be an opaque colour: a name such as gray'}],
        ['gblur=sigm=3', 'column 7: gblur: unknown option sigm (nearest: sigma)',
            {filter: 0, text: 'gblur: unknown option sigm (nearest: sigma)'}],
        ['null', 'these filters pass frames unchanged', {text: 'these filters pass frames unchanged'}],
    ])
        assert.deepEqual(problemOf(chain, message), problem);
});
