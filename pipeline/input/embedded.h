/* SPDX-License-Identifier: BSD-2-Clause
 * Pictures inside what is copied and not decoded: attachments, tags, codec headers and the side
 * data of packets. They are known by their bytes; the types that files declare are not trusted.
 * Any thread; nothing here blocks. */
#ifndef HALO_EMBEDDED_H
#define HALO_EMBEDDED_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/error.h"

/* Whether it is a font file (TrueType, OpenType, a collection of them, WOFF, WOFF2) whose tables
 * account for all of its bytes. */
bool halo_embedded_is_font(const uint8_t *data, size_t size);

/* Whether a tag is, or may be, a picture: its name says so, or it holds one in base64 or hex. */
bool halo_embedded_tag_is_picture(const char *key, const char *value);

/* Whether side data of this kind, of a stream or packet that is copied, can hold nothing but
 * parameters. */
bool halo_embedded_side_data_is_plain(enum AVPacketSideDataType type);

/* Takes what may hold pictures out of the codec headers of a stream that is not video: Vorbis
 * comments, the files inside ASS scripts, pictures behind other headers. A line names those found;
 * name: of the input. 0, or -ENOMEM with err filled. */
int halo_embedded_clean_stream(const char *name, AVStream *stream, struct halo_error *err);

/* Removes the side data that is not plain. */
void halo_embedded_clean_packet(AVPacket *pkt);

#endif
