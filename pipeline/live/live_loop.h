/* SPDX-License-Identifier: BSD-2-Clause
 * Files that loop without being opened again: the demuxer is rewound, and the decoder goes on with
 * the first packet as if it followed the last one, or is drained before, if that could give another
 * picture. A file whose first packet has changed is opened again for each turn.
 *
 * Owner: the source thread; no lock. */
#ifndef HALO_LIVE_LOOP_H
#define HALO_LIVE_LOOP_H

#include <libavcodec/packet.h>
#include <stdbool.h>
#include <stdint.h>

struct halo_live;
struct halo_live_input;

/* By which a file that was rewound shows that it begins as it did. */
struct halo_live_first {
    bool known;
    int64_t pts, dts;
    int size, flags;
};

/* Which file has a name, and how it is; all zero: none. */
struct halo_live_file {
    uint64_t device, number;
    int64_t size, changed; /* bytes; ns */
};

/* Of a session. */
struct halo_live_loop {
    bool rewound;                 /* its first packet is still to be compared */
    bool goes_on;                 /* its decoder can take that behind the last one */
    struct halo_live_first first; /* packet of the pictures, when it was opened */
    struct halo_live_file file;   /* that was opened */
    int64_t shift;                /* added to times: in the pictures' time base */
    int64_t turn, last; /* in the same: where this turn begins; the latest picture that was read */
    int64_t before;     /* pictures given before this turn */
};

/* Before it is opened: which file it is. */
void halo_live_loop_begin(const struct halo_live *live, struct halo_live_input *in);
/* Every packet that was read, then those of the pictures; false: the file does not begin as it did,
 * and is at its end. */
void halo_live_loop_shift(const struct halo_live_input *in, AVPacket *pkt);
bool halo_live_loop_pass(struct halo_live *live, struct halo_live_input *in);
/* At the end of the file: true: it has begun again, and the decoder goes on. */
bool halo_live_loop_on(struct halo_live *live, struct halo_live_input *in);
/* The same, once the decoder has given all; false: it has to be opened again. */
bool halo_live_loop_again(struct halo_live *live, struct halo_live_input *in);

#endif
