#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# mutants.py [--cuda] [NUMBER ...]: does the kernel check see one wrong tap, one wrong border row?
"""Copies the tree, changes one place of one strategy, builds the kernel check and runs it until its
first failure, which must be of that strategy. A mutant that lives is a hole in the check. The
reference and what it shares with the strategies (conv.c, border.h) are not mutated: the accuracy
test holds those. With --cuda also strategies of CUDA, where nvcc and a device are."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CPU = 'kernels/cpu/'
CUDA = 'kernels/cuda/'

Mutant = namedtuple('Mutant', 'what file old new strategy')
MUTANTS = [
    Mutant('the last tap of odd outputs is lost', CPU + 'rows_tmpl.c',
           't->odd[k] = pair(k > 0 ? w[2 * k - 1] : 0, w[2 * k]);',
           't->odd[k] = pair(k > 0 ? w[2 * k - 1] : 0, k == radius ? 0 : w[2 * k]);', 'cpu/rows'),
    Mutant('the uppermost rows of a window are taken twice', CPU + 'rows_tmpl.c',
           'const v32 *p = ring[k] + i;', 'const v32 *p = ring[k > 1 ? k : t->pairs > 1] + i;',
           'cpu/rows'),
    Mutant('no rounding in the row pass of the identity', CPU + 'rows_tmpl.c',
           'const v32 low = splat(0xffff), round = splat(1 << (frac - 1));',
           'const v32 low = splat(0xffff), round = splat(0 << (frac - 1));', 'cpu/rows'),
    Mutant('the first row below the picture is its last', CPU + 'rows_planes_tmpl.h',
           'halo_border_index(y, s->job->src.height, s->job->conv->border);',
           'halo_border_index(y == s->job->src.height ? y - 1 : y, s->job->src.height, '
           's->job->conv->border);', 'cpu/rows'),
    Mutant('the first column right of the picture is its last', CPU + 'rows_planes_tmpl.h',
           'const int sx = halo_border_index(x, p->width, c->border);',
           'const int sx = halo_border_index(x == p->width ? x - 1 : x, p->width, c->border);',
           'cpu/rows'),
    Mutant('stray bits of a word are not clipped', CPU + 'rows_planes_tmpl.h',
           'return v > max ? max : v;', 'return v > max ? v & max : v;', 'cpu/rows'),
    Mutant('a dense sum is not clamped from below', CPU + 'rows_dense_tmpl.h',
           'v &= v >= 0; /*', '/*', 'cpu/rows'),
    Mutant('the lower row of a pair misses its last mask row', CPU + 'rows_dense_tmpl.h',
           'add_source_row(&s, rows[taps] + offset + x, NULL, w, d->pairs);',
           'if (taps > 3) add_source_row(&s, rows[taps] + offset + x, NULL, w, d->pairs);',
           'cpu/rows'),
    Mutant('64-bit sums of dense masks lose their last tap', CPU + 'rows_dense_tmpl.h',
           'for (int i = 0; i < taps_x; i++, w++) {',
           'for (int i = 0; i < taps_x; i += sizeof(type) > 4 && i == taps_x - 2 ? 2 : 1, w++) {',
           'cpu/rows'),
    Mutant('a gradient swaps two rows', CPU + 'rows_gradient_tmpl.h',
           'const uint16_t *p = rows[j] + offset + x;',
           'const uint16_t *p = rows[j == 2 ? 1 : j] + offset + x;', 'cpu/rows'),
    Mutant('the mean of a block is rounded down', CPU + 'rows_pixelize_tmpl.h',
           '(sum + (uint64_t)n * (uint64_t)rows / 2)', '(sum + 0 * (uint64_t)rows)', 'cpu/rows'),
    Mutant('a box rounds up where it should not', CPU + 'box_tmpl.c',
           'const uint32_t half = (uint32_t)b->area / 2, m', 'const uint32_t half = '
           '(uint32_t)b->area / 2 + 1, m', 'cpu/running-sums'),
    Mutant('a box begins one column late', CPU + 'box_tmpl.c', '*restrict left = zeros;',
           '*restrict left = zeros + (b->length > 300);', 'cpu/running-sums'),
    Mutant('naive leaves the last tap out', CUDA + 'naive.cu',
           'for (int i = -pass.radius_x; i <= pass.radius_x; i++)\n        sum += (Accum)*weights',
           'for (int i = -pass.radius_x; i < pass.radius_x; i++)\n        sum += (Accum)*weights',
           'cuda/naive'),
    Mutant('output-tile loads a column too few', CUDA + 'output_tile.cu', 'if (tx < halo)',
           'if (tx + 1 < halo)', 'cuda/output-tile'),
    Mutant('a band of the tensor kernel is one tap off', CUDA + 'tensor_separable.cu',
           'static const int of_word[3] = {0, -2, 2};', 'static const int of_word[3] = {0, -2, 3};',
           'cuda/tensor'),
    Mutant('a window of direct has its rows in the wrong place', CUDA + 'direct.cu',
           't - above - n / 2)', 't - above - (n + 1) / 2)', 'cuda/direct'),
    Mutant('the low digit of a weight has no sign', CUDA + 'tensor_dense.cu',
           'const int low = (int8_t)(w & 255);', 'const int low = w & 127;', 'cuda/tensor'),
]


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', **options)


def build(tree, folder):
    done = run('ninja', '-C', folder, 'tests/kernels/kernels-check')
    if done.returncode:
        sys.exit(f'mutants: does not build:\n{done.stdout[-3000:]}')


def check(folder, backend):
    return run(f'{folder}/tests/kernels/kernels-check', '--first', '--backend', backend)


def try_mutant(tree, folder, mutant):
    """None where it was caught, else what is wrong."""
    path = os.path.join(tree, mutant.file)
    with open(path, encoding='utf-8') as file:
        whole = file.read()
    if whole.count(mutant.old) != 1:
        return f'its place is there {whole.count(mutant.old)} times, not once'
    with open(path, 'w', encoding='utf-8') as file:
        file.write(whole.replace(mutant.old, mutant.new))
    try:
        build(tree, folder)
        done = check(folder, mutant.strategy.split('/')[0])
    finally:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(whole)
    failures = [line for line in done.stdout.splitlines() if line.startswith('FAIL ')]
    if done.returncode == 0 or not failures:
        return 'LIVES: the kernel check passes'
    if not failures[0].startswith('FAIL ' + mutant.strategy):
        return f'another strategy failed: {failures[0]}'
    return None


def main():
    parser = argparse.ArgumentParser(description='Mutants of the strategies that the kernel check '
                                                 'must catch.')
    parser.add_argument('--cuda', action='store_true', help='those of CUDA too')
    parser.add_argument('numbers', nargs='*', type=int, help='only these, from 1 (default: all)')
    arguments = parser.parse_args()
    failed = skipped = passed = 0
    with tempfile.TemporaryDirectory(prefix='halo-mutants-') as work:
        tree, folder = os.path.join(work, 'tree'), os.path.join(work, 'build')
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns('.git', 'build*', 'demo'))
        done = run('meson', 'setup', folder, tree, '-Dbuildtype=release',
                   '-Dcuda=' + ('enabled' if arguments.cuda else 'disabled'), '-Dgpu_archs=90')
        if done.returncode:
            sys.exit(f'mutants: {done.stdout[-2000:]}')
        build(tree, folder)
        for number, mutant in enumerate(MUTANTS, 1):
            if arguments.numbers and number not in arguments.numbers:
                continue
            if mutant.strategy.startswith('cuda') and not arguments.cuda:
                skipped += 1
                continue
            wrong = try_mutant(tree, folder, mutant)
            print(f'{number}: {mutant.strategy}: {mutant.what}: {wrong or "caught"}', flush=True)
            failed += wrong is not None
            passed += wrong is None
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
