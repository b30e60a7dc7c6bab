/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs that an engine writes itself: files in segments, live playlists, and URLs. Each has its
 * own thread and a bounded queue, and a failure affects only that output, such as when its disk is
 * full. It then logs the failure once, drops and counts packets, and continues at a keyframe once
 * writing is possible again. */
#ifndef HALO_OUTPUT_H
#define HALO_OUTPUT_H

#include <libavcodec/avcodec.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "pipeline/output/parameters_wire.h"

struct halo_output;

enum halo_output_state {
    HALO_OUTPUT_IDLE, /* no packet has arrived yet, or the output is switched off */
    HALO_OUTPUT_WRITING,
    /* The output failed and is retried after increasingly long pauses. This state ends when the
     * output has been writing for a second. `why` contains the reason. */
    HALO_OUTPUT_FAILED,
};

struct halo_output_stats {
    enum halo_output_state state;
    char why[600];
    char path[512]; /* for a file: path of the current segment */
    int64_t packets, bytes, dropped, segments, failures;
};

/* Checks what halo_output_create() checks, without creating anything. Returns the same. */
int halo_output_check(const struct halo_output_settings *settings, struct halo_error *err);

/* Creates an output without opening anything yet: errors of the disk or the server are reported
 * later. name is the stream's name, for messages; settings are copied. For files, missing folders
 * are created, and each segment begins at time 0. If a name is taken, -1, -2 ... is inserted before
 * its suffix: an existing file is never written to. Returns 0, -EINVAL with a usage error, -ENOMEM,
 * or -EAGAIN if no thread could be started. */
int halo_output_create(struct halo_output **ret, const char *name,
                       const struct halo_output_settings *settings, struct halo_error *err);

/* Registers `finished`, which is called for each file that is finished and synced, on a thread of
 * the output and never after halo_output_destroy(). The function `finished` must not block. Call
 * halo_output_listen() only for an output to files, and before halo_output_begin(). */
void halo_output_listen(struct halo_output *output, void (*finished)(void *arg, const char *path),
                        void *arg);

/* Describes the packets that follow. If the codec parameters change, the segment is closed and a
 * new one begins. The description is copied. Any thread may call this function, but not at the same
 * time as halo_output_packet(). */
int halo_output_begin(struct halo_output *output, const struct halo_encoding_parameters *begin);
/* Queues a packet. The packet's times must be as described in live.h. Never blocks: if the queue is
 * full, packets are dropped up to the next keyframe. */
void halo_output_packet(struct halo_output *output, const AVPacket *pkt);

/* Switches the output on or off (`haloctl record`). A new output is switched on. */
void halo_output_switch(struct halo_output *output, bool on);
void halo_output_stats(struct halo_output *output, struct halo_output_stats *ret);

/* Finishes the open file or connection; blocks for at most five seconds. Accepts NULL. */
void halo_output_destroy(struct halo_output *output);

#endif
