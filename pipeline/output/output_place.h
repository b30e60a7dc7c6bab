/* SPDX-License-Identifier: BSD-2-Clause
 * Where an output writes to: segments on a disk, or an URL. Each is one struct halo_place_ops;
 * output.c has the thread, the queue, and what becomes of failures. All calls are that thread's,
 * but for what stop_by says. */
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
    /* A segment or a connection begins. 0 or -errno; it is closed again then. */
    int (*open)(struct halo_place *place, const struct halo_live_begin *begin,
                struct halo_error *err);
    /* Whether a new segment is to begin at this key frame; NULL: never. */
    bool (*is_over)(const struct halo_place *place, const AVPacket *key);
    int (*write)(struct halo_place *place, const AVPacket *pkt, struct halo_error *err);
    /* Finishes what is open: after a failure too, then as well as it can be. */
    int (*close)(struct halo_place *place, struct halo_error *err);
    /* For people: without passwords. */
    const char *(*where)(const struct halo_place *place);
    void (*destroy)(struct halo_place *place); /* closed */
    bool live; /* packets that are old when it opens are better left out */
    int most_pause_s;
};

struct halo_place {
    const struct halo_place_ops *ops;
    /* Told of a finished file; NULL: nobody is. */
    void (*finished)(struct halo_output *output, const char *path);
    struct halo_output *output;
    /* us, monotonic: when the caller's patience ends; 0: not asked to stop. Any thread. */
    atomic_llong stop_by;
};

/* Check the settings and copy what they need; touch nothing outside. 0, -EINVAL with a usage
 * error, -ENOMEM. name: of the stream, for messages. */
int halo_place_file_create(struct halo_place **ret, const char *name,
                           const struct halo_output_settings *settings, struct halo_error *err);
int halo_place_url_create(struct halo_place **ret, const char *name,
                          const struct halo_output_settings *settings, struct halo_error *err);

#endif
