/* SPDX-License-Identifier: BSD-2-Clause
 * HDR: the display that pictures were mastered on (SMPTE ST 2086) and their light levels (CTA
 * 861.3), from the input's container or its first picture to the output's container and encoder.
 * What changes from picture to picture (HDR10+, Dolby Vision) describes unfiltered pictures, and is
 * left out. */
#ifndef HALO_HDR_H
#define HALO_HDR_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mastering_display_metadata.h>
#include <stdbool.h>

#include "config/error.h"

struct halo_source;

struct halo_hdr {
    bool has_display, has_light;
    AVMasteringDisplayMetadata display;
    AVContentLightMetadata light;
};

/* What the container says of the stream, and, where its transfer is that of HDR and the container
 * says nothing, its first picture, for which the source is read ahead. May block. 0 or -errno with
 * err filled. */
int halo_hdr_find(struct halo_hdr *ret, struct halo_source *source, const AVStream *stream,
                  struct halo_error *err);

/* Into the container. 0 or -ENOMEM. */
int halo_hdr_describe(const struct halo_hdr *hdr, AVStream *out);

/* One line where neither codec nor container can say it. */
void halo_hdr_say_lost(const struct halo_hdr *hdr, const AVCodec *codec, const AVStream *out,
                       const AVOutputFormat *container);

/* Into the encoder: appends "key=value:..." for the parameters of codec to text, which may be empty
 * or hold others. Unchanged where codec takes none. */
void halo_hdr_append(const struct halo_hdr *hdr, const AVCodec *codec, char *text, size_t size);

#endif
