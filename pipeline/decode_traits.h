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
};

/* A set of them; 0 for what is not known. Any thread. */
int halo_decode_traits(enum AVCodecID id);

#endif
