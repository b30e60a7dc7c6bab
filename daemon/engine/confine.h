/* SPDX-License-Identifier: BSD-2-Clause
 * Rights that an engine gives up before it does anything else: new privileges, and system calls
 * that it never needs.
 *
 * Calls that libraries try but can do without fail with EPERM, ENOSYS or EAFNOSUPPORT: accepting
 * connections; starting programs; sending signals to other processes, directly or through a
 * descriptor; changing the limits, priorities and processors of other processes; creating sockets
 * of families other than Unix, IP and netlink. If no stream has a URL, creating Unix and IP sockets
 * fails, too, unless the machine has a GPU, whose driver needs some of them.
 *
 * Calls that only an attacker's code would make end the process, with a message that names the
 * call. These are calls that read other processes, or that concern mounts, namespaces, kernel
 * modules, keys, the rights of other users, or clocks. */
#ifndef HALO_CONFINE_H
#define HALO_CONFINE_H

#include <stdbool.h>

#include "config/error.h"
#include "daemon/engine/confine_files.h"

/* Confines the calling thread and all threads and processes that it starts. Call it before other
 * threads exist, and before reading any untrusted byte. files lists everything that the thread may
 * open, and whether it may use sockets to reach other processes and machines (confine_files.h);
 * NULL means that neither is limited. Returns 0, or -errno with err filled if a restriction could
 * not be applied (no_new_privs is set first). In builds with sanitizers or without libseccomp, the
 * function sets only no_new_privs. */
int halo_confine(const struct halo_files *files, int count, struct halo_error *err);

/* Confines the calling thread, which is about to execute a detector (docs/detectors.md), and the
 * detector. In addition to what halo_confine() denies, there are no sockets, no changes to files
 * and no shared memory that other processes could open; a confined process can replace itself by
 * another program, but cannot start a second one. Files that are not in the list cannot be opened,
 * except those that every program needs. If gpu is true, the GPU's devices can be opened, and the
 * sockets that its driver needs can be created. Returns the same as halo_confine(). */
int halo_confine_detector(const struct halo_files *files, int count, bool gpu,
                          struct halo_error *err);

/* Returns whether this build can filter system calls. */
bool halo_confine_is_built(void);

#endif
