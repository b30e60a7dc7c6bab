/* SPDX-License-Identifier: BSD-2-Clause
 * A video decoder: packets of one stream in, raw pictures out. One thread at a time. */
#ifndef HALO_DECODE_H
#define HALO_DECODE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"
#include "pipeline/input/decode_hw.h"

struct halo_memory;
struct halo_damage;
struct halo_raw_picture;
struct halo_decoder;

struct halo_decoder_settings {
    struct halo_memory *memory; /* what the pictures are decoded into on the host */
    struct halo_decode_hw_wish hw;
    bool declared;       /* the file says how long it is (halo_source_declares) */
    bool live;           /* no picture is held back to decode others beside it */
    int64_t most_pixels; /* of a picture, more is refused; 0: as FFmpeg has it */
    bool
        whole; /* pictures with damage are dropped, whatever is accepted, and none is concealed; one
                   that is too large is damage */
};

/* 0; -ENOTSUP (no decoder), -errno, with err filled. name: of the input, for messages; it, stream,
 * damage and the memory must outlive the decoder. */
int halo_decoder_open(struct halo_decoder **ret, const char *name, AVStream *stream,
                      const struct halo_decoder_settings *settings, struct halo_damage *damage,
                      struct halo_error *err);
void halo_decoder_close(struct halo_decoder *d); /* NULL is nothing to do */

/* After the end: for the packets of the same stream from its beginning again, which it decodes as
 * it did the first time. 0 or -errno with err filled. */
int halo_decoder_rewind(struct halo_decoder *d, struct halo_error *err);

/* Whether it need not be rewound, and none of what it holds be taken out: first, with which the
 * stream begins, may just follow the last packet. The GPU's decoder for H.264 is opened anew where
 * it is rewound, which takes its time. */
bool halo_decoder_goes_on(const struct halo_decoder *d, const AVPacket *first);

/* Feeds a packet, or NULL at the end; then take every picture with halo_decoder_receive before the
 * next packet. Packets before the first key frame are skipped, since nothing can be made of them:
 * where `declared` they are damage. 0 or -errno with err saying what is damaged at what time (0
 * where damage is accepted). */
int halo_decoder_send(struct halo_decoder *d, const AVPacket *pkt, struct halo_error *err);

/* 1: *ret is the caller's, its pts set; 0: more packets are needed, or the end; -errno: damaged. */
int halo_decoder_receive(struct halo_decoder *d, struct halo_raw_picture **ret,
                         struct halo_error *err);

/* Whether a device decodes, or may: what it is asked may wait for the device. */
bool halo_decoder_in_hardware(const struct halo_decoder *d);

/* Why the CPU decodes what the GPU's decoder was to, and would not; "" where that is not so. */
const char *halo_decoder_refusal(const struct halo_decoder *d);

/* Damage before -ss and behind -t is not the user's: only pictures of times from <= t < until count
 * (in the stream's time base; INT64_MIN and INT64_MAX: all). Before the first packet. */
void halo_decoder_set_window(struct halo_decoder *d, int64_t from, int64_t until);

#endif
