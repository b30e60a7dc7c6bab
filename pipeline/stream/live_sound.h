/* SPDX-License-Identifier: BSD-2-Clause
 * Audio of a live stream. It has the same clock as the frames, and is copied or encoded for each
 * encoding that has audio.
 *
 * The source thread opens the audio and puts its packets into the queues of the encodings, from
 * which each encoding's thread takes them. No lock is needed. */
#ifndef HALO_LIVE_SOUND_H
#define HALO_LIVE_SOUND_H

#include <libavcodec/packet.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"

struct halo_audio;
struct halo_live;
struct halo_live_encoding;
struct halo_live_input;

/* The audio of an encoding; owned by the encoding's thread. If all bytes are 0, the encoding has no
 * audio. */
struct halo_live_track {
    bool is;                  /* whether the encoding has audio */
    struct halo_audio *audio; /* NULL: the audio is copied, or the encoder is closed */
    int64_t last;             /* timestamp of the last packet */
};

/* ---- source thread ---- */

/* Sets e->audio: what the settings say, unless they say "copy" and no container of the encoding's
 * outputs can hold the source's audio, which is then encoded. Call it when the format of the source
 * is known, before the encoding's thread starts. */
void halo_live_sound_choose(struct halo_live_encoding *e);

/* Looks ahead at the first audio packet, and sets the extradata of in->sound from it. Call this
 * function before any packet is read. Outputs that copy audio must know its parameters before they
 * begin, but ADTS (in MPEG-TS) carries the parameters of AAC only in the packets. Returns 0, or
 * -errno with err filled. */
int halo_live_sound_open(const struct halo_live *live, struct halo_live_input *in,
                         struct halo_error *err);
/* Sends an audio packet from the input, with the stream's timestamps, to every encoding that has
 * audio. Takes ownership of the packet. */
void halo_live_sound_spread(struct halo_live *live, struct halo_live_input *in, AVPacket *pkt);

/* ---- the encoding's thread ---- */

int halo_live_sound_prepare(struct halo_live_encoding *e, struct halo_error *err);
void halo_live_sound_take(struct halo_live_encoding *e, AVPacket *pkt); /* takes ownership of pkt */
void halo_live_sound_rest(struct halo_live_track *sound);               /* closes the encoder */
void halo_live_sound_close(struct halo_live_track *sound); /* closes the encoder and the track */

#endif
