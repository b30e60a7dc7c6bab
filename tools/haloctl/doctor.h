/* SPDX-License-Identifier: BSD-2-Clause
 * haloctl doctor collects facts in one JSON object. Each check in a table only examines this
 * object, so that it can be tested with a few lines of JSON (tests/tools/test_doctor.c). */
#ifndef HALO_DOCTOR_H
#define HALO_DOCTOR_H

#include <jansson.h>

#include "tools/haloctl/haloctl.h"

enum doctor_level { DOCTOR_OK, DOCTOR_SKIPPED, DOCTOR_WARNING, DOCTOR_FAILED };
extern const char *const doctor_levels[]; /* "ok", "skipped", "warning", "failed" */

/* What a check found: the worst case, and a list of all others, with "level", "what" and "fix". */
struct doctor_finding {
    enum doctor_level level; /* DOCTOR_OK unless the check sets another level */
    char what[400], fix[400];
    json_t *more; /* NULL: there are no others; owned */
};

/* Members of the object `seen`; a member whose value is unknown is absent:
 * - "socket" and "group": the control socket's path and group
 * - "connect": the result of connecting: "ok", "absent", "stale", "denied" or an error message
 * - "driver" and "library": the versions of NVIDIA's kernel module and of libcuda
 * - "stale": the paths of sockets without a listening process
 * - "port": "free", "ours" or "other"; "port_address": the address of the HTTP port
 * - "clock_synchronised": true or false; "now": the Unix time
 * - "facts" and "status": the daemon's answers to Facts and Status
 * - "later": the streams from a second call to Status, one second later */
struct doctor_check {
    const char *name; /* NULL marks the end of the table */
    const char *about;
    void (*judge)(const json_t *seen, struct doctor_finding *finding);
};
extern const struct doctor_check doctor_checks[];

#endif
