/* SPDX-License-Identifier: BSD-2-Clause
 * A video decoder: takes the packets of one stream and returns unfiltered frames. Use it from one
 * thread at a time. */
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
    struct halo_memory *memory; /* host memory for the decoded frames */
    struct halo_decode_hw_wish hw;
    bool declared;       /* the input declares its duration (halo_source_declares) */
    bool live;           /* frames are not decoded in parallel, so none is held back for that */
    int64_t most_pixels; /* most pixels of a frame; larger frames are refused; 0: FFmpeg's limit */
    /* damaged frames are dropped even if damage is accepted, and none is concealed; a frame that is
     * too large counts as damaged */
    bool whole;
};

/* 0; -ENOTSUP (no decoder) or another -errno, with err filled. name is the input's, for messages.
 * name, stream, damage and the memory must outlive the decoder. */
int halo_decoder_open(struct halo_decoder **ret, const char *name, AVStream *stream,
                      const struct halo_decoder_settings *settings, struct halo_damage *damage,
                      struct halo_error *err);
void halo_decoder_close(struct halo_decoder *d); /* accepts NULL */

/* Call after the end, to decode the packets of the same stream from its beginning again, with the
 * same results as the first time. 0 or -errno with err filled. */
int halo_decoder_rewind(struct halo_decoder *d, struct halo_error *err);

/* Whether the decoder can continue without being rewound or drained: `first`, the stream's first
 * packet, may directly follow its last. Rewinding the GPU's decoder for H.264 opens it again, which
 * takes time. */
bool halo_decoder_goes_on(const struct halo_decoder *d, const AVPacket *first);

/* Feeds a packet, or NULL at the end. Afterwards, receive every frame with halo_decoder_receive
 * before sending the next packet. Packets before the first keyframe cannot be decoded and are
 * skipped; if `declared` is set, they count as damage. 0, also if the damage is accepted, or -errno
 * with err naming the damage and its time. */
int halo_decoder_send(struct halo_decoder *d, const AVPacket *pkt, struct halo_error *err);

/* 1: a frame, owned by the caller, with its pts set; 0: more packets are needed, or the end;
 * -errno: damaged. */
int halo_decoder_receive(struct halo_decoder *d, struct halo_raw_picture **ret,
                         struct halo_error *err);

/* Whether a device decodes or may do so: calls may then wait for the device. */
bool halo_decoder_in_hardware(const struct halo_decoder *d);

/* Why the CPU decodes although the GPU's decoder was tried; "" if that is not the case. */
const char *halo_decoder_refusal(const struct halo_decoder *d);

/* Damage outside of the part that -ss and -t select does not concern the user: only frames with
 * times from <= t < until count (in the stream's time base; INT64_MIN and INT64_MAX: all). Call
 * before the first packet. */
void halo_decoder_set_window(struct halo_decoder *d, int64_t from, int64_t until);

#endif
