#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""progress.py LOG COMMAND ...: runs a command of Ninja or of Meson's tests, appends its output to
LOG, and shows how far it is: on a terminal in one line, elsewhere with a line for each test that
has ended. Tests that fail are named at once. Exit status: the command's."""
import re
import signal
import subprocess
import sys
import time

STEP = re.compile(r'\[(\d+)/(\d+)\]')
RESULTS = 'OK|FAIL|SKIP|TIMEOUT|ERROR|INTERRUPT'
TEST = re.compile(rf' *(\d+)/(\d+) (?:\S+ [-/] )?(\S+) +({RESULTS})\b')


class Screen:
    def __init__(self):
        self.begun = time.monotonic()
        self.terminal = sys.stdout.isatty()
        self.front = '\r\033[K' if self.terminal else ''  # removes the status

    def status(self, text):
        if self.terminal:
            minutes, seconds = divmod(int(time.monotonic() - self.begun), 60)
            print(f'{self.front}{text[:70]}, {minutes}:{seconds:02}', end='', flush=True)

    def line(self, text, end='\n'):
        print(self.front + text, end=end, flush=True)


def main():
    screen, failed = Screen(), 0
    with open(sys.argv[1], 'a', encoding='utf-8', errors='replace') as log, subprocess.Popen(
            sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding='utf-8', errors='replace') as command:
        signal.signal(signal.SIGTERM, lambda *_: command.terminate())
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command gets it, too, and ends
        for line in command.stdout:
            log.write(line)
            test, step = TEST.match(line), STEP.match(line)
            if test:
                bad = test[4] not in ('OK', 'SKIP')
                failed += bad
                if bad or not screen.terminal:
                    screen.line(line.rstrip())
                screen.status(f'{test[1]} of {test[2]} tests, {failed} failed; {test[3]}')
            elif step:
                screen.status(f'{step[1]} of {step[2]} steps')
        screen.line('', end='')
    sys.exit(command.returncode if command.returncode >= 0 else 128 - command.returncode)


if __name__ == '__main__':
    main()
