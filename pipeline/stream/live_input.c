/* SPDX-License-Identifier: BSD-2-Clause
 * A session with the source of a live stream, of any kind, and its decoder. */
#include "pipeline/stream/live_input.h"

#include <errno.h>

#include "kernels/clock.h"
#include "pipeline/camera/camera.h"
#include "pipeline/input/decode.h"
#include "pipeline/input/source_file.h"
#include "pipeline/input/source_test.h"
#include "pipeline/stream/live_counters.h"
#include "pipeline/stream/live_source.h"
#include "pipeline/stream/live_stalls.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/stream/source_ops.h"
#include "pipeline/frame/orient.h"

int halo_live_input_describe(struct halo_live_input *in, struct halo_error *err)
{
    in->format = in->own = avformat_alloc_context();
    in->video = in->own ? avformat_new_stream(in->own, NULL) : NULL;
    return in->video ? 0 : halo_fail(err, -ENOMEM, "out of memory");
}

void halo_live_input_close(struct halo_live_input *in)
{
    halo_decoder_close(in->decoder);
    halo_camera_close(in->camera);
    halo_orient_destroy(in->orient);
    av_bsf_free(&in->adts);
    halo_source_close(in->source);
    halo_test_source_destroy(in->test);
    avformat_free_context(in->own);
    av_packet_free(&in->pkt);
    *in = (struct halo_live_input){0};
}

/* Records whether this session's decoder refused the GPU, as soon as that is known. */
static void report_refusal(struct halo_live *live, struct halo_live_input *in)
{
    const char *why = halo_decoder_refusal(in->decoder);
    if (in->frames == 0 || (why[0] && !in->refused))
        halo_live_note_degraded(live->counters, HALO_DEGRADED_DECODER, why);
    in->refused = why[0];
}

/* Counts the damage that the decoder found since the count was `places`. */
static void count_damage(struct halo_live *live, long long places)
{
    const int64_t found = atomic_load(&live->reader->damage.places) - places;
    halo_live_drop(live->counters, HALO_DROP_DAMAGED, found);
    if (live->ops->whole && found > 0)
        halo_live_count(live->counters, HALO_COUNT_CAPTURE_DAMAGED, found);
}

static void enter_decoder(struct halo_live *live, const struct halo_live_input *in)
{
    halo_live_enter(live->stalls, HALO_CALL_DECODER,
                    in->again && !halo_decoder_in_hardware(in->decoder));
}

int halo_live_input_receive(struct halo_live *live, struct halo_live_input *in,
                            struct halo_raw_frame **ret, struct halo_error *err)
{
    const int64_t begin = halo_now_ns();
    const long long places = atomic_load(&live->reader->damage.places);
    enter_decoder(live, in);
    const int received = halo_decoder_receive(in->decoder, ret, err);
    halo_live_leave(live->stalls, HALO_CALL_DECODER);
    in->spent += halo_now_ns() - begin;
    if (live->ops->whole)
        count_damage(live, places);
    if (received > 0) {
        report_refusal(live, in);
        in->frames++;
        halo_live_time(live->counters, HALO_LIVE_DECODE, in->spent);
        in->spent = 0;
    }
    return received;
}

int halo_live_input_send(struct halo_live *live, struct halo_live_input *in, const AVPacket *pkt,
                         struct halo_error *err)
{
    const int64_t begin = halo_now_ns();
    const long long places = atomic_load(&live->reader->damage.places);
    enter_decoder(live, in);
    const int code = halo_decoder_send(in->decoder, pkt, err);
    halo_live_leave(live->stalls, HALO_CALL_DECODER);
    in->spent += halo_now_ns() - begin;
    count_damage(live, places);
    return code;
}

bool halo_live_is_late(const struct halo_live *live)
{
    const int64_t deadline = atomic_load(&live->reader->limits.deadline);
    return deadline && halo_now_ns() >= deadline && !halo_live_stopped(live);
}

int halo_live_fail_late(const struct halo_live *live, struct halo_error *err)
{
    *err = (struct halo_error){0};
    return halo_fail(err, -ETIMEDOUT, "%s: no data for %g s (input_timeout)", live->name,
                     live->settings.input_timeout);
}
