/* SPDX-License-Identifier: BSD-2-Clause
 * Transcodes audio (-c:a CODEC): decodes it, resamples it if the encoder requires that, and encodes
 * it. Audio keeps its timestamps: gaps are filled with silence, and overlaps are cut. Use it from
 * one thread at a time. */
#ifndef HALO_AUDIO_H
#define HALO_AUDIO_H

#include <libavformat/avformat.h>

#include "config/base/error.h"

struct halo_audio;

/* Returns the encoder with this name, or NULL with the nearest name in err. */
const AVCodec *halo_audio_find(const char *name, struct halo_error *err);

/* Opens the decoder and the encoder. Returns 0, a usage error (if the encoder refuses the settings)
 * or -errno, with err filled. input is the file's name, for messages. input and in must outlive
 * *ret, which the caller closes. */
int halo_audio_open(struct halo_audio **ret, const char *input, const AVStream *in,
                    const AVCodec *codec, const AVOutputFormat *container, struct halo_error *err);
void halo_audio_close(struct halo_audio *a); /* accepts NULL */

/* Fills the output stream's codec parameters and time base. Returns 0 or -ENOMEM. */
int halo_audio_describe(const struct halo_audio *a, AVStream *out);

AVRational halo_audio_time_base(const struct halo_audio *a);

/* Sends a packet with times in the input's time base, or NULL at the end. Afterwards, receive all
 * packets with halo_audio_receive(). Returns 0, or -errno with err filled. If the audio is damaged,
 * the message in err contains the time of the damage. */
int halo_audio_send(struct halo_audio *a, const AVPacket *pkt, struct halo_error *err);
/* Returns 1 with a packet whose times are in units of halo_audio_time_base(); 0 if more input is
 * needed, or at the end; or -errno with err filled. */
int halo_audio_receive(struct halo_audio *a, AVPacket *pkt, struct halo_error *err);

#endif
