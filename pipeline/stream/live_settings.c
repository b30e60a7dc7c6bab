/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of a live stream: checks before it starts. */
#include "pipeline/stream/live_settings.h"

#include <errno.h>
#include <string.h>

#include "config/source_kinds.h"
#include "pipeline/base/av.h"
#include "pipeline/stream/live_codec.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/stream/source_ops.h"
#include "pipeline/output/audio.h"
#include "pipeline/output/encode.h"
#include "pipeline/output/encode_choose.h"

static int check_encoding(const struct halo_encoding *e, struct halo_error *err)
{
    int width, height;
    if (e->view)
        return 0; /* a view that cannot be encoded fails by itself */
    if (e->rendition < 0)
        return halo_fail_usage(err,
                               "an output refers to a rendition that the stream does not have");
    if (e->video && e->video->size && halo_live_size(e->video->size, 2, 2, &width, &height) < 0)
        return halo_fail_usage(err, "size %.80s: must be a size such as 640x480, 640x-1 or hd720",
                               e->video->size);
    if (e->audio && strcmp(e->audio, "copy") != 0 && !halo_audio_find(e->audio, err))
        return -EINVAL;
    if (e->kind != HALO_ENCODING_CODED)
        return 0;
    const AVCodec *codec =
        halo_av_find_encoder("codec", halo_video_codec(e->video), AVMEDIA_TYPE_VIDEO, err);
    return codec ? halo_encode_check_preset(codec, e->video->preset, err) : -EINVAL;
}

/* Whether this encoding allows frames, without audio, before the source is known. Files and URLs
 * could not change to the source's format later; viewers over HTTP can. */
static bool fits_any_source(const struct halo_encoding *e)
{
    return !e->writes && (!e->audio || e->view);
}

int halo_live_check(struct halo_live *live, struct halo_error *err)
{
    const struct halo_stream_settings *set = &live->settings;
    if (!set->source.input)
        return halo_fail_usage(err, "the stream has no input");
    const struct halo_source_row *row = halo_source_row(set->source.input);
    if (row->refused)
        return halo_fail_usage(err, "input %s: %s", set->source.input, row->refused);
    live->ops = halo_source_ops[row->kind];
    live->live = row->live || set->realtime;
    live->paced = row->pace == HALO_PACE_ALWAYS || (row->pace == HALO_PACE_ASKED && set->realtime);
    live->local = row->place != HALO_FROM_NETWORK;
    live->may_make_up = live->live && row->fails && set->on_error != HALO_ON_ERROR_STOP;
    for (int i = 0; i < live->encodings->count && !row->captures; i++)
        live->may_make_up &= fits_any_source(&live->encodings->what[i]);
    int code = live->ops->check(set->source.input, err);
    for (int i = 0; i < live->encodings->count && code >= 0; i++)
        code = check_encoding(&live->encodings->what[i], err);
    return code;
}
