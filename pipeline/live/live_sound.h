/* SPDX-License-Identifier: BSD-2-Clause
 * Sound of a live stream: on the clock of the pictures, copied or encoded for each encoding that
 * has sound.
 *
 * The source thread opens it and hands its packets to the encodings; the thread of each encoding
 * gets them from its queue. No lock. */
#ifndef HALO_LIVE_SOUND_H
#define HALO_LIVE_SOUND_H

#include <libavcodec/packet.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"

struct halo_audio;
struct halo_live;
struct halo_live_encoding;
struct halo_live_input;

/* Of an encoding; its thread's. Zeroed: there is none. */
struct halo_live_track {
    bool is;                  /* there is sound in it */
    struct halo_audio *audio; /* NULL: copied, or closed */
    int64_t last;             /* time of the last packet */
};

/* ---- source thread ---- */

/* Before the first packet is read: outputs of copied sound have to know its parameters before they
 * begin. ADTS, of MPEG-TS, repeats AAC's in each packet instead: sets the extradata of in->sound
 * from the first one. 0, or -errno with err filled. */
int halo_live_sound_open(const struct halo_live *live, struct halo_live_input *in,
                         struct halo_error *err);
/* A packet of the input, times on the line, to every encoding that has sound. Takes it over. */
void halo_live_sound_spread(struct halo_live *live, struct halo_live_input *in, AVPacket *pkt);

/* ---- the encoding's thread ---- */

int halo_live_sound_prepare(struct halo_live_encoding *e, struct halo_error *err);
void halo_live_sound_take(struct halo_live_encoding *e, AVPacket *pkt); /* takes it over */
void halo_live_sound_rest(struct halo_live_track *sound);               /* its encoder goes */
void halo_live_sound_close(struct halo_live_track *sound);              /* so does the track */

#endif
