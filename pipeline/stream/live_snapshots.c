/* SPDX-License-Identifier: BSD-2-Clause
 * Snapshots of a live stream. */
#include "pipeline/stream/live_snapshots.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/thread.h"
#include "kernels/clock.h"
#include "kernels/fault.h"
#include "pipeline/gate/again.h"
#include "pipeline/gate/gate.h"
#include "pipeline/stream/live.h"
#include "pipeline/stream/live_codec.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/live_listener.h"
#include "pipeline/stream/live_stream.h"

enum { LIMIT = 16 }; /* snapshots that may wait */

static const double LONGEST = 1.7; /* seconds that a snapshot waits for its frame */

struct snapshot {
    uint64_t id;
    int64_t asked;                   /* ns */
    const char *codec;               /* FFmpeg's name */
    struct halo_chain *chain;        /* further filters, owned; NULL: none */
    struct halo_output_frame *frame; /* NULL: no frame yet; it uses the format */
};

struct halo_live_snapshots {
    struct halo_mutex lock; /* of the fields below */
    bool closed;
    struct snapshot waiting[LIMIT];
    int count;
};

struct halo_live_snapshots *halo_live_snapshots_create(void)
{
    return av_mallocz(sizeof(struct halo_live_snapshots));
}

void halo_live_snapshots_destroy(struct halo_live_snapshots *s)
{
    av_free(s);
}

/* Parses the filters of a preview. Regions that a detector finds change from frame to frame, and
 * nothing finds them for a preview. */
static int parse(struct halo_chain **ret, const char *text, struct halo_error *err)
{
    struct halo_chain_needs needs = {0};
    int code = halo_chain_admit(ret, text, HALO_PRIVACY_OFF, err);
    if (code < 0)
        return code;
    halo_chain_add_needs(*ret, &needs);
    if (needs.hidden || needs.shown || halo_chain_refuse_feed(*ret, NULL) < 0) {
        code = halo_fail(err, -EINVAL, "a preview cannot show regions that a detector finds");
        halo_chain_destroy(*ret);
    }
    return code;
}

int halo_live_snapshot(struct halo_live *live, uint64_t id, const char *format, const char *filters,
                       struct halo_error *err)
{
    struct halo_live_snapshots *s = live->snapshots;
    const char *codec = !strcmp(format, "png") ? "png" : !strcmp(format, "jpg") ? "mjpeg" : NULL;
    struct halo_chain *chain = NULL;
    if (!codec)
        return halo_fail_usage(err, "%.40s: the format of a snapshot must be png or jpg", format);
    int ret = filters ? parse(&chain, filters, err) : 0;
    if (ret < 0)
        return ret;
    halo_lock(&s->lock);
    const bool over = atomic_load(&live->done) || s->closed;
    if (over || s->count == LIMIT)
        ret = over ? halo_fail(err, -ECANCELED, "the stream has ended")
                   : halo_fail(err, -EBUSY, "too many snapshots are waiting: try again later");
    else
        s->waiting[s->count++] =
            (struct snapshot){.id = id, .asked = halo_now_ns(), .codec = codec, .chain = chain};
    halo_unlock(&s->lock);
    if (ret < 0)
        halo_chain_destroy(chain);
    live->post(live, HALO_LIVE_ASKED, 0);
    return ret;
}

bool halo_live_snapshots_wait(struct halo_live_snapshots *s)
{
    halo_lock(&s->lock);
    const bool ret = s->count > 0;
    halo_unlock(&s->lock);
    return ret;
}

void halo_live_snapshots_give(struct halo_live *live, const struct halo_output_frame *frame)
{
    struct halo_live_snapshots *s = live->snapshots;
    halo_lock(&s->lock);
    const bool some = s->count > 0;
    for (int i = 0; i < s->count; i++) {
        struct snapshot *shot = &s->waiting[i];
        if (shot->frame || !(shot->frame = halo_output_frame_ref(frame)))
            continue;
        halo_graphs_lend(live->graphs);
    }
    halo_unlock(&s->lock);
    if (some)
        live->post(live, HALO_LIVE_ASKED, 0);
}

void halo_live_snapshots_close(struct halo_live_snapshots *s)
{
    halo_lock(&s->lock);
    s->closed = true;
    halo_unlock(&s->lock);
}

static bool take(struct halo_live_snapshots *s, bool all, struct snapshot *ret)
{
    const int64_t late = halo_now_ns() - (int64_t)(LONGEST * 1e9);
    bool found = false;
    halo_lock(&s->lock);
    for (int i = 0; i < s->count && !found; i++) {
        struct snapshot *shot = &s->waiting[i];
        found = shot->frame || all || (shot->asked <= late && !halo_fault("live", "snapshot"));
        if (!found)
            continue;
        *ret = *shot;
        s->count--;
        memmove(shot, shot + 1, (size_t)(s->count - i) * sizeof *shot);
    }
    halo_unlock(&s->lock);
    return found;
}

/* Replaces the snapshot's frame by one that has also passed its own filters. */
static int filter_again(struct snapshot *shot, struct halo_error *err)
{
    struct halo_output_frame *filtered;
    int code = halo_chain_load(shot->chain, err);
    if (code == 0)
        code = halo_gate_again(shot->frame, shot->chain, &filtered, err);
    if (code < 0)
        return code;
    halo_output_frame_destroy(shot->frame);
    shot->frame = filtered;
    return 0;
}

bool halo_live_snapshots_answer(struct halo_live *live, bool all)
{
    struct halo_error err = {0};
    struct snapshot shot;
    if (!take(live->snapshots, all, &shot))
        return false;
    AVPacket *image = av_packet_alloc();
    int code = image ? 0 : halo_fail(&err, -ENOMEM, "out of memory");
    if (code >= 0 && !shot.frame)
        code = halo_fail(&err, -ETIMEDOUT, "no filtered frame arrived within two seconds");
    if (code >= 0 && shot.chain)
        code = filter_again(&shot, &err);
    if (code >= 0)
        code = halo_live_codec_image(live, shot.codec, shot.frame, image, &err);
    halo_live_tell_snapshot(live->listener, shot.id, code < 0 ? NULL : image,
                            code < 0 ? &err : NULL);
    av_packet_free(&image);
    halo_chain_destroy(shot.chain);
    if (shot.frame) {
        halo_output_frame_destroy(shot.frame);
        halo_graphs_used(live->graphs);
    }
    return true;
}
