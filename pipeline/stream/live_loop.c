/* SPDX-License-Identifier: BSD-2-Clause
 * Files that loop without being reopened (live_loop.h): the demuxer seeks to the start, and the
 * decoder receives the first packet as if it followed the last one. If that could change a frame,
 * the decoder is drained first. A file whose first packet has changed is reopened from then on. */
#include "pipeline/stream/live_loop.h"

#include <libavutil/avstring.h>
#include <sys/stat.h>

#include "pipeline/input/decode.h"
#include "pipeline/input/source_file.h"
#include "pipeline/stream/live_input.h"
#include "pipeline/stream/live_source.h"
#include "pipeline/stream/live_stream.h"

/* If the name now refers to another file, the file is reopened, or waited for. */
static struct halo_live_file file_now(const struct halo_live *live)
{
    struct stat now;
    const char *path = live->settings.source.input;
    (void)av_strstart(path, "file:", &path);
    if (stat(path, &now) < 0)
        return (struct halo_live_file){0};
    return (struct halo_live_file){.device = now.st_dev,
                                   .number = now.st_ino,
                                   .size = now.st_size,
                                   .changed = now.st_mtim.tv_sec * INT64_C(1000000000) +
                                              now.st_mtim.tv_nsec};
}

static bool is_same(const struct halo_live *live, const struct halo_live_file *file)
{
    const struct halo_live_file now = file_now(live);
    return now.number && now.device == file->device && now.number == file->number &&
           now.size == file->size && now.changed == file->changed;
}

void halo_live_loop_begin(const struct halo_live *live, struct halo_live_input *in)
{
    if (live->settings.loop && live->local)
        in->loop.file = file_now(live);
}

static int64_t unshifted(const struct halo_live_input *in, int64_t ts)
{
    return ts == AV_NOPTS_VALUE ? ts : ts - in->loop.shift;
}

/* Properties of a video packet, before its timestamps are shifted. */
static struct halo_live_first first_of(const struct halo_live_input *in, const AVPacket *pkt)
{
    return (struct halo_live_first){.known = true,
                                    .pts = unshifted(in, pkt->pts),
                                    .dts = unshifted(in, pkt->dts),
                                    .size = pkt->size,
                                    .flags = pkt->flags};
}

void halo_live_loop_shift(const struct halo_live_input *in, AVPacket *pkt)
{
    const AVRational tb = in->format->streams[pkt->stream_index]->time_base;
    const int64_t shift = av_rescale_q(in->loop.shift, in->video->time_base, tb);
    if (pkt->pts != AV_NOPTS_VALUE)
        pkt->pts += shift;
    if (pkt->dts != AV_NOPTS_VALUE)
        pkt->dts += shift;
}

bool halo_live_loop_pass(struct halo_live *live, struct halo_live_input *in)
{
    const AVPacket *pkt = in->pkt;
    const struct halo_live_first this = first_of(in, pkt), *first = &in->loop.first;
    if (in->loop.rewound && (this.pts != first->pts || this.dts != first->dts ||
                             this.size != first->size || this.flags != first->flags))
        live->reader->rewinds_badly = true;
    if (!first->known) {
        in->loop.first = this;
        in->loop.goes_on = pkt->pts != AV_NOPTS_VALUE && halo_decoder_goes_on(in->decoder, pkt);
        in->loop.turn = in->loop.last = pkt->pts;
    }
    if (!(pkt->flags & AV_PKT_FLAG_DISCARD) && pkt->pts != AV_NOPTS_VALUE)
        in->loop.last = FFMAX(in->loop.last, pkt->pts);
    in->loop.rewound = false;
    return !live->reader->rewinds_badly;
}

static bool may_rewind(const struct halo_live *live, const struct halo_live_input *in)
{
    return live->settings.loop && live->local && in->source && in->decoder &&
           in->loop.first.known && in->frames > in->loop.before && !in->loop.rewound &&
           !live->reader->rewinds_badly && !halo_live_stopped(live) &&
           is_same(live, &in->loop.file);
}

bool halo_live_loop_on(struct halo_live *live, struct halo_live_input *in)
{
    const AVRational rate = in->video->avg_frame_rate, us = {1, 1000000};
    if (!may_rewind(live, in) || !in->loop.goes_on || halo_decoder_refusal(in->decoder)[0] ||
        halo_source_rewind(in->source) < 0)
        return false;
    const int64_t duration = av_rescale_q(rate.num > 0 ? 1 : 40000,
                                          rate.num > 0 ? av_inv_q(rate) : us, in->video->time_base);
    in->loop.turn = in->loop.last + FFMAX(duration, 1);
    in->loop.shift = in->loop.turn - in->loop.first.pts;
    in->loop.before = in->frames;
    in->loop.rewound = true;
    return true;
}

bool halo_live_loop_again(struct halo_live *live, struct halo_live_input *in)
{
    struct halo_error ignored = {0};
    if (!may_rewind(live, in) || halo_source_rewind(in->source) < 0 ||
        halo_decoder_rewind(in->decoder, &ignored) < 0)
        return false;
    in->draining = false;
    in->loop.shift = 0;
    in->loop.before = in->frames;
    in->loop.rewound = true;
    return true;
}
