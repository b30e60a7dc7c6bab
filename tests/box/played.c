/* SPDX-License-Identifier: BSD-2-Clause
 * What surrounds the stream in the box (box.h): its source, its detectors, and filters and encoders
 * that are slow, fail or hold frames. They take the place of functions at the stream's edges: the
 * opening and reading of a session, the gate's exit, and the encoders. */
#include <errno.h>
#include <libavutil/frame.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernels/clock.h"
#include "pipeline/gate/gate.h"
#include "pipeline/stream/live_input.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/output/encode.h"
#include "pipeline/frame/raw_frame_private.h"
#include "tests/box/box.h"

struct box_trouble box_trouble;
int box_shape, box_encoders[4];
int64_t box_given, box_stuck_since, box_lost;

enum { STEP_US = 40000, DECODE_MS = 30 };

/* ---- the source ---- */

/* The forms that frames can have; the first is the usual one. */
static const struct {
    int width, height;
    enum AVPixelFormat format;
} shapes[] = {
    {64, 48, AV_PIX_FMT_YUV420P}, {96, 72, AV_PIX_FMT_YUV420P}, {64, 48, AV_PIX_FMT_YUV444P}};

static struct {
    int64_t next; /* us: the time of the next frame, on the source's own clock */
    int64_t due;  /* ns: when a sender sends it */
} source;

static bool sleep_unless_stopped(const struct halo_live *live, int64_t ns)
{
    const int64_t until = box_now() + ns;
    while (!halo_live_stopped(live) && box_now() < until)
        box_sleep(until - box_now());
    return !halo_live_stopped(live);
}

int __wrap_halo_live_input_open(struct halo_live *live, struct halo_live_input *in,
                                struct halo_error *err);

int __wrap_halo_live_input_open(struct halo_live *live, struct halo_live_input *in,
                                struct halo_error *err)
{
    *in = (struct halo_live_input){.pkt = av_packet_alloc(), .again = true};
    sleep_unless_stopped(live, box_trouble.opening * BOX_MS);
    world_say("source opens%s", box_trouble.source_away ? ": no" : "");
    if (box_trouble.source_away)
        return halo_fail(err, -ECONNREFUSED, "%s: nobody is there", live->name);
    const int code = halo_live_input_describe(in, err);
    if (code < 0)
        return code;
    AVCodecParameters *par = in->video->codecpar;
    par->codec_type = AVMEDIA_TYPE_VIDEO;
    par->codec_id = AV_CODEC_ID_RAWVIDEO;
    par->format = shapes[box_shape].format;
    par->width = shapes[box_shape].width;
    par->height = shapes[box_shape].height;
    par->color_range = AVCOL_RANGE_MPEG;
    par->color_space = AVCOL_SPC_BT709;
    par->sample_aspect_ratio = in->video->sample_aspect_ratio = (AVRational){1, 1};
    in->video->time_base = (AVRational){1, 1000000};
    in->video->avg_frame_rate = in->video->r_frame_rate = (AVRational){25, 1};
    source.next = (int64_t)box_draw(1000000);
    source.due = box_now();
    return 0;
}

void __wrap_halo_live_input_close(struct halo_live_input *in);
void __real_halo_live_input_close(struct halo_live_input *in);

void __wrap_halo_live_input_close(struct halo_live_input *in)
{
    if (box_trouble.closing)
        box_sleep(box_trouble.closing * BOX_MS);
    __real_halo_live_input_close(in);
}

struct area {
    int x, y, width, height;
};

static void fill(AVFrame *f, int plane, struct area a, int value)
{
    for (int row = a.y; row < a.y + a.height; row++)
        memset(f->data[plane] + (ptrdiff_t)row * f->linesize[plane] + a.x, value, (size_t)a.width);
}

/* As box.h shows. */
static void draw(AVFrame *f, int64_t number)
{
    const int w = f->width / 4, h = f->height / 3;
    const int n = (int)(number % BOX_NUMBERS), digits[] = {n & 7, n >> 3 & 7, n >> 6};
    fill(f, 0, (struct area){0, 0, 2 * w, f->height}, BOX_UNFILTERED);
    for (int i = 0; i < 4; i++) {
        const int digit = i < 3 ? digits[i] : (digits[0] + digits[1] + digits[2] + 5) % 8;
        fill(f, 0, (struct area){(2 + i % 2) * w, i / 2 * h, w, h}, 32 + 24 * digit);
    }
    fill(f, 0, (struct area){2 * w, 2 * h, 2 * w, h}, 60);
    fill(f, 0, (struct area){(n / 8 % 2 ? 3 : 2) * w, 2 * h, w, h}, 220);
    const int part = f->format == AV_PIX_FMT_YUV420P ? 2 : 1;
    for (int p = 1; p < 3; p++)
        fill(f, p, (struct area){0, 0, f->width / part, f->height / part}, 128);
}

static struct halo_raw_frame *make_frame(void)
{
    struct halo_raw_frame *raw = av_mallocz(sizeof *raw);
    AVFrame *f = raw->frame = av_frame_alloc();
    f->format = raw->format = shapes[box_shape].format;
    f->width = shapes[box_shape].width;
    f->height = shapes[box_shape].height;
    f->color_range = AVCOL_RANGE_MPEG;
    f->colorspace = AVCOL_SPC_BT709;
    f->sample_aspect_ratio = (AVRational){1, 1};
    f->pts = source.next;
    if (av_frame_get_buffer(f, 0) < 0)
        abort();
    draw(f, ++box_given);
    return raw;
}

int __wrap_halo_live_input_read(struct halo_live *live, struct halo_live_input *in,
                                struct halo_raw_frame **ret_raw, AVPacket **ret_sound,
                                struct halo_error *err);

int __wrap_halo_live_input_read(struct halo_live *live, struct halo_live_input *in,
                                struct halo_raw_frame **ret_raw, AVPacket **ret_sound,
                                struct halo_error *err)
{
    const bool sent = live->live && !live->paced;
    *ret_raw = NULL;
    *ret_sound = NULL;
    const int late = box_trouble.source_late;
    box_trouble.source_late = 0;
    source.due += STEP_US * 1000 + late * BOX_MS;
    if (source.due < box_now())
        source.due = box_now();
    if (!sent && !live->paced)
        source.due = box_now() + (DECODE_MS + late) * BOX_MS;
    if ((!live->paced || late) && !sleep_unless_stopped(live, source.due - box_now()))
        return 0;
    if (box_trouble.source_away || box_trouble.source_breaks) {
        box_trouble.source_breaks = false;
        box_lost = box_now();
        return halo_fail(err, -EIO, "%s: the connection broke", live->name);
    }
    if (box_trouble.source_ends) {
        box_trouble.source_ends = false;
        return 0;
    }
    source.next += STEP_US + box_trouble.jump * INT64_C(1000);
    box_trouble.jump = 0;
    *ret_raw = make_frame();
    in->frames++;
    return 1;
}

/* ---- filters ---- */

int __wrap_halo_gate_leave(struct halo_pending *pending, int64_t epoch,
                           struct halo_output_frame **ret, struct halo_error *err);
int __real_halo_gate_leave(struct halo_pending *pending, int64_t epoch,
                           struct halo_output_frame **ret, struct halo_error *err);

int __wrap_halo_gate_leave(struct halo_pending *pending, int64_t epoch,
                           struct halo_output_frame **ret, struct halo_error *err)
{
    const bool preview = strcmp(box_thread_name(), "collect") != 0;
    if (box_trouble.filter_slow && !preview)
        box_sleep(box_trouble.filter_slow * BOX_MS);
    if (box_trouble.filter_fails == 0 || preview)
        return __real_halo_gate_leave(pending, epoch, ret, err);
    box_trouble.filter_fails--;
    halo_pending_destroy(pending);
    return halo_fail(err, -EIO, "a filter fails as an event says");
}

/* The thread of this name is sometimes slow with what it does now; always if an event says so. */
static void be_slow(const char *thread)
{
    if (!strcmp(box_thread_name(), thread) && box_trouble.building)
        box_sleep(box_trouble.building * BOX_MS);
    if (!strcmp(box_thread_name(), thread) && box_draw(4) == 0)
        box_sleep((int64_t)box_draw(100 * BOX_MS));
}

int __wrap_halo_gate_create(struct halo_gate **ret, const struct halo_chain *chain,
                            struct halo_ring *ring, const struct halo_gate_input *input,
                            struct halo_error *err);
int __real_halo_gate_create(struct halo_gate **ret, const struct halo_chain *chain,
                            struct halo_ring *ring, const struct halo_gate_input *input,
                            struct halo_error *err);

int __wrap_halo_gate_create(struct halo_gate **ret, const struct halo_chain *chain,
                            struct halo_ring *ring, const struct halo_gate_input *input,
                            struct halo_error *err)
{
    be_slow("aside");
    return __real_halo_gate_create(ret, chain, ring, input, err);
}

int __wrap_halo_gate_card(const struct halo_output_frame *like, const struct halo_card *card,
                          int64_t pts, struct halo_output_frame **ret);
int __real_halo_gate_card(const struct halo_output_frame *like, const struct halo_card *card,
                          int64_t pts, struct halo_output_frame **ret);

int __wrap_halo_gate_card(const struct halo_output_frame *like, const struct halo_card *card,
                          int64_t pts, struct halo_output_frame **ret)
{
    be_slow("card");
    return __real_halo_gate_card(like, card, pts, ret);
}

/* ---- encoders ---- */

enum { ENCODERS = 64, HELD = 32 };

/* An encoder that holds frames keeps its packets here. */
static struct held {
    const struct halo_encoder *encoder;
    AVPacket *packet[HELD];
    int count;
    bool flushed;
    int number; /* number_of_caller(), when it was opened */
} held[ENCODERS];

static struct held *held_by(const struct halo_encoder *e)
{
    struct held *free = NULL;
    for (int i = 0; i < ENCODERS; i++) {
        if (held[i].encoder == e)
            return &held[i];
        if (!held[i].encoder)
            free = &held[i];
    }
    free->encoder = e;
    return free;
}

/* The number of the encoding whose thread calls, or -1: another thread, or a number without
 * troubles. */
static int number_of_caller(void)
{
    const bool encodes = !strcmp(box_thread_name(), "encode");
    return encodes && box_thread_number() < 4 ? box_thread_number() : -1;
}

int __wrap_halo_encoder_open(struct halo_encoder **ret, const AVCodec *codec,
                             const struct halo_encoder_settings *settings,
                             const struct halo_encoder_input *input, struct halo_error *err);
int __real_halo_encoder_open(struct halo_encoder **ret, const AVCodec *codec,
                             const struct halo_encoder_settings *settings,
                             const struct halo_encoder_input *input, struct halo_error *err);

int __wrap_halo_encoder_open(struct halo_encoder **ret, const AVCodec *codec,
                             const struct halo_encoder_settings *settings,
                             const struct halo_encoder_input *input, struct halo_error *err)
{
    if (box_trouble.encoder_opening && number_of_caller() >= 0)
        box_sleep(box_trouble.encoder_opening * BOX_MS);
    struct halo_encoder_settings one = *settings;
    one.threads = 1;
    const int code = __real_halo_encoder_open(ret, codec, &one, input, err);
    if (code >= 0) {
        struct held *h = held_by(*ret);
        h->number = number_of_caller();
        if (h->number >= 0)
            box_encoders[h->number]++;
    }
    return code;
}

int __wrap_halo_encoder_send(struct halo_encoder *e, const struct halo_output_frame *frame,
                             struct halo_error *err);
int __real_halo_encoder_send(struct halo_encoder *e, const struct halo_output_frame *frame,
                             struct halo_error *err);
int __wrap_halo_encoder_receive(struct halo_encoder *e, AVPacket *pkt, struct halo_error *err);
int __real_halo_encoder_receive(struct halo_encoder *e, AVPacket *pkt, struct halo_error *err);

int __wrap_halo_encoder_send(struct halo_encoder *e, const struct halo_output_frame *frame,
                             struct halo_error *err)
{
    struct held *h = held_by(e);
    const int number = number_of_caller();
    if (number >= 0 && box_trouble.encoder_stuck[number]) {
        box_stuck_since = box_now();
        while (box_trouble.encoder_stuck[number])
            box_sleep(10 * BOX_MS);
        box_stuck_since = 0;
    }
    be_slow("aside"); /* snapshots */
    if (number >= 0 && frame) {
        if (box_trouble.encoder_slow[number])
            box_sleep(box_trouble.encoder_slow[number] * BOX_MS);
        if (box_trouble.encoder_fails[number])
            return halo_fail(err, -EIO, "an encoder fails as an event says");
    }
    int code = __real_halo_encoder_send(e, frame, err);
    h->flushed |= !frame;
    while (code >= 0 && h->count < HELD) {
        AVPacket *pkt = av_packet_alloc();
        code = __real_halo_encoder_receive(e, pkt, err);
        if (code > 0) {
            h->packet[h->count++] = pkt;
            continue;
        }
        av_packet_free(&pkt);
        break;
    }
    return code;
}

int __wrap_halo_encoder_receive(struct halo_encoder *e, AVPacket *pkt, struct halo_error *err)
{
    struct held *h = held_by(e);
    const int number = number_of_caller(),
              holds = number < 0 ? 0 : box_trouble.encoder_holds[number];
    (void)err;
    if (h->count == 0 || (!h->flushed && h->count <= holds))
        return 0;
    av_packet_unref(pkt);
    av_packet_move_ref(pkt, h->packet[0]);
    av_packet_free(&h->packet[0]);
    memmove(h->packet, h->packet + 1, (size_t)--h->count * sizeof *h->packet);
    return 1;
}

void __wrap_halo_encoder_close(struct halo_encoder *e);
void __real_halo_encoder_close(struct halo_encoder *e);

void __wrap_halo_encoder_close(struct halo_encoder *e)
{
    if (e) {
        struct held *h = held_by(e);
        for (int i = 0; i < h->count; i++)
            av_packet_free(&h->packet[i]);
        if (h->number >= 0)
            box_encoders[h->number]--;
        *h = (struct held){0};
    }
    __real_halo_encoder_close(e);
}

/* ---- detectors ---- */

enum { FINDS = HALO_FINDS, CONNECTIONS = 16, SIDE_X = 64, SIDE_Y = 48 };

static struct finding {
    bool wanted;          /* the stream waits for halo_live_connect() */
    int64_t due;          /* ns: when that comes */
    struct detector *now; /* as far as the stream has told; NULL: none */
} findings[FINDS];

/* A connection with a stream. */
static struct detector {
    int fd;
    struct halo_thread thread;
    bool used, lives; /* lives: its end of the connection is open */
} detectors[CONNECTIONS];

void box_want(enum halo_find find)
{
    struct finding *f = &findings[find];
    world_say("wants a detector of %s", halo_find_names[find]);
    if (f->wanted)
        world_fail("a detector is wanted before the last one was given");
    if (f->now && f->now->lives)
        world_fail("a detector is wanted while another one works");
    f->wanted = true;
    f->due = box_now() + (int64_t)box_draw(600 * BOX_MS);
    box_wake_loop();
}

void box_unwanted(enum halo_find find)
{
    world_say("wants no detector of %s", halo_find_names[find]);
    findings[find].now = NULL;
}

void box_broken(enum halo_find find, const char *why)
{
    world_say("the detector of %s is broken: %s", halo_find_names[find], why);
    findings[find].now = NULL;
}

static void answer(const struct detector *d, const char *text)
{
    if (send(d->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        world_say("the detector's answer reaches nobody");
}

/* Finds the face in its frame, as box.h shows it. */
static void judge(const struct detector *d, long long n, int memfd)
{
    uint8_t pixel[SIDE_X * SIDE_Y];
    char text[200];
    if (pread(memfd, pixel, sizeof pixel, 0) != (ssize_t)sizeof pixel)
        world_fail("a frame for the detector is too short");
    const uint8_t *row = pixel + SIDE_Y * 5 / 6 * SIDE_X;
    snprintf(text, sizeof text,
             "{\"type\":\"verdict\",\"n\":%lld,\"boxes\":[[%g,0.66,0.25,0.34,0.9]]}",
             box_trouble.detector_lies ? n + 7 : n,
             row[SIDE_X * 5 / 8] > row[SIDE_X * 7 / 8] ? 0.5 : 0.75);
    box_trouble.detector_lies = false;
    answer(d, text);
}

/* False: the detector ends. */
static bool take_message(const struct detector *d)
{
    char text[4096], control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {text, sizeof text - 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    int memfd;
    const ssize_t got = recvmsg(d->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got <= 0)
        return false;
    text[got] = '\0';
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (!c) {
        box_sleep((int64_t)box_draw(300 * BOX_MS));
        answer(d, "{\"type\":\"ready\",\"name\":\"played\",\"width\":64,\"height\":48,"
                  "\"format\":\"gray8\",\"answers\":\"boxes\"}");
        return true;
    }
    memcpy(&memfd, CMSG_DATA(c), sizeof memfd);
    box_sleep(box_trouble.detector_late * BOX_MS + (int64_t)box_draw(20 * BOX_MS));
    bool dies = box_trouble.detector_dies;
    box_trouble.detector_dies = false;
    struct pollfd end = {.fd = d->fd};
    for (; box_trouble.detector_mute && !(end.revents & POLLHUP); dies = true) /* after that */
        halo_poll(&end, 1, halo_now_ns() + 50 * BOX_MS);
    if (!dies)
        judge(d, atoll(strstr(text, "\"n\":") + 4), memfd);
    close(memfd);
    return !dies;
}

static void *detector_main(void *arg)
{
    struct detector *d = arg;
    struct pollfd fd = {.fd = d->fd, .events = POLLIN};
    while (halo_poll(&fd, 1, INT64_MAX) > 0 && take_message(d))
        ;
    close(d->fd);
    d->lives = false;
    return NULL;
}

/* A place for another connection; NULL: there is none. Joins those that have ended, or all. */
static struct detector *find_place(bool all)
{
    struct detector *place = NULL;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct detector *d = &detectors[i];
        if (d->used && (all || !d->lives)) {
            halo_thread_join(d->thread);
            d->used = false;
        }
        if (!d->used)
            place = d;
    }
    return place;
}

int64_t box_connect_due(void)
{
    int64_t due = INT64_MAX;
    for (int find = 0; find < FINDS; find++)
        if (findings[find].wanted && findings[find].due < due)
            due = findings[find].due;
    return due;
}

void box_connect(struct halo_live *live)
{
    for (int find = 0; find < FINDS; find++) {
        struct finding *f = &findings[find];
        int ends[2];
        if (!f->wanted || f->due > box_now())
            continue;
        f->wanted = false;
        struct detector *d = find_place(false);
        if (box_trouble.detector_away || !d) {
            halo_live_connect(live, find, -1, "there is none now");
            continue;
        }
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
            abort();
        *d = (struct detector){.fd = ends[0], .used = true, .lives = true};
        f->now = d;
        halo_thread_start(&d->thread, "detector", detector_main, d, NULL);
        halo_live_connect(live, find, ends[1], NULL);
    }
}

void box_detectors_forget(void)
{
    find_place(true);
    memset(findings, 0, sizeof findings);
}
