/* SPDX-License-Identifier: BSD-2-Clause
 * Files that loop without being reopened: the demuxer seeks to the start, and the decoder receives
 * the first packet as if it followed the last one. If that could change a frame, the decoder is
 * drained first. A file whose first packet has changed is reopened for each turn.
 *
 * Owner: the source thread; no lock. */
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

/* Identity and state of the file with a name; all zero: it does not exist. */
struct halo_live_file {
    uint64_t device, number;
    int64_t size, changed; /* bytes; ns */
};

/* The loop state of a session. */
struct halo_live_loop {
    bool rewound; /* its first packet is still to be compared */
    bool goes_on; /* its decoder can accept the first packet right after the last one */
    struct halo_live_first first; /* the first video packet, from when it was opened */
    struct halo_live_file file;   /* the file that was opened */
    int64_t shift;                /* added to timestamps; in the video's time base */
    int64_t turn, last; /* in the same time base: start of this turn; latest frame read so far */
    int64_t before;     /* frames returned before this turn */
};

/* Before opening: records the identity of the file. */
void halo_live_loop_begin(const struct halo_live *live, struct halo_live_input *in);
/* Call shift for every packet that was read, then pass for those of the video. pass returns false
 * if the file no longer begins as before; treat that as its end. */
void halo_live_loop_shift(const struct halo_live_input *in, AVPacket *pkt);
bool halo_live_loop_pass(struct halo_live *live, struct halo_live_input *in);
/* At the end of the file: true: it was rewound, and the decoder goes on. */
bool halo_live_loop_on(struct halo_live *live, struct halo_live_input *in);
/* The same, after the decoder was drained; false: the file must be reopened. */
bool halo_live_loop_again(struct halo_live *live, struct halo_live_input *in);

#endif
