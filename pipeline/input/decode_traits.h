/* SPDX-License-Identifier: BSD-2-Clause
 * Known properties of video codecs and of FFmpeg's decoders for them. */
#ifndef HALO_DECODE_TRAITS_H
#define HALO_DECODE_TRAITS_H

#include <libavcodec/codec_id.h>

enum halo_decode_traits {
    HALO_STARTS_MIDWAY = 1, /* recordings may begin between keyframes, and demuxers mark
                               keyframes */
    HALO_HONEST = 2,        /* error lines of its decoder mean damage; those of other decoders need
                               not */
    HALO_FUSSY = 4,         /* its decoder, asked to stop at errors, rejects undamaged frames */
    HALO_EXACT = 8,         /* its standard defines every bit of the decoded frames */
    HALO_FUSSY_ON_GPU = 16, /* HALO_FUSSY, when the GPU decodes */
    HALO_BRITTLE = 32,      /* its decoder, asked to stop at errors, aborts if it uses frame
                               threads */
    HALO_ONE_FOR_ONE = 64,  /* each packet is a frame, or a field of one */
};

/* A set of traits; 0 if nothing is known about the codec. Any thread. */
int halo_decode_traits(enum AVCodecID id);

/* Beginnings of those error lines of a HALO_HONEST decoder that do not mean damaged frames, ending
 * with NULL; or NULL if it has no such lines. Any thread. */
const char *const *halo_decode_harmless(enum AVCodecID id);

#endif
