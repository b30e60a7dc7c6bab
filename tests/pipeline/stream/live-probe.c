/* SPDX-License-Identifier: BSD-2-Clause
 * Drives a live stream (live/live.h) for the tests: settings as words, commands from standard
 * input, events as lines on standard output.
 *
 *     live-probe [dump=FOLDER] KEY=VALUE ... [output=file codec=raw ...]
 *
 * fail=N makes the N-th frame fail that an encoder is given, cards too.
 *
 * Keys before the first output= are the stream's (capture.KEY: of its camera), those after one are
 * that output's. Commands: set ID CHAIN[|CHAIN], control ID NAME VALUE, watch N on|off, key N,
 * snapshot ID FORMAT [FILTERS], stats, stop, abandon; the end of the input is stop. */
#include <errno.h>
#include <inttypes.h>
#include <libavutil/md5.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/daemon_tables.h"
#include "config/run.h"
#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/stream/live.h"
#include "pipeline/output/parameters_wire.h"
#include "pipeline/output/encode.h"

static const char *folder;
static long fail_at;
static bool abandoned;
static pthread_mutex_t line = PTHREAD_MUTEX_INITIALIZER;

int __real_halo_encoder_send(struct halo_encoder *e, const struct halo_output_frame *frame,
                             struct halo_error *err);
int __wrap_halo_encoder_send(struct halo_encoder *e, const struct halo_output_frame *frame,
                             struct halo_error *err);

/* Linked in place of the encoder's own. */
int __wrap_halo_encoder_send(struct halo_encoder *e, const struct halo_output_frame *frame,
                             struct halo_error *err)
{
    static atomic_long count;
    if (frame && atomic_fetch_add(&count, 1) + 1 == fail_at)
        return halo_fail(err, -EIO, "failed as asked for");
    return __real_halo_encoder_send(e, frame, err);
}

static void hash(const uint8_t *data, int size, char *ret)
{
    uint8_t sum[16];
    av_md5_sum(sum, data, (size_t)size);
    for (int i = 0; i < 16; i++)
        sprintf(ret + 2 * i, "%02x", sum[i]);
}

/* What replaces an older one is never there in part: tests read it while others are made. */
static void dump(const char *name, int number, const AVPacket *pkt, const char *mode)
{
    char path[500], made[510];
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%s%d", folder, name, number);
    snprintf(made, sizeof made, "%s%s", path, mode[0] == 'w' ? ".new" : "");
    FILE *f = fopen(made, mode);
    if (f) {
        fwrite(pkt->data, 1, (size_t)pkt->size, f);
        fclose(f);
        if (mode[0] == 'w')
            rename(made, path);
    }
}

static void on_state(void *arg, enum halo_live_state state, const struct halo_error *err)
{
    (void)arg;
    pthread_mutex_lock(&line);
    printf("state %s now=%" PRId64 " device=%d code=%d %s\n", halo_live_state_names[state],
           halo_now_ns() / 1000, err->device, err->code, err->text);
    pthread_mutex_unlock(&line);
}

/* The views for pages, which come last, are not what the tests are about. */
static int shown_encodings;

static void on_begin(void *arg, int encoding, const struct halo_encoding_parameters *b)
{
    char gray[33], black[33];
    (void)arg;
    if (encoding >= shown_encodings)
        return;
    hash(b->card->data, b->card->size, gray);
    hash(b->solid->data, b->solid->size, black);
    pthread_mutex_lock(&line);
    dump("card", encoding, b->card, "wb");
    dump("solid", encoding, b->solid, "wb");
    printf("begin enc=%d codec=%s size=%dx%d format=%d extra=%d audio=%s rate=%d/%d card=%s "
           "solid=%s key=%d%d\n",
           encoding, avcodec_get_name(b->video->codec_id), b->video->width, b->video->height,
           b->video->format, b->video->extradata_size,
           b->audio ? avcodec_get_name(b->audio->codec_id) : "-", b->framerate.num,
           b->framerate.den, gray, black, !!(b->card->flags & AV_PKT_FLAG_KEY),
           !!(b->solid->flags & AV_PKT_FLAG_KEY));
    pthread_mutex_unlock(&line);
}

static void on_packet(void *arg, int encoding, const AVPacket *pkt)
{
    char sum[33];
    (void)arg;
    hash(pkt->data, pkt->size, sum);
    pthread_mutex_lock(&line);
    dump(pkt->stream_index ? "sound" : "video", encoding, pkt, "ab");
    printf("packet enc=%d stream=%d pts=%" PRId64 " dts=%" PRId64 " dur=%" PRId64
           " key=%d size=%d now=%" PRId64 " md5=%s\n",
           encoding, pkt->stream_index, pkt->pts, pkt->dts, pkt->duration,
           !!(pkt->flags & AV_PKT_FLAG_KEY), pkt->size, halo_now_ns() / 1000, sum);
    pthread_mutex_unlock(&line);
}

static void on_card(void *arg, int encoding, const AVPacket *pkt)
{
    (void)arg;
    pthread_mutex_lock(&line);
    dump("words", encoding, pkt, "wb");
    printf("card enc=%d pts=%" PRId64 " key=%d size=%d now=%" PRId64 "\n", encoding, pkt->pts,
           !!(pkt->flags & AV_PKT_FLAG_KEY), pkt->size, halo_now_ns() / 1000);
    pthread_mutex_unlock(&line);
}

static void on_failed(void *arg, int encoding, const struct halo_error *err)
{
    (void)arg;
    pthread_mutex_lock(&line);
    printf("failed enc=%d %s\n", encoding, err->text);
    pthread_mutex_unlock(&line);
}

static void on_set(void *arg, uint64_t id, const struct halo_error *err)
{
    (void)arg;
    pthread_mutex_lock(&line);
    printf("set id=%" PRIu64 " now=%" PRId64 " %s\n", id, halo_now_ns() / 1000,
           err ? err->text : "ok");
    pthread_mutex_unlock(&line);
}

static void on_snapshot(void *arg, uint64_t id, const AVPacket *image, const struct halo_error *err)
{
    (void)arg;
    pthread_mutex_lock(&line);
    if (image)
        dump("snapshot", (int)id, image, "wb");
    printf("snapshot id=%" PRIu64 " size=%d %s\n", id, image ? image->size : 0,
           err ? err->text : "ok");
    pthread_mutex_unlock(&line);
}

static const struct halo_live_events events = {
    .state = on_state,
    .begin = on_begin,
    .packet = on_packet,
    .card = on_card,
    .failed = on_failed,
    .set = on_set,
    .snapshot = on_snapshot,
};

static void print_stats(struct halo_live *live)
{
    static struct halo_live_stats s;
    halo_live_stats(live, &s);
    pthread_mutex_lock(&line);
    printf("stats decoded=%" PRId64 " filtered=%" PRId64 " encoded=%" PRId64 " bytes=%" PRId64
           " cards=%" PRId64 " opened=%" PRId64 " damaged=%" PRId64 " epoch=%" PRId64
           " backend=%s size=%dx%d "
           "rate=%.2f",
           s.decoded, s.filtered, s.encoded, s.bytes, s.cards, s.opened, s.damaged, s.epoch,
           *s.backend ? s.backend : "-", s.width, s.height, s.rate);
    for (int i = 0; i < HALO_DROPS; i++)
        printf(" drop_%s=%" PRId64, halo_drop_names[i], s.dropped[i]);
    for (int i = 0; i < HALO_LIVE_STAGES; i++)
        printf(" %s_count=%" PRId64 " %s_p50_us=%" PRId64 " %s_p99_us=%" PRId64,
               halo_live_stage_names[i], s.stage[i].count, halo_live_stage_names[i],
               halo_histogram_percentile(&s.stage[i], 0.5) / 1000, halo_live_stage_names[i],
               halo_histogram_percentile(&s.stage[i], 0.99) / 1000);
    printf("\n");
    pthread_mutex_unlock(&line);
}

static int choice_of(const char *const *choices, const char *word)
{
    for (int i = 0; choices[i]; i++)
        if (!strcmp(choices[i], word))
            return i;
    fprintf(stderr, "live-probe: %s?\n", word);
    exit(HALO_EXIT_USAGE);
}

static bool set_output(struct halo_output_settings *o, const char *key, char *value)
{
    const struct {
        const char *key;
        char **field;
    } rows[] = {{"target", &o->target},     {"rendition", &o->rendition},
                {"codec", &o->video.codec}, {"bitrate", &o->video.bitrate},
                {"crf", &o->video.crf},     {"preset", &o->video.preset},
                {"size", &o->video.size},   {"audio", &o->audio}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(key, rows[i].key)) {
            *rows[i].field = value;
            return true;
        }
    if (!strcmp(key, "gop"))
        o->video.gop = atof(value);
    else if (!strcmp(key, "fps"))
        o->video.fps = atof(value);
    else
        return false;
    return true;
}

static bool set_capture(struct halo_capture_settings *set, const char *key, char *value)
{
    const struct halo_option *row = halo_option_find(halo_capture_options, key, strlen(key));
    if (!strcmp(key, "controls"))
        set->controls = strdup(value);
    else if (!row || halo_option_set(row, set, value, NULL) < 0)
        return false;
    return true;
}

static bool set_stream(struct halo_stream_settings *s, const char *key, char *value)
{
    static const char *const hwaccels[] = {"auto", "cuda", "none", NULL};
    static const char *const errors[] = {"card", "solid", "last", "stop", NULL};
    if (!strcmp(key, "input"))
        s->source.input = value;
    else if (!strcmp(key, "input_format"))
        s->source.format = value;
    else if (!strcmp(key, "filters"))
        s->filters = value;
    else if (!strcmp(key, "privacy"))
        s->privacy = choice_of(halo_privacy_names, value);
    else if (!strcmp(key, "loop"))
        s->loop = atoi(value);
    else if (!strcmp(key, "realtime"))
        s->realtime = atoi(value);
    else if (!strcmp(key, "backend"))
        s->device.backend = choice_of(halo_run_backends, value);
    else if (!strcmp(key, "hwaccel"))
        s->device.hwaccel = choice_of(hwaccels, value);
    else if (!strcmp(key, "depth"))
        s->device.depth = atoi(value);
    else if (!strcmp(key, "threads"))
        s->device.threads = atoi(value);
    else if (!strcmp(key, "gpu_timeout"))
        s->device.gpu_timeout = atof(value);
    else if (!strncmp(key, "capture.", 8))
        return set_capture(&s->capture, key + 8, value);
    else if (!strcmp(key, "name"))
        s->name = value;
    else if (!strcmp(key, "on_error"))
        s->on_error = choice_of(errors, value);
    else if (!strcmp(key, "last_for"))
        s->last_for = atof(value);
    else if (!strcmp(key, "input_timeout"))
        s->input_timeout = atof(value);
    else
        return false;
    return true;
}

static bool set_own(char *key, char *value)
{
    if (!strcmp(key, "dump"))
        folder = value;
    else if (!strcmp(key, "fail"))
        fail_at = atol(value);
    else
        return false;
    return true;
}

static void parse(struct halo_stream_settings *s, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value)
            exit(HALO_EXIT_USAGE);
        *value++ = 0;
        if (!strcmp(argv[i], "output")) {
            struct halo_output_settings *o = &s->output[s->outputs++];
            o->kind = !strcmp(value, "unix")   ? HALO_OUTPUT_UNIX
                      : !strcmp(value, "url")  ? HALO_OUTPUT_URL
                      : !strcmp(value, "null") ? HALO_OUTPUT_NULL
                                               : HALO_OUTPUT_FILE;
            o->target = (char *)"x.mkv";
        } else if (!strcmp(argv[i], "rendition") && !s->outputs) {
            struct halo_rendition_settings *r = &s->rendition[s->renditions++];
            r->name = value; /* NAME:CHAIN */
            r->filters = strchr(value, ':') + 1;
            r->filters[-1] = 0;
        } else if (!set_own(argv[i], value) &&
                   !(s->outputs ? set_output(&s->output[s->outputs - 1], argv[i], value)
                                : set_stream(s, argv[i], value))) {
            fprintf(stderr, "live-probe: %s?\n", argv[i]);
            exit(HALO_EXIT_USAGE);
        }
    }
}

/* After the line no event may come. */
static void abandon(struct halo_live *live)
{
    const struct timespec soon = {0, 1000000};
    while (!halo_live_abandon(live))
        nanosleep(&soon, NULL);
    abandoned = true;
    printf("abandoned now=%" PRId64 "\n", halo_now_ns() / 1000);
}

/* False: stop. */
static bool command(struct halo_live *live, char *words)
{
    struct halo_error err = {0};
    char *rest, *word = strtok_r(words, " \n", &rest), *chains[16] = {NULL};
    if (!word)
        return true;
    if (!strcmp(word, "stop"))
        return false;
    if (!strcmp(word, "stats"))
        print_stats(live);
    if (!strcmp(word, "watch")) {
        const int encoding = atoi(strtok_r(NULL, " \n", &rest));
        halo_live_watch(live, encoding, !strcmp(strtok_r(NULL, " \n", &rest), "on"));
    }
    if (!strcmp(word, "key"))
        halo_live_key_frame(live, atoi(strtok_r(NULL, " \n", &rest)));
    if (!strcmp(word, "snapshot")) {
        const int id = atoi(strtok_r(NULL, " \n", &rest));
        const char *format = strtok_r(NULL, " \n", &rest);
        halo_live_snapshot(live, (uint64_t)id, format, strtok_r(NULL, "\n", &rest), &err);
    }
    if (!strcmp(word, "abandon"))
        abandon(live);
    if (!strcmp(word, "control")) {
        const int id = atoi(strtok_r(NULL, " \n", &rest));
        const char *name = strtok_r(NULL, " \n", &rest);
        halo_live_control(live, (uint64_t)id, name, atoll(strtok_r(NULL, " \n", &rest)), &err);
    }
    if (!strcmp(word, "set")) {
        const int id = atoi(strtok_r(NULL, " \n", &rest));
        int count = 0;
        for (char *c = strtok_r(NULL, "|\n", &rest); c && count < 16;
             c = strtok_r(NULL, "|\n", &rest))
            chains[count++] = c;
        halo_live_set(live, (uint64_t)id, (const char *const *)chains, &err);
    }
    if (err.code) {
        pthread_mutex_lock(&line);
        printf("refused %s\n", err.text);
        pthread_mutex_unlock(&line);
    }
    return true;
}

/* What the loop does, without its limits of time: takes commands until the stream is over. */
static void drive(struct halo_live *live)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char words[2000];
    size_t held = 0;
    while (!halo_live_done(live)) {
        if (abandoned)
            halo_live_abandon(live);
        if (poll(&in, 1, 20) <= 0 || in.fd < 0)
            continue;
        const ssize_t n = read(STDIN_FILENO, words + held, 1);
        const bool whole = n > 0 && words[held] == '\n';
        words[held + 1] = 0;
        if (n <= 0 || (whole && !command(live, words))) {
            halo_live_stop(live);
            in.fd = -1;
        }
        held = n > 0 && !whole && held < sizeof words - 2 ? held + 1 : 0;
    }
}

int main(int argc, char **argv)
{
    static struct halo_stream_settings settings;
    struct halo_error err = {0};
    struct halo_live *live;
    setvbuf(stdout, NULL, _IOLBF, 0);
    halo_av_init_log();
    settings = (struct halo_stream_settings){.name = (char *)"probe",
                                             .filters = (char *)"gblur=sigma=5",
                                             .device.depth = 3,
                                             .device.gpu = 0,
                                             .device.gpu_timeout = 600,
                                             .input_timeout = 600};
    halo_options_init(halo_capture_options, &settings.capture);
    parse(&settings, argc, argv);
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS];
    shown_encodings = halo_encodings(&settings, encoding, of) - HALO_VIEWS + HALO_VIEW_TILE;
    if (halo_live_create(&live, &settings, &events, NULL, &err) < 0) {
        fprintf(stderr, "live-probe: %s\n", err.text);
        return err.usage ? HALO_EXIT_USAGE : HALO_EXIT_FAILED;
    }
    if (halo_live_start(live, &err) < 0) {
        fprintf(stderr, "live-probe: %s\n", err.text);
        return HALO_EXIT_FAILED;
    }
    drive(live);
    print_stats(live);
    const int64_t begin = halo_now_ns();
    halo_live_destroy(live);
    printf("destroyed after_ms=%" PRId64 "\n", (halo_now_ns() - begin) / 1000000);
    return HALO_EXIT_OK;
}
