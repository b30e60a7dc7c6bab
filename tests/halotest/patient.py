# SPDX-License-Identifier: BSD-2-Clause
# Daemons whose engines may stand still for as long as the machine likes.
from halotest.daemon import DaemonTest

# No engine is killed for its silence, and each answer is waited for. (Builds without faults have
# their limits.)
PATIENT = {'HALOD_FAULT': 'silence:1+,answer:1+'}


class PatientTest(DaemonTest):
    def start(self, streams=None, environment=None, **more):
        return super().start(streams, environment={**PATIENT, **(environment or {})}, **more)
