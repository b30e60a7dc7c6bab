/* SPDX-License-Identifier: BSD-2-Clause
 * What an engine gives up before it does anything: new privileges, and system calls that it never
 * needs. What libraries try and can do without fails (EPERM, ENOSYS, EAFNOSUPPORT): to take a
 * connection, to start programs, to signal others or have a descriptor do it, to change others'
 * limits, priorities and processors, sockets of families other than Unix, IP and netlink, and of
 * Unix and IP where no stream has a URL, unless there is a GPU, whose driver wants some. What only
 * somebody else's code would do ends the process, with a line that names the call: to look into
 * other processes, mounts, namespaces, modules, keys, other users' rights, clocks. */
#ifndef HALO_CONFINE_H
#define HALO_CONFINE_H

#include <stdbool.h>

#include "config/error.h"
#include "daemon/engine/confine_files.h"

/* For this thread and all that it starts: before there are others, and before the first byte of
 * anybody. files: all that it may open (confine_files.h), and whether it may reach others by
 * sockets; NULL: what it likes. -errno with err filled: no new privileges, but not all of this;
 * builds with sanitizers or without libseccomp: 0, and no more than that. */
int halo_confine(const struct halo_files *files, int count, struct halo_error *err);

/* Whether this build has such a filter. */
bool halo_confine_is_built(void);

#endif
