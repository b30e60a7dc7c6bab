/* SPDX-License-Identifier: BSD-2-Clause
 * Checks whether a file was complete by comparing what its demuxer read with what the file
 * declares. Use it from one thread at a time. */
#ifndef HALO_SOURCE_WHOLE_H
#define HALO_SOURCE_WHOLE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/base/error.h"

struct halo_whole;

/* Creates the state for checking an open input. The input must outlive the result. Returns NULL if
 * out of memory. The caller owns the result. */
struct halo_whole *halo_whole_create(AVFormatContext *input);
void halo_whole_destroy(struct halo_whole *w); /* accepts NULL */

/* Records a packet. Call this for each packet of the streams that existed when w was created. */
void halo_whole_note(struct halo_whole *w, const AVPacket *pkt);

/* halo_whole_time() returns the time of the stream's last packet. halo_whole_end() returns the
 * latest end time among all packets read from all streams. Both times are in seconds. */
double halo_whole_time(const struct halo_whole *w, int stream);
double halo_whole_end(const struct halo_whole *w);

/* Returns whether the input declares its duration. */
bool halo_whole_declares(const AVFormatContext *input);

/* Returns 0, or -EBADMSG with err filled if the file is truncated. err then contains the time at
 * which the data that could be read ends. Call this after the demuxer has reached the end. The
 * check reads a few bytes of the file. */
int halo_whole_check(const struct halo_whole *w, const char *name, struct halo_error *err);

#endif
