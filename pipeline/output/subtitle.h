/* SPDX-License-Identifier: BSD-2-Clause
 * Text subtitles from one form into another, where the output's container cannot hold the input's.
 * One thread at a time. */
#ifndef HALO_SUBTITLE_H
#define HALO_SUBTITLE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"

struct halo_subtitle;

/* The text form that the container holds, or AV_CODEC_ID_NONE (pictures of text, or no such
 * form). */
enum AVCodecID halo_subtitle_codec(const AVOutputFormat *container, enum AVCodecID from);

/* 0 or -errno with err filled; the caller owns *ret. */
int halo_subtitle_open(struct halo_subtitle **ret, const AVStream *in, enum AVCodecID to,
                       struct halo_error *err);
void halo_subtitle_close(struct halo_subtitle *s); /* NULL is nothing to do */

/* Fills the output stream's codec parameters and time base. 0 or -ENOMEM. */
int halo_subtitle_describe(const struct halo_subtitle *s, AVStream *out);

/* Replaces pkt's data; times stay. 1: converted; 0: it says nothing (skip it); -errno, err
 * filled. */
int halo_subtitle_convert(struct halo_subtitle *s, AVPacket *pkt, struct halo_error *err);

#endif
