/* SPDX-License-Identifier: BSD-2-Clause
 * Finds images inside data that is copied without being decoded: attachments, tags, codec headers
 * and the side data of packets. It recognizes them by their bytes, and does not trust the types
 * that files declare. Any thread; no call blocks. */
#ifndef HALO_EMBEDDED_H
#define HALO_EMBEDDED_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/base/error.h"

/* Returns whether data is a font file (TrueType, OpenType, a collection of them, WOFF or WOFF2)
 * whose tables account for all of its bytes. */
bool halo_embedded_is_font(const uint8_t *data, size_t size);

/* Returns whether a tag is or may be an image: its name suggests an image, or its value contains
 * one in base64 or hexadecimal. */
bool halo_embedded_tag_is_picture(const char *key, const char *value);

/* Returns whether side data of this type, in a copied stream or packet, can contain nothing but
 * parameters. */
bool halo_embedded_side_data_is_plain(enum AVPacketSideDataType type);

/* Removes, from the codec headers of a stream that is not video, anything that may contain images:
 * Vorbis comments, files inside ASS scripts, images after other headers. If images were found, this
 * is logged in one line that begins with name, the name of the input. Returns 0, or -ENOMEM with
 * err filled. */
int halo_embedded_clean_stream(const char *name, AVStream *stream, struct halo_error *err);

/* Removes the packet's side data that is not plain (halo_embedded_side_data_is_plain). */
void halo_embedded_clean_packet(AVPacket *pkt);

#endif
