/* SPDX-License-Identifier: BSD-2-Clause
 * Images inside data that is copied without being decoded: attachments, tags, codec headers and
 * side data of packets. They are recognized by their bytes; types that files declare are not
 * trusted. Any thread; no call blocks. */
#ifndef HALO_EMBEDDED_H
#define HALO_EMBEDDED_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/error.h"

/* Whether data is a font file (TrueType, OpenType, a collection of them, WOFF, WOFF2) whose tables
 * account for all of its bytes. */
bool halo_embedded_is_font(const uint8_t *data, size_t size);

/* Whether a tag is, or may be, an image: its name suggests one, or its value contains one in base64
 * or hexadecimal. */
bool halo_embedded_tag_is_picture(const char *key, const char *value);

/* Whether side data of this type, in a copied stream or packet, can contain nothing but
 * parameters. */
bool halo_embedded_side_data_is_plain(enum AVPacketSideDataType type);

/* Removes what may contain images from the codec headers of a stream that is not video: Vorbis
 * comments, files inside ASS scripts, images after other headers. Images that were found are logged
 * in one line with name, the input's name. 0, or -ENOMEM with err filled. */
int halo_embedded_clean_stream(const char *name, AVStream *stream, struct halo_error *err);

/* Removes side data that is not plain (halo_embedded_side_data_is_plain). */
void halo_embedded_clean_packet(AVPacket *pkt);

#endif
