/* SPDX-License-Identifier: BSD-2-Clause
 * Options of halod job: const once parsed. */
#ifndef HALO_JOB_OPTIONS_H
#define HALO_JOB_OPTIONS_H

#include <stdbool.h>

#include "config/base/error.h"
#include "config/detectors.h"
#include "config/option.h"

enum halo_job_engine {
    HALO_JOB_SLURM,
    HALO_JOB_KUBERNETES,
    HALO_JOB_PARALLEL,
    HALO_JOB_LOCAL,
    HALO_JOB_NO_ENGINE,
};

struct halo_job_options {
    int engine; /* enum halo_job_engine */
    int tasks, workers, cpus, of;
    int ended; /* exit code; negative: the task has not ended */
    bool mixed, json, watch, wait, print, again, gpu, once;
    double settle, deadline; /* seconds */
    /* keys, as given to split, of the detectors that may run; NULL: none */
    char *detector[HALO_FINDS];
    char *memory, *image, *claim, *folder, *program, *to, *suffix;
};

extern const struct halo_option halo_job_options[];
extern const char *const halo_job_engines[]; /* indexed by enum halo_job_engine */

/* Parses the options whose names are in the list `names`, as in "json watch". Words that do not
 * begin with -- become *ret_rest, which ends with NULL and whose words are those of argv; if
 * `run_options` is set, these may be options of halod run. Returns their number, which may be 0, or
 * a usage error. The caller finishes *ret and frees *ret_rest. */
int halo_job_parse(struct halo_job_options *ret, const char *names, bool run_options, char **argv,
                   char ***ret_rest, struct halo_error *err);
void halo_job_options_finish(struct halo_job_options *options);

#endif
