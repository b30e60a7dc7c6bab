/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs that an engine writes itself: files in segments, and URLs. Each has a thread of its own,
 * a bounded queue and its own failures: a disk that is full stops that output alone, which says so
 * once, drops and counts, and goes on at a key frame when there is room again. */
#ifndef HALO_OUTPUT_H
#define HALO_OUTPUT_H

#include <libavcodec/avcodec.h>

#include "config/daemon.h"
#include "config/error.h"
#include "pipeline/output/begin_wire.h"

struct halo_output;

enum halo_output_state {
    HALO_OUTPUT_IDLE, /* nothing has come yet, or it is switched off */
    HALO_OUTPUT_WRITING,
    HALO_OUTPUT_FAILED, /* tried again with growing pauses, until it wrote for a second; `why` says
                           what */
};

struct halo_output_stats {
    enum halo_output_state state;
    char why[600];
    char path[512]; /* FILE: of the present segment */
    int64_t packets, bytes, dropped, segments, failures;
};

/* name: of the stream, for messages. settings are copied. 0, -EINVAL with a usage error, -ENOMEM,
 * -EAGAIN (no thread). Nothing is opened yet: what the disk or the other side has against it, they
 * say later. FILE: folders that are missing are made, and a name that is taken gets -1, -2 ...
 * before its ending: a file that is there is never written to. Each segment begins at time 0. */
int halo_output_create(struct halo_output **ret, const char *name,
                       const struct halo_output_settings *settings, struct halo_error *err);

/* FILE: told of each file that is finished and synced, on a thread of the output's, not after
 * halo_output_destroy(); must not block. Before halo_output_begin(). */
void halo_output_listen(struct halo_output *output, void (*finished)(void *arg, const char *path),
                        void *arg);

/* What the next packets are; a change of parameters closes a segment and begins a new one. The
 * structs are copied. Any thread, but one at a time with _packet. */
int halo_output_begin(struct halo_output *output, const struct halo_live_begin *begin);
/* Never blocks: what finds no room is dropped, up to the next key frame. Times as in live.h. */
void halo_output_packet(struct halo_output *output, const AVPacket *pkt);

/* Recording on or off (`haloctl record`); on at first. */
void halo_output_switch(struct halo_output *output, bool on);
void halo_output_stats(struct halo_output *output, struct halo_output_stats *ret);

/* Finishes what is open; blocks for at most five seconds; NULL is nothing to do. */
void halo_output_destroy(struct halo_output *output);

#endif
