/* SPDX-License-Identifier: BSD-2-Clause
 * Audio into another codec (-c:a CODEC): decoded, resampled where the encoder wants it, encoded.
 * The sound keeps its place in time: gaps become silence, overlaps are cut. One thread at a
 * time. */
#ifndef HALO_AUDIO_H
#define HALO_AUDIO_H

#include <libavformat/avformat.h>

#include "config/error.h"

struct halo_audio;

/* The encoder named name, or NULL with err saying the nearest name. */
const AVCodec *halo_audio_find(const char *name, struct halo_error *err);

/* 0, a usage error (settings that the encoder refuses) or -errno, with err filled. input names the
 * file for messages; it and in must outlive *ret, which the caller closes. */
int halo_audio_open(struct halo_audio **ret, const char *input, const AVStream *in,
                    const AVCodec *codec, const AVOutputFormat *container, struct halo_error *err);
void halo_audio_close(struct halo_audio *a); /* NULL is nothing to do */

/* Fills the output stream's codec parameters and time base. 0 or -ENOMEM. */
int halo_audio_describe(const struct halo_audio *a, AVStream *out);

AVRational halo_audio_time_base(const struct halo_audio *a);

/* Feeds a packet with times in the input's time base, or NULL at the end; then take every packet
 * with halo_audio_receive. 0 or -errno with err saying what is damaged at what time. */
int halo_audio_send(struct halo_audio *a, const AVPacket *pkt, struct halo_error *err);
/* 1: a packet in halo_audio_time_base; 0: more is needed, or the end; -errno with err filled. */
int halo_audio_receive(struct halo_audio *a, AVPacket *pkt, struct halo_error *err);

#endif
