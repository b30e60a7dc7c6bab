/* SPDX-License-Identifier: BSD-2-Clause
 * The shape of a live stream: size, format and rate of its pictures, and parameters of its sound.
 * Later pictures of another shape are converted to this one.
 *
 * Constant once it is made. The source or the card thread makes and removes it, one at a time
 * (live_stages.h). live->shape may be read by the threads of the stages, which start after it was
 * made and end before it goes, by its users (halo_live_lineups_use()), and by the thread that made
 * it. */
#ifndef HALO_LIVE_FORMAT_H
#define HALO_LIVE_FORMAT_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "pipeline/gate/gate.h"
#include "pipeline/input/hdr.h"

static const AVRational HALO_LIVE_TIME = {1, 1000000};

struct halo_live;
struct halo_live_input;

struct halo_live_format {
    AVFormatContext *like; /* stream 0: the pictures, 1: the sound, if there is any; in
                              microseconds. It describes: nothing is read from it */
    AVRational framerate, aspect;
    struct halo_hdr hdr;
    struct halo_gate_input input;
    bool made_up;                         /* not the source's own */
    enum AVPixelFormat format;            /* of filtered pictures */
    struct halo_output_picture *blank[2]; /* gray with words, black: for who dies */
};

/* live->shape, with the first lineup built for it. in NULL: nothing is known of the source but the
 * settings. 0 or -errno with err filled; live->shape is there or not. */
int halo_live_make_lineup(struct halo_live *live, const struct halo_live_input *in,
                          struct halo_error *err);
void halo_live_format_destroy(struct halo_live_format *format); /* NULL is nothing to do */

#endif
