#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_targets.py FOLDER SUITE ...: prints what has to be built for the tests of these suites, one
path within FOLDER per line. FOLDER is configured; prints nothing, which for ninja means everything,
if it is not."""
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
