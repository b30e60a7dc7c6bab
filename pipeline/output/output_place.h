/* SPDX-License-Identifier: BSD-2-Clause
 * The destination of an output: segments on a disk, a live playlist, or a URL. Each kind is a
 * struct halo_place_ops; output.c implements the thread, the queue and the handling of failures.
 * That thread makes all calls; other threads may only set stop_by. */
#ifndef HALO_OUTPUT_PLACE_H
#define HALO_OUTPUT_PLACE_H

#include <libavcodec/avcodec.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "pipeline/output/parameters_wire.h"

struct halo_output;
struct halo_place;

struct halo_place_ops {
    /* Begins a segment or a connection. Returns 0 or -errno; after a failure, the destination is
     * closed again. */
    int (*open)(struct halo_place *place, const struct halo_encoding_parameters *begin,
                struct halo_error *err);
    /* Returns whether a new segment has to begin at this keyframe; NULL: never. */
    bool (*is_over)(const struct halo_place *place, const AVPacket *key);
    int (*write)(struct halo_place *place, const AVPacket *pkt, struct halo_error *err);
    /* Finishes the open segment or connection, as far as possible even after a failure. */
    int (*close)(struct halo_place *place, struct halo_error *err);
    /* Returns the destination without passwords, for messages. */
    const char *(*where)(const struct halo_place *place);
    void (*destroy)(struct halo_place *place); /* call it only when the destination is closed */
    /* Packets that became old while the destination was being opened should be dropped. */
    bool live;
    int most_pause_s;
};

struct halo_place {
    const struct halo_place_ops *ops;
    /* Called for each finished file; may be NULL. */
    void (*finished)(struct halo_output *output, const char *path);
    struct halo_output *output;
    /* The number of segments that write() has begun; the thread counts them and resets this to
     * 0. */
    int segments;
    /* The time after which the caller no longer waits for the output to stop, in us of the
     * monotonic clock; 0: the output was not asked to stop. Any thread. */
    atomic_llong stop_by;
};

/* halo_place_file_create(), halo_place_hls_create() and halo_place_url_create() check the settings
 * and copy those that they need, but open nothing. They return 0, -EINVAL with a usage error, or
 * -ENOMEM. name is the stream's name, for messages. */
int halo_place_file_create(struct halo_place **ret, const char *name,
                           const struct halo_output_settings *settings, struct halo_error *err);
int halo_place_hls_create(struct halo_place **ret, const char *name,
                          const struct halo_output_settings *settings, struct halo_error *err);
int halo_place_url_create(struct halo_place **ret, const char *name,
                          const struct halo_output_settings *settings, struct halo_error *err);

#endif
