/* SPDX-License-Identifier: BSD-2-Clause
 * Parameters and cards of an encoding, kept. */
#include "daemon/begin.h"

#include <stdlib.h>
#include <string.h>

/* What the const pointers of begin point to. */
struct copy {
    struct halo_live_begin begin; /* first: the copy is found by it */
    AVCodecParameters *video, *audio;
    AVPacket *card, *solid;
};

static bool copy_parameters(AVCodecParameters **ret, const AVCodecParameters *from)
{
    *ret = from ? avcodec_parameters_alloc() : NULL;
    return !from || (*ret && avcodec_parameters_copy(*ret, from) >= 0);
}

static bool copy_packet(AVPacket **ret, const AVPacket *from)
{
    *ret = from ? av_packet_clone(from) : NULL;
    return !from || *ret;
}

struct halo_live_begin *halo_begin_copy(const struct halo_live_begin *begin)
{
    struct copy *copy = calloc(1, sizeof(*copy));
    if (!copy)
        return NULL;
    if (!copy_parameters(&copy->video, begin->video) ||
        !copy_parameters(&copy->audio, begin->audio) || !copy_packet(&copy->card, begin->card) ||
        !copy_packet(&copy->solid, begin->solid)) {
        halo_begin_destroy(&copy->begin);
        return NULL;
    }
    copy->begin = (struct halo_live_begin){
        .video = copy->video,
        .audio = copy->audio,
        .framerate = begin->framerate,
        .card = copy->card,
        .solid = copy->solid,
    };
    return &copy->begin;
}

void halo_begin_destroy(struct halo_live_begin *begin)
{
    struct copy *copy = (struct copy *)begin;
    if (!copy)
        return;
    avcodec_parameters_free(&copy->video);
    avcodec_parameters_free(&copy->audio);
    av_packet_free(&copy->card);
    av_packet_free(&copy->solid);
    free(copy);
}

bool halo_begin_is_same(const AVCodecParameters *a, const AVCodecParameters *b)
{
    if (!a || !b)
        return a == b;
    return a->codec_id == b->codec_id && a->format == b->format && a->width == b->width &&
           a->height == b->height && a->sample_rate == b->sample_rate &&
           a->ch_layout.nb_channels == b->ch_layout.nb_channels &&
           a->extradata_size == b->extradata_size &&
           (!a->extradata_size || !memcmp(a->extradata, b->extradata, (size_t)a->extradata_size));
}
