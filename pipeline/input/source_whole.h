/* SPDX-License-Identifier: BSD-2-Clause
 * Checks whether a file was complete by comparing what its demuxer read with what the file
 * declares. Use it from one thread at a time. */
#ifndef HALO_SOURCE_WHOLE_H
#define HALO_SOURCE_WHOLE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"

struct halo_whole;

/* Creates a check for an open input, which must outlive the result. Returns NULL if out of memory.
 * The caller owns the result. */
struct halo_whole *halo_whole_create(AVFormatContext *input);
void halo_whole_destroy(struct halo_whole *w); /* accepts NULL */

/* Records a packet. Call it for each packet of those streams that existed when w was created. */
void halo_whole_note(struct halo_whole *w, const AVPacket *pkt);

/* Return times in seconds: halo_whole_time() the time of the stream's last packet, halo_whole_end()
 * the end of everything that was read. */
double halo_whole_time(const struct halo_whole *w, int stream);
double halo_whole_end(const struct halo_whole *w);

/* Returns whether the input declares its duration. */
bool halo_whole_declares(const AVFormatContext *input);

/* Returns 0, or -EBADMSG with err filled if the file is truncated; err then gives the time at which
 * data is missing. Call it after the demuxer's end; it reads a few bytes of the file. */
int halo_whole_check(const struct halo_whole *w, const char *name, struct halo_error *err);

#endif
