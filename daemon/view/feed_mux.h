/* SPDX-License-Identifier: BSD-2-Clause
 * A muxer for a feed's packets: MPEG-TS, Matroska, NUT or fragmented MP4. It begins at a keyframe,
 * with a header and timestamps from 0, and writes each packet completely before it returns. Loop
 * thread only. */
#ifndef HALO_FEED_MUX_H
#define HALO_FEED_MUX_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/base/error.h"
#include "pipeline/output/parameters_wire.h"

struct halo_feed_mux;

/* Receives bytes. If they lie in a packet, ref is the packet's buffer, so that large pieces need
 * not be copied; otherwise it is NULL. Returns 0 or -ENOMEM. */
typedef int halo_feed_mux_write(void *arg, const uint8_t *data, size_t size,
                                const AVBufferRef *ref);

/* muxer: FFmpeg's name, a static string. rigid: the container cannot signal new parameters. base:
 * the time in the feed (us) that is the container's 0; INT64_MIN: that of the first keyframe.
 * Returns 0 or -ENOMEM. */
struct halo_feed_mux_settings {
    const char *muxer;
    bool rigid;
    int64_t base;
};
int halo_feed_mux_create(struct halo_feed_mux **ret, const struct halo_feed_mux_settings *settings,
                         halo_feed_mux_write *write, void *arg);
void halo_feed_mux_destroy(struct halo_feed_mux *mux); /* NULL is ignored */

/* Sets the parameters of the packets that follow. Returns 0, or, with err filled, -EPIPE if the
 * container cannot signal them, -ENOTSUP if it cannot hold them, or another -errno. */
int halo_feed_mux_begin(struct halo_feed_mux *mux, const struct halo_encoding_parameters *begin,
                        struct halo_error *err);
/* Writes the header, if it is not written yet; key is the keyframe with which the muxer begins.
 * Returns 0, or -errno with err filled. */
int halo_feed_mux_header(struct halo_feed_mux *mux, const AVPacket *key, struct halo_error *err);
/* Writes a packet, and the header before the first one, which must be a keyframe. Returns 0, or
 * -errno with err filled. */
int halo_feed_mux_packet(struct halo_feed_mux *mux, const AVPacket *pkt, struct halo_error *err);
/* Writes the container's end. */
void halo_feed_mux_end(struct halo_feed_mux *mux);
/* The parameters of the header: those of begin, with the parameter sets of the first keyframe.
 * NULL: there is no header yet. */
const AVCodecParameters *halo_feed_mux_video(const struct halo_feed_mux *mux);

#endif
