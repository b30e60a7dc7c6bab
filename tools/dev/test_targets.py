#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_targets.py FOLDER SUITE ...: prints the targets that the tests of these suites need, one
path within FOLDER per line. Prints nothing, which for ninja means all, if FOLDER is not
configured."""
import json
import os
import sys

folder, suites = sys.argv[1], set(sys.argv[2:])
try:
    with open(os.path.join(folder, 'meson-info/intro-tests.json'), encoding='utf-8') as file:
        tests = json.load(file)
    with open(os.path.join(folder, 'meson-info/intro-targets.json'), encoding='utf-8') as file:
        targets = json.load(file)
except FileNotFoundError:
    tests = targets = ()
needed = {target for test in tests for target in test['depends']
          if suites & {suite.rpartition(':')[2] for suite in test['suite']}}
for target in targets:
    if target['id'] in needed:
        for path in target['filename']:
            print(os.path.relpath(path, os.path.abspath(folder)))
