#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_results.py LOG [cut]: prints the results in Meson's testlog.json: the numbers "PASSED FAILED
SKIPPED" in one line, and then the name of each failed test in a line of its own. A log that does
not exist counts as empty. With cut, interrupted tests are left out."""
import json
import sys

passed, skipped, failed = 0, 0, []
try:
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        for line in log:
            test = json.loads(line)
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                passed += 1
            elif test["result"] == "SKIP":
                skipped += 1
            elif test["result"] != "INTERRUPT" or "cut" not in sys.argv:
                failed.append(f"{test['name']} ({test['result'].lower()})")
except FileNotFoundError:
    pass
print(passed, len(failed), skipped)
for name in failed:
    print(name)
