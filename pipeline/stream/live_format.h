/* SPDX-License-Identifier: BSD-2-Clause
 * The format of a live stream: the dimensions, pixel format and rate of its frames, and the
 * parameters of its audio. Later frames in another format are converted to this one.
 *
 * It is constant once it is made. Either the source thread or the card thread makes and removes it,
 * never both at once (stages.h). live->format may be read by the thread that made it; by the
 * threads of the stages, which start after it was made and end before it is removed; and between
 * halo_graphs_use() and halo_graphs_used(). */
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
    /* This context only describes the streams; no input is read through it. Stream 0 is the video,
     * and stream 1 the audio, if there is any. The time base of the streams is microseconds. */
    AVFormatContext *like;
    AVRational framerate, aspect;
    struct halo_hdr hdr;
    struct halo_gate_input input;
    bool made_up;              /* the format was assumed, and is not the source's own */
    enum AVPixelFormat format; /* pixel format of filtered frames */
    /* a gray frame with text and a black one, shown if the engine dies */
    struct halo_output_frame *blank[2];
};

/* Makes live->format and the first graph for it. `in` is NULL if only the settings are known.
 * Returns 0, or -errno with err filled; on an error live->format may or may not be set. */
int halo_live_make_graph(struct halo_live *live, const struct halo_live_input *in,
                         struct halo_error *err);
void halo_live_format_destroy(struct halo_live_format *format); /* NULL: does nothing */

/* Draws a card with the stream's name, in the same way as halo_gate_card(). */
int halo_live_card_draw(const struct halo_live *live, const struct halo_output_frame *like,
                        const char *words, int64_t pts, struct halo_output_frame **ret);

#endif
