#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_results.py LOG [cut]: prints the results in Meson's testlog.json: the numbers "PASSED FAILED
SKIPPED" in one line, and then a line "failed NAME (RESULT)" or "skipped NAME: WHY" for each test
that did not pass, and after each one that failed the last lines that it printed, most of the
first one's, each after "| ". A log that does not exist counts as empty. With cut, interrupted tests
are left out."""
import json
import re
import sys

LINES, MORE = 30, 8
# "halod:SUITE / TEST", from Meson 1.8 on "SUITE - halod:TEST".
NAME = re.compile(r' / | - \w+:')


def said(test):
    return [line for key in ('stdout', 'stderr') for line in test.get(key, '').splitlines()
            if line.strip()]


def why(test):
    """The last line that gives a reason, or the last line."""
    lines = [line.strip() for line in said(test)]
    reasons = [re.sub(r'.*\bskipped:? ', '', line).strip('"\'') for line in lines
               if re.search(r'\bskipped:? [^0-9]', line)]
    return (reasons or lines or ['it does not say why'])[-1]


def main():
    passed, skipped, failed, lines = 0, 0, 0, []
    try:
        with open(sys.argv[1], encoding='utf-8', errors='replace') as log:
            for test in map(json.loads, log):
                result, name = test['result'], NAME.split(test['name'])[-1]
                if result in ('OK', 'EXPECTEDFAIL'):
                    passed += 1
                elif result == 'SKIP':
                    skipped += 1
                    lines.append(f'skipped {name}: {why(test)}')
                elif result != 'INTERRUPT' or 'cut' not in sys.argv:
                    lines.append(f'failed {name} ({result.lower()})')
                    lines += ['| ' + line for line in said(test)[-(MORE if failed else LINES):]]
                    failed += 1
    except FileNotFoundError:
        pass
    print(passed, failed, skipped)
    print('\n'.join(lines))


if __name__ == '__main__':
    main()
