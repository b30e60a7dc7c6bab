/* SPDX-License-Identifier: BSD-2-Clause
 * The box (box.h): its streams, one after the other, and the loop, which asks things of them. */
#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/detectors.h"
#include "config/encoding.h"
#include "pipeline/base/av.h"
#include "tests/box/box.h"

enum { TICK_MS = 100, CALM_MS = 500 };

static struct {
    struct halo_live *live; /* NULL: none now */
    struct box_stream stream;
    uint64_t ids;
    struct {
        const char *what;
        int times;
    } then[8]; /* of box_then() */
    bool told;
    int descriptors; /* before the first stream */
} box;

/* ---- a stream ---- */

static const struct kind {
    const char *name, *input;
    bool realtime, loop, bounded, paced;
} kinds[] = {
    {"test", "test:", false, false, true, true},
    {"url", "rtsp://box/", false, false, true, false},
    {"paced", "http://box/", false, false, true, true},
    {"playing", "clip.mkv", true, true, true, true},
    {"file", "clip.mkv", false, false, false, false},
    {"loop", "clip.mkv", false, true, false, false},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    world_fail("there is no stream of this kind: %s", name);
}

static enum halo_on_error find_on_error(const char *name)
{
    static const char *const names[] = {"card", "solid", "last", "stop"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(names[i], name))
            return (enum halo_on_error)i;
    world_fail("there is no on_error: %s", name);
}

static void add_output(struct halo_stream_settings *s, int kind, const char *target,
                       const char *codec, const char *rendition)
{
    s->output[s->outputs++] = (struct halo_output_settings){.kind = kind,
                                                            .target = (char *)target,
                                                            .video.codec = (char *)codec,
                                                            .rendition = (char *)rendition};
}

/* more: "" a socket; "writes" a file, too; "rendition" another chain, too. */
void box_stream_begin(const char *kind_name, const char *on_error, const char *more)
{
    const struct kind *kind = find_kind(kind_name);
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS];
    char chain[200];
    struct halo_error err = {0};
    box_stream_end(true);
    const int number = check_chain("", chain, sizeof chain);
    struct halo_stream_settings s = {.name = (char *)"box",
                                     .source.input = (char *)kind->input,
                                     .filters = chain,
                                     .loop = kind->loop,
                                     .realtime = kind->realtime,
                                     .on_error = find_on_error(on_error),
                                     .last_for = 1.5,
                                     .privacy = HALO_PRIVACY_OFF,
                                     .device = {.backend = HALO_RUN_CPU,
                                                .hwaccel = HALO_HWACCEL_NONE,
                                                .depth = 3,
                                                .threads = 1,
                                                .gpu_timeout = 600},
                                     .input_timeout = 600};
    for (int find = 0; find < HALO_FINDS; find++)
        s.detector[find] = (struct halo_detector_settings){
            .wait = 0.5, .enter = 1, .hold = 0.1, .score = 0.5, .low = 0.25};
    if (!strcmp(more, "writes"))
        add_output(&s, HALO_OUTPUT_FILE, "x.mkv", "raw", NULL);
    add_output(&s, HALO_OUTPUT_UNIX, "x.ts", "mjpeg", NULL); /* it can announce another format */
    if (!strcmp(more, "rendition")) {
        s.rendition[s.renditions++] = (struct halo_rendition_settings){(char *)"b", chain};
        add_output(&s, HALO_OUTPUT_UNIX, "b.nut", "raw", "b");
    }
    box.stream = (struct box_stream){.input = kind->input,
                                     .bounded = kind->bounded,
                                     .paced = kind->paced,
                                     .on_error = (enum halo_on_error)s.on_error,
                                     .last_for = s.last_for,
                                     .chains = s.renditions,
                                     .encodings = halo_encodings(&s, encoding, of)};
    for (int i = 0; i < 4 && i < box.stream.encodings; i++)
        box.stream.writes[i] = encoding[i].writes;
    world_say("stream %s begins with chain %d", kind_name, number);
    if (halo_live_create(&box.live, &s, &box_events, NULL, &err) < 0)
        world_fail("the stream cannot be created: %s", err.text);
    check_begin(&box.stream, box.live);
    if (halo_live_start(box.live, &err) < 0)
        world_fail("the stream cannot be started: %s", err.text);
}

static void react(void);

static void tick(void)
{
    if (box.live && box_connect_due() <= box_now())
        box_connect(box.live);
    react();
    check_tick();
}

static void abandon(void);

void box_stream_end(bool asked)
{
    struct halo_error err = {0};
    if (!box.live)
        return;
    if (asked)
        box_stop();
    while (!halo_live_done(box.live)) {
        box_sleep(10 * BOX_MS);
        tick();
        if (halo_live_is_stuck(box.live, &err)) {
            abandon();
            return;
        }
    }
    check_done();
    check_end();
    halo_live_destroy(box.live);
    box.live = NULL;
    box_detectors_forget();
    world_say("the stream is gone");
    if (box_threads() > 0) {
        box_say_waits();
        world_fail("threads are left of a stream");
    }
}

bool box_has_stream(void)
{
    return box.live != NULL;
}

void box_stop(void)
{
    if (!box.live)
        return;
    check_stop();
    halo_live_stop(box.live);
}

/* A call that does not come back: the stream is abandoned, and the call comes back then. */
static void abandon(void)
{
    world_say("the stream is abandoned");
    if (!halo_live_stalls_alone(box.live))
        world_fail("the stream's own encoder is stuck, and it cannot be abandoned");
    while (!halo_live_abandon(box.live))
        box_sleep(BOX_MS);
    check_mute();
    box_sleep(300 * BOX_MS);
    box_heal();
    for (int i = 0; !halo_live_done(box.live); i++) {
        if (i == 300) {
            box_say_waits();
            world_fail("a stream that was abandoned does not end");
        }
        box_sleep(10 * BOX_MS);
        halo_live_abandon(box.live);
    }
    box_stream_end(false);
}

/* ---- what is asked of it ---- */

void box_set(const char *what)
{
    char chain[200];
    struct halo_error err = {0};
    if (!box.live || check_sets() > BOX_CHAINS / 2) /* their numbers must differ */
        return;
    const int number = check_chain(what, chain, sizeof chain);
    const char *chains[] = {chain, chain};
    const uint64_t id = ++box.ids;
    check_set(id, number, !strcmp(what, "bad"));
    const int code = halo_live_set(box.live, id, chains, &err);
    world_say("set %d of chain %d%s%s", (int)id, number, code < 0 ? ": " : "", err.text);
    if (code < 0)
        check_unset(id);
}

void box_watch(int encoding, bool watched)
{
    if (!box.live || encoding >= box.stream.encodings)
        return;
    check_watch(encoding, watched);
    halo_live_watch(box.live, encoding, watched);
}

void box_key(int encoding)
{
    if (box.live)
        halo_live_key_frame(box.live, encoding);
}

void box_snapshot(const char *format, bool preview)
{
    struct halo_error err = {0};
    if (!box.live)
        return;
    const uint64_t id = ++box.ids;
    check_snapshot(id, !preview);
    if (halo_live_snapshot(box.live, id, format, preview ? "solid=black" : NULL, &err) < 0)
        check_unshot(id);
}

void box_then(const char *what, int times)
{
    for (size_t i = 0; i < sizeof box.then / sizeof *box.then; i++)
        if (!box.then[i].times) {
            box.then[i].what = what;
            box.then[i].times = times;
            return;
        }
}

void box_react(void)
{
    box.told = true;
    box_wake_loop();
}

static void react(void)
{
    if (!box.told)
        return;
    box.told = false;
    for (size_t i = 0; i < sizeof box.then / sizeof *box.then; i++) {
        if (!box.then[i].times)
            continue;
        box.then[i].times--;
        if (!strcmp(box.then[i].what, "stop"))
            box_stop();
        else if (!strcmp(box.then[i].what, "set"))
            box_set("plain");
        else
            box_snapshot("jpg", false);
    }
}

void box_heal(void)
{
    box_trouble = (struct box_trouble){0};
    memset(box.then, 0, sizeof box.then);
}

/* ---- the loop ---- */

static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static double now_s(void)
{
    return (double)box_now() / 1e9;
}

static int64_t now_us(void)
{
    return box_now() / 1000;
}

/* Lets the stream go on until this time (s). */
static void go_on(double until)
{
    struct halo_error err = {0};
    while (now_s() < until) {
        const double due = fmin((double)box_connect_due() / 1e9, now_s() + TICK_MS / 1e3);
        box_sleep((int64_t)(fmax(fmin(due, until) - now_s(), 0) * 1e9) + 1);
        tick();
        if (box.live && halo_live_is_stuck(box.live, &err))
            abandon();
        if (box.live && halo_live_done(box.live))
            box_stream_end(false);
    }
}

static void be_quiet(double until)
{
    go_on(until - BOX_QUIET);
    world_say("quiet");
    box_heal();
    go_on(fmax(until, now_s() + BOX_QUIET)); /* the end of a stream may have taken long */
    check_quiet();
}

/* When the next event is due, in s; INFINITY: there is none. */
static double next_event(double now)
{
    if (!play.drawn)
        return play.next < play.count ? play.events[play.next].at : INFINITY;
    const double apart = play.count % 4 < 2 ? 1.6 : 0.03; /* some follow at once */
    return play.count == 0 ? 0 : now + apart * play_pause();
}

static void run(void)
{
    mallopt(M_PERTURB, 0xa5); /* who uses what is freed shall notice it */
    halo_av_init_log();
    box_begin(play.seed);
    box.descriptors = count_descriptors();
    double last = play.drawn ? play.length : 0;
    for (int i = 0; i < play.count && !play.drawn; i++)
        last = fmax(last, play.events[i].at);
    double at = next_event(0);
    for (double begin = 0, end; begin <= last; begin = end) {
        end = begin + BOX_QUIET_EVERY;
        for (; at < end - BOX_QUIET; at = next_event(now_s())) {
            go_on(at);
            if (play.drawn)
                play_drawn();
            else if (!strcmp(play.events[play.next].text, "quiet"))
                end = play.events[play.next++].at + BOX_QUIET;
            else
                play_listed();
        }
        be_quiet(end);
        if (play.drawn)
            at = fmax(at, end);
        else
            for (; at < end; at = next_event(0))
                play.next++; /* nothing happens in quiet times */
    }
    box_stream_end(true);
    if (count_descriptors() != box.descriptors)
        world_fail("descriptors are left");
}

int main(int argc, char **argv)
{
    static const struct play_world played = {.name = "box",
                                             .every = 0.5,
                                             .length = 50,
                                             .seeds = 6,
                                             .now = now_us,
                                             .run = run,
                                             .play = box_play,
                                             .draw = box_draw_event};
    return play_main(&played, argc, argv);
}
