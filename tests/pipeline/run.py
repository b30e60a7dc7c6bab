# SPDX-License-Identifier: BSD-2-Clause
# Runs the end-to-end tests: run.py [-j N] [test_FILE.py ...]; the last line holds the counts.
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import time

PATIENCE = float(os.environ.get('HALOTEST_PATIENCE', 1))
HERE = os.path.dirname(os.path.abspath(__file__))
COUNTS = re.compile(r'(\d+) passed, (\d+) failed, (\d+) skipped')


def run_file(path):
    start = time.monotonic()
    try:
        done = subprocess.run([sys.executable, path], stdin=subprocess.DEVNULL, timeout=900 * PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors='replace')
        text, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        text, code = (late.stdout or b'').decode(errors='replace') + '\ntimed out\n', 1
    lines = [match for match in map(COUNTS.fullmatch, text.splitlines()) if match]
    counts = [int(number) for number in lines[-1].groups()] if lines else [0, 0, 0]
    if code not in (0, 77) and not counts[1]:
        counts[1] = 1
    return text, counts, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description='End-to-end tests of halod run ($HALOD).')
    parser.add_argument('-j', type=int, default=min(os.cpu_count() or 1, 4), metavar='N',
                        help='test files at a time')
    parser.add_argument('-v', action='store_true', help='print every test, not only failures')
    parser.add_argument('files', nargs='*', help='default: every test_*.py here')
    arguments = parser.parse_args()
    files = arguments.files or sorted(glob.glob(os.path.join(HERE, 'test_*.py')))
    files = [path if os.path.exists(path) else os.path.join(HERE, path) for path in files]

    total = [0, 0, 0]
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.j)) as pool:
        for path, (text, counts, seconds) in zip(files, pool.map(run_file, files)):
            if counts[1] or arguments.v:
                print(text)
            print('{}: {} passed, {} failed, {} skipped ({:.1f} s)'.format(
                os.path.basename(path), *counts, seconds), flush=True)
            total = [a + b for a, b in zip(total, counts)]
    print('{} passed, {} failed, {} skipped'.format(*total))
    if total[1]:
        return 1
    return 77 if total[2] and not total[0] else 0


if __name__ == '__main__':
    sys.exit(main())
