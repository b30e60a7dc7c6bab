/* SPDX-License-Identifier: BSD-2-Clause
 * What is known of video codecs and FFmpeg's decoders of them. */
#ifndef HALO_DECODE_TRAITS_H
#define HALO_DECODE_TRAITS_H

#include <libavcodec/codec_id.h>

enum halo_decode_traits {
    HALO_STARTS_MIDWAY = 1, /* recordings begin between its key frames, and demuxers mark those */
    HALO_HONEST = 2,        /* its decoder's error lines mean damage; the others' may not */
    HALO_FUSSY = 4,         /* asked to stop at errors, its decoder stops at healthy pictures */
    HALO_EXACT = 8,         /* the standard fixes every bit of its pictures */
    HALO_FUSSY_ON_GPU = 16, /* so it does where the GPU decodes */
    HALO_BRITTLE = 32,      /* asked to stop at errors, its decoder aborts in threads of frames */
    HALO_ONE_FOR_ONE = 64,  /* each packet is a picture, or a field of one */
};

/* A set of them; 0 for what is not known. Any thread. */
int halo_decode_traits(enum AVCodecID id);

/* Beginnings of an honest decoder's error lines that mean no damage to pictures, up to NULL; or
 * NULL. Any thread. */
const char *const *halo_decode_harmless(enum AVCodecID id);

#endif
