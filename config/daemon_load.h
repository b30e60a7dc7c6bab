/* SPDX-License-Identifier: BSD-2-Clause
 * Between reading files and making settings of them. */
#ifndef HALO_DAEMON_LOAD_H
#define HALO_DAEMON_LOAD_H

#include "config/tree.h"

/* 0: the caller owns *ret; -EINVAL: errors has what is wrong, also what was in it before; -ENOMEM.
 * The tree stays the caller's, but for marks in it. */
int halo_daemon_settings_make(struct halo_daemon_settings **ret, struct halo_node *root,
                              const struct halo_daemon_checks *checks,
                              struct halo_error_list *errors);

#endif
