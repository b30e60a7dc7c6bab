/* SPDX-License-Identifier: BSD-2-Clause
 * A video decoder: it receives the packets of one stream and returns unfiltered frames. Use it from
 * one thread at a time. */
#ifndef HALO_DECODE_H
#define HALO_DECODE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "pipeline/input/decode_hw.h"

struct halo_memory;
struct halo_damage;
struct halo_raw_frame;
struct halo_decoder;

struct halo_decoder_settings {
    struct halo_memory *memory; /* host memory for the decoded frames */
    struct halo_decode_hw_wish hw;
    bool declared;       /* whether the input declares its duration (halo_source_declares) */
    bool live;           /* do not decode frames in parallel, because that would delay them */
    int64_t most_pixels; /* largest number of pixels in a frame; larger frames are refused; 0:
                            FFmpeg's limit */
    /* drop damaged frames instead of concealing the damage, even if damage is accepted; frames that
     * are too large count as damaged */
    bool whole;
    int threads; /* of a software decoder; 0: as many as there are processors */
    /* It decodes groups of frames apart (decoders.h): frames are kept for long, so those in a GPU's
     * memory are copied, because the decoder has few; and what sets apart a group that another
     * decoder will decode again is not logged. */
    bool apart;
};

/* Opens a decoder for the stream. Returns 0, or -errno with err filled (-ENOTSUP if FFmpeg has no
 * decoder). `name` is the name of the input, for messages. name, stream, damage and
 * settings->memory must outlive the decoder. */
int halo_decoder_open(struct halo_decoder **ret, const char *name, AVStream *stream,
                      const struct halo_decoder_settings *settings, struct halo_damage *damage,
                      struct halo_error *err);
void halo_decoder_close(struct halo_decoder *d); /* accepts NULL */

/* Prepares the decoder to decode the packets of the same stream from its beginning again, with the
 * same results as the first time. Call this after the end of the stream. Returns 0, or -errno with
 * err filled. */
int halo_decoder_rewind(struct halo_decoder *d, struct halo_error *err);

/* Returns whether the decoder can continue from the end of the stream to its beginning without
 * being drained and rewound: `first`, the stream's first packet, may then directly follow the last
 * one. Continuing saves time, because rewinding opens an H.264 decoder on the GPU again. */
bool halo_decoder_goes_on(const struct halo_decoder *d, const AVPacket *first);

/* Sends a packet to the decoder, or NULL at the end. Afterwards, receive all frames with
 * halo_decoder_receive before sending the next packet. Packets before the first keyframe cannot be
 * decoded and are skipped; if `declared` was set in the decoder's settings, they count as damage.
 * Returns 0, or -errno with err filled. Damage is an error only if damage->keep_going (see
 * halo_decoder_open()) is false; err then contains the time of the damage. */
int halo_decoder_send(struct halo_decoder *d, const AVPacket *pkt, struct halo_error *err);

/* Checks whether the demuxer has marked the packet as encrypted. Returns 0, or -ENOTSUP with err
 * filled. name is the name of the input. Any thread. */
int halo_decode_refuse_encrypted(const char *name, const AVPacket *pkt, struct halo_error *err);

/* Returns 1 and a frame with its pts set, which the caller owns; 0 if the decoder needs more
 * packets or has reached the end; or -errno with err filled. */
int halo_decoder_receive(struct halo_decoder *d, struct halo_raw_frame **ret,
                         struct halo_error *err);

/* Returns true if a GPU decodes the stream or may start to decode it. Calls to the decoder may then
 * wait for that GPU. */
bool halo_decoder_in_hardware(const struct halo_decoder *d);

/* Returns whether everything that was decoded so far depends on the packets since the last group of
 * frames that refer to no others alone: the frames are not interlaced, none is shown differently
 * from its stream, and the GPU did not refuse. */
bool halo_decoder_is_plain(const struct halo_decoder *d);

/* Judges the stream's completeness as if the decoder had decoded so many packets before, without
 * damage. Call this before the first packet. */
void halo_decoder_follow(struct halo_decoder *d, int64_t packets);

/* Returns the reason if decoding on the GPU was tried but the CPU decodes the stream; otherwise,
 * returns "". */
const char *halo_decoder_refusal(const struct halo_decoder *d);

/* Sets the time window in which damage is reported: only frames whose time t satisfies `from` <= t
 * < `until` count, in the stream's time base (INT64_MIN and INT64_MAX: all frames). The caller sets
 * the window to the part that -ss and -t select, so damage outside that part is not reported. Call
 * this before the first packet. */
void halo_decoder_set_window(struct halo_decoder *d, int64_t from, int64_t until);

#endif
