/* SPDX-License-Identifier: BSD-2-Clause
 * The destination of an output: segments on a disk, or a URL. Each kind is a struct halo_place_ops;
 * output.c implements the thread, the queue, and the handling of failures. All calls come from that
 * thread; only stop_by is set by others. */
#ifndef HALO_OUTPUT_PLACE_H
#define HALO_OUTPUT_PLACE_H

#include <libavcodec/avcodec.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/daemon.h"
#include "config/error.h"
#include "pipeline/output/begin_wire.h"

struct halo_output;
struct halo_place;

struct halo_place_ops {
    /* Begins a segment or a connection. 0 or -errno; after a failure it is closed again. */
    int (*open)(struct halo_place *place, const struct halo_live_begin *begin,
                struct halo_error *err);
    /* Whether a new segment has to begin at this keyframe; NULL: never. */
    bool (*is_over)(const struct halo_place *place, const AVPacket *key);
    int (*write)(struct halo_place *place, const AVPacket *pkt, struct halo_error *err);
    /* Finishes the open segment or connection; after a failure, too, as far as possible. */
    int (*close)(struct halo_place *place, struct halo_error *err);
    /* The destination for messages, without passwords. */
    const char *(*where)(const struct halo_place *place);
    void (*destroy)(struct halo_place *place); /* only if it is closed */
    bool live; /* packets that are old when it opens should be dropped */
    int most_pause_s;
};

struct halo_place {
    const struct halo_place_ops *ops;
    /* Called for each finished file; may be NULL. */
    void (*finished)(struct halo_output *output, const char *path);
    struct halo_output *output;
    /* us, monotonic: the time at which the caller stops waiting; 0: not asked to stop. Any
     * thread. */
    atomic_llong stop_by;
};

/* Check the settings and copy what they need; open nothing. 0, -EINVAL with a usage error, -ENOMEM.
 * name is the stream's, for messages. */
int halo_place_file_create(struct halo_place **ret, const char *name,
                           const struct halo_output_settings *settings, struct halo_error *err);
int halo_place_url_create(struct halo_place **ret, const char *name,
                          const struct halo_output_settings *settings, struct halo_error *err);

#endif
