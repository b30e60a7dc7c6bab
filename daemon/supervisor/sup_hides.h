/* SPDX-License-Identifier: BSD-2-Clause
 * What was added to a stream's chains while it runs: each chain in force, the stream's own and
 * those of its renditions, is its base, which the settings file or the method Set defines, followed
 * by the additions in the order of their ids. Each addition by itself has to hide what it applies
 * to (privacy: strict), so additions can only hide more of the base's output. They survive restarts
 * of the daemon and reloads: the file hides.json in the state folder contains {"STREAM": {"ID":
 * "CHAIN"}}.
 *
 * Loop thread only, except for writing the file, which a thread of libuv's pool does. */
#ifndef HALO_SUP_HIDES_H
#define HALO_SUP_HIDES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/daemon.h"

struct halo_supervisor;
struct sv_stream;

enum { SV_HIDES = 16, SV_HIDE_ID = 32, SV_CHAINS = HALO_MAX_RENDITIONS + 1 };

struct sv_hides {
    char *base[SV_CHAINS]; /* the stream's own chain, then its renditions' */
    int bases;
    struct {
        char id[SV_HIDE_ID];
        char *chain;
        bool broken;  /* it came from the file and cannot be used now */
    } hide[SV_HIDES]; /* sorted by id */
    int count;
    int64_t revision; /* identifies this content; grows with each change */
    bool lost;        /* the file has more than can be kept here, so it must not be overwritten */
};

/* Returns 0 or -ENOMEM (*ret is empty). */
int sv_hides_copy(struct sv_hides *ret, const struct sv_hides *from);
void sv_hides_finish(struct sv_hides *hides);

/* Replaces one base, or all of them by the chains in the settings. Return 0 or -ENOMEM (nothing has
 * changed). */
int sv_hides_set_base(struct sv_hides *hides, int chain, const char *base);
int sv_hides_rebase(struct sv_hides *hides, const struct halo_stream_settings *settings);

/* Adds or replaces the addition `id`; removes it if chain is "". Returns 0, -EINVAL with err filled
 * if the id is malformed, the chain does not hide, or there are too many additions, or -ENOMEM. */
int sv_hides_put(struct sv_hides *hides, const char *id, const char *chain, struct halo_error *err);

/* Tries additions again that could not be used, for example because a mask image was missing. As
 * long as there are any, whole chains hide everything. */
void sv_hides_retry(struct sv_hides *hides);
/* Adds those additions of `from` whose ids `to` does not have. Returns 0 or -ENOMEM. */
int sv_hides_add_all(struct sv_hides *to, const struct sv_hides *from);

/* Returns a whole chain, which the caller frees, or NULL if out of memory. */
char *sv_hides_chain(const struct sv_hides *hides, int chain);
/* Returns a new reference to {"base", "hides": {"ID": "CHAIN"}, "revision"}, or NULL if out of
 * memory. */
json_t *sv_hides_status(const struct sv_hides *hides);

/* Makes whole chains for the settings, whose own chains are the bases. If the additions do not fit
 * one of them, logs why, and makes chains that hide everything. The caller frees the chains.
 * Returns 0 or -ENOMEM (ret is empty). */
int sv_hides_fit(const struct sv_hides *hides, const struct halo_stream_settings *settings,
                 char *ret[SV_CHAINS]);
/* Replaces the chains in the settings, which own them, by whole ones. Returns 0 or -ENOMEM (nothing
 * has changed). */
int sv_hides_apply(const struct sv_hides *hides, struct halo_stream_settings *settings);

/* Reads hides.json. Returns 0, also if there is no file or no state folder, or -errno with err
 * filled if the file cannot be read or is damaged: then nobody knows what has to be hidden. */
int sv_hides_load(struct halo_supervisor *sv, struct halo_error *err);
/* Gives a new stream, whose settings have been copied, the additions of earlier runs. Returns 0 or
 * -ENOMEM. */
int sv_hides_begin(struct sv_stream *stream);
/* Stores the stream's additions. The file is written soon, by another thread; an error is
 * logged. */
void sv_hides_store(struct sv_stream *stream);
/* Writes the file again if that has failed. Called by the timer. */
void sv_hides_tick(struct halo_supervisor *sv);
/* Frees sv->hides, after writing, in this thread, what has not been written yet. Called at the
 * end. */
void sv_hides_end(struct halo_supervisor *sv);

#endif
