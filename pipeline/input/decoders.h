/* SPDX-License-Identifier: BSD-2-Clause
 * The decoders of one video stream of a file. The stream is cut into groups of frames that refer to
 * no others (decode_cuts.h), several decoders decode one group each at the same time, and the
 * frames are returned in order: the same frames, with the same times and the same reports of
 * damage, as those of one decoder.
 *
 *   send ─► packets ─► groups ─► workers (a thread and a decoder each) ─► frames of each group
 *                                         receive ◄─ first the oldest group's, then the next one's
 *
 * A group whose decoding was not clean (an error, a complaint, missing frames, times that do not
 * increase, a decoder on the GPU that refuses), or before which cutting must end, is decoded again
 * from its first packet, without the frames that were already returned, by one decoder, which then
 * decodes all that follows. So what is damaged is judged and reported as if there were one decoder.
 *
 * Frames that wait for those of earlier groups are bounded by `window`: a worker waits before it
 * exceeds it, unless its group is the oldest. Packets are bounded by READ_AHEAD groups and bytes.
 *
 * Use it from one thread. Calls may block until a decoder delivers. */
#ifndef HALO_DECODERS_H
#define HALO_DECODERS_H

#include "pipeline/input/decode.h"

struct halo_decoders;

struct halo_decoders_settings {
    struct halo_decoder_settings decoder;
    int most;       /* number of decoders; 1: the stream is not cut */
    int64_t window; /* bytes of frames that may wait for those before them */
};

/* The same as halo_decoder_open() and so on (decode.h). */
int halo_decoders_open(struct halo_decoders **ret, const char *name, AVStream *stream,
                       const struct halo_decoders_settings *settings, struct halo_damage *damage,
                       struct halo_error *err);
void halo_decoders_close(struct halo_decoders *d); /* accepts NULL */
void halo_decoders_set_window(struct halo_decoders *d, int64_t from, int64_t until);
int halo_decoders_send(struct halo_decoders *d, const AVPacket *pkt, struct halo_error *err);
int halo_decoders_receive(struct halo_decoders *d, struct halo_raw_frame **ret,
                          struct halo_error *err);

/* Lets one decoder continue from the newest group on, of which more packets may come late or never.
 * The next halo_decoders_receive() returns all frames of the packets sent so far, as far as one
 * decoder does. reason is such a phrase as in struct halo_decoders_about, a string constant. */
void halo_decoders_stop_cutting(struct halo_decoders *d, const char *reason);

/* Returns whether the stream is cut, so that packets may be sent long before their frames are
 * received. */
bool halo_decoders_are_ahead(const struct halo_decoders *d);

struct halo_decoders_about {
    int number;
    bool on_gpu;
    const char *why_one; /* why there is only one, as a phrase such as "it is interlaced"; NULL if
                            there are several, or if one was asked for */
};
/* Describes how the stream is decoded, or was, after its first frames. */
void halo_decoders_describe(const struct halo_decoders *d, struct halo_decoders_about *ret);

#endif
