/* SPDX-License-Identifier: BSD-2-Clause
 * feed-probe [OPTION=VALUE ...] PATH ...: feeds and viewers with an engine that is played, for
 * tests with real clients. Paths whose name begins with "raw", and .fd ones, get raw frames.
 *
 *   size=160x120 rate=30 gop=1 (seconds) format=yuv420p (raw)
 *   global=1 (parameter sets are apart from the packets) sound=1 begin=0 (no begin yet)
 *
 * stdin, one command a line: silence, resume, begin, again (a new encoder with the same
 * parameters), size WxH (with others), status, quit. stdout: one JSON object for each status.
 *
 * Frames are a dark field with a bright bar that moves; cards are gray, solid ones black. */
#include <libavcodec/avcodec.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/view/viewers.h"

enum { MAX_SOCKETS = 8, LINE = 256, RATE_OF_SOUND = 48000 };

struct encoding {
    struct halo_feed *feed;
    AVCodecContext *video, *audio; /* NULL: raw; none */
    AVPacket *card, *solid;
    bool watched, wants_key;
    int64_t sound_at; /* us */
};

static struct {
    int width, height, rate, gop, global, sound, begin;
    enum AVPixelFormat format;
} opt = {160, 120, 30, 1, 0, 0, 1, AV_PIX_FMT_YUV420P};

static uv_loop_t *loop;
static uv_timer_t clock_timer;
static uv_pipe_t input;
static struct encoding coded, raw;
static struct halo_viewers *viewers[MAX_SOCKETS];
static int sockets;
static bool silent;
static int64_t count, made; /* frames: that are due, and that a feed was given */
static char line[LINE];
static size_t line_size;

static void check(int status, const char *what)
{
    if (status >= 0)
        return;
    fprintf(stderr, "feed-probe: %s: %s\n", what, av_err2str(status));
    exit(1);
}

/* ---- frames ---- */

/* luma negative: the moving bar. */
static AVFrame *draw(enum AVPixelFormat format, int luma)
{
    AVFrame *frame = av_frame_alloc();
    frame->format = format;
    frame->width = opt.width;
    frame->height = opt.height;
    check(av_frame_get_buffer(frame, 0), "picture");
    const int bar = (int)(count * 4 % opt.width);
    for (int y = 0; y < opt.height; y++) {
        uint8_t *row = frame->data[0] + (ptrdiff_t)y * frame->linesize[0];
        memset(row, luma < 0 ? 48 : luma, (size_t)opt.width);
        for (int x = bar; luma < 0 && x < bar + 16 && x < opt.width; x++)
            row[x] = 220;
    }
    for (int i = 1; i < av_pix_fmt_count_planes(format); i++)
        for (int y = 0;
             y < (format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_NV12 ? (opt.height + 1) / 2
                                                                            : opt.height);
             y++)
            memset(frame->data[i] + (ptrdiff_t)y * frame->linesize[i],
                   luma < 0 ? 100 + 20 * i : 128,
                   (size_t)av_image_get_linesize(format, opt.width, i));
    return frame;
}

static AVPacket *pack_raw(int luma)
{
    AVFrame *frame = draw(opt.format, luma);
    AVPacket *pkt = av_packet_alloc();
    const int size = av_image_get_buffer_size(opt.format, opt.width, opt.height, 1);
    check(av_new_packet(pkt, size), "packet");
    av_image_copy_to_buffer(pkt->data, size, (const uint8_t *const *)frame->data, frame->linesize,
                            opt.format, opt.width, opt.height, 1);
    pkt->flags = AV_PKT_FLAG_KEY;
    av_frame_free(&frame);
    return pkt;
}

static AVCodecContext *open_video(void)
{
    AVCodecContext *c = avcodec_alloc_context3(avcodec_find_encoder_by_name("libx264"));
    c->width = opt.width;
    c->height = opt.height;
    c->pix_fmt = AV_PIX_FMT_YUV420P;
    c->time_base = AV_TIME_BASE_Q;
    c->framerate = (AVRational){opt.rate, 1};
    c->gop_size = opt.rate * opt.gop;
    c->max_b_frames = 0;
    c->thread_count = 1;
    c->flags |= opt.global ? AV_CODEC_FLAG_GLOBAL_HEADER : 0;
    av_opt_set(c->priv_data, "preset", "ultrafast", 0);
    av_opt_set(c->priv_data, "tune", "zerolatency", 0);
    av_opt_set(c->priv_data, "forced-idr", "1", 0);
    check(avcodec_open2(c, NULL, NULL), "libx264");
    return c;
}

static AVPacket *encode(AVCodecContext *c, int luma, bool key, int64_t at)
{
    AVFrame *frame = draw(AV_PIX_FMT_YUV420P, luma);
    AVPacket *pkt = av_packet_alloc();
    frame->pts = at;
    frame->pict_type = key ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
    check(avcodec_send_frame(c, frame), "encode");
    check(avcodec_receive_packet(c, pkt), "encode");
    av_frame_free(&frame);
    return pkt;
}

static AVPacket *make_card(bool is_raw, int luma)
{
    if (is_raw)
        return pack_raw(luma);
    AVCodecContext *c = open_video();
    AVPacket *pkt = encode(c, luma, true, 0);
    avcodec_free_context(&c);
    return pkt;
}

static AVCodecContext *open_sound(void)
{
    AVCodecContext *c = avcodec_alloc_context3(avcodec_find_encoder(AV_CODEC_ID_AAC));
    c->sample_rate = RATE_OF_SOUND;
    c->sample_fmt = AV_SAMPLE_FMT_FLTP;
    c->ch_layout = (AVChannelLayout)AV_CHANNEL_LAYOUT_MONO;
    c->bit_rate = 64000;
    c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    check(avcodec_open2(c, NULL, NULL), "aac");
    return c;
}

/* ---- the engine ---- */

static void begin(struct encoding *e)
{
    AVCodecParameters *video = avcodec_parameters_alloc(), *audio = avcodec_parameters_alloc();
    const bool is_raw = e == &raw;
    avcodec_free_context(&e->video);
    av_packet_free(&e->card);
    av_packet_free(&e->solid);
    if (!is_raw) {
        e->video = open_video();
        avcodec_parameters_from_context(video, e->video);
        if (opt.sound && !e->audio)
            e->audio = open_sound();
        if (e->audio)
            avcodec_parameters_from_context(audio, e->audio);
    } else {
        video->codec_type = AVMEDIA_TYPE_VIDEO;
        video->codec_id = AV_CODEC_ID_RAWVIDEO;
        video->format = opt.format;
        video->width = opt.width;
        video->height = opt.height;
    }
    e->card = make_card(is_raw, 128);
    e->solid = make_card(is_raw, 16);
    const struct halo_encoding_parameters what = {
        .video = video,
        .audio = e->audio ? audio : NULL,
        .framerate = {opt.rate, 1},
        .card = e->card,
        .solid = e->solid,
    };
    halo_feed_begin(e->feed, &what);
    avcodec_parameters_free(&video);
    avcodec_parameters_free(&audio);
}

static void make_sound(struct encoding *e, int64_t until)
{
    const int64_t step = e->audio->frame_size * INT64_C(1000000) / RATE_OF_SOUND;
    if (e->sound_at < until - 1000000 || e->sound_at > until + 1000000)
        e->sound_at = until;
    for (; e->sound_at < until; e->sound_at += step) {
        AVFrame *frame = av_frame_alloc();
        AVPacket *pkt = av_packet_alloc();
        frame->format = e->audio->sample_fmt;
        frame->nb_samples = e->audio->frame_size;
        frame->sample_rate = RATE_OF_SOUND;
        frame->ch_layout = e->audio->ch_layout;
        check(av_frame_get_buffer(frame, 0), "sound");
        for (int i = 0; i < frame->nb_samples; i++)
            ((float *)frame->data[0])[i] = (float)(i % 100) / 500;
        check(avcodec_send_frame(e->audio, frame), "sound");
        if (avcodec_receive_packet(e->audio, pkt) == 0) {
            pkt->pts = pkt->dts = e->sound_at;
            pkt->duration = step;
            pkt->stream_index = 1;
            halo_feed_packet(e->feed, pkt);
        }
        av_frame_free(&frame);
        av_packet_free(&pkt);
    }
}

static void make_frame(struct encoding *e)
{
    if (!e->feed || !e->watched || !e->card)
        return;
    const int64_t at = (int64_t)(uv_hrtime() / 1000);
    AVPacket *pkt = e == &raw ? pack_raw(-1) : encode(e->video, -1, e->wants_key, at);
    e->wants_key = false;
    pkt->pts = pkt->dts = at;
    pkt->duration = 1000000 / opt.rate;
    halo_feed_packet(e->feed, pkt);
    made++;
    av_packet_free(&pkt);
    if (e->audio)
        make_sound(e, at);
}

static void tick(uv_timer_t *timer)
{
    static int64_t ticks, start;
    const int64_t now = (int64_t)(uv_hrtime() / 1000);
    if (!start)
        start = now;
    count++;
    if (!silent) {
        make_frame(&coded);
        make_frame(&raw);
    }
    const int64_t next = start + ++ticks * 1000000 / opt.rate;
    const int64_t left = next - (int64_t)(uv_hrtime() / 1000);
    uv_timer_start(timer, tick, left > 0 ? (uint64_t)(left + 500) / 1000 : 0, 0);
}

static void wish_watched(void *arg, bool watched)
{
    struct encoding *e = arg;
    e->watched = e->wants_key = watched;
}

static void wish_key(void *arg)
{
    ((struct encoding *)arg)->wants_key = true;
}

static const struct halo_feed_wishes wishes = {.watched = wish_watched, .key = wish_key};

/* ---- commands ---- */

static void print_status(void)
{
    json_t *list = json_array();
    struct halo_feed_stats stats = {0};
    for (int i = 0; i < sockets; i++)
        json_array_append_new(list, halo_viewers_status(viewers[i]));
    halo_feed_stats(coded.feed ? coded.feed : raw.feed, &stats);
    json_t *all = json_pack("{s:o, s:b, s:i, s:I, s:I, s:I}", "sockets", list, "card", stats.card,
                            "subscribers", stats.subscribers, "cards", (json_int_t)stats.cards,
                            "late", (json_int_t)stats.late, "made", (json_int_t)made);
    json_dumpf(all, stdout, 0);
    puts("");
    fflush(stdout);
    json_decref(all);
}

static void quit(void)
{
    uv_close((uv_handle_t *)&clock_timer, NULL);
    uv_close((uv_handle_t *)&input, NULL);
    for (int i = 0; i < sockets; i++)
        halo_viewers_destroy(viewers[i], "the probe ends");
    halo_feed_destroy(coded.feed, "the probe ends");
    halo_feed_destroy(raw.feed, "the probe ends");
}

static void begin_all(void)
{
    if (coded.feed)
        begin(&coded);
    if (raw.feed)
        begin(&raw);
}

static void obey(const char *command)
{
    if (!strcmp(command, "silence"))
        silent = true;
    else if (!strcmp(command, "resume"))
        silent = false;
    else if (!strcmp(command, "begin") || !strcmp(command, "again"))
        begin_all();
    else if (sscanf(command, "size %dx%d", &opt.width, &opt.height) == 2)
        begin_all();
    else if (!strcmp(command, "status"))
        print_status();
    else if (!strcmp(command, "quit"))
        quit();
    else
        fprintf(stderr, "feed-probe: no command: %s\n", command);
}

static void give_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    (void)handle, (void)size;
    *buf = uv_buf_init(line + line_size, (unsigned)(LINE - line_size));
}

static void heard(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    (void)buf;
    if (size < 0) {
        if (!uv_is_closing((uv_handle_t *)stream))
            quit();
        return;
    }
    line_size += (size_t)size;
    char *end;
    while ((end = memchr(line, '\n', line_size))) {
        char command[LINE];
        const size_t length = (size_t)(end - line);
        memcpy(command, line, length);
        command[length] = '\0';
        line_size -= length + 1;
        memmove(line, end + 1, line_size);
        obey(command);
    }
}

/* ---- start ---- */

static void set_option(const char *option, const char *value)
{
    static const struct {
        const char *name;
        int *value;
    } numbers[] = {{"rate", &opt.rate},
                   {"gop", &opt.gop},
                   {"global", &opt.global},
                   {"sound", &opt.sound},
                   {"begin", &opt.begin}};
    if (!strncmp(option, "size=", 5))
        sscanf(value, "%dx%d", &opt.width, &opt.height);
    if (!strncmp(option, "format=", 7))
        opt.format = av_get_pix_fmt(value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strncmp(option, numbers[i].name, strlen(numbers[i].name)) &&
            option[strlen(numbers[i].name)] == '=')
            *numbers[i].value = atoi(value);
}

static bool is_raw(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
               *dot = strrchr(path, '.');
    return !strncmp(name, "raw", 3) || (dot && !strcmp(dot, ".fd"));
}

static void add_socket(char *path)
{
    const struct halo_stream_settings stream = {.name = "probe", .last_for = 1};
    const struct halo_output_settings output = {.kind = HALO_OUTPUT_UNIX, .target = path};
    struct encoding *e = is_raw(path) ? &raw : &coded;
    struct halo_error err = {0};
    if (!e->feed)
        check(halo_feed_create(&e->feed, loop, &stream, &wishes, e), "feed");
    const int status = halo_viewers_create(&viewers[sockets], loop, e->feed, &output, &err);
    if (status < 0) {
        fprintf(stderr, "feed-probe: %s (%s)\n", err.text, strerror(-status));
        exit(1);
    }
    sockets++;
}

int main(int argc, char **argv)
{
    loop = uv_default_loop();
    av_log_set_level(AV_LOG_ERROR);
    for (int i = 1; i < argc && sockets < MAX_SOCKETS; i++) {
        const char *sign = strchr(argv[i], '=');
        if (sign && argv[i][0] != '/')
            set_option(argv[i], sign + 1);
        else
            add_socket(argv[i]);
    }
    uv_timer_init(loop, &clock_timer);
    uv_pipe_init(loop, &input, 0);
    uv_pipe_open(&input, 0);
    uv_read_start((uv_stream_t *)&input, give_room, heard);
    if (opt.begin)
        begin_all();
    uv_timer_start(&clock_timer, tick, 0, 0);
    puts("{\"ready\": true}");
    fflush(stdout);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    for (int i = 0; i < 2; i++) {
        struct encoding *e = i ? &raw : &coded;
        avcodec_free_context(&e->video);
        avcodec_free_context(&e->audio);
        av_packet_free(&e->card);
        av_packet_free(&e->solid);
    }
    return 0;
}
