/* SPDX-License-Identifier: BSD-2-Clause
 * What an engine gives up before it does anything else: new privileges, and system calls that it
 * never needs.
 *
 * Calls that libraries try, but can do without, fail (EPERM, ENOSYS, EAFNOSUPPORT): accepting
 * connections; starting programs; signals to other processes, sent directly or through a
 * descriptor; changing the limits, priorities and processors of other processes; sockets of
 * families other than Unix, IP and netlink. If no stream has a URL, Unix and IP sockets fail too,
 * unless the machine has a GPU, whose driver needs some of them.
 *
 * Calls that only an attacker's code would make end the process, with a message that names the
 * call: those that read other processes, or concern mounts, namespaces, kernel modules, keys, the
 * rights of other users, or clocks. */
#ifndef HALO_CONFINE_H
#define HALO_CONFINE_H

#include <stdbool.h>

#include "config/error.h"
#include "daemon/engine/confine_files.h"

/* Confines the calling thread and all that it starts. Call it before other threads exist, and
 * before any byte is read that others wrote. files: everything that it may open (confine_files.h),
 * and whether it may reach others by sockets; NULL: no such limits. -errno with err filled: not all
 * of this is in force (new privileges are given up first). Builds with sanitizers or without
 * libseccomp return 0 and give up new privileges only. */
int halo_confine(const struct halo_files *files, int count, struct halo_error *err);

/* Whether this build can filter system calls. */
bool halo_confine_is_built(void);

#endif
