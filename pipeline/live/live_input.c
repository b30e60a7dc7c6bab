/* SPDX-License-Identifier: BSD-2-Clause
 * A session with the source of a live stream: open, demux, decode. */
#include "pipeline/live/live_input.h"

#include <errno.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <string.h>

#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/path.h"
#include "pipeline/camera/camera.h"
#include "pipeline/gate/ring.h"
#include "pipeline/input/decode.h"
#include "pipeline/input/source_file.h"
#include "pipeline/input/source_test.h"
#include "pipeline/live/live_camera.h"
#include "pipeline/live/live_encodings.h"
#include "pipeline/live/live_figures.h"
#include "pipeline/live/live_loop.h"
#include "pipeline/live/live_sound.h"
#include "pipeline/live/live_source.h"
#include "pipeline/live/live_stands.h"
#include "pipeline/live/live_stream.h"
#include "pipeline/picture/orient.h"
#include "pipeline/picture/raw_picture.h"
#include "pipeline/run/tracks.h"

/* Demuxers that make up times, from what they think the rate is. */
#define TIMELESS "mpjpeg,mjpeg,mjpeg_2000,h264,hevc,m4v,image2pipe"

static int open_test(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    const int ret = halo_test_source_create(&in->test, live->settings.source.input,
                                            halo_ring_memory(live->ring), err);
    if (ret < 0)
        return ret;
    in->format = in->own = avformat_alloc_context();
    in->video = in->own ? avformat_new_stream(in->own, NULL) : NULL;
    if (!in->video)
        return halo_fail(err, -ENOMEM, "out of memory");
    halo_test_source_describe(in->test, in->video);
    return 0;
}

static bool wants_sound(const struct halo_live *live)
{
    for (int i = 0; i < live->encodings->count; i++)
        if (live->encodings->what[i].audio)
            return true;
    return false;
}

static int choose_streams(const struct halo_live *live, struct halo_live_input *in,
                          struct halo_error *err)
{
    const char *name = live->name;
    AVFormatContext *f = in->format;
    const int video = av_find_best_stream(f, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    const int sound = av_find_best_stream(f, AVMEDIA_TYPE_AUDIO, -1, video, NULL, 0);
    if (video < 0)
        return halo_fail(err, -ENODATA, "%s: has no video stream to filter", name);
    if (f->streams[video]->disposition & AV_DISPOSITION_ATTACHED_PIC)
        return halo_fail(err, -ENODATA, "%s: has no video stream to filter, only a picture", name);
    const int ret = halo_track_check(name, f->streams[video], err);
    if (ret < 0)
        return ret;
    in->video = f->streams[video];
    if (sound >= 0 && wants_sound(live))
        in->sound = f->streams[sound];
    for (unsigned i = 0; i < f->nb_streams; i++)
        if (f->streams[i] != in->video && f->streams[i] != in->sound)
            f->streams[i]->discard = AVDISCARD_ALL;
    return 0;
}

static int open_file(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    halo_live_loop_begin(live, in);
    in->again = halo_path_opens_again(live->settings.source.input);
    int ret = halo_source_open(&in->source, &live->source, NULL, &live->reader->damage,
                               &live->reader->limits, err);
    if (ret < 0)
        return ret;
    in->format = halo_source_format(in->source);
    in->timeless = live->live && !live->settings.realtime &&
                   av_match_name(in->format->iformat->name, TIMELESS);
    ret = choose_streams(live, in, err);
    if (ret >= 0)
        ret = halo_live_sound_open(live, in, err);
    if (ret < 0)
        return ret;
    struct halo_decoder_settings decoder =
        halo_track_decoder(&live->source, &live->settings.device, live->ring);
    decoder.declared = halo_source_declares(in->source);
    decoder.live = live->live && !live->local;
    decoder.hw.opening = halo_live_stands_opening(live->stands);
    return halo_decoder_open(&in->decoder, live->name, in->video, &decoder, &live->reader->damage,
                             err);
}

/* From now on the source has its whole time again. */
static void set_deadline(struct halo_live *live)
{
    const double limit = live->settings.input_timeout;
    const bool timed = !live->local && limit > 0;
    atomic_store(&live->reader->limits.deadline,
                 timed ? halo_now_ns() + (int64_t)(limit * 1e9) : 0);
}

int halo_live_input_open(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    set_deadline(live);
    *in = (struct halo_live_input){.pkt = av_packet_alloc()};
    if (!in->pkt)
        return halo_fail(err, -ENOMEM, "out of memory");
    return live->camera                                       ? halo_live_camera_open(live, in, err)
           : halo_test_source_is(live->settings.source.input) ? open_test(live, in, err)
                                                              : open_file(live, in, err);
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

/* Of this session's decoder, as soon as it is known. */
static void tell_refusal(struct halo_live *live, struct halo_live_input *in)
{
    const char *why = halo_decoder_refusal(in->decoder);
    if (in->pictures == 0 || (why[0] && !in->refused))
        halo_live_lack(live->figures, HALO_LACK_DECODER, why);
    in->refused = why[0];
}

/* What the decoder has met since there were so many places. */
static void count_damage(struct halo_live *live, const struct halo_live_input *in, long long places)
{
    const int64_t found = atomic_load(&live->reader->damage.places) - places;
    halo_live_drop(live->figures, HALO_DROP_DAMAGED, found);
    if (in->camera && found > 0)
        halo_live_count(live->figures, HALO_COUNT_CAPTURE_DAMAGED, found);
}

static void enter_decoder(struct halo_live *live, const struct halo_live_input *in)
{
    halo_live_enter(live->stands, HALO_CALL_DECODER,
                    in->again && !halo_decoder_in_hardware(in->decoder));
}

/* 1, 0, -errno as halo_decoder_receive(). */
static int receive(struct halo_live *live, struct halo_live_input *in,
                   struct halo_raw_picture **ret, struct halo_error *err)
{
    const int64_t begin = halo_now_ns();
    const long long places = atomic_load(&live->reader->damage.places);
    enter_decoder(live, in);
    const int received = halo_decoder_receive(in->decoder, ret, err);
    halo_live_leave(live->stands, HALO_CALL_DECODER);
    in->spent += halo_now_ns() - begin;
    if (in->camera) /* of others such pictures may be shown */
        count_damage(live, in, places);
    if (received > 0) {
        tell_refusal(live, in);
        in->pictures++;
        halo_live_time(live->figures, HALO_LIVE_DECODE, in->spent);
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
    const int ret = halo_decoder_send(in->decoder, pkt, err);
    halo_live_leave(live->stands, HALO_CALL_DECODER);
    in->spent += halo_now_ns() - begin;
    count_damage(live, in, places);
    return ret;
}

/* The next packet, to the decoder or as sound. 1: there was one; 0: no more. */
static int take_packet(struct halo_live *live, struct halo_live_input *in, AVPacket **ret_sound,
                       struct halo_error *err)
{
    set_deadline(live);
    const int ret = halo_source_read(in->source, in->pkt, err);
    if (ret == 0 && halo_now_ns() < atomic_load(&live->reader->limits.deadline))
        atomic_store(&live->reader->limits.deadline,
                     0); /* the end: what the decoder holds has its time */
    if (ret <= 0)
        return ret;
    halo_live_loop_shift(in, in->pkt);
    if (in->sound && in->pkt->stream_index == in->sound->index) {
        *ret_sound = av_packet_clone(in->pkt);
        return *ret_sound ? 1 : halo_fail(err, -ENOMEM, "out of memory");
    }
    if (in->pkt->stream_index != in->video->index)
        return 1;
    if (!halo_live_loop_pass(live, in))
        return 0;
    const int sent = halo_live_input_send(live, in, in->pkt, err);
    return sent < 0 ? sent : 1;
}

/* A picture of the camera's, coded or not. Where none of what it sends can be decoded it is as good
 * as silent. */
static int take_camera(struct halo_live *live, struct halo_live_input *in,
                       struct halo_raw_picture **ret, struct halo_error *err)
{
    const double stall = live->settings.capture.stall;
    const int64_t deadline = halo_now_ns() + (int64_t)(stall * 1e9);
    int r = 0;
    while (in->decoder && (r = receive(live, in, ret, err)) == 0) {
        if (halo_now_ns() > deadline) {
            const char *words = halo_live_camera_stall(live->camera);
            return halo_fail(err, -ETIMEDOUT, "%s: %s: only damaged pictures", live->name, words);
        }
        r = halo_live_camera_read(live, in, ret, err);
        if (r <= 0)
            return r;
        r = halo_live_input_send(live, in, in->pkt, err);
        av_packet_unref(in->pkt);
        if (r < 0)
            return r;
    }
    if (in->decoder)
        return r;
    r = halo_live_camera_read(live, in, ret, err);
    in->pictures += r > 0;
    return r;
}

static int read_camera(struct halo_live *live, struct halo_live_input *in,
                       struct halo_raw_picture **ret, struct halo_error *err)
{
    int r = take_camera(live, in, ret, err);
    if (r > 0 && in->orient && (r = halo_orient_pass(in->orient, ret, err)) < 0) {
        halo_raw_picture_destroy(*ret);
        *ret = NULL;
        return r;
    }
    return r < 0 ? r : *ret != NULL;
}

int halo_live_input_read(struct halo_live *live, struct halo_live_input *in,
                         struct halo_raw_picture **ret_raw, AVPacket **ret_sound,
                         struct halo_error *err)
{
    int ret;
    *ret_raw = NULL;
    *ret_sound = NULL;
    if (in->camera)
        return read_camera(live, in, ret_raw, err);
    if (in->test) {
        ret = halo_test_source_read(in->test, ret_raw);
        in->pictures += ret > 0;
        return ret < 0 ? halo_fail(err, ret, "out of memory") : ret;
    }
    while ((ret = receive(live, in, ret_raw, err)) == 0) {
        if (in->draining || halo_live_stopped(live))
            return 0;
        ret = take_packet(live, in, ret_sound, err);
        if (ret < 0 || *ret_sound)
            return ret;
        if (ret == 0 && halo_live_loop_on(live, in))
            continue;
        if (ret == 0) {
            in->draining = true;
            if ((ret = halo_live_input_send(live, in, NULL, err)) < 0)
                return ret;
        }
    }
    return ret;
}
