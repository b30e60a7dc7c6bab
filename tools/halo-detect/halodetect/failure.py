# SPDX-License-Identifier: BSD-2-Clause
"""How halo-detect fails: with one line and an exit status of sysexits(3)."""
import sys

OK, USAGE, UNAVAILABLE, CANNOT_CREATE, PROTOCOL, NO_PERMISSION, CONFIG = 0, 64, 69, 73, 76, 77, 78


class Failure(Exception):
    """Trying again does not help. The text is one line for the user."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def say(text):
    print('halo-detect: ' + text, file=sys.stderr, flush=True)
