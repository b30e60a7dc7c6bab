/* SPDX-License-Identifier: BSD-2-Clause
 * Checks whether a file was complete: compares what its demuxer read with what the file declares.
 * Use it from one thread at a time. */
#ifndef HALO_SOURCE_WHOLE_H
#define HALO_SOURCE_WHOLE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"

struct halo_whole;

/* For an open input, which must outlive the result. NULL: out of memory. The caller owns it. */
struct halo_whole *halo_whole_create(AVFormatContext *input);
void halo_whole_destroy(struct halo_whole *w); /* accepts NULL */

/* Call for each packet of a stream that existed at the creation. */
void halo_whole_note(struct halo_whole *w, const AVPacket *pkt);

/* In seconds: the time of the stream's last packet, and the end of what was read. */
double halo_whole_time(const struct halo_whole *w, int stream);
double halo_whole_end(const struct halo_whole *w);

/* Whether the input declares its duration. */
bool halo_whole_declares(const AVFormatContext *input);

/* Call after the demuxer's end. 0, or -EBADMSG with err filled: truncated, and where. Reads a few
 * bytes of the file. */
int halo_whole_check(const struct halo_whole *w, const char *name, struct halo_error *err);

#endif
