/* SPDX-License-Identifier: BSD-2-Clause
 * What of the daemon's file only the pipeline knows: chains and encoders. Any thread; opens
 * nothing. */
#ifndef HALO_CHECKS_H
#define HALO_CHECKS_H

#include "config/daemon.h"

extern const struct halo_daemon_checks halo_checks;

#endif
