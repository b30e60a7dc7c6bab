/* SPDX-License-Identifier: BSD-2-Clause
 * A clip of encoded packets for tests (clip.h). */
#include "tests/pipeline/output/clip.h"

#include <libavformat/avformat.h>
#include <libavutil/adler32.h>
#include <libavutil/channel_layout.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libavutil/time.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka_all.h"

enum { HEIGHT = 96, SOUND_RATE = 48000 };
static const int64_t ORIGIN = INT64_C(987654321000); /* us: some uptime */

static void keep(struct clip *clip, AVPacket *pkt, AVRational tb, int stream)
{
    av_packet_rescale_ts(pkt, tb, (AVRational){1, 1000000});
    pkt->pts += ORIGIN;
    pkt->dts += ORIGIN;
    pkt->stream_index = stream;
    assert_true(clip->count < CLIP_MAX);
    clip->pkt[clip->count] = av_packet_clone(pkt);
    assert_non_null(clip->pkt[clip->count++]);
    av_packet_unref(pkt);
}

static void encode(struct clip *clip, AVCodecContext *c, const AVFrame *frame, int stream)
{
    AVPacket *pkt = av_packet_alloc();
    assert_int_equal(avcodec_send_frame(c, frame), 0);
    while (avcodec_receive_packet(c, pkt) == 0)
        keep(clip, pkt, c->time_base, stream);
    av_packet_free(&pkt);
}

static void draw(AVFrame *frame, int number)
{
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < (p ? HEIGHT / 2 : HEIGHT); y++)
            for (int x = 0; x < (p ? frame->width / 2 : frame->width); x++)
                frame->data[p][y * frame->linesize[p] + x] =
                    (uint8_t)(x * 3 + y * (p + 2) + number * 5 + (x * y * number >> 6));
}

static void encode_frames(struct clip *clip, int seconds, int width, int bframes)
{
    AVCodecContext *c = avcodec_alloc_context3(avcodec_find_encoder_by_name("libx264"));
    c->width = width;
    c->height = HEIGHT;
    c->pix_fmt = AV_PIX_FMT_YUV420P;
    c->time_base = (AVRational){1, CLIP_RATE};
    c->framerate = (AVRational){CLIP_RATE, 1};
    c->gop_size = CLIP_RATE;
    c->max_b_frames = bframes;
    c->thread_count = 1;
    c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    av_opt_set(c->priv_data, "preset", "ultrafast", 0);
    av_opt_set(c->priv_data, "x264-params", "scenecut=0:open-gop=0:rc-lookahead=5", 0);
    assert_int_equal(avcodec_open2(c, NULL, NULL), 0);
    assert_int_equal(avcodec_parameters_from_context(clip->video, c), 0);
    AVFrame *frame = av_frame_alloc();
    frame->format = c->pix_fmt;
    frame->width = width;
    frame->height = HEIGHT;
    clip->frames = seconds * CLIP_RATE;
    for (int i = 0; i < clip->frames; i++) {
        assert_int_equal(av_frame_get_buffer(frame, 0), 0);
        draw(frame, i);
        frame->pts = i;
        encode(clip, c, frame, 0);
        av_buffer_unref(&frame->buf[0]);
        av_buffer_unref(&frame->buf[1]);
        av_buffer_unref(&frame->buf[2]);
    }
    encode(clip, c, NULL, 0);
    av_frame_free(&frame);
    avcodec_free_context(&c);
}

static void encode_sound(struct clip *clip, int seconds)
{
    AVCodecContext *c = avcodec_alloc_context3(avcodec_find_encoder(AV_CODEC_ID_AAC));
    c->sample_rate = SOUND_RATE;
    c->sample_fmt = AV_SAMPLE_FMT_FLTP;
    av_channel_layout_default(&c->ch_layout, 1);
    c->time_base = (AVRational){1, SOUND_RATE};
    c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    assert_int_equal(avcodec_open2(c, NULL, NULL), 0);
    assert_int_equal(avcodec_parameters_from_context(clip->audio, c), 0);
    AVFrame *frame = av_frame_alloc();
    for (int at = 0; at < seconds * SOUND_RATE; at += c->frame_size) {
        frame->format = c->sample_fmt;
        frame->nb_samples = c->frame_size;
        frame->sample_rate = SOUND_RATE;
        av_channel_layout_default(&frame->ch_layout, 1);
        assert_int_equal(av_frame_get_buffer(frame, 0), 0);
        for (int i = 0; i < c->frame_size; i++)
            ((float *)frame->data[0])[i] = (float)sin((at + i) * 0.05) / 2;
        frame->pts = at;
        encode(clip, c, frame, 1);
        av_frame_unref(frame);
    }
    encode(clip, c, NULL, 1);
    av_frame_free(&frame);
    avcodec_free_context(&c);
}

static int compare(const void *a, const void *b)
{
    const AVPacket *x = *(AVPacket *const *)a, *y = *(AVPacket *const *)b;
    return x->dts != y->dts ? (x->dts > y->dts) - (x->dts < y->dts)
                            : x->stream_index - y->stream_index;
}

/* ---- what frames are in packets ---- */

static void add_frame(struct content *content, const AVFrame *frame)
{
    uint32_t hash = 1;
    for (int y = 0; y < frame->height; y++)
        hash = av_adler32_update(hash, frame->data[0] + y * frame->linesize[0], frame->width);
    assert_true(content->frames < CLIP_MAX);
    content->damaged += frame->decode_error_flags != 0;
    content->hash[content->frames++] = hash;
}

static AVCodecContext *open_decoder(const AVCodecParameters *par)
{
    AVCodecContext *c = avcodec_alloc_context3(avcodec_find_decoder(par->codec_id));
    assert_int_equal(avcodec_parameters_to_context(c, par), 0);
    c->thread_count = 1;
    assert_int_equal(avcodec_open2(c, NULL, NULL), 0);
    return c;
}

static void decode(struct content *content, AVCodecContext *c, const AVPacket *pkt)
{
    AVFrame *frame = av_frame_alloc();
    if (avcodec_send_packet(c, pkt) < 0)
        content->damaged++;
    while (avcodec_receive_frame(c, frame) == 0)
        add_frame(content, frame);
    av_frame_free(&frame);
}

static void hash_clip(struct clip *clip)
{
    struct content *content = calloc(1, sizeof *content);
    AVCodecContext *c = open_decoder(clip->video);
    for (int i = 0; i < clip->count; i++)
        if (clip->pkt[i]->stream_index == 0)
            decode(content, c, clip->pkt[i]);
    decode(content, c, NULL);
    avcodec_free_context(&c);
    assert_int_equal(content->frames, clip->frames);
    memcpy(clip->hash, content->hash, sizeof clip->hash);
    free(content);
}

int content_add(struct content *content, const char *path)
{
    AVFormatContext *format = NULL;
    if (avformat_open_input(&format, path, NULL, NULL) < 0)
        return -1;
    assert_true(avformat_find_stream_info(format, NULL) >= 0);
    const int video = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    assert_true(video >= 0);
    AVCodecContext *c = open_decoder(format->streams[video]->codecpar);
    AVPacket *pkt = av_packet_alloc();
    content->first = content->first_sound = 1e9;
    content->last = -1e9;
    int64_t dts[2] = {INT64_MIN, INT64_MIN};
    while (av_read_frame(format, pkt) >= 0) {
        const bool frame = pkt->stream_index == video;
        const double at = pkt->pts * av_q2d(format->streams[pkt->stream_index]->time_base);
        if (pkt->dts != AV_NOPTS_VALUE) {
            assert_true(pkt->dts > dts[frame]);
            dts[frame] = pkt->dts;
        }
        if (frame) {
            content->first = fmin(content->first, at);
            content->last = fmax(content->last, at);
            decode(content, c, pkt);
        } else {
            content->sounds++;
            content->first_sound = fmin(content->first_sound, at);
        }
        av_packet_unref(pkt);
    }
    decode(content, c, NULL);
    av_packet_free(&pkt);
    avcodec_free_context(&c);
    avformat_close_input(&format);
    return 0;
}

struct clip *clip_create(int seconds, int width, int bframes)
{
    av_log_set_level(AV_LOG_QUIET);
    if (!avcodec_find_encoder_by_name("libx264"))
        return NULL;
    struct clip *clip = calloc(1, sizeof *clip);
    clip->video = avcodec_parameters_alloc();
    clip->audio = avcodec_parameters_alloc();
    encode_frames(clip, seconds, width, bframes);
    encode_sound(clip, seconds);
    qsort(clip->pkt, clip->count, sizeof *clip->pkt, compare);
    hash_clip(clip);
    clip->begin =
        (struct halo_encoding_parameters){clip->video, clip->audio, {CLIP_RATE, 1}, NULL, NULL};
    return clip;
}

void clip_destroy(struct clip *clip)
{
    if (!clip)
        return;
    for (int i = 0; i < clip->count; i++)
        av_packet_free(&clip->pkt[i]);
    avcodec_parameters_free(&clip->video);
    avcodec_parameters_free(&clip->audio);
    free(clip);
}

struct halo_output *clip_open_output(const struct clip *clip,
                                     const struct halo_output_settings *settings)
{
    struct halo_output *output = NULL;
    struct halo_error err = {0};
    if (halo_output_create(&output, "test", settings, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(halo_output_begin(output, &clip->begin), 0);
    return output;
}

void clip_wait_written(struct halo_output *output, int packets)
{
    struct halo_output_stats stats;
    const int64_t until = av_gettime_relative() + 900000000;
    halo_output_stats(output, &stats);
    while (stats.packets < packets && av_gettime_relative() < until) {
        usleep(1000);
        halo_output_stats(output, &stats);
    }
    assert_true(stats.packets >= packets);
}

void clip_end_output(struct halo_output *output, int packets)
{
    clip_wait_written(output, packets);
    halo_output_destroy(output);
}
