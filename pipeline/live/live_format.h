/* SPDX-License-Identifier: BSD-2-Clause
 * The format of a live stream: dimensions, pixel format and rate of its frames, and parameters of
 * its audio. Later frames in another format are converted to this one.
 *
 * Constant once it is made. The source thread or the card thread makes and removes it, one at a
 * time (live_stages.h). live->format may be read by the thread that made it, by the threads of the
 * stages, which start after it was made and end before it is removed, and by its users
 * (halo_live_lineups_use()). */
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
    /* stream 0: the video, 1: the audio, if any; in microseconds. Only a description: nothing is
     * read from it */
    AVFormatContext *like;
    AVRational framerate, aspect;
    struct halo_hdr hdr;
    struct halo_gate_input input;
    bool made_up;                         /* assumed, not the source's own */
    enum AVPixelFormat format;            /* of filtered frames */
    struct halo_output_picture *blank[2]; /* gray with text, and black: shown if the engine dies */
};

/* Makes live->format, and the first lineup for it. in NULL: only the settings are known. 0 or
 * -errno with err filled; on an error live->format may or may not be set. */
int halo_live_make_lineup(struct halo_live *live, const struct halo_live_input *in,
                          struct halo_error *err);
void halo_live_format_destroy(struct halo_live_format *format); /* NULL: does nothing */

#endif
