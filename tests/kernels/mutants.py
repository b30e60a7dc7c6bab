#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# mutants.py [--cuda] [--build DIR | --run DIR] [--seed N] [FILE ...]: one wrong tap, one wrong
# border row: does the kernel check see it?
"""Copies the tree, changes one place of one strategy (halotest/mutation.py draws it), builds the
kernel check and runs it until its first failure, which must be of that strategy, or of the
backend's own choice, which may have been that one. A few cases come first, for most mutants fail in
those. A mutant that lives and is not in SURVIVORS is a hole in the check. The reference and what it
shares with the strategies (conv*.c, border.h) are not mutated: the accuracy test holds those. With
--cuda also strategies of CUDA, where nvcc and a device are. Where they are not on one machine,
--build DIR leaves the kernel check of each CUDA mutant in DIR on the one, and --run DIR runs them
on the other, which needs Python alone."""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from halotest.mutation import described, run, tree, walk  # noqa: E402

CPU = 'kernels/cpu/'
CUDA = 'kernels/cuda/'
TIME_LIMIT = 3600  # seconds for one kernel check
CPU_LIMIT = 300  # of a processor
CHECK = 'tests/kernels/kernels-check'
EXTENTS = (['--thin'], ['--random', '300'], [])  # the last is the whole list

# How many mutants are drawn of each file, and the strategy that fails then, or the backend.
FILES = {
    CPU + 'rows_tmpl.c': (2, 'cpu/rows'),
    CPU + 'rows_fir_tmpl.h': (3, 'cpu/rows'),
    CPU + 'rows_dense_tmpl.h': (3, 'cpu/rows'),
    CPU + 'rows_steps_tmpl.h': (1, 'cpu/rows'),
    CPU + 'rows_separable_tmpl.h': (1, 'cpu/rows'),
    CPU + 'rows_planes_tmpl.h': (2, 'cpu/rows'),
    CPU + 'rows_vector_tmpl.h': (2, 'cpu/'),
    CPU + 'rows_gradient_tmpl.h': (1, 'cpu/rows'),
    CPU + 'rows_pixelize_tmpl.h': (1, 'cpu/rows'),
    CPU + 'box_tmpl.c': (2, 'cpu/running-sums'),
    CPU + 'box_words_tmpl.h': (3, 'cpu/running-sums'),
    CPU + 'box_columns_tmpl.h': (1, 'cpu/running-sums'),
    CPU + 'nodes_gather_tmpl.h': (2, 'cpu/nodes'),
    CPU + 'nodes_blur_tmpl.h': (1, 'cpu/nodes'),
    'kernels/region.c': (1, 'cpu/'),
    CPU + 'backend_cpu.c': (1, 'cpu/'),
    CUDA + 'naive.cu': (1, 'cuda/naive'),
    CUDA + 'passes.cuh': (6, 'cuda/'),
    CUDA + 'table.cu': (2, 'cuda/naive'),
    CUDA + 'coarse_tile.cu': (3, 'cuda/coarse-tile'),
    CUDA + 'input_tile.cu': (2, 'cuda/input-tile'),
    CUDA + 'gradient_tile.cu': (1, 'cuda/gradient-tile'),
    CUDA + 'running_sums.cu': (2, 'cuda/running-sums'),
    CUDA + 'pixelize.cu': (1, 'cuda/naive'),
    CUDA + 'solid.cu': (1, 'cuda/naive'),
    CUDA + 'copy.cu': (1, 'cuda/tensor'),
    CUDA + 'box_bands.cu': (2, 'cuda/box-bands'),
    CUDA + 'box_columns.cuh': (1, 'cuda/box-stream'),
    CUDA + 'box_stream.cu': (1, 'cuda/box-stream'),
    CUDA + 'box_starts.cuh': (1, 'cuda/box-slide'),
    CUDA + 'box_slide.cu': (2, 'cuda/box-slide'),
    CUDA + 'direct.cuh': (1, 'cuda/direct'),
    CUDA + 'dense_rows.cu': (2, 'cuda/dense-rows'),
    CUDA + 'select.cuh': (2, 'cuda/'),
    CUDA + 'tensor_separable_deep.cu': (2, 'cuda/tensor'),
    CUDA + 'tensor_tile.cuh': (1, 'cuda/tensor'),
    CUDA + 'nodes_gather.cu': (2, 'cuda/nodes'),
    CUDA + 'tensor_separable.cu': (1, 'cuda/tensor'),
    CUDA + 'direct.cu': (1, 'cuda/direct'),
    CUDA + 'tensor_dense.cu': (1, 'cuda/tensor'),
    CUDA + 'mask_slots.c': (1, 'cuda/coarse-tile'),
    CUDA + 'enqueue.c': (1, 'cuda/coarse-tile'),
    CUDA + 'nodes.cu': (1, 'cuda/nodes'),
    CUDA + 'region_map.cu': (1, 'cuda/'),
    CUDA + 'region.cuh': (1, 'cuda/'),
}

SEED = 1

# Mutants that live, by file: function, rule, which one, with the reason why the program does the
# same, or "open": these wait for a test.
SURVIVORS = {
    CPU + 'rows_planes_tmpl.h': {
        ('read_segment', 'number', 1): '0 is given for 0 either way',
    },
    CPU + 'rows_tmpl.c': {
        ('plan', 'number', 3): 'more scratch memory',
    },
}


def is_of(strategy, failure):
    """Whether a line of the kernel check tells of this strategy; one that ends with a slash is any
    of that backend."""
    name = failure.split(': ')[0].removeprefix('FAIL ')
    backend, one = strategy.split('/', 1)
    return name in (strategy, backend + '/auto') or not one and name.startswith(strategy)


def first_failure(program, backend, extent):
    """'' where nothing failed; the second result says what else is wrong."""
    try:
        done = run(program, '--first', '--backend', backend, *extent, cpu=CPU_LIMIT,
                   timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return '', f'no end in {TIME_LIMIT} s'
    if done.returncode == 77:
        return '', 'no device here'
    failures = [line for line in done.stdout.splitlines() if line.startswith('FAIL ')]
    if done.returncode < 0:  # it has crashed, or does not end
        return '', f'killed by signal {-done.returncode}'
    if done.returncode and not failures:
        return '', f'the kernel check ended with status {done.returncode}'
    return failures[0] if failures else '', None


def verdict(program, strategy):
    """Whether the kernel check catches it, and words."""
    for extent in EXTENTS:
        failure, wrong = first_failure(program, strategy.split('/')[0], extent)
        if wrong:
            return wrong.startswith('killed'), wrong
        if failure:
            return (True, 'caught') if is_of(strategy, failure) else \
                (False, f'another strategy failed: {failure}')
    return False, 'LIVES: the kernel check passes'


def try_mutant(copy, mutant):
    with copy.changed(mutant):
        wrong = copy.build(CHECK)
        return (None, wrong) if wrong else verdict(copy.program(CHECK), FILES[mutant.file][1])


def keep_mutant(copy, mutant, folder):
    with copy.changed(mutant):
        wrong = copy.build(CHECK)
        if wrong:
            return None, wrong
        with open(os.path.join(folder, 'list'), 'a+', encoding='utf-8') as kept:
            kept.seek(0)
            number = len(kept.readlines()) + 1
            run('strip', '-o', os.path.join(folder, str(number)), copy.program(CHECK))
            print(FILES[mutant.file][1], described(mutant), file=kept)
        return True, 'built'


def run_kept(folder):
    """The exit status."""
    lives = 0
    with open(os.path.join(folder, 'list'), encoding='utf-8') as kept:
        for number, line in enumerate(kept, 1):
            strategy, words = line.rstrip().split(' ', 1)
            right, verdict_words = verdict(os.path.join(folder, str(number)), strategy)
            print(f'{words}: {verdict_words}', flush=True)
            lives += not right
    print(f'{lives} failed')
    return 1 if lives else 0


def main():
    parser = argparse.ArgumentParser(description='Mutants of the strategies that the kernel check '
                                                 'must catch.')
    parser.add_argument('--cuda', action='store_true', help='those of CUDA too')
    parser.add_argument('--build', metavar='DIR', help='those of CUDA, only built, into DIR')
    parser.add_argument('--run', metavar='DIR', help='those that --build has left in DIR')
    parser.add_argument('--seed', type=int, default=SEED, help='draw others')
    parser.add_argument('files', nargs='*', help='only those whose names contain one of these')
    arguments = parser.parse_args()
    if arguments.run:
        sys.exit(run_kept(arguments.run))
    cuda = arguments.cuda or arguments.build
    files = [(name, count) for name, (count, strategy) in FILES.items()
             if (not arguments.files or any(part in name for part in arguments.files))
             and (cuda if strategy.startswith('cuda') else not arguments.build)]
    with tree('-Dbuildtype=release', '-Dcuda=' + ('enabled' if cuda else 'disabled'),
              '-Dgpu_archs=90') as copy:
        wrong = copy.build(CHECK)
        if wrong:
            sys.exit(f'mutants: {wrong}')
        if arguments.build:
            os.makedirs(arguments.build, exist_ok=True)
        sys.exit(walk(files, lambda mutant: keep_mutant(copy, mutant, arguments.build)
                      if arguments.build else try_mutant(copy, mutant), arguments.seed, SURVIVORS))


if __name__ == '__main__':
    main()
