/* SPDX-License-Identifier: BSD-2-Clause
 * halod engine: runs live streams for the supervisor that started it; it cannot run without one. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/engine/confine.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/engine_private.h"
#include "daemon/engine/hide.h"
#include "daemon/link/regions.h"
#include "daemon/link/send_fds.h"
#include "kernels/version.h"
#include "pipeline/base/av.h"
#include "pipeline/region/mask_image.h"

/* ---- GPUs ---- */

/* How full the GPUs are that this engine's streams use, and the free capacity of all GPUs. The
 * driver is queried on a libuv worker thread, because it may answer late or never. If a query does
 * not return, no further one is made. */

enum {
    EVERY_MS = 2000,
    LATE_MS = 4000, /* from then on the state is unknown */
};

struct engine_query {
    uv_work_t work;
    struct engine *engine;
    struct halo_link_gpu gpu[HALO_LINK_GPUS];
    int gpus;
};

static void note_gpu(struct engine_query *query, int number)
{
    for (int i = 0; i < query->gpus; i++)
        if (query->gpu[i].number == number)
            return;
    if (number >= 0 && query->gpus < HALO_LINK_GPUS)
        query->gpu[query->gpus++].number = number;
}

/* GPUs that do not answer are left out. */
static void ask(uv_work_t *work)
{
    struct engine_query *query = work->data;
    int known = 0;
    for (int i = 0; i < query->gpus; i++) {
        struct halo_device_memory memory;
        if (halo_device_memory((int)query->gpu[i].number, &memory) == 0)
            query->gpu[known++] = (struct halo_link_gpu){
                .number = query->gpu[i].number, .used = memory.used, .size = memory.size};
    }
    query->gpus = known;
}

static void asked(uv_work_t *work, int status)
{
    struct engine_query *query = work->data;
    struct engine *engine = query->engine;
    (void)status;
    engine->gpus = query->gpus;
    for (int i = 0; i < query->gpus; i++)
        engine->gpu[i] = query->gpu[i];
    engine->query = NULL;
    free(query);
}

/* Called by the timer. From time to time, a worker thread asks the driver how much of each GPU's
 * memory is in use. The loop thread does not ask the driver itself, because the driver might never
 * answer. */
static void tick_gpus(struct engine *engine)
{
    const uint64_t now = uv_now(&engine->loop);
    if (engine->query || engine->quitting || (engine->queried && now - engine->queried < EVERY_MS))
        return;
    struct engine_query *query = calloc(1, sizeof *query);
    if (!query)
        return;
    for (const struct engine_stream *s = engine->streams; s; s = s->next)
        note_gpu(query, s->gpu);
    engine->gpus = query->gpus ? engine->gpus : 0;
    if (!query->gpus) {
        free(query);
        return;
    }
    query->engine = engine;
    query->work.data = query;
    engine->queried = now;
    engine->query = query;
    uv_queue_work(&engine->loop, &query->work, ask, asked);
}

/* ---- all GPUs of the machine ---- */

struct engine_survey {
    uv_work_t work;
    struct engine *engine;
    struct halo_device_load load[HALO_LINK_GPUS];
    int gpus;
};

static void survey(uv_work_t *work)
{
    struct engine_survey *survey = work->data;
    survey->gpus = halo_device_loads(survey->load, HALO_LINK_GPUS);
}

static void surveyed(uv_work_t *work, int status)
{
    struct engine_survey *survey = work->data;
    struct engine *engine = survey->engine;
    (void)status;
    engine->survey = NULL;
    if (engine->link)
        halo_link_send(engine->link,
                       json_pack("{s:s, s:o}", "tell", "gpus", "gpus",
                                 halo_link_loads_write(survey->load, survey->gpus)),
                       NULL, 0);
    free(survey);
}

/* Reports the free capacity of all GPUs of the machine as soon as the driver returns it. */
static void survey_gpus(struct engine *engine)
{
    struct engine_survey *new = engine->survey ? NULL : calloc(1, sizeof *new);
    if (!new)
        return;
    new->engine = engine;
    new->work.data = new;
    engine->survey = new;
    uv_queue_work(&engine->loop, &new->work, survey, surveyed);
}

/* Returns the list of GPUs to send over the link; it is empty if the answer to the last query is
 * overdue. */
static json_t *report_gpus(const struct engine *engine)
{
    const bool late = engine->query && uv_now(&engine->loop) - engine->queried > LATE_MS;
    return halo_link_gpus_write(engine->gpu, late ? 0 : engine->gpus);
}

/* ---- the engine ---- */

enum {
    LOOK_MS = 50,     /* interval of checks whether a stopped stream has ended */
    STATS_EVERY = 10, /* ticks: half a second */
    QUIT_MS = 7000,   /* then it ends even if streams have not finished */
    LEFT_MAX = 2,     /* stuck streams: if there are more, they are not the cause */
};

static void on_wake(uv_async_t *wake)
{
    engine_send_notes(wake->data);
}

/* ---- requests of the supervisor ---- */

static struct engine_stream *find(struct engine *engine, const char *name)
{
    struct engine_stream *stream = engine->streams;
    while (stream && strcmp(stream->name, name) != 0)
        stream = stream->next;
    return stream;
}

static int encoding_of(const struct engine_stream *stream, const json_t *message)
{
    return (int)halo_json_integer(message, "encoding", 0, stream->encodings - 1, -1);
}

static void do_watch(struct engine_stream *stream, json_t *message)
{
    const int encoding = encoding_of(stream, message);
    if (encoding < 0)
        return;
    stream->watched[encoding] = json_is_true(json_object_get(message, "on"));
    if (engine_stream_runs(stream))
        halo_live_watch(stream->live, encoding, stream->watched[encoding]);
}

static void do_key(struct engine_stream *stream, json_t *message)
{
    const int encoding = encoding_of(stream, message);
    if (encoding >= 0 && engine_stream_runs(stream))
        halo_live_key_frame(stream->live, encoding);
}

static void do_control(struct engine_stream *stream, json_t *message)
{
    const uint64_t id = (uint64_t)halo_json_integer(message, "id", 0, INT64_MAX, 0);
    const int64_t value = halo_json_integer(message, "value", INT32_MIN, INT32_MAX, 0);
    const char *control = json_string_value(json_object_get(message, "control"));
    struct halo_error err = {0};
    if (!control || !engine_stream_runs(stream) ||
        halo_live_control(stream->live, id, control, value, &err) < 0) {
        halo_fail(&err, -EAGAIN, "the stream has just started");
        engine_events.set(stream, id, &err);
    }
}

static void do_snapshot(struct engine_stream *stream, json_t *message)
{
    const uint64_t id = (uint64_t)halo_json_integer(message, "id", 0, INT64_MAX, 0);
    const char *format = json_string_value(json_object_get(message, "format"));
    const char *filters = json_string_value(json_object_get(message, "filters"));
    struct halo_error err = {0};
    if (!format || !engine_stream_runs(stream) ||
        halo_live_snapshot(stream->live, id, format, filters, &err) < 0) {
        halo_fail(&err, -EAGAIN, "the stream has just started");
        engine_events.snapshot(stream, id, NULL, &err);
    }
}

static void do_record(struct engine_stream *stream, json_t *message)
{
    engine_stream_record(stream, json_is_true(json_object_get(message, "on")));
}

/* Invalid updates are counted by the region feed. This request has no answer, so one for a stream
 * that has just started is dropped silently: whole frames are filtered until the next one. */
static void do_regions(struct engine_stream *stream, json_t *message)
{
    static struct halo_regions regions; /* too large for the stack */
    const int64_t frame = halo_json_integer(message, "picture", 0, INT64_MAX, -1);
    struct halo_error err = {0};
    if (!engine_stream_runs(stream) || frame < 0)
        return;
    int code = halo_regions_read(&regions, json_object_get(message, "regions"), &err);
    if (code == 0)
        code = halo_live_regions(stream->live, frame, regions.update, regions.count, &err);
    if (code < 0)
        halo_log(HALO_LOG_DEBUG, "stream %s: regions: %s", stream->name, err.text);
}

/* Passes a connection to a detector to the stream. One that was requested earlier is closed. */
static void take_detector(struct engine *engine, const json_t *message, int fd)
{
    const char *name = json_string_value(json_object_get(message, "stream"));
    const char *find_name = json_string_value(json_object_get(message, "find"));
    const uint64_t id = (uint64_t)halo_json_integer(message, "id", 0, INT64_MAX, 0);
    struct engine_stream *stream = name ? find(engine, name) : NULL;
    for (int f = 0; f < HALO_FINDS; f++)
        if (stream && find_name && !strcmp(find_name, halo_find_names[f]) &&
            engine_stream_runs(stream) && id == atomic_load(&stream->wanted[f])) {
            halo_live_connect(stream->live, (enum halo_find)f, fd,
                              json_string_value(json_object_get(message, "why")));
            return;
        }
    halo_link_close_fds(&fd, fd >= 0);
}

static void do_stop(struct engine_stream *stream, json_t *message)
{
    (void)message;
    engine_stream_stop(stream);
}

static const struct {
    const char *name;
    void (*run)(struct engine_stream *stream, json_t *message);
} requests[] = {
    {"stop", do_stop},       {"set", engine_stream_set}, {"watch", do_watch},
    {"key", do_key},         {"snapshot", do_snapshot},  {"record", do_record},
    {"control", do_control}, {"regions", do_regions},
};

static void quit(struct engine *engine)
{
    if (engine->quitting)
        return;
    engine->quitting = true;
    engine->quit_deadline = uv_now(&engine->loop) + QUIT_MS;
    for (struct engine_stream *s = engine->streams, *next; s; s = next) {
        next = s->next;
        engine_stream_stop(s);
    }
}

static void run_on_stream(struct engine *engine, const char *what, json_t *message)
{
    const char *name = json_string_value(json_object_get(message, "stream"));
    const char *settings = json_string_value(json_object_get(message, "settings"));
    struct engine_stream *stream = name ? find(engine, name) : NULL;
    if (name && !stream && settings && !strcmp(what, "start") && !engine->quitting)
        engine_stream_start(engine, name, settings,
                            json_string_value(json_object_get(message, "camera")));
    if (name && !stream && !strcmp(what, "stop")) /* it could not even start */
        halo_link_send(engine->link, engine_message("gone", name), NULL, 0);
    for (size_t i = 0; stream && i < sizeof requests / sizeof *requests; i++)
        if (!strcmp(requests[i].name, what)) {
            requests[i].run(stream, message);
            return;
        }
}

static void on_message(void *arg, json_t *message, const int *fds, int count)
{
    struct engine *engine = arg;
    const char *what = json_string_value(json_object_get(message, "do"));
    const char *path = json_string_value(json_object_get(message, "path"));
    if (what && path && count == 1 && !strcmp(what, "mask")) {
        halo_mask_image_give(path, fds[0]);
        return;
    }
    if (what && count <= 1 && !strcmp(what, "detector")) {
        take_detector(engine, message, count ? fds[0] : -1);
        return;
    }
    halo_link_close_fds(fds, count);
    if (!what)
        return;
    if (!strcmp(what, "quit"))
        quit(engine);
    else if (!strcmp(what, "gpus"))
        survey_gpus(engine);
    else if (!strcmp(what, "log"))
        halo_log_set_level((enum halo_log_level)halo_json_integer(message, "level", HALO_LOG_QUIET,
                                                                  HALO_LOG_DEBUG, HALO_LOG_INFO));
    else
        run_on_stream(engine, what, message);
}

/* The supervisor is gone: no viewer can be served, but files can still be finished properly. */
static void on_closed(void *arg, const char *why)
{
    struct engine *engine = arg;
    (void)why;
    halo_link_destroy(engine->link);
    engine->link = NULL;
    quit(engine);
}

/* ---- the process ---- */

/* Whether ending only this stream is enough: its stuck call blocks no other stream, and other
 * streams run in this process. */
static bool may_abandon(const struct engine *engine, const struct engine_stream *stream)
{
    int stuck = 0, others = 0;
    for (const struct engine_stream *s = engine->left; s; s = s->next)
        stuck++;
    for (const struct engine_stream *s = engine->streams; s; s = s->next) {
        stuck += s->abandoned;
        others += s != stream && !s->abandoned;
    }
    return halo_live_stalls_alone(stream->live) && others && stuck < LEFT_MAX;
}

/* A stuck stream is abandoned; if that is not enough, the process ends. */
static void end_what_is_stuck(struct engine *engine)
{
    for (struct engine_stream *s = engine->streams; s; s = s->next) {
        struct halo_error err = {0};
        const bool runs = s->phase == ENGINE_RUNNING || s->phase == ENGINE_STOPPING;
        if (!runs || !s->live || !halo_live_is_stuck(s->live, &err))
            continue;
        halo_log(HALO_LOG_ERROR, "stream %s: %s", s->name, err.text);
        if (may_abandon(engine, s)) {
            engine_stream_abandon(s, &err);
            continue;
        }
        engine_report_stall(s, &err);
        engine_send_notes(engine);
        _exit(err.device ? HALO_EXIT_TRY_AGAIN : HALO_EXIT_FAILED);
    }
}

static void close_all(struct engine *engine)
{
    if (engine->closed)
        return;
    engine->closed = true;
    halo_link_destroy(engine->link);
    engine->link = NULL;
    uv_close((uv_handle_t *)&engine->wake, NULL);
    uv_close((uv_handle_t *)&engine->tick, NULL);
}

static void on_tick(uv_timer_t *timer)
{
    struct engine *engine = timer->data;
    static unsigned looks;
    for (struct engine_stream *s = engine->streams, *next; s; s = next) {
        next = s->next;
        engine_stream_tick(s);
    }
    if (engine->quitting && !engine->streams && engine->left) {
        engine_send_notes(engine);
        _exit(HALO_EXIT_OK); /* a stuck thread might still use what would be freed */
    }
    if (engine->quitting && !engine->streams && !engine->query && !engine->survey) {
        close_all(engine);
        return;
    }
    if (engine->quitting && uv_now(&engine->loop) >= engine->quit_deadline)
        _exit(HALO_EXIT_OK); /* nothing is freed, and exit handlers of drivers are not waited for */
    if (looks++ % STATS_EVERY != 0)
        return;
    halo_log_flush();
    end_what_is_stuck(engine);
    engine_stream_free_left(engine);
    if (!engine->link)
        return;
    for (struct engine_stream *s = engine->streams; s; s = s->next)
        engine_stream_report_stats(s);
    tick_gpus(engine);
    halo_link_send(
        engine->link,
        json_pack("{s:s, s:{}, s:o}", "tell", "stats", "streams", "gpus", report_gpus(engine)),
        NULL, 0);
}

static int start(struct engine *engine)
{
    static const struct halo_link_ops ops = {.message = on_message, .closed = on_closed};
    engine->last = &engine->first;
    int code = uv_loop_init(&engine->loop);
    if (code >= 0)
        code = uv_async_init(&engine->loop, &engine->wake, on_wake);
    if (code >= 0)
        code = uv_timer_init(&engine->loop, &engine->tick);
    engine->wake.data = engine->tick.data = engine;
    if (code >= 0)
        code = uv_timer_start(&engine->tick, on_tick, 0, LOOK_MS);
    if (code >= 0)
        code = halo_link_create(&engine->link, &engine->loop, HALO_LINK_FD, &ops, engine);
    return code;
}

/* Signals of the terminal or of the service also reach the supervisor, which then asks us to
 * end. */
static void prepare_process(void)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "halod-engine");
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    fcntl(HALO_LINK_FD, F_SETFD, FD_CLOEXEC);
    /* Libraries of the supervisor may open sockets that an engine inherits. */
    syscall(SYS_close_range, HALO_LINK_FD + 1, ~0U, 0);
    halo_log_be_service();
    setenv("UV_THREADPOOL_SIZE", "16", 0); /* a disk that hangs must not block the others */
    json_object_seed(0);                   /* before threads exist */
    halo_av_init_log();
}

/* Sent at once, and not by the loop: the descriptor must be with the supervisor before a call is
 * refused. */
static void say_hello(int calls)
{
    static char hello[] = "{\"tell\": \"hello\", \"version\": \"" HALO_VERSION "\"}";
    struct iovec part = {hello, sizeof hello - 1};
    halo_send_fds(HALO_LINK_FD, &part, 1, &calls, calls >= 0);
    if (calls >= 0)
        close(calls);
}

/* Called before the first thread is started, because a seccomp filter applies to a thread and those
 * that it starts; and before anything is read that others wrote. Devices are opened afterwards:
 * CUDA and decoders start threads of their own, which a later filter would miss. Standard input
 * lists the files that the streams need. */
static void confine(void)
{
    struct halo_error err = {0};
    json_t *update = json_loadfd(STDIN_FILENO, 0, NULL);
    const size_t count = json_array_size(update);
    struct halo_files *files = calloc(count + 1, sizeof *files);
    if (!files)
        _exit(HALO_EXIT_FAILED);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(update, i);
        const char *path = json_string_value(json_array_get(one, 0));
        files[i].path = path ? path : "";
        files[i].how = (enum halo_files_how)json_integer_value(json_array_get(one, 1));
    }
    int calls;
    const struct halo_confinement all = {.files = update ? files : NULL, .count = (int)count};
    const int code = halo_confine(&all, &calls, &err);
    say_hello(calls);
    if (code < 0)
        halo_log(HALO_LOG_WARNING, "engines run unconfined: %s", err.text);
    free(files);
    json_decref(update);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    close(nothing);
}

static bool has_link(void)
{
    int type = 0;
    socklen_t size = sizeof type;
    return getsockopt(HALO_LINK_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET;
}

int halo_command_engine(int argc, char **argv)
{
    if (!has_link()) {
        halo_log(HALO_LOG_ERROR, "engines are started by the daemon: see halod --help");
        return HALO_EXIT_USAGE;
    }
    if (argc > 0)
        halo_log_set_level((enum halo_log_level)atoi(argv[0]));
    prepare_process();
    struct halo_error err = {0};
    if (halo_hide_memory(&err) < 0) {
        halo_log(HALO_LOG_ERROR, "the engine failed to start: %s", err.text);
        return HALO_EXIT_FAILED;
    }
    confine();
    struct engine *engine = calloc(1, sizeof *engine);
    const int code = engine ? start(engine) : -ENOMEM;
    if (code < 0) {
        halo_log(HALO_LOG_ERROR, "the engine failed to start: %s", strerror(-code));
        free(engine);
        return HALO_EXIT_FAILED;
    }
    uv_run(&engine->loop, UV_RUN_DEFAULT);
    uv_loop_close(&engine->loop);
    free(engine);
    return HALO_EXIT_OK;
}
