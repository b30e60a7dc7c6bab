/* SPDX-License-Identifier: BSD-2-Clause
 * Rights that a process gives up before it reads anything that others wrote: new privileges, files
 * (confine_files.h), and all system calls but those that it needs.
 *
 * A call that is known and not allowed fails with EPERM: one that reads, signals or changes other
 * processes, starts programs, accepts connections, changes owners, modes, times or attributes of
 * files, or concerns mounts, namespaces, modules, keys, the rights of other users, clocks, or
 * memory and queues that other programs find by a name. Calls that are not known, because they are
 * newer, fail with ENOSYS, as in a kernel that does not have them: libraries then use older ones.
 * All calls of other instruction sets (x32, i386) are unknown. Families of sockets that are not
 * allowed fail with EAFNOSUPPORT: all but Unix, IP and netlink, and, without a URL, also Unix and
 * IP, unless the machine has a GPU, whose driver needs some of them. */
#ifndef HALO_CONFINE_H
#define HALO_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "config/base/error.h"
#include "daemon/engine/confine_files.h"

struct halo_confinement {
    /* Everything that the process may open, and whether it may use sockets to reach other processes
     * and machines (confine_files.h). NULL: neither is limited. */
    const struct halo_files *files;
    int count;
    /* The process is about to execute a detector (docs/detectors.md). It has no sockets, cannot
     * change files, and can replace itself by another program. With gpu, it can open the GPU's
     * devices, and the sockets that its driver needs. */
    bool detector, gpu;
    bool moves; /* moves files between folders of the list */
    /* the mode that a file which it replaces had, and which it may give; 0: it may give none */
    mode_t mode;
};

/* Confines the calling thread and all threads and processes that it starts. Call it before other
 * threads exist, and before reading any untrusted byte. *ret_calls is a descriptor through which
 * another process must answer the calls that are refused (refusals.h), or -1: send it there, and
 * close it. NULL: nobody is told. Returns 0, or -errno with err filled if a restriction could not
 * be applied (no_new_privs is set first). In builds with sanitizers or without libseccomp, the
 * function sets only no_new_privs. */
int halo_confine(const struct halo_confinement *c, int *ret_calls, struct halo_error *err);

/* Returns whether this build can filter system calls. */
bool halo_confine_is_built(void);

/* Writes the name and number of a system call. Returns text. */
const char *halo_confine_call_name(int number, char *text, size_t size);

#endif
