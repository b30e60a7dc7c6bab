/* SPDX-License-Identifier: BSD-2-Clause
 * Transcodes audio (-c:a CODEC): decodes it, resamples it if the encoder needs that, and encodes
 * it. Audio keeps its timestamps: gaps become silence, overlaps are cut. Use it from one thread at
 * a time. */
#ifndef HALO_AUDIO_H
#define HALO_AUDIO_H

#include <libavformat/avformat.h>

#include "config/error.h"

struct halo_audio;

/* The encoder with this name, or NULL with err naming the nearest one. */
const AVCodec *halo_audio_find(const char *name, struct halo_error *err);

/* 0, a usage error (settings that the encoder refuses) or -errno, with err filled. input is the
 * file's name for messages; input and in must outlive *ret, which the caller closes. */
int halo_audio_open(struct halo_audio **ret, const char *input, const AVStream *in,
                    const AVCodec *codec, const AVOutputFormat *container, struct halo_error *err);
void halo_audio_close(struct halo_audio *a); /* accepts NULL */

/* Fills the output stream's codec parameters and time base. 0 or -ENOMEM. */
int halo_audio_describe(const struct halo_audio *a, AVStream *out);

AVRational halo_audio_time_base(const struct halo_audio *a);

/* Feeds a packet with times in the input's time base, or NULL at the end. Afterwards, receive every
 * packet with halo_audio_receive. 0 or -errno with err naming the damage and its time. */
int halo_audio_send(struct halo_audio *a, const AVPacket *pkt, struct halo_error *err);
/* 1: a packet, in halo_audio_time_base; 0: more input is needed, or the end; -errno with err
 * filled. */
int halo_audio_receive(struct halo_audio *a, AVPacket *pkt, struct halo_error *err);

#endif
