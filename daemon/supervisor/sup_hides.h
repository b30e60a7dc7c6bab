/* SPDX-License-Identifier: BSD-2-Clause
 * What was added to a stream's chain while it runs: the chain in force is the base, which the
 * settings file or the method Set defines, followed by the additions in the order of their ids.
 * Each addition by itself has to hide what it applies to (privacy: strict), so additions can only
 * hide more of the base's output. They survive restarts of the daemon and reloads: the file
 * hides.json in the state folder contains {"STREAM": {"ID": "CHAIN"}}.
 *
 * Loop thread only, except for writing the file, which a thread of libuv's pool does. */
#ifndef HALO_SUP_HIDES_H
#define HALO_SUP_HIDES_H

#include <jansson.h>

#include "config/daemon.h"
#include "config/error.h"

struct halo_supervisor;
struct sv_stream;

enum { SV_HIDES = 16, SV_HIDE_ID = 32 };

struct sv_hides {
    char *base;
    struct {
        char id[SV_HIDE_ID];
        char *chain;
    } hide[SV_HIDES]; /* sorted by id */
    int count;
};

/* Copies from, with another base unless `base` is NULL. Returns 0 or -ENOMEM (*ret is empty). */
int sv_hides_copy(struct sv_hides *ret, const struct sv_hides *from, const char *base);
void sv_hides_finish(struct sv_hides *hides);

/* Adds or replaces the addition `id`; removes it if chain is "". Returns 0, -EINVAL with err filled
 * if the id is malformed, the chain does not hide, or there are too many additions, or -ENOMEM. */
int sv_hides_put(struct sv_hides *hides, const char *id, const char *chain, struct halo_error *err);

/* Returns the whole chain, which the caller frees, or NULL if out of memory. */
char *sv_hides_chain(const struct sv_hides *hides);
/* Returns {"ID": "CHAIN"}, a new reference. */
json_t *sv_hides_status(const struct sv_hides *hides);

/* Reads hides.json. Returns 0, also if there is no file or no state folder, or -errno with err
 * filled if the file cannot be read or is damaged: then nobody knows what has to be hidden. */
int sv_hides_load(struct halo_supervisor *sv, struct halo_error *err);
/* Returns the whole chain for the settings, whose own chain is the base. If the additions do not
 * fit it, logs why, and returns a chain that hides everything. The caller frees the result, which
 * is NULL if out of memory. */
char *sv_hides_fit(const struct sv_hides *hides, const struct halo_stream_settings *settings);
/* Gives a new stream, whose settings have been copied, the additions of earlier runs. Returns 0 or
 * -ENOMEM. */
int sv_hides_begin(struct sv_stream *stream);
/* Stores the stream's additions. The file is written soon, by another thread; an error is
 * logged. */
void sv_hides_store(struct sv_stream *stream);
/* Frees sv->hides, after writing, in this thread, what has not been written yet. Called at the
 * end. */
void sv_hides_end(struct halo_supervisor *sv);

#endif
