/* SPDX-License-Identifier: BSD-2-Clause
 * Converts trees, as read from files, to settings. */
#ifndef HALO_DAEMON_LOAD_H
#define HALO_DAEMON_LOAD_H

#include "config/daemon.h"
#include "config/tree.h"

/* Converts a tree to settings. Returns 0 (the caller owns *ret), -EINVAL (the reasons have been
 * appended to errors) or -ENOMEM. The caller keeps the tree, in which nodes with errors are
 * marked. */
int halo_daemon_settings_make(struct halo_daemon_settings **ret, struct halo_node *root,
                              const struct halo_daemon_checks *checks,
                              struct halo_error_list *errors);

#endif
