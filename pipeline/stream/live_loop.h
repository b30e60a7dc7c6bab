/* SPDX-License-Identifier: BSD-2-Clause
 * Looping files that are not reopened: the demuxer seeks to the start, and the decoder receives the
 * first packet as if it followed the last one. If that could change a frame, the decoder is drained
 * first. A file is reopened for each repetition if seeking does not return its original first
 * packet.
 *
 * Owner: the source thread; no lock is needed. */
#ifndef HALO_LIVE_LOOP_H
#define HALO_LIVE_LOOP_H

#include <libavcodec/packet.h>
#include <stdbool.h>
#include <stdint.h>

struct halo_live;
struct halo_live_input;

/* Properties of the first packet, by which a rewound file is recognised as unchanged. */
struct halo_live_first {
    bool known;
    int64_t pts, dts;
    int size, flags;
};

/* Identity and state of the file at a path; all zero if it does not exist. */
struct halo_live_file {
    uint64_t device, number;
    int64_t size, changed; /* bytes; ns */
};

/* The loop state of a session. */
struct halo_live_loop {
    bool rewound; /* the file was rewound, but its first packet has not been compared yet */
    bool goes_on; /* the decoder can accept the first packet right after the last one */
    struct halo_live_first first; /* the first video packet after the file was opened */
    struct halo_live_file file;   /* the file that was opened */
    int64_t shift;                /* offset that is added to timestamps, in the video's time base */
    /* turn: timestamp at which this repetition starts; last: latest timestamp read so far; both in
     * the video's time base */
    int64_t turn, last;
    int64_t before; /* number of frames returned before this repetition */
};

/* Records the identity of the file. Call this function before opening the file. */
void halo_live_loop_begin(const struct halo_live *live, struct halo_live_input *in);
/* Call halo_live_loop_shift() for every packet that was read, then halo_live_loop_pass() for video
 * packets. halo_live_loop_pass() returns false if the file no longer begins as before; treat this
 * as the end of the file. */
void halo_live_loop_shift(const struct halo_live_input *in, AVPacket *pkt);
bool halo_live_loop_pass(struct halo_live *live, struct halo_live_input *in);
/* Called at the end of the file. Returns true if the file was rewound and the decoder can
 * continue. */
bool halo_live_loop_on(struct halo_live *live, struct halo_live_input *in);
/* Called after the decoder has been drained. Returns true if the file was rewound, or false if it
 * must be reopened. */
bool halo_live_loop_again(struct halo_live *live, struct halo_live_input *in);

#endif
