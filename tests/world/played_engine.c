/* SPDX-License-Identifier: BSD-2-Clause
 * Played processes: engines, which answer the messages of link.h and write packets into rings, and
 * detectors. Each does what it should until an event says otherwise. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/daemon.h"
#include "config/encoding.h"
#include "daemon/link/link.h"
#include "daemon/link/process.h"
#include "daemon/link/send_fds.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_share.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "kernels/version.h"
#include "pipeline/output/packet_ring.h"
#include "tests/world/world.h"

enum {
    FIRST_PID = 5000000, /* no process of this machine has it */
    SILENCE_MS = 3000,   /* of an engine, as documented */
    HELLO_MS = 10000,    /* for its first message */
    LIES_MAX = 100,      /* malformed messages of an engine within a minute */
    LAST_MS = 200,       /* to exit after its link was closed */
    QUIT_MS = 8000,      /* for an engine that was told to finish */
    STATS_MS = 1000,
    FRAME_MS = 200,
    KEY_EVERY = 5, /* frames */
    BURST = 80,    /* frames: more than the daemon reads of one ring at a time */
    RING = 1 << 20,
    ROOM = 2 * HALO_LINK_MAX,
    DESCRIPTORS = 1024,
};

struct played_ring {
    struct halo_packet_writer *writer;
    bool watched, jpeg;
    int since_key;
};

/* A stream as its engine has it. */
struct played {
    struct played *next;
    struct engine *engine;
    char name[68];
    const char *state; /* as last told */
    int run;           /* the number of this start, of all */
    /* of its chain in force, and those of its renditions: the number, and what is hidden beside */
    int chain[HALO_MAX_RENDITIONS + 1], hides[HALO_MAX_RENDITIONS + 1];
    int64_t frames, at, detector; /* at: us, of the newest frame */
    bool refuses, ending;
    int late;                 /* ms, for the next set */
    int lingers;              /* ms that its end takes */
    int heavy;                /* more bytes of each frame */
    int64_t updates, regions; /* of a detector of others: how many, and the regions of the newest */
    struct later *laters;
    struct halo_stream_settings settings;
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int encodings;
    struct played_ring ring[HALO_MAX_ENCODINGS];
};

struct engine {
    struct engine *next;
    struct halo_process *process; /* NULL: the supervisor has closed it */
    char name[96];                /* when it started */
    pid_t pid;
    int fd, status, number;
    int words; /* of a detector: what it writes into; or -1 */
    bool detector, hangs, survives, killed, exited, greeted, wronged;
    bool quoted;     /* an event has told its numbers: they stay so */
    double slow;     /* ms that each message takes */
    double lingers;  /* ms that its end takes */
    uint64_t waited; /* ms for a processor, without the present wait, since `starves` */
    int lies;        /* since `lied` */
    int64_t spoke, disturbed, quits, lied, starves;
    int64_t must_end;   /* us of world_awake(): when it broke the link's rules; or 0 */
    int64_t hung, left; /* us of world_awake(): since when it is silent, was told to finish; or 0 */
    struct played *streams;
    AVPacket *packet;
};

/* A change of filters that is not answered yet. */
struct later {
    struct later *next;
    struct played *stream;
    json_t *message;
    bool refused;
};

static struct {
    struct engine *engines;
    pid_t pids;
    int runs;
    char frail[96]; /* the engine whose next processes end soon, so many: */
    int deaths;
    int room;       /* streams for which a process has memory; 0: for all */
    char gpus[600]; /* as engines_find_gpus() has them; "": two that are free */
} played;

/* ---- finding ---- */

static struct engine *by_pid(pid_t pid)
{
    struct engine *e = played.engines;
    while (e && e->pid != pid)
        e = e->next;
    return e;
}

/* The present process of the supervisor's engine of this name. */
static struct engine *by_name(const char *name)
{
    const struct sv_engine *found = sv_engine_find(world_supervisor(), name);
    return found && found->process ? by_pid(found->process->process.pid) : NULL;
}

static struct played *stream_in(const struct engine *e, const char *name)
{
    struct played *s = e->streams;
    while (s && strcmp(s->name, name) != 0)
        s = s->next;
    return s;
}

static struct played *stream_by_name(const char *name)
{
    for (struct engine *e = played.engines; e; e = e->next) {
        struct played *s = e->process && !e->exited ? stream_in(e, name) : NULL;
        if (s)
            return s;
    }
    return NULL;
}

/* The stream in the present process of its engine. */
static const struct played *played_of(const struct sv_stream *stream)
{
    const struct sv_process *process = stream->place.engine ? stream->place.engine->process : NULL;
    const struct engine *e = process ? by_pid(process->process.pid) : NULL;
    const struct played *s = e && !e->exited && !e->hangs ? stream_in(e, stream->name) : NULL;
    return s && !s->ending ? s : NULL;
}

bool engine_runs(const struct sv_stream *stream)
{
    const struct played *s = played_of(stream);
    return s && !strcmp(s->state, "running");
}

int engine_chain(const struct sv_stream *stream, int rendition)
{
    const struct played *s = played_of(stream);
    return s ? s->chain[rendition] : -1;
}

int engine_hides(const struct sv_stream *stream, int rendition)
{
    const struct played *s = played_of(stream);
    return s ? s->hides[rendition] : -1;
}

/* ---- ends ---- */

static void free_later(struct later *later)
{
    struct later **at = &later->stream->laters;
    while (*at != later)
        at = &(*at)->next;
    *at = later->next;
    world_forget(later);
    json_decref(later->message);
    free(later);
}

static void drop_stream(struct played *s)
{
    while (s->laters)
        free_later(s->laters);
    struct played **at = &s->engine->streams;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    world_forget(s);
    for (int i = 0; i < s->encodings; i++)
        halo_packet_writer_destroy(s->ring[i].writer);
    halo_stream_settings_finish(&s->settings);
    free(s);
}

static void free_engine(struct engine *e)
{
    struct engine **at = &played.engines;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    av_packet_free(&e->packet);
    free(e);
}

static void forget_engine(void *arg)
{
    struct engine *e = arg;
    world_forget(e);
    free_engine(e);
}

static void report_exit(void *arg)
{
    struct engine *e = arg;
    struct halo_process *process = e->process;
    if (!process)
        return;
    e->process = NULL;
    process->exited(process, e->number ? 0 : e->status, e->number);
    world_after(0, forget_engine, e);
}

/* The process ends now; the supervisor learns of it in a later turn. */
static void end_process(struct engine *e, int status, int number)
{
    if (e->exited)
        return;
    world_say("engine %s (%d) ends: status %d, signal %d", e->name, (int)e->pid, status, number);
    e->exited = true;
    e->status = status;
    e->number = number;
    world_forget(e);
    while (e->streams)
        drop_stream(e->streams);
    world_unwatch(e->fd);
    close(e->fd);
    if (e->words >= 0)
        close(e->words);
    world_on_loop(report_exit, e);
}

static void end_killed(void *arg)
{
    end_process(arg, 0, SIGKILL);
}

void engines_blame(const char *why)
{
    for (const struct engine *e = played.engines; e; e = e->next)
        if (e->wronged)
            world_fail("engine %s was killed although nothing was wrong with it: %s", e->name, why);
}

static void kill_played(struct halo_process *process)
{
    struct engine *e = by_pid(process->pid);
    if (!e || e->exited || e->killed)
        return;
    e->killed = true;
    world_say("engine %s (%d) is killed", e->name, (int)e->pid);
    const bool early = world_awake() - e->left < (QUIT_MS - 100) * 1000;
    e->wronged = !e->detector && e->disturbed < 0 && !world_is_ending() && (!e->left || early);
    if (e->wronged && e->left)
        world_fail("engine %s was killed, but had time to finish", e->name);
    const int64_t silent = (world_now() - e->spoke) / 1000;
    if (e->hung && e->greeted && !e->quits && silent < SILENCE_MS - 50)
        world_fail("engine %s was killed after %d ms of silence", e->name, (int)silent);
    /* a driver keeps it, but not for ever */
    world_after(e->survives ? 8000 + (double)world_draw(60000)
                            : e->lingers + (double)world_draw(20),
                end_killed, e);
}

/* ---- what an engine says ---- */

static bool send_text(struct engine *e, const char *text, const int *fds, int count)
{
    struct iovec part = {(char *)text, strlen(text)};
    if (e->exited || e->fd < 0)
        return false;
    e->spoke = world_now();
    const ssize_t n = halo_send_fds(e->fd, &part, 1, fds, count);
    if (n == -EAGAIN && e->disturbed < 0)
        world_fail("engine %s cannot send: the daemon does not read", e->name);
    return n > 0;
}

static void tell(struct engine *e, json_t *message, const int *fds, int count)
{
    char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (!e->hangs)
        send_text(e, text, fds, count);
    free(text);
}

static void tell_state(struct played *s, const char *state, const char *why)
{
    s->state = state;
    tell(s->engine,
         json_pack("{s:s, s:s, s:s, s:s, s:b}", "tell", "state", "stream", s->name, "state", state,
                   "why", why, "device", 0),
         NULL, 0);
}

/* What a detector of others has told it. */
static json_t *regions_of(const struct played *s)
{
    return json_pack("{s:I, s:I, s:f, s:s}", "updates", (json_int_t)s->updates, "regions",
                     (json_int_t)s->regions, "age", s->updates ? 0.1 : -1.0, "why",
                     s->updates ? "" : "none yet");
}

/* What a chain covers is told by its number, so that a status shows which chain it is about. */
static json_t *coverage_of(int chain)
{
    struct halo_coverage coverage[HALO_MAX_RENDITIONS + 1] = {
        {.known = true, .planes = 1, .part = {(double)chain / 1e6}}};
    return halo_coverages_write(coverage);
}

static void tell_stats(void *arg)
{
    struct engine *e = arg;
    json_t *streams = json_object();
    for (struct played *s = e->quoted ? NULL : e->streams; s; s = s->next)
        json_object_set_new(streams, s->name,
                            json_pack("{s:I, s:I, s:s, s:o, s:o}", "decoded", (json_int_t)s->frames,
                                      "filtered", (json_int_t)s->frames, "backend", "cpu",
                                      "coverage", coverage_of(s->chain[0]), "region_feed",
                                      regions_of(s)));
    tell(e, json_pack("{s:s, s:o}", "tell", "stats", "streams", streams), NULL, 0);
    world_after(STATS_MS, tell_stats, e);
}

/* Messages that are wrong in one field or all, about streams that it does not have. */
static void tell_lies(struct engine *e, int count)
{
    static const char *const tells[] = {"hello",    "ring", "state",    "set",
                                        "snapshot", "gone", "encoding", "detector",
                                        "finished", "gpus", "x",        ""};
    static const char *const keys[] = {"stream", "encoding", "state", "why", "id", "path", "gpus"};
    static const char *const bad[] = {"null", "true",           "-1",         "4611686018427387904",
                                      "1.5",  "\"\"",           "[]",         "{}",
                                      "[[]]", "\"\\u001b[2J\"", "\"running\""};
    if (!e->lied || world_now() - e->lied >= INT64_C(60000000)) { /* as the supervisor does */
        e->lied = world_now();
        e->lies = 0;
    }
    if ((e->lies += count) > LIES_MAX)
        e->disturbed = world_now();
    for (int i = 0; i < count; i++) {
        char text[300];
        int length = snprintf(text, sizeof text, "{\"tell\": \"%s\"",
                              tells[world_draw(sizeof tells / sizeof *tells)]);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (world_draw(2))
                length += snprintf(text + length, sizeof text - (size_t)length, ", \"%s\": %s",
                                   keys[k], bad[world_draw(sizeof bad / sizeof *bad)]);
        snprintf(text + length, sizeof text - (size_t)length, "}");
        if (!send_text(e, text, NULL, 0))
            return;
    }
}

/* What is no message at all: the supervisor has to end it. */
static void send_garbage(struct engine *e, size_t size)
{
    char *text = malloc(size + 1);
    memset(text, '{', size);
    text[size] = '\0';
    e->must_end = send_text(e, text, NULL, 0) ? world_awake() : 0;
    free(text);
}

enum { LATE_SNAPSHOT, WRONG_RING, UNSEALED_RING, RING_OUT_OF_RANGE };

/* Descriptors that are not what they should be, and that nobody asked for. Unsealed: those of a
 * ring, but it may shrink. */
static void send_descriptors(struct engine *e, int what)
{
    int fds[2];
    const int encoding = what == UNSEALED_RING                        ? 0
                         : what == RING_OUT_OF_RANGE || world_draw(2) ? 99
                                                                      : 0;
    if (pipe2(fds, O_CLOEXEC) < 0)
        world_fail("no pipe");
    if (what == UNSEALED_RING && (dup3(memfd_create("ring", MFD_CLOEXEC), fds[0], O_CLOEXEC) < 0 ||
                                  ftruncate(fds[0], RING) < 0))
        world_fail("no memory for a ring");
    tell(e,
         json_pack("{s:s, s:s, s:i, s:i}", "tell", what == LATE_SNAPSHOT ? "snapshot" : "ring",
                   "stream", e->streams ? e->streams->name : "nobody", "encoding", encoding, "id",
                   12345),
         fds, 2);
    close(fds[0]);
    close(fds[1]);
}

/* ---- frames ---- */

static AVCodecParameters *parameters(bool jpeg)
{
    AVCodecParameters *video = avcodec_parameters_alloc();
    video->codec_type = AVMEDIA_TYPE_VIDEO;
    video->codec_id = jpeg ? AV_CODEC_ID_MJPEG : AV_CODEC_ID_H264;
    video->format = AV_PIX_FMT_YUV420P;
    video->width = video->height = 64;
    return video;
}

/* "HALO stream run chain frame hides", in an H.264 unit or something like a JPEG. */
static void fill(AVPacket *pkt, bool jpeg, bool key, const char *text, int more)
{
    const size_t length = strlen(text);
    static const uint8_t before[2][5] = {{0, 0, 0, 1, 0x41}, {0, 0, 0, 1, 0x65}};
    av_new_packet(pkt, (int)(5 + length) + more);
    memset(pkt->data, 'x', (size_t)pkt->size);
    memcpy(pkt->data, before[key], 5);
    if (jpeg)
        memcpy(pkt->data, "\xff\xd8\xff\xfe\x20", 5);
    memcpy(pkt->data + 5, text, length);
    pkt->pts = pkt->dts = world_now() + INT64_C(1000000000); /* us of CLOCK_MONOTONIC */
    pkt->duration = FRAME_MS * 1000;
    pkt->flags = key ? AV_PKT_FLAG_KEY : 0;
}

static void write_frame(struct played *s, int encoding)
{
    struct played_ring *ring = &s->ring[encoding];
    const bool key = ring->jpeg || ring->since_key <= 0;
    char text[160];
    const int of = s->encoding[encoding].rendition;
    snprintf(text, sizeof text, "HALO %s %d %d %lld %d\n",
             of ? s->settings.rendition[of - 1].name : s->name, s->run, s->chain[of],
             (long long)s->frames, s->hides[of]);
    fill(s->engine->packet, ring->jpeg, key, text, s->heavy);
    s->engine->packet->pts = s->engine->packet->dts = s->at + INT64_C(1000000000);
    halo_packet_write(ring->writer, s->engine->packet);
    av_packet_unref(s->engine->packet);
    ring->since_key = key ? KEY_EVERY : ring->since_key - 1;
}

static void write_frames(struct played *s)
{
    if (s->engine->hangs || strcmp(s->state, "running") != 0)
        return;
    s->frames++;
    s->at = s->at < world_now() ? world_now() : s->at + 1;
    for (int i = 0; i < s->encodings; i++)
        if (s->ring[i].watched)
            write_frame(s, i);
}

static void next_frame(void *arg)
{
    struct played *s = arg;
    world_after(FRAME_MS, next_frame, s);
    write_frames(s);
}

static void tell_ring(struct played *s, int encoding)
{
    struct halo_packet_writer *writer = s->ring[encoding].writer;
    const int fds[] = {halo_packet_writer_memory(writer), halo_packet_writer_event(writer)};
    tell(s->engine,
         json_pack("{s:s, s:s, s:i}", "tell", "ring", "stream", s->name, "encoding", encoding), fds,
         2);
}

static void open_ring(struct played *s, int encoding)
{
    struct played_ring *ring = &s->ring[encoding];
    const struct halo_encoding *of = &s->encoding[encoding];
    ring->jpeg = of->kind == HALO_ENCODING_JPEG ||
                 (of->video && !strcmp(halo_video_codec(of->video), "mjpeg"));
    if (ring->writer || halo_packet_writer_create(&ring->writer, RING, NULL) < 0)
        return;
    tell_ring(s, encoding);
    AVCodecParameters *video = parameters(ring->jpeg);
    AVPacket *card = av_packet_alloc();
    fill(card, ring->jpeg, true, "CARD\n", 0);
    const struct halo_encoding_parameters begin = {
        .video = video, .framerate = {1000 / FRAME_MS, 1}, .card = card, .solid = card};
    halo_packet_write_begin(ring->writer, &begin);
    av_packet_free(&card);
    avcodec_parameters_free(&video);
}

/* ---- what an engine is told ---- */

static void run_stream(void *arg)
{
    struct played *s = arg;
    int inside = 0;
    for (const struct played *other = s->engine->streams; other; other = other->next)
        inside += !strcmp(other->state, "running") && !other->ending;
    if (played.room && inside >= played.room) {
        s->state = "failed";
        s->ending = true;
        tell(s->engine,
             json_pack("{s:s, s:s, s:s, s:s, s:b, s:s}", "tell", "state", "stream", s->name,
                       "state", s->state, "why", "the GPU's memory is full", "device", 0, "lack",
                       "gpu-memory"),
             NULL, 0);
        return;
    }
    tell_state(s, "running", "");
    next_frame(s);
}

static void take_chain(struct played *s, int i, const char *chain)
{
    s->chain[i] = world_chain_number(chain);
    s->hides[i] = world_chain_hides(chain);
}

static void start_stream(struct engine *e, const char *name, const char *text)
{
    struct played *s = calloc(1, sizeof *s);
    struct halo_error err = {0};
    int of[HALO_MAX_OUTPUTS];
    check_stream_start(name);
    if (stream_in(e, name))
        world_fail("engine %s was told to start %s, which it runs", e->name, name);
    if (!s || halo_stream_settings_read(&s->settings, text, &err) < 0)
        world_fail("the settings of %s cannot be read: %s", name, err.text);
    int gpu;
    if (sscanf(e->name, "gpu%d", &gpu) == 1 && s->settings.device.gpu != gpu)
        world_fail("engine %s is told to filter %s on GPU %d", e->name, name,
                   s->settings.device.gpu);
    snprintf(s->name, sizeof s->name, "%s", name);
    s->engine = e;
    s->state = "starting";
    s->run = ++played.runs;
    take_chain(s, 0, s->settings.filters);
    for (int i = 0; i < s->settings.renditions; i++)
        take_chain(s, i + 1, s->settings.rendition[i].filters);
    s->encodings = halo_encodings(&s->settings, s->encoding, of);
    s->next = e->streams;
    e->streams = s;
    world_after(30 + (double)world_draw(300), run_stream, s);
}

static void change_chain(void *arg);

/* In their order. */
static void answer_next(struct played *s)
{
    if (!s->laters)
        return;
    world_after(s->late + (double)world_draw(100), change_chain, s->laters);
    s->late = 0;
}

/* Confirms or refuses a change of filters. */
static void answer_set(void *arg)
{
    struct later *later = arg;
    struct played *s = later->stream;
    json_t *answer = json_pack("{s:s, s:s, s:O}", "tell", "set", "stream", s->name, "id",
                               json_object_get(later->message, "id"));
    if (s->ending && !later->refused)
        json_object_set_new(answer, "ended", json_true());
    if (later->refused || s->ending)
        json_object_set_new(answer, "why", json_string("the filters do not fit"));
    else
        json_object_set_new(answer, "coverage", coverage_of(s->chain[0]));
    tell(s->engine, answer, NULL, 0);
    free_later(later);
    answer_next(s);
}

/* From now on frames have the new chain, but some of the old one are still in an encoder. */
static void change_chain(void *arg)
{
    struct later *later = arg;
    struct played *s = later->stream;
    const bool at_once = world_draw(2);
    /* nobody has read these frames yet when the change is confirmed */
    for (int i = !at_once ? 0 : world_draw(4) ? 1 : BURST; i > 0; i--)
        write_frames(s);
    later->refused = s->refuses;
    s->refuses = false;
    if (!later->refused && !s->ending)
        for (int i = 0; i <= s->settings.renditions; i++)
            take_chain(s, i,
                       json_string_value(
                           json_array_get(json_object_get(later->message, "chains"), (size_t)i)));
    if (at_once)
        answer_set(later);
    else
        world_after((double)world_draw(1500), answer_set, later);
}

static void gone(void *arg)
{
    struct played *s = arg;
    struct engine *e = s->engine;
    s->ending = true;
    while (s->laters)
        answer_set(s->laters);
    json_t *message = json_pack("{s:s, s:s}", "tell", "gone", "stream", s->name);
    drop_stream(s);
    tell(e, message, NULL, 0);
}

static int sealed(void)
{
    const int fd = memfd_create("snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (write(fd, "image", 5) != 5)
        world_fail("a snapshot cannot be written");
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    return fd;
}

static void answer_snapshot(struct played *s, json_t *id)
{
    const int fd = sealed();
    tell(s->engine, json_pack("{s:s, s:s, s:O}", "tell", "snapshot", "stream", s->name, "id", id),
         &fd, 1);
    close(fd);
}

static void quit(void *arg)
{
    end_process(arg, 0, 0);
}

/* One message for each list. */
static void answer_gpus(struct engine *e)
{
    const char *at = played.gpus[0] ? played.gpus : "8192,0 16384,0";
    for (bool more = true; more; at += more) {
        json_t *list = json_array();
        long long mib;
        int busy, length;
        for (; sscanf(at, " %lld,%d%n", &mib, &busy, &length) == 2; at += length)
            json_array_append_new(list, json_pack("{s:I, s:i}", "memory_free_bytes",
                                                  (json_int_t)(mib * (1 << 20)), "busy", busy));
        tell(e, json_pack("{s:s, s:o}", "tell", "gpus", "gpus", list), NULL, 0);
        at += strcspn(at, "|");
        more = *at == '|';
    }
}

static void set_later(struct played *s, json_t *message)
{
    struct later *later = calloc(1, sizeof *later), **last = &s->laters;
    *later = (struct later){.stream = s, .message = json_incref(message)};
    while (*last)
        last = &(*last)->next;
    *last = later;
    if (s->laters == later)
        answer_next(s);
}

static void take_of_stream(struct played *s, const char *what, json_t *message)
{
    const int64_t encoding = halo_json_integer(message, "encoding", 0, s->encodings - 1, 0);
    json_t *id = json_object_get(message, "id");
    if (!strcmp(what, "stop")) {
        s->ending = true;
        for (int i = 0; i < s->encodings; i++) /* an encoder has just been opened again */
            if (s->ring[i].writer && world_draw(2))
                tell_ring(s, i);
        world_after(s->lingers + (double)world_draw(400), gone, s);
    } else if (!strcmp(what, "set")) {
        set_later(s, message);
    } else if (!strcmp(what, "control")) {
        tell(s->engine, json_pack("{s:s, s:s, s:O}", "tell", "set", "stream", s->name, "id", id),
             NULL, 0);
    } else if (!strcmp(what, "watch")) {
        s->ring[encoding].watched = json_is_true(json_object_get(message, "on"));
        s->ring[encoding].since_key = 0;
        if (s->ring[encoding].watched)
            open_ring(s, (int)encoding);
    } else if (!strcmp(what, "regions")) {
        s->updates++;
        s->regions = (json_int_t)json_array_size(json_object_get(message, "regions"));
    } else if (!strcmp(what, "key")) {
        s->ring[encoding].since_key = 0;
    } else if (!strcmp(what, "snapshot")) {
        answer_snapshot(s, id);
    }
}

static void take(struct engine *e, json_t *message)
{
    const char *what = json_string_value(json_object_get(message, "do"));
    const char *name = json_string_value(json_object_get(message, "stream"));
    struct played *s = name ? stream_in(e, name) : NULL;
    if (!strcmp(what, "start"))
        start_stream(e, name, json_string_value(json_object_get(message, "settings")));
    else if (!strcmp(what, "gpus"))
        answer_gpus(e);
    else if (!strcmp(what, "quit") && !e->quits) {
        e->quits = world_now();
        world_after(e->lingers + (double)world_draw(300), quit, e);
    } else if (s)
        take_of_stream(s, what, message);
}

static void read_link(void *arg)
{
    static char buffer[HALO_LINK_MAX + 1];
    struct engine *e = arg;
    if (e->hangs || e->exited || e->killed)
        return;
    for (;;) {
        int fd = -1;
        const ssize_t n = halo_receive(e->fd, buffer, HALO_LINK_MAX, &fd);
        if (fd >= 0)
            close(fd); /* a detector's connection, or a mask */
        if (n == 0 || (n < 0 && n != -EAGAIN)) {
            end_process(e, 1, 0); /* as engines do when the supervisor has closed the link */
            return;
        }
        if (n < 0)
            break;
        json_t *message = json_loadb(buffer, (size_t)n, 0, NULL);
        take(e, message);
        json_decref(message);
        if (e->exited || e->hangs)
            return;
    }
    world_watch(e->fd, e->slow, read_link, e);
}

/* ---- the table ---- */

static void greet(void *arg)
{
    struct engine *e = arg;
    if (e->hangs)
        return;
    e->greeted = true;
    tell(e, json_pack("{s:s, s:s}", "tell", "hello", "version", HALO_VERSION), NULL, 0);
    tell_stats(e);
}

/* A detector takes its connections until it is killed. */
static void read_detector(void *arg)
{
    struct engine *e = arg;
    char letter;
    int fd = -1;
    if (e->exited)
        return;
    const ssize_t n = halo_receive(e->fd, &letter, 1, &fd);
    if (fd >= 0)
        close(fd);
    if (n > 0)
        world_watch(e->fd, 0, read_detector, e);
}

/* It would get what another thread of libuv's, or a request that waits, has open just now. */
static void check_inherited(void)
{
    for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS; fd++) {
        const int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && !(flags & FD_CLOEXEC)) {
            char path[32], what[256] = "";
            snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
            if (readlink(path, what, sizeof what - 1) < 0)
                what[0] = '\0';
            world_fail("an engine inherits a descriptor: %s", what);
        }
    }
}

static int start_played(struct halo_process *process, uv_loop_t *loop,
                        uv_process_options_t *options)
{
    struct engine *e = calloc(1, sizeof *e);
    const int room = ROOM;
    uv_idle_init(loop, &process->handle.idle); /* only to be closed */
    if (!e)
        return -ENOMEM;
    process->pid = e->pid = FIRST_PID + played.pids++;
    e->process = process;
    e->detector = !strcmp(options->args[1], "detector");
    e->words = !e->detector ? -1 : fcntl(options->stdio[2].data.fd, F_DUPFD_CLOEXEC, 3);
    e->fd = fcntl(options->stdio[HALO_LINK_FD].data.fd, F_DUPFD_CLOEXEC, 3);
    setsockopt(e->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    e->disturbed = -1;
    e->spoke = world_now();
    e->packet = av_packet_alloc();
    e->next = played.engines;
    played.engines = e;
    snprintf(e->name, sizeof e->name, "%s",
             e->detector ? "detector" : ((struct sv_process *)process->data)->name);
    world_say("engine %s (%d) starts", e->name, (int)e->pid);
    if (e->detector) {
        world_watch(e->fd, 0, read_detector, e);
        return 0;
    }
    check_inherited();
    check_start(e->name);
    if (played.deaths > 0 && !strcmp(played.frail, e->name)) {
        played.deaths--;
        e->disturbed = world_now();
        world_after((double)world_draw(400), end_killed, e);
    }
    world_after(20 + (double)world_draw(world_draw(16) ? 100 : 4000), greet, e);
    world_watch(e->fd, 0, read_link, e);
    return 0;
}

void engines_begin(void)
{
    static const struct halo_process_ops ops = {.start = start_played, .kill = kill_played};
    halo_process_ops = &ops;
}

void engines_end(void)
{
    while (played.engines) {
        struct engine *e = played.engines;
        while (e->streams)
            drop_stream(e->streams);
        if (!e->exited)
            close(e->fd);
        if (!e->exited && e->words >= 0)
            close(e->words);
        free_engine(e);
    }
}

/* ---- what the kernel says about them ---- */

bool __wrap_sv_share_ended(pid_t pid);
int64_t __wrap_sv_share_ran(pid_t pid);
uint64_t __wrap_sv_share_waited(pid_t pid);
bool __wrap_sv_share_blocked(pid_t pid);

bool __wrap_sv_share_ended(pid_t pid)
{
    const struct engine *e = by_pid(pid);
    return e && e->exited;
}

int64_t __wrap_sv_share_ran(pid_t pid)
{
    (void)pid;
    return 0;
}

uint64_t __wrap_sv_share_waited(pid_t pid)
{
    const struct engine *e = by_pid(pid);
    return !e ? 0 : e->waited + (e->starves ? (uint64_t)(world_now() - e->starves) / 1000 : 0);
}

bool __wrap_sv_share_blocked(pid_t pid)
{
    const struct engine *e = by_pid(pid);
    return e && e->survives;
}

/* ---- events ---- */

/* It gets a processor again. */
static void go_on(void *arg)
{
    struct engine *e = arg;
    e->hangs = false;
    e->waited += (uint64_t)(world_now() - e->starves) / 1000;
    e->starves = 0;
    world_watch(e->fd, e->slow, read_link, e);
}

/* Without a processor, which is no fault of its own: it must not be killed. */
static void starve(struct engine *e, int ms)
{
    e->hangs = true;
    e->starves = world_now();
    world_delay(e, ms);
    for (const struct played *s = e->streams; s; s = s->next) {
        world_delay(s, ms);
        for (const struct later *l = s->laters; l; l = l->next)
            world_delay(l, ms);
    }
    world_after(ms, go_on, e);
}

int engines_surviving(void)
{
    int count = 0;
    for (const struct engine *e = played.engines; e; e = e->next)
        count += e->survives && e->killed;
    return count;
}

/* All at once, for who sees it. */
static void end_all(int number)
{
    for (struct engine *e = played.engines; e; e = e->next) {
        e->disturbed = world_now();
        if (!e->detector)
            end_process(e, 0, number);
    }
}

void engine_play(const char *name, const char *what, int number)
{
    struct engine *e = by_name(name);
    if (!strcmp(name, "all") && !strcmp(what, "dies"))
        end_all(number);
    const bool ends = !strcmp(what, "dies") || !strcmp(what, "exits") || !strcmp(what, "frail");
    if (!e || e->exited || e->killed || (e->hangs && !ends))
        return;
    if (strcmp(what, "lies") != 0 && strcmp(what, "starves") != 0 && strcmp(what, "lingers") != 0)
        e->disturbed = world_now();
    if (!strcmp(what, "dies")) {
        end_process(e, 0, number);
    } else if (!strcmp(what, "exits")) {
        end_process(e, number, 0);
    } else if (!strcmp(what, "frail")) {
        snprintf(played.frail, sizeof played.frail, "%s", name);
        played.deaths = number;
        end_process(e, 0, SIGKILL);
    } else if (!strcmp(what, "hangs")) {
        e->hangs = true;
        e->hung = world_awake();
    } else if (!strcmp(what, "survives")) {
        e->survives = e->hangs = true;
        e->hung = world_awake();
    } else if (!strcmp(what, "starves")) {
        starve(e, number);
    } else if (!strcmp(what, "lingers")) {
        e->lingers = number;
    } else if (!strcmp(what, "slow")) {
        e->slow = number;
    } else if (!strcmp(what, "lies")) {
        tell_lies(e, number);
    } else if (!strcmp(what, "garbage")) {
        send_garbage(e, (size_t)number);
    } else if (!strcmp(what, "sends")) {
        send_descriptors(e, number);
    } else if (!strcmp(what, "closes")) {
        world_unwatch(e->fd);
        shutdown(e->fd, SHUT_RDWR);
        e->hangs = true;
        e->must_end = world_awake() + LAST_MS * 1000;
    }
}

void engine_tell(const char *name, const char *text)
{
    struct engine *e = by_name(name);
    json_t *message = json_loads(text, 0, NULL);
    if (!e || !message)
        world_fail("engine %s cannot tell this: %s", name, text);
    e->quoted |= json_object_get(message, "streams") != NULL;
    tell(e, message, NULL, 0);
}

void engines_find_gpus(const char *words)
{
    if (sscanf(words, "hold %d", &played.room) != 1)
        snprintf(played.gpus, sizeof played.gpus, "%s", words);
}

void detector_play(const char *what, const char *text, int number)
{
    struct engine *e = played.engines;
    while (e && (!e->detector || e->exited || e->killed))
        e = e->next;
    if (!e)
        world_fail("there is no detector");
    if (!strcmp(what, "exits"))
        end_process(e, number, 0);
    else if (!strcmp(what, "dies"))
        end_process(e, 0, number);
    for (int i = 0; !strcmp(what, "writes") && i < number; i++)
        dprintf(e->words, "%s %d\n", text, i + 1);
}

void engine_stream_play(const char *stream, const char *what, int number)
{
    struct played *s = stream_by_name(stream);
    if (!s || s->engine->hangs)
        return;
    if (!strcmp(what, "fails"))
        tell_state(s, "failed", "its input cannot be opened");
    else if (!strcmp(what, "ends"))
        tell_state(s, "ended", "");
    else if (!strcmp(what, "waits"))
        tell_state(s, "waiting", "its source is silent");
    else if (!strcmp(what, "runs"))
        tell_state(s, "running", "");
    else if (!strcmp(what, "refuses"))
        s->refuses = true;
    else if (!strcmp(what, "late"))
        s->late = number;
    else if (!strcmp(what, "heavy"))
        s->heavy = number;
    else if (!strcmp(what, "crashes")) {
        s->engine->disturbed = world_now();
        end_process(s->engine, 0, SIGSEGV);
        return;
    } else if (!strcmp(what, "lingers")) {
        s->lingers = number;
        s->engine->disturbed = number < QUIT_MS ? s->engine->disturbed : world_now();
    } else if (!strcmp(what, "stalls")) {
        s->state = "failed";
        tell(s->engine,
             json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "tell", "state", "stream", s->name,
                       "state", "failed", "why", "a stage is stuck", "device", 0, "stalled", 1),
             NULL, 0);
    } else if (!strcmp(what, "detects"))
        tell(s->engine,
             json_pack("{s:s, s:s, s:s, s:s, s:I}", "tell", "detector", "stream", s->name, "find",
                       "faces", "ask", "want", "id", (json_int_t)++s->detector),
             NULL, 0);
    else if (!strcmp(what, "encoding"))
        tell(s->engine,
             json_pack("{s:s, s:s, s:i, s:s}", "tell", "encoding", "stream", s->name, "encoding", 0,
                       "why", number ? "no session" : ""),
             NULL, 0);
    if (!strcmp(s->state, "failed") || !strcmp(s->state, "ended"))
        s->ending = true;
}

void engines_check(void)
{
    for (struct engine *e = played.engines; e; e = e->next) {
        const struct sv_process *process = e->process ? e->process->data : NULL;
        if (e->detector || !process || e->exited || e->killed)
            continue;
        if (e->must_end && world_awake() - e->must_end > WORLD_SLACK_MS * 1000)
            world_fail("engine %s broke the rules of its link, and was not killed", e->name);
        if (!process->engine && !e->left)
            e->left = world_awake();
        const int64_t hung = e->hung > world_thawed() ? e->hung : world_thawed();
        const int most = (e->greeted ? SILENCE_MS : HELLO_MS) + WORLD_SLACK_MS;
        if (e->hung && !e->left && world_awake() - hung > most * 1000)
            world_fail("engine %s has been silent for %d ms, and was not killed", e->name,
                       (int)((world_awake() - e->hung) / 1000));
        if (e->left && world_awake() - e->left > (QUIT_MS + WORLD_SLACK_MS) * 1000)
            world_fail("engine %s was told to finish, and has not been killed for %d ms", e->name,
                       (int)((world_awake() - e->left) / 1000));
    }
}

void engines_check_set(const char *stream, int chain)
{
    for (const struct engine *e = played.engines; e; e = e->next) {
        const struct played *s = e->exited || e->killed ? NULL : stream_in(e, stream);
        if (s && s->chain[0] < chain)
            world_fail("the filters of %s are said to be %d, but process %d of engine %s, which is "
                       "not killed, has %d",
                       stream, chain, (int)e->pid, e->name, s->chain[0]);
    }
}

void engines_heal(void)
{
    played.deaths = 0;
    for (struct engine *e = played.engines; e; e = e->next) {
        e->slow = 0;
        for (struct played *s = e->streams; s; s = s->next) {
            s->refuses = false;
            s->late = 0;
            if (!strcmp(s->state, "waiting"))
                tell_state(s, "running", "");
        }
    }
}
