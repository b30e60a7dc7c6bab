/* SPDX-License-Identifier: BSD-2-Clause
 * The doctor: what is seen (one JSON object), and a table of checks that judge it and do nothing
 * else. So each check is tested with a few lines of JSON (tests/tools/test_doctor.c). */
#ifndef HALO_DOCTOR_H
#define HALO_DOCTOR_H

#include <jansson.h>

#include "tools/haloctl/haloctl.h"

enum doctor_level { DOCTOR_OK, DOCTOR_SKIPPED, DOCTOR_WARNING, DOCTOR_FAILED };
extern const char *const doctor_levels[]; /* "ok", "skipped", "warning", "failed" */

struct doctor_finding {
    enum doctor_level level; /* OK until a check says otherwise */
    char what[400], fix[400];
};

/* seen, each absent where it is not known:
 *   socket, connect ("ok", "absent", "stale", "denied" or words), group
 *   driver, library           versions of NVIDIA's kernel module and of libcuda
 *   stale [PATH]              sockets that nobody serves
 *   port ("free", "ours", "other"), port_address
 *   clock_synchronised bool, now (Unix time)
 *   facts, status             of the daemon; later: the streams of a second look */
struct doctor_check {
    const char *name; /* NULL: the end */
    const char *about;
    void (*judge)(const json_t *seen, struct doctor_finding *finding);
};
extern const struct doctor_check doctor_checks[];

/* Looks around, and asks the daemon where it answers; a second look comes after a second. A new
 * reference, NULL: no memory. */
json_t *doctor_gather(struct ctl *ctl);

/* Parts of it, of files under root ("" or, for tests, $HALOCTL_ROOT). malloc'ed, or NULL. */
char *doctor_driver_version(const char *root);
char *doctor_library_version(const char *root);

#endif
