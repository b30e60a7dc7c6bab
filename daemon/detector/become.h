/* SPDX-License-Identifier: BSD-2-Clause
 * The command `halod detector`, by which halod starts a detector: it gives up all rights that a
 * detector does not need, and then executes the program. It is a program of its own, and not code
 * that runs after fork(), because a process with threads may do almost nothing there. */
#ifndef HALO_DETECTOR_BECOME_H
#define HALO_DETECTOR_BECOME_H

#include "config/detectors.h"

enum {
    HALO_DETECTOR_FD = 3,       /* the contract's descriptor (docs/detectors.md) */
    HALO_DETECTOR_FAILED = 127, /* exit status if the program could not be executed */
};

/* The arguments after "detector": the process ID of the parent, "gpu" or "-", the program's path,
 * and its argv. Returns an exit status only if the program could not be executed. */
int halo_command_detector(int argc, char **argv);

#endif
