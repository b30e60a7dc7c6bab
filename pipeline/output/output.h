/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs that an engine writes itself: files in segments, and URLs. Each has its own thread, a
 * bounded queue, and fails alone: a full disk stops only that output. It logs the failure once,
 * drops and counts packets, and continues at a keyframe when there is space again. */
#ifndef HALO_OUTPUT_H
#define HALO_OUTPUT_H

#include <libavcodec/avcodec.h>

#include "config/daemon.h"
#include "config/error.h"
#include "pipeline/output/begin_wire.h"

struct halo_output;

enum halo_output_state {
    HALO_OUTPUT_IDLE, /* no packet has arrived yet, or it is switched off */
    HALO_OUTPUT_WRITING,
    /* retried with growing pauses, until it has written for a second; the reason is in `why` */
    HALO_OUTPUT_FAILED,
};

struct halo_output_stats {
    enum halo_output_state state;
    char why[600];
    char path[512]; /* FILE: path of the current segment */
    int64_t packets, bytes, dropped, segments, failures;
};

/* name is the stream's, for messages. settings are copied. 0, -EINVAL with a usage error, -ENOMEM,
 * -EAGAIN (no thread). Nothing is opened yet: errors of the disk or the remote side are reported
 * later. FILE: missing folders are created, and if a name is taken, -1, -2 ... is inserted before
 * its suffix: an existing file is never written to. Each segment begins at time 0. */
int halo_output_create(struct halo_output **ret, const char *name,
                       const struct halo_output_settings *settings, struct halo_error *err);

/* FILE: `finished` is called for each file that is finished and synced, on a thread of the output
 * and never after halo_output_destroy(); it must not block. Call before halo_output_begin(). */
void halo_output_listen(struct halo_output *output, void (*finished)(void *arg, const char *path),
                        void *arg);

/* Describes the packets that follow; if parameters change, the segment is closed and a new one
 * begun. The structs are copied. Any thread, but not at the same time as halo_output_packet(). */
int halo_output_begin(struct halo_output *output, const struct halo_live_begin *begin);
/* Never blocks: if the queue is full, packets are dropped up to the next keyframe. Times as in
 * live.h. */
void halo_output_packet(struct halo_output *output, const AVPacket *pkt);

/* Switches recording on or off (`haloctl record`); initially on. */
void halo_output_switch(struct halo_output *output, bool on);
void halo_output_stats(struct halo_output *output, struct halo_output_stats *ret);

/* Finishes the open file or connection; blocks for at most five seconds. Accepts NULL. */
void halo_output_destroy(struct halo_output *output);

#endif
