/* SPDX-License-Identifier: BSD-2-Clause
 * haloctl doctor: facts are collected in one JSON object, and each check of a table judges this
 * object and does nothing else, so that it can be tested with a few lines of JSON
 * (tests/tools/test_doctor.c). */
#ifndef HALO_DOCTOR_H
#define HALO_DOCTOR_H

#include <jansson.h>

#include "tools/haloctl/haloctl.h"

enum doctor_level { DOCTOR_OK, DOCTOR_SKIPPED, DOCTOR_WARNING, DOCTOR_FAILED };
extern const char *const doctor_levels[]; /* "ok", "skipped", "warning", "failed" */

struct doctor_finding {
    enum doctor_level level; /* OK unless a check sets another */
    char what[400], fix[400];
};

/* Members of seen; unknown ones are absent:
 *   socket, connect ("ok", "absent", "stale", "denied" or a message), group
 *   driver, library           versions of NVIDIA's kernel module and of libcuda
 *   stale [PATH]              sockets without a listening process
 *   port ("free", "ours", "other"), port_address
 *   clock_synchronised bool, now (Unix time)
 *   facts, status             the daemon's answers to Facts and Status
 *   later                     streams of a second status, a second later */
struct doctor_check {
    const char *name; /* NULL: end of the table */
    const char *about;
    void (*judge)(const json_t *seen, struct doctor_finding *finding);
};
extern const struct doctor_check doctor_checks[];

/* Collects the facts, from the daemon as well if it answers, and its status again a second later. A
 * new reference, or NULL: out of memory. */
json_t *doctor_gather(struct ctl *ctl);

/* The version from files under root ("" or, in tests, $HALOCTL_ROOT). malloc'ed, or NULL. */
char *doctor_driver_version(const char *root);
char *doctor_library_version(const char *root);

#endif
