#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# mutants.py [--cuda] [--build DIR | --run DIR] [NUMBER ...]: one wrong tap, one wrong border row:
# does the kernel check see it?
"""Copies the tree, changes one place of one strategy, builds the kernel check and runs it until its
first failure, which must be of that strategy, or of the backend's own choice, which may have been
that one. A few cases come first, for most mutants fail in those. A mutant that lives is a hole in
the check. The reference and what it shares with the strategies (conv*.c, border.h) are not mutated:
the accuracy test holds those. With --cuda also strategies of CUDA, where nvcc and a device are.
Where they are not on one machine, --build DIR leaves the kernel check of each CUDA mutant in DIR on
the one, and --run DIR runs them on the other, which needs Python alone."""
import argparse
import os
import subprocess
import sys
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from halotest.mutation import run, tree, walk  # noqa: E402

CPU = 'kernels/cpu/'
CUDA = 'kernels/cuda/'
TIME_LIMIT = 600  # seconds for one kernel check
CHECK = 'tests/kernels/kernels-check'
EXTENTS = (['--thin'], ['--random', '300'], [])  # the last is the whole list

# A strategy that ends with a slash: any of that backend.
Mutant = namedtuple('Mutant', 'what file old new strategy')
MUTANTS = [
    Mutant('the last tap of odd outputs is lost', CPU + 'rows_tmpl.c',
           't->odd[k] = pair(k > 0 ? w[2 * k - 1] : 0, w[2 * k]);',
           't->odd[k] = pair(k > 0 ? w[2 * k - 1] : 0, k == radius ? 0 : w[2 * k]);', 'cpu/rows'),
    Mutant('the second row of a window is taken twice', CPU + 'rows_fir_tmpl.h',
           'w->rows[i] = ring_row(r, j + i);', 'w->rows[i] = ring_row(r, j + (i ? i : 1));',
           'cpu/rows'),
    Mutant('one difference of rows is left out', CPU + 'rows_fir_tmpl.h',
           'odd, f->odd, odds, pairs);', 'odd, f->odd, odds > 20 ? 20 : odds, pairs);', 'cpu/rows'),
    Mutant('the last row of the band misses the row below it', CPU + 'rows_dense_tmpl.h',
           '(s->y1 - s->y0 + 1) / 2 * 2', '(s->y1 - s->y0)', 'cpu/rows'),
    Mutant('a row by steps loses its last step', CPU + 'rows_steps_tmpl.h',
           'for (int i = 0; i <= t->taps; i++) {', 'for (int i = 0; i < t->taps; i++) {',
           'cpu/rows'),
    Mutant('no rounding in the row pass of the identity', CPU + 'rows_separable_tmpl.h',
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
    Mutant('stray bits of a word are not clipped', CPU + 'rows_vector_tmpl.h',
           'return v > max ? max : v;', 'return v > max ? v & max : v;', 'cpu/rows'),
    Mutant('a dense sum is clamped one too high', CPU + 'rows_dense_tmpl.h',
           'shift = c->mask_bits, max = halo_sample_max(c->depth);',
           'shift = c->mask_bits, max = halo_sample_max(c->depth) + 1;', 'cpu/rows'),
    Mutant('the lower of two rows misses its last mask row', CPU + 'rows_fir_tmpl.h',
           'add_row(NULL, b, of.rows[of.step] + of.at, NULL, w, pairs);',
           'if (count > 3) add_row(NULL, b, of.rows[of.step] + of.at, NULL, w, pairs);',
           'cpu/rows'),
    Mutant('64-bit sums of dense masks lose their last tap', CPU + 'rows_dense_tmpl.h',
           'for (int i = 0; i < taps_x; i++, w++) {',
           'for (int i = 0; i < taps_x; i += sizeof(type) > 4 && i == taps_x - 2 ? 2 : 1, w++) {',
           'cpu/rows'),
    Mutant('a gradient swaps two rows', CPU + 'rows_gradient_tmpl.h',
           'const v32 v = load(rows[j] + at + 2 * k);',
           'const v32 v = load(rows[j == 2 ? 1 : j] + at + 2 * k);', 'cpu/rows'),
    Mutant('both channels have the first one\'s colour', CPU + 'rows_tmpl.c',
           'job->conv->mask[i % dst->channels]', 'job->conv->mask[0]', 'cpu/rows'),
    Mutant('the mean of a block is rounded down', CPU + 'rows_pixelize_tmpl.h',
           '(sum + (uint64_t)n * (uint64_t)rows / 2)', '(sum + 0 * (uint64_t)rows)', 'cpu/rows'),
    Mutant('a box rounds up where it should not', CPU + 'box_tmpl.c',
           'const uint32_t half = (uint32_t)b->area / 2, m', 'const uint32_t half = '
           '(uint32_t)b->area / 2 + 1, m', 'cpu/running-sums'),
    Mutant('a box begins one column late', CPU + 'box_tmpl.c', '*restrict left = zeros;',
           '*restrict left = zeros + (b->length > 300);', 'cpu/running-sums'),
    Mutant('a small box rounds up where it should not', CPU + 'box_words_tmpl.h',
           'uint32_t sum = (uint32_t)b->area / 2;', 'uint32_t sum = (uint32_t)b->area / 2 + 1;',
           'cpu/running-sums'),
    Mutant('a reciprocal is a little too small', CPU + 'box_words_tmpl.h',
           'b->unit = nextafterf(b->unit, 1);', 'b->unit = nextafterf(b->unit, 0);',
           'cpu/running-sums'),
    Mutant('differences of high columns lose their sign', CPU + 'box_words_tmpl.h',
           'column > INT16_MAX];', 'column > UINT16_MAX];', 'cpu/running-sums'),
    Mutant('ghosts on the right repeat the column before', CPU + 'box_columns_tmpl.h',
           'right[i] = left[b->repeated[ghosts + i]];',
           'right[i] = left[b->repeated[ghosts + i - (i == 3)]];', 'cpu/running-sums'),
    Mutant('upper lanes of AVX2 miss the sums of the lower ones', CPU + 'rows_vector_tmpl.h',
           'v += lower + *before;', 'v += *before;', 'cpu/running-sums-avx2'),
    Mutant('a ghost column is that of one pixel', CPU + 'nodes_gather_tmpl.h',
           '? area * (uint32_t)c->border_value', '? (uint32_t)c->border_value', 'cpu/nodes'),
    Mutant('the last node of a line is an old one', CPU + 'nodes_gather_tmpl.h',
           'const int n = b->count + 2 * c->reach_x;',
           'const int n = b->count + 2 * c->reach_x - 1;', 'cpu/nodes'),
    Mutant('wide Gaussians are rounded down', CPU + 'nodes_blur_tmpl.h', 'sum * unit + 0.5',
           'sum * unit + 0.4', 'cpu/nodes'),
    Mutant('the last column of a region is not filtered', 'kernels/region.c',
           'x1 = most(x1, least(r->x1, width));', 'x1 = most(x1, least(r->x1, width) - 1);',
           'cpu/rows'),
    Mutant('weights near 255 are taken for 255', CPU + 'region.c', 'else if (all < 255)',
           'else if (all < 240)', 'cpu/rows'),
    Mutant('naive leaves the last tap out', CUDA + 'naive.cu', 'i <= in.radius_x; i++)\n',
           'i < in.radius_x; i++)\n', 'cuda/naive'),
    Mutant('the first row below the picture is its last', CUDA + 'naive.cu', 'in.channels, y + j);',
           'in.channels, y + j == in.height ? y + j - 1 : y + j);', 'cuda/naive'),
    Mutant('output-tile loads a column too few', CUDA + 'output_tile.cu', 'if (tx < in.halo)',
           'if (tx + 1 < in.halo)', 'cuda/output-tile'),
    Mutant('column passes take the row above a tile from within', CUDA + 'passes.cuh',
           'in.input(e, tile.y + i);', 'in.input(e, tile.y + max(i, 1));', 'cuda/'),
    Mutant('a load in steps ends a cell early', CUDA + 'output_tile.cu',
           'i < tile.columns * tile.rows;', 'i + 1 < tile.columns * tile.rows;',
           'cuda/output-tile/steps'),
    Mutant('coarse-tile reads its last cell twice', CUDA + 'coarse_tile.cu',
           'cells[(i + OUTPUTS - 1) * stride];',
           'cells[(i + OUTPUTS - 1 - (i == taps - 1)) * stride];', 'cuda/coarse-tile'),
    Mutant('the upper edge of a tile is a row late', CUDA + 'passes.cuh', 'y - radius_y, width',
           'y - max(radius_y - 1, 0), width', 'cuda/'),
    Mutant('the eighth output of a thread gets nothing', CUDA + 'coarse_tile.cu',
           'for (int k = 0; k < OUTPUTS; k++)\n            sums[k] +=',
           'for (int k = 0; k < (OUTPUTS < 8 ? OUTPUTS : 7); k++)\n            sums[k] +=',
           'cuda/coarse-tile/8'),
    Mutant('the tiles of a row leave a gap of one', CUDA + 'passes.cuh',
           'block.x * outputs.x,', 'block.x * (outputs.x + Pass::ROWS),', 'cuda/'),
    Mutant('rows of a dense mask lose their last tap', CUDA + 'input_tile.cu',
           'i <= in.radius_x; i++)\n', 'i < in.radius_x || (weights++, false); i++)\n',
           'cuda/input-tile'),
    Mutant('a core goes on below the picture', CUDA + 'core_tile.cu',
           'const int rows = min(HEIGHT, in.height - first_y);', 'const int rows = HEIGHT;',
           'cuda/core-tile'),
    Mutant('the first column of a core is its second', CUDA + 'core_tile.cu', 'core[j][x]',
           'core[j][max(x, 1)]', 'cuda/core-tile'),
    Mutant('gradients take the row above a tile from within', CUDA + 'gradient_tile.cu',
           'y0 - 1, columns', 'y0 - (y0 > 0 ? 0 : 1), columns', 'cuda/gradient-tile'),
    Mutant('the warps before the last are not summed up', CUDA + 'running_sums.cu',
           'for (int w = 0; w < warp; w++)', 'for (int w = 0; w < warp - 1; w++)',
           'cuda/running-sums'),
    Mutant('the row that leaves a window leaves late', CUDA + 'running_sums.cu',
           'load_sums<INSIDE>(out, wide, stride, height, e, y - pass.radius, pass);',
           'load_sums<INSIDE>(out, wide, stride, height, e, y - pass.radius - (y == 40), pass);',
           'cuda/running-sums'),
    Mutant('blocks are averaged without rounding', CUDA + 'pixelize.cu',
           'value = (value + width * height / 2)', 'value = (value + 0 * height / 2)',
           'cuda/naive'),
    Mutant('both channels have the first one\'s colour', CUDA + 'solid.cu',
           'conv->mask[dst.channels - 1]', 'conv->mask[0]', 'cuda/naive'),
    Mutant('a copy leaves the last sample of a row out', CUDA + 'copy.cu',
           'for (int b = 0; b < left;', 'for (int b = 0; b + sample_bytes < left;',
           'cuda/tensor'),
    Mutant('a band of ones ends a row early', CUDA + 'box_bands.cu',
           'below <= 2 * conv->radius_y', 'below < 2 * conv->radius_y', 'cuda/box-bands'),
    Mutant('box-bands takes the first row below the picture for the next', CUDA + 'box_bands.cu',
           'halo_far_index(from, s.plane.height,',
           'halo_far_index(from + (from == s.plane.height), s.plane.height,', 'cuda/box-bands'),
    Mutant('the row that leaves the window of box-stream leaves late', CUDA + 'box_columns.cuh',
           'load_cells<EDGE>(s, y + i + AHEAD - radius - 1)',
           'load_cells<EDGE>(s, y + i + AHEAD - radius)', 'cuda/box-stream'),
    Mutant('box-stream takes the first row above the picture for the next', CUDA + 'box_stream.cu',
           'halo_far_index(first_y + i,', 'halo_far_index(first_y + i - (first_y + i == -1),',
           'cuda/box-stream'),
    Mutant('box-slide starts with rows of the window left out', CUDA + 'box_starts.cuh',
           'for (int i = down - whole; i < down; i++)',
           'for (int i = down - whole + 1; i < down; i++)', 'cuda/box-slide'),
    Mutant('box-slide takes the last columns for those before', CUDA + 'box_slide.cu',
           'min(max(from.a - first_e, 0) / 4, end)', 'min(max(from.a - first_e, 0) / 4, end - 1)',
           'cuda/box-slide'),
    Mutant('a long step of box-slide is a short one', CUDA + 'box_slide.cu',
           'l.long_step = reach % 4 == 1 || reach % 4 == 2;', 'l.long_step = reach % 4 == 1;',
           'cuda/box-slide'),
    Mutant('direct has the rows above the picture below it', CUDA + 'direct.cuh',
           '(y < 0 ? ghosts.above : ghosts.below)', '(y < 0 ? ghosts.above : ghosts.above)',
           'cuda/direct'),
    Mutant('the first ghost column of dense-rows is the second', CUDA + 'dense_rows.cu',
           'e - 2 * V::BESIDE + i, p.src',
           'e - 2 * V::BESIDE + i - (i == 2 * V::BESIDE - 1), p.src', 'cuda/dense-rows'),
    Mutant('the last row of a mask of dense-rows is lost', CUDA + 'dense_rows.cu',
           'for (int j = 0; j < V::TAPS; j++)', 'for (int j = 0; j + 1 < V::TAPS; j++)',
           'cuda/dense-rows'),
    Mutant('the last row of a tile at the edge of a region is not restored', CUDA + 'select.cuh',
           'end = min(y + ROWS, src.height);', 'end = min(y + ROWS, src.height) - 1;', 'cuda/'),
    Mutant('separable masks of deep samples change what is outside of a region',
           CUDA + 'tensor_separable_deep.cu',
           'halo_finish_tile<2, TILE_WIDTH, TILE_HEIGHT, THREADS>(share,',
           'halo_finish_tile<2, TILE_WIDTH, TILE_HEIGHT, THREADS>(HALO_SHARE_ALL,', 'cuda/tensor'),
    Mutant('the last column of a rectangle is not filtered', CUDA + 'select.cuh',
           'min(max(r.x1 - e, 0), 16)', 'min(max(r.x1 - 1 - e, 0), 16)', 'cuda/'),
    Mutant('the first ghost column of a tile of tensor is the second', CUDA + 'tensor_tile.cuh',
           'halo_border_element(t.tile.e + at + i, src, border);',
           'halo_border_element(t.tile.e + at + i - (t.tile.e + at + i == -1), src, border);',
           'cuda/tensor'),
    Mutant('nodes takes the first row below the picture for the second', CUDA + 'nodes_gather.cu',
           'halo_border_index(y, p.height, nodes.border)',
           'halo_border_index(y + (y == p.height), p.height, nodes.border)', 'cuda/nodes'),
    Mutant('a band of the tensor kernel is one tap off', CUDA + 'tensor_separable.cu',
           'static const int of_word[3] = {0, -2, 2};', 'static const int of_word[3] = {0, -2, 3};',
           'cuda/tensor'),
    Mutant('a window of direct has its rows in the wrong place', CUDA + 'direct.cu',
           't - above - n / 2)', 't - above - (n + 1) / 2)', 'cuda/direct'),
    Mutant('the mixed products of deep samples have half their weight',
           CUDA + 'tensor_separable_deep.cu', '(uint32_t)sums[MIXED][i] << 8',
           '(uint32_t)sums[MIXED][i] << 7', 'cuda/tensor'),
    Mutant('the low digit of a weight has no sign', CUDA + 'tensor_dense.cu',
           'const int low = (int8_t)(w & 255);', 'const int low = w & 127;', 'cuda/tensor'),
    Mutant('the planes of a launch share one mask', CUDA + 'mask_slots.c',
           'ret_slots[i] = (next + i) % HALO_MASK_SLOTS;', 'ret_slots[i] = next;',
           'cuda/coarse-tile'),
    Mutant('the planes of a launch share their scratch', CUDA + 'enqueue.c',
           'wide += halo_cuda_scratch_bytes(job->conv, &job->src);', '', 'cuda/coarse-tile'),
    Mutant('the last line of nodes is not kept', CUDA + 'nodes.cu',
           'min(max(line, 0), lines - 1)', 'min(max(line, 0), lines - 2)', 'cuda/nodes'),
    Mutant('a cell gives its own sums to the node after it', CUDA + 'nodes_gather.cu',
           'below[warp - 1][s][lane];', 'below[warp][s][lane];', 'cuda/nodes'),
    Mutant('the edge of a region is taken for its inside', CUDA + 'region_map.cu',
           'flags &= p.whole ?', 'flags &= p.some ?', 'cuda/'),
    Mutant('row passes leave out the rows below a region', CUDA + 'region.cuh',
           'block.y * height - wanted.reach, rows', 'block.y * height, rows',
           'cuda/'),
]


def is_of(mutant, failure):
    """Whether a line of the kernel check tells of the mutant's strategy."""
    name = failure.split(': ')[0].removeprefix('FAIL ')
    backend, strategy = mutant.strategy.split('/', 1)
    return name in (mutant.strategy, backend + '/auto') or not strategy and \
        name.startswith(mutant.strategy)


def first_failure(program, backend, extent):
    """'' where nothing failed; the second result says what else is wrong."""
    try:
        done = run(program, '--first', '--backend', backend, *extent, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return '', f'no failure in {TIME_LIMIT} s'
    if done.returncode == 77:
        return '', 'no device here'
    failures = [line for line in done.stdout.splitlines() if line.startswith('FAIL ')]
    if done.returncode and not failures:
        return '', f'the kernel check ended with status {done.returncode}'
    return failures[0] if failures else '', None


def verdict(program, mutant):
    """None where the check catches it, else what is wrong."""
    for extent in EXTENTS:
        failure, wrong = first_failure(program, mutant.strategy.split('/')[0], extent)
        if wrong:
            return wrong
        if failure:
            return None if is_of(mutant, failure) else f'another strategy failed: {failure}'
    return 'LIVES: the kernel check passes'


def try_mutant(copy, mutant):
    with copy.changed(mutant) as wrong:
        return wrong or copy.build(CHECK) or verdict(copy.program(CHECK), mutant)


def run_mutant(program, mutant):
    if not os.access(program, os.X_OK):
        return 'not built'
    return verdict(program, mutant)


def keep_mutant(copy, mutant, kept):
    with copy.changed(mutant) as wrong:
        wrong = wrong or copy.build(CHECK)
        if not wrong:
            run('strip', '-o', kept, copy.program(CHECK))
    return wrong


def walk_chosen(arguments, judge, wanted='caught'):
    def action(number, mutant):
        cuda = mutant.strategy.startswith('cuda')
        if cuda and not arguments.cuda or not cuda and (arguments.build or arguments.run):
            return None, ''
        wrong = judge(number, mutant)
        return not wrong, wrong or wanted
    return walk(MUTANTS, arguments.numbers, action, lambda mutant: mutant.strategy)


def walk_tree(arguments):
    with tree('-Dbuildtype=release', '-Dcuda=' + ('enabled' if arguments.cuda else 'disabled'),
              '-Dgpu_archs=90') as copy:
        wrong = copy.build(CHECK)
        if wrong:
            sys.exit(f'mutants: {wrong}')
        if not arguments.build:
            return walk_chosen(arguments, lambda _, mutant: try_mutant(copy, mutant))
        os.makedirs(arguments.build, exist_ok=True)
        return walk_chosen(arguments, lambda number, mutant: keep_mutant(
            copy, mutant, os.path.join(arguments.build, str(number))), 'built')


def main():
    parser = argparse.ArgumentParser(description='Mutants of the strategies that the kernel check '
                                                 'must catch.')
    parser.add_argument('--cuda', action='store_true', help='those of CUDA too')
    parser.add_argument('--build', metavar='DIR', help='those of CUDA, only built, into DIR')
    parser.add_argument('--run', metavar='DIR', help='those that --build has left in DIR')
    parser.add_argument('numbers', nargs='*', type=int, help='only these, from 1 (default: all)')
    arguments = parser.parse_args()
    arguments.cuda |= bool(arguments.build or arguments.run)
    if arguments.run:
        sys.exit(walk_chosen(arguments, lambda number, mutant: run_mutant(
            os.path.join(arguments.run, str(number)), mutant)))
    sys.exit(walk_tree(arguments))


if __name__ == '__main__':
    main()
