/* SPDX-License-Identifier: BSD-2-Clause
 * HDR metadata: the mastering display (SMPTE ST 2086) and the content's light levels (CTA 861.3),
 * passed from the input's container or first frame to the output's container and encoder. Metadata
 * that changes from frame to frame (HDR10+, Dolby Vision) describes unfiltered frames and is left
 * out. */
#ifndef HALO_HDR_H
#define HALO_HDR_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mastering_display_metadata.h>
#include <stdbool.h>

#include "config/base/error.h"

struct halo_first_frame;

struct halo_hdr {
    bool has_display, has_light;
    AVMasteringDisplayMetadata display;
    AVContentLightMetadata light;
};

/* Whether the stream's transfer characteristic is that of HDR. */
bool halo_hdr_is(const AVStream *stream);

/* Reads the stream's metadata from its container. If the stream's transfer characteristic is HDR,
 * metadata that the container lacks is taken from the first frame (first_frame.h). */
void halo_hdr_find(struct halo_hdr *ret, const struct halo_first_frame *first,
                   const AVStream *stream);

/* Writes the metadata to the output stream. Returns 0 or -ENOMEM. */
int halo_hdr_describe(const struct halo_hdr *hdr, AVStream *out);

/* Logs one line if there is metadata that neither the codec nor the container can store. */
void halo_hdr_say_lost(const struct halo_hdr *hdr, const AVCodec *codec, const AVStream *out,
                       const AVOutputFormat *container);

/* Appends the metadata to the string `text` as encoder parameters ("key=value:..."), in the syntax
 * of this codec. The string may be empty or already contain other parameters. The string is
 * unchanged if the codec has no such parameters. */
void halo_hdr_append(const struct halo_hdr *hdr, const AVCodec *codec, char *text, size_t size);

#endif
