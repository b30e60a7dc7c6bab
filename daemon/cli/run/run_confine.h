/* SPDX-License-Identifier: BSD-2-Clause
 * halod run gives up its rights before it reads its input (daemon/engine/confine.h).
 *
 *   halod run ─ fork ─► helper: starts detectors, answers refused calls, reads nothing of the input
 *       │                  ▲
 *       └ confined ─ asks ─┘
 *
 * The process that was started decodes, so signals, the terminal, pipes and the exit status are
 * those of any program. Its child keeps the rights that detectors need to be started, again, too,
 * and ends with it. */
#ifndef HALO_RUN_CONFINE_H
#define HALO_RUN_CONFINE_H

#include "config/run.h"
#include "daemon/detector/pool.h"
#include "pipeline/filter/filter.h"

/* What the process asks of the helper. */
enum halo_run_ask {
    HALO_RUN_WANT,
    HALO_RUN_BROKEN,
    HALO_RUN_UNWANTED,
    HALO_RUN_CALLS, /* with the descriptor of halo_confine() */
};

struct halo_run_asked {
    enum halo_run_ask what;
    enum halo_find find;
    uint64_t id;   /* WANT */
    char why[160]; /* BROKEN */
};

/* The helper's answer to WANT, with the connection if there is one. */
struct halo_run_answer {
    enum halo_find find;
    uint64_t id;
    char why[400]; /* why there is none */
};

/* Starts the helper and confines the process: it can read the input and what `chain` names, and
 * write the folders of OUT and of the files that options name. Call it once, before the input or an
 * image is read and before a thread starts; settings must be valid until the process ends. If
 * `moves` is set, parts are moved from folder to folder. What this kernel or build cannot do is
 * logged. Returns 0, or -errno with err filled. */
int halo_run_confine(const struct halo_run_settings *settings, const struct halo_chain *chain,
                     bool moves, struct halo_error *err);

/* Returns our end of the SOCK_SEQPACKET pair to the helper, for struct halo_run_asked and struct
 * halo_run_answer; -1: there is none. */
int halo_run_helper(void);

#endif
