/* SPDX-License-Identifier: BSD-2-Clause
 * Converts text subtitles if the output's container does not support the input's codec. Use it from
 * one thread at a time. */
#ifndef HALO_SUBTITLE_H
#define HALO_SUBTITLE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/base/error.h"

struct halo_subtitle;

/* Returns a text subtitle codec that the container supports, or AV_CODEC_ID_NONE if there is none
 * or the subtitles are bitmaps. */
enum AVCodecID halo_subtitle_codec(const AVOutputFormat *container, enum AVCodecID from);

/* Opens a converter. Returns 0, or -errno with err filled; the caller owns *ret. */
int halo_subtitle_open(struct halo_subtitle **ret, const AVStream *in, enum AVCodecID to,
                       struct halo_error *err);
void halo_subtitle_close(struct halo_subtitle *s); /* accepts NULL */

/* Fills the output stream's codec parameters and time base. Returns 0 or -ENOMEM. */
int halo_subtitle_describe(const struct halo_subtitle *s, AVStream *out);

/* Replaces pkt's data and keeps its times. Returns 1 if pkt was converted; 0 if it contains no text
 * and should be skipped; or -errno with err filled. */
int halo_subtitle_convert(struct halo_subtitle *s, AVPacket *pkt, struct halo_error *err);

#endif
