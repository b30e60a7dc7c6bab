/* SPDX-License-Identifier: BSD-2-Clause
 * Known properties of video codecs (decode_traits.h). */
#include "pipeline/input/decode_traits.h"

#include <stddef.h>

int halo_decode_traits(enum AVCodecID id)
{
    static const struct {
        enum AVCodecID id;
        int traits;
    } known[] = {
        {AV_CODEC_ID_H264,
         HALO_STARTS_MIDWAY | HALO_HONEST | HALO_FUSSY | HALO_EXACT | HALO_ONE_FOR_ONE},
        {AV_CODEC_ID_TIFF, HALO_FUSSY}, /* unknown tags */
        {AV_CODEC_ID_HEVC, HALO_STARTS_MIDWAY | HALO_HONEST | HALO_EXACT},
        {AV_CODEC_ID_MPEG1VIDEO, HALO_STARTS_MIDWAY | HALO_HONEST | HALO_FUSSY_ON_GPU},
        {AV_CODEC_ID_MPEG2VIDEO, HALO_STARTS_MIDWAY | HALO_HONEST | HALO_FUSSY_ON_GPU},
        {AV_CODEC_ID_MPEG4, HALO_STARTS_MIDWAY | HALO_HONEST | HALO_BRITTLE},
        {AV_CODEC_ID_VC1, HALO_STARTS_MIDWAY | HALO_HONEST},
        {AV_CODEC_ID_CAVS, HALO_STARTS_MIDWAY},
        {AV_CODEC_ID_VP8, HALO_STARTS_MIDWAY | HALO_HONEST | HALO_EXACT},
        {AV_CODEC_ID_VP9, HALO_STARTS_MIDWAY | HALO_HONEST | HALO_EXACT},
        {AV_CODEC_ID_AV1, HALO_STARTS_MIDWAY | HALO_HONEST | HALO_EXACT},
        {AV_CODEC_ID_THEORA, HALO_HONEST},
        {AV_CODEC_ID_GIF, HALO_HONEST},
        {AV_CODEC_ID_FFV1, HALO_HONEST},
        {AV_CODEC_ID_HUFFYUV, HALO_HONEST},
        {AV_CODEC_ID_FFVHUFF, HALO_HONEST},
        {AV_CODEC_ID_UTVIDEO, HALO_HONEST},
        {AV_CODEC_ID_MJPEG, HALO_HONEST},
        {AV_CODEC_ID_PRORES, HALO_HONEST},
        {AV_CODEC_ID_DNXHD, HALO_HONEST},
        {AV_CODEC_ID_DVVIDEO, HALO_HONEST},
        {AV_CODEC_ID_MSMPEG4V3, HALO_HONEST},
        {AV_CODEC_ID_WMV1, HALO_HONEST},
        {AV_CODEC_ID_WMV2, HALO_HONEST},
        {AV_CODEC_ID_WMV3, HALO_HONEST},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].id == id)
            return known[i].traits;
    return 0;
}

/* Errors in metadata of H.264 streams, and references that are already gone when they should be
 * removed. */
const char *const *halo_decode_harmless(enum AVCodecID id)
{
    static const char *const h264[] = {"SEI type",
                                       "Invalid SEI",
                                       "Unsupported",
                                       "Late SEI",
                                       "Error processing",
                                       "Picture timing SEI",
                                       "mmco: unref",
                                       "number of reference frames",
                                       "non-existing SPS %d referenced in buffering period",
                                       NULL};
    return id == AV_CODEC_ID_H264 ? h264 : NULL;
}
