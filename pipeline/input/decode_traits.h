/* SPDX-License-Identifier: BSD-2-Clause
 * Known properties of video codecs and of their decoders in FFmpeg. */
#ifndef HALO_DECODE_TRAITS_H
#define HALO_DECODE_TRAITS_H

#include <libavcodec/codec_id.h>

enum halo_decode_traits {
    HALO_STARTS_MIDWAY = 1, /* a recording may begin between two keyframes, and demuxers mark
                               keyframes */
    HALO_HONEST = 2,        /* the decoder's error messages indicate damage, except for those that
                               halo_decode_harmless() lists; without this trait, they may be
                               harmless */
    HALO_FUSSY = 4,         /* the decoder rejects undamaged frames if it is set to stop at
                               errors */
    HALO_EXACT = 8,         /* the standard defines every bit of the decoded frames */
    HALO_FUSSY_ON_GPU = 16, /* HALO_FUSSY, but only when the GPU decodes */
    HALO_BRITTLE = 32,      /* if the decoder is set to stop at errors and uses frame threads, it
                               may abort the process */
    HALO_ONE_FOR_ONE = 64,  /* each packet contains one frame, or one field */
};

/* Returns the codec's traits, or 0 if nothing is known about the codec. Any thread. */
int halo_decode_traits(enum AVCodecID id);

/* Returns a NULL-terminated list of prefixes: error messages of a HALO_HONEST decoder that begin
 * with one of them do not indicate a damaged frame. Returns NULL if there are no such prefixes. Any
 * thread. */
const char *const *halo_decode_harmless(enum AVCodecID id);

#endif
