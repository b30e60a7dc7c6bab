/* SPDX-License-Identifier: BSD-2-Clause
 * Was a file whole? What its demuxer read, against what the file declares. One thread at a time. */
#ifndef HALO_SOURCE_WHOLE_H
#define HALO_SOURCE_WHOLE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"

struct halo_whole;

/* For an open input, which must outlive it; NULL: out of memory. The caller owns it. */
struct halo_whole *halo_whole_create(AVFormatContext *input);
void halo_whole_destroy(struct halo_whole *w); /* NULL is nothing to do */

/* Each packet of a stream that was there at the creation. */
void halo_whole_note(struct halo_whole *w, const AVPacket *pkt);

double halo_whole_time(const struct halo_whole *w, int stream); /* seconds: its last packet's */
double halo_whole_end(const struct halo_whole *w); /* seconds: where what was read ends */

/* Whether the input says how long it is. */
bool halo_whole_declares(const AVFormatContext *input);

/* After the demuxer's end. 0, or -EBADMSG with err filled: truncated, and where. Reads a few bytes
 * of the file. */
int halo_whole_check(const struct halo_whole *w, const char *name, struct halo_error *err);

#endif
