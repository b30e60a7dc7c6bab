/* SPDX-License-Identifier: BSD-2-Clause
 * What must always hold, judged by what the documentation says and not by the code's own numbers:
 * a changed limit, pause or order is found here. */
#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/encoding.h"
#include "daemon/control/control.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_request.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/view/subscribers.h"
#include "tests/world/world.h"

enum {
    PAUSE_MS = 250, /* daemon/supervisor/README.md */
    PAUSE_MAX_MS = 5000,
    GOOD_MS = 10000,
    MOVED_MS = 30000, /* stalls further apart are not in a row */
    STALLS = 3,       /* of every engine, until only a restart of halod can help */
    STARTING_MAX = 4, /* engines that start at once; others wait for them */
    FULL = 8,         /* quiet minutes, after which the history of the last hour is full */
    KEPT = 256 << 10, /* bytes; fragments, and texts that differ in length */
};

/* How the supervisor has to pause before it starts an engine again. */
struct engine_record {
    struct engine_record *next;
    const struct sv_engine *engine;
    char name[96];
    int failures;
    int64_t good_since, not_before; /* us; 0: it is not running */
    int stalls;                     /* in a row */
};

static struct {
    struct halo_supervisor *sv;
    struct halo_listener listener;
    struct engine_record *records;
    const struct sv_engine *failed; /* the last one */
    int64_t looked;
    int64_t reloaded; /* us of world_awake() */
    int64_t crowded;  /* us of world_awake(): when so many engines were starting */
    int quiet, descriptors;
    size_t bytes;
} check;

struct halo_supervisor *world_supervisor(void)
{
    return check.sv;
}

/* ---- restarts of engines ---- */

/* When an engine or a stream that has failed so often before may start again, in us. */
static int64_t next_start(int failures)
{
    const int64_t pause = failures > 0 ? (int64_t)PAUSE_MS << (failures > 6 ? 6 : failures - 1) : 0;
    return world_now() + (pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause) * 1000;
}

static struct engine_record *record_of(const char *name)
{
    struct engine_record *r = check.records;
    while (r && strcmp(r->name, name) != 0)
        r = r->next;
    return r;
}

struct sv_engine *__wrap_sv_engine_make(struct halo_supervisor *sv, const char *name);
struct sv_engine *__real_sv_engine_make(struct halo_supervisor *sv, const char *name);

/* That of an engine, which may have got its name from another since. */
static struct engine_record *record_for(const struct sv_engine *engine)
{
    struct engine_record *r = record_of(engine->name);
    if (!r) {
        r = calloc(1, sizeof *r);
        r->next = check.records;
        check.records = r;
    }
    if (r->engine != engine)
        *r = (struct engine_record){.next = r->next, .engine = engine};
    snprintf(r->name, sizeof r->name, "%s", engine->name);
    return r;
}

/* A new engine has no past. */
struct sv_engine *__wrap_sv_engine_make(struct halo_supervisor *sv, const char *name)
{
    struct sv_engine *engine = __real_sv_engine_make(sv, name);
    for (struct engine_record *r = check.records; r; r = r->next)
        if (r->engine == engine)
            r->engine = NULL;
    struct engine_record *r = record_for(engine);
    *r = (struct engine_record){.next = r->next, .engine = engine};
    snprintf(r->name, sizeof r->name, "%s", name);
    return engine;
}

void check_start(const char *engine)
{
    const struct engine_record *r = record_of(engine);
    if (r && world_now() < r->not_before - 1000)
        world_fail("engine %s is started %d ms too early", engine,
                   (int)((r->not_before - world_now()) / 1000));
}

void __wrap_sv_engine_failed(struct sv_engine *engine, const char *why, bool device, bool worked);
void __real_sv_engine_failed(struct sv_engine *engine, const char *why, bool device, bool worked);

void __wrap_sv_engine_failed(struct sv_engine *engine, const char *why, bool device, bool worked)
{
    struct engine_record *r = record_for(engine);
    __real_sv_engine_failed(engine, why, device, worked);
    world_say("engine %s has failed: %s", engine->name, why);
    check.failed = engine;
    engines_blame(why);
    if ((worked && !device) ||
        (r->good_since && world_now() - r->good_since >= (int64_t)GOOD_MS * 1000))
        r->failures = 0;
    if (r->good_since && world_now() - r->good_since >= (int64_t)MOVED_MS * 1000)
        r->stalls = 0;
    r->stalls = !strncmp(why, "killed: it was silent", 21) ? r->stalls + 1 : 0;
    r->not_before = next_start(r->failures++);
    r->good_since = 0;
}

/* ---- restarts of streams ---- */

enum { STREAMS = 8, HIDES = 2 };

/* What is known of a stream by its name. */
static struct record {
    char name[68];
    int64_t changed; /* us of world_awake(): its state */
    int chain;       /* the newest in force */
    /* pauses after failures of its own */
    int failures;
    int64_t good_since, not_before; /* us */
    struct {
        int64_t asked; /* the number of the last request */
        bool known, on;
    } hide[HIDES];
} of_stream[STREAMS];

static struct record *stream_record(const char *name)
{
    int i = 0;
    while (i < STREAMS - 1 && of_stream[i].name[0] && strcmp(of_stream[i].name, name) != 0)
        i++;
    snprintf(of_stream[i].name, sizeof of_stream[i].name, "%s", name);
    return &of_stream[i];
}

void __wrap_sv_stream_failed(struct sv_stream *stream, const char *why);
void __real_sv_stream_failed(struct sv_stream *stream, const char *why);
void __wrap_sv_stream_ended(struct sv_stream *stream);
void __real_sv_stream_ended(struct sv_stream *stream);
void __wrap_sv_placement_reset(struct sv_placement *place);
void __real_sv_placement_reset(struct sv_placement *place);

/* It fails by itself, while its engine goes on. */
void __wrap_sv_stream_failed(struct sv_stream *stream, const char *why)
{
    struct record *r = stream_record(stream->name);
    if (r->good_since && world_now() - r->good_since >= (int64_t)GOOD_MS * 1000)
        r->failures = 0;
    r->not_before = next_start(r->failures++);
    r->good_since = 0;
    __real_sv_stream_failed(stream, why);
}

void __wrap_sv_stream_ended(struct sv_stream *stream)
{
    stream_record(stream->name)->not_before = world_now() + PAUSE_MS * 1000;
    __real_sv_stream_ended(stream);
}

/* By hand, or for new settings: what was does not count. */
void __wrap_sv_placement_reset(struct sv_placement *place)
{
    for (const struct sv_stream *s = check.sv ? check.sv->streams : NULL; s; s = s->next) {
        struct record *r = &s->place == place ? stream_record(s->name) : NULL;
        if (r)
            r->failures = 0, r->not_before = 0;
    }
    __real_sv_placement_reset(place);
}

void check_stream_start(const char *stream)
{
    const struct record *r = stream_record(stream);
    if (world_now() < r->not_before - 1000)
        world_fail("%s is started %d ms too early", stream,
                   (int)((r->not_before - world_now()) / 1000));
}

/* ---- what clients were promised ---- */

struct asked {
    halo_reply *reply;
    void *arg;
    struct record *record;
    int hide;
    int64_t number;
    bool on;
};

/* A change that comes too late still counts, unless an event says that it was refused. */
static void on_hidden(void *arg, json_t *result, const struct halo_error *err)
{
    struct asked *asked = arg;
    const bool holds = !err || strstr(err->text, "change with the next frame") ||
                       strstr(err->text, "take effect when it starts again");
    if (asked->record->hide[asked->hide].asked == asked->number) {
        asked->record->hide[asked->hide].known = holds;
        asked->record->hide[asked->hide].on = asked->on;
    }
    asked->reply(asked->arg, result, err);
    free(asked);
}

int __wrap_halo_supervisor_hide(struct halo_supervisor *sv, const char *name,
                                const struct halo_hide *hide, halo_reply *reply, void *arg,
                                struct halo_error *err);
int __real_halo_supervisor_hide(struct halo_supervisor *sv, const char *name,
                                const struct halo_hide *hide, halo_reply *reply, void *arg,
                                struct halo_error *err);

int __wrap_halo_supervisor_hide(struct halo_supervisor *sv, const char *name,
                                const struct halo_hide *hide, halo_reply *reply, void *arg,
                                struct halo_error *err)
{
    static int64_t number;
    struct asked *asked = malloc(sizeof *asked);
    *asked = (struct asked){reply,
                            arg,
                            stream_record(name),
                            strcmp(hide->id, "door") != 0,
                            ++number,
                            hide->filters[0] != '\0'};
    asked->record->hide[asked->hide].asked = number;
    asked->record->hide[asked->hide].known = false;
    if (!strcmp(hide->id, "shutter") && !asked->on)
        broker_check_opened(name);
    const int code = __real_halo_supervisor_hide(sv, name, hide, on_hidden, asked, err);
    if (code < 0)
        free(asked);
    return code;
}

static void check_promises(const struct sv_stream *s)
{
    const struct record *r = stream_record(s->name);
    const int hides = world_chain_hides(s->settings.filters);
    for (int i = 0; i < HIDES; i++)
        if (r->hide[i].known && r->hide[i].on != !!(hides & (i ? WORLD_SHUTTER : WORLD_DOOR)))
            world_fail("an addition of %s is %s, but its client was told otherwise (%s)", s->name,
                       r->hide[i].on ? "gone" : "there", s->settings.filters);
}

static void check_engines(void)
{
    int starting = 0;
    for (const struct sv_engine *e = check.sv->engines; e; e = e->next)
        starting += e->process && !e->process->said_hello;
    if (starting >= STARTING_MAX)
        check.crowded = world_awake();
    const int64_t free = check.crowded > world_thawed() ? check.crowded : world_thawed();
    for (const struct sv_engine *e = check.sv->engines; e; e = e->next) {
        struct engine_record *r = record_for(e);
        if (e->process && e->process->said_hello && !r->good_since)
            r->good_since = world_now();
        if (!e->process && sv_engine_streams(e) > 0 && check.sv->abandoned == 0 &&
            world_now() > r->not_before + WORLD_SLACK_MS * 1000 &&
            world_awake() > free + WORLD_SLACK_MS * 1000)
            world_fail("engine %s has streams, but is not started again", e->name);
    }
}

/* ---- frames ---- */

int __wrap_halo_subscribers_give(struct halo_subscribers *subscribers, const AVPacket *pkt);
int __real_halo_subscribers_give(struct halo_subscribers *subscribers, const AVPacket *pkt);

static const char *filters_of(const struct sv_stream *s, const char *name)
{
    const int rendition = halo_rendition_find(&s->settings, name);
    if (rendition >= 0)
        return s->settings.rendition[rendition].filters;
    return strcmp(s->name, name) ? NULL : s->settings.filters;
}

/* No frame of an older chain is handed out once a newer chain is in force. */
int __wrap_halo_subscribers_give(struct halo_subscribers *subscribers, const AVPacket *pkt)
{
    char name[68];
    int run, chain, hides;
    long long frame;
    const char *text = memmem(pkt->data, (size_t)pkt->size, "HALO ", 5);
    const struct sv_stream *s = check.sv->streams;
    if (!text || sscanf(text, "HALO %67s %d %d %lld %d", name, &run, &chain, &frame, &hides) != 5)
        return __real_halo_subscribers_give(subscribers, pkt);
    const char *filters = NULL; /* in force */
    for (; s && !(filters = filters_of(s, name)); s = s->next)
        ;
    if (!s)
        world_fail("a frame of %s, which does not exist, is handed out", name);
    const int force = world_chain_number(filters);
    if (chain < force)
        world_fail("a frame of %s with the filters %d is handed out, but %d are in force", name,
                   chain, force);
    const int missing = world_chain_hides(filters) & ~hides;
    if (missing && !sv_request_sets(s))
        world_fail("a frame of %s without an addition that is in force (%d) is handed out", name,
                   missing);
    return __real_halo_subscribers_give(subscribers, pkt);
}

/* ---- status ---- */

/* What a status says about a stream is about one moment. */
static void check_stream(const json_t *status)
{
    const char *name = json_string_value(json_object_get(status, "name"));
    const char *state = json_string_value(json_object_get(status, "state"));
    const char *filters = json_string_value(json_object_get(status, "filters"));
    const json_t *planes = json_object_get(json_object_get(status, "coverage"), "planes");
    const int chain = world_chain_number(filters);
    const struct sv_stream *s = check.sv->streams;
    while (s && strcmp(s->name, name) != 0)
        s = s->next;
    const int covered = (int)lround(json_number_value(json_array_get(planes, 0)) * 1e6);
    if (planes && chain >= 0 && covered != chain)
        world_fail("the status of %s has the filters %d and the coverage of %d", name, chain,
                   covered);
    const bool up = !strcmp(state, "running") || !strcmp(state, "overloaded");
    const struct sv_process *process = s->place.engine ? s->place.engine->process : NULL;
    if (up && (s->place.phase == SV_OUT || !process))
        world_fail("%s is said to be %s, but is on no engine", name, state);
    if (!up && json_number_value(json_object_get(status, "uptime_s")) > 0 &&
        strcmp(state, "waiting") != 0)
        world_fail("%s is said to be %s, but has an uptime", name, state);
    if (s->place.phase == SV_OUT && json_string_length(json_object_get(status, "backend")) > 0 &&
        !strcmp(json_string_value(json_object_get(status, "backend")), "played"))
        world_fail("%s is on no engine, but said to be filtered", name);
}

void check_status(void)
{
    json_t *status = halo_supervisor_status(check.sv), *stream, *streams;
    size_t i;
    streams = json_object_get(status, "streams");
    json_array_foreach (streams, i, stream)
        check_stream(stream);
    json_decref(status);
}

void check_set(const char *stream, int chain)
{
    const struct sv_stream *s = check.sv->streams;
    while (s && strcmp(s->name, stream) != 0)
        s = s->next;
    if (!s || s->place.removed)
        return;
    if (world_chain_number(s->settings.filters) < chain)
        world_fail("the filters of %s were set to %d, but are %s", stream, chain,
                   s->settings.filters);
    const int engine = engine_chain(s, 0);
    if (engine >= 0 && engine < chain)
        world_fail("the filters of %s were set to %d, but its engine has %d", stream, chain,
                   engine);
}

static const struct sv_stream *find_stream(const char *name)
{
    const struct sv_stream *s = check.sv->streams;
    while (s && strcmp(s->name, name) != 0)
        s = s->next;
    return s;
}

int check_hides(const char *stream)
{
    const struct sv_stream *s = find_stream(stream);
    return s ? world_chain_hides(s->settings.filters) : 0;
}

void check_shown(const char *stream, int hides)
{
    const struct sv_stream *s = find_stream(stream);
    const int engine = s && !sv_request_sets(s) ? engine_hides(s, 0) : -1;
    if (!s || !(world_chain_hides(s->settings.filters) & hides) || !(engine & hides))
        world_fail("%s is said to be hidden, but is not", stream);
}

static void check_streams(void)
{
    for (const struct sv_stream *s = check.sv->streams; s; s = s->next)
        if (sv_stream_is_up(s) && s->place.phase == SV_OUT && !s->place.removed)
            world_fail("%s runs on no engine", s->name);
}

static bool is_good(const struct engine_record *r)
{
    return r->good_since && world_now() - r->good_since >= (MOVED_MS + WORLD_SLACK_MS) * 1000;
}

/* The service manager's watchdog is fed unless all engines stall again and again. */
static void check_alive(void)
{
    int wanted = 0, stalled = 0, run = 0;
    bool soon = false; /* one has been running for about so long that it counts as good again */
    for (const struct sv_stream *s = check.sv->streams; s; s = s->next) {
        const struct sv_engine *engine = s->place.engine;
        const bool counts = s->place.wanted && !s->place.removed;
        wanted += counts;
        stalled += counts && engine && record_for(engine)->stalls >= STALLS;
        soon |= counts && engine && record_for(engine)->good_since &&
                world_now() - record_for(engine)->good_since > (MOVED_MS - WORLD_SLACK_MS) * 1000;
        run += counts && engine_runs(s) && sv_stream_is_up(s) && is_good(record_for(engine));
    }
    const bool alive = halo_supervisor_is_alive(check.sv);
    if (!alive && (run > 0 || stalled < wanted))
        world_fail("the watchdog is not fed, though %d streams run", run);
    if (alive && wanted > 0 && stalled == wanted && !soon)
        world_fail("the watchdog is fed, though all engines stall again and again");
}

/* What was set later stays in force. */
static void check_order(void)
{
    for (const struct sv_stream *s = check.sv->streams; s; s = s->next) {
        struct record *r = stream_record(s->name);
        const int chain = world_chain_number(s->settings.filters);
        if (chain >= 0 && chain < r->chain && !s->place.removed)
            world_fail("the filters of %s are %d again, after %d", s->name, chain, r->chain);
        r->chain = chain < 0 ? 0 : chain;
    }
}

void check_step(void)
{
    if (!check.sv)
        return;
    check_streams();
    manager_check();
    const bool soon = world_now() - check.looked < 20000; /* these limits are not finer */
    if (!soon)
        check.looked = world_now();
    if (!soon && world_is_ending())
        check_status();
    if (world_is_ending())
        return;
    check_engines();
    if (soon)
        return;
    clients_check();
    engines_check();
    broker_check();
    check_order();
    check_alive();
    if (check.sv->abandoned > engines_surviving())
        world_fail("%d processes are given up, but drivers keep only %d", check.sv->abandoned,
                   engines_surviving());
}

/* ---- quiet ---- */

static void say_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    for (const struct dirent *one; (one = readdir(folder));) {
        char path[300], to[160];
        snprintf(path, sizeof path, "/proc/self/fd/%s", one->d_name);
        const ssize_t n = readlink(path, to, sizeof to - 1);
        if (n > 0)
            world_say("descriptor %s: %.*s", one->d_name, (int)n, to);
    }
    closedir(folder);
}

static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = -1; /* the folder's own */
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Outputs are there, and the daemon listens. */
static void check_sockets(void)
{
    static const char *const sockets[] = {"front.nut",   "front.ts",     "back.ts",
                                          "far/back.ts", "yard.mkv",     "attic.nut",
                                          "small.ts",    "control.sock", "http.sock"};
    for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++)
        if (!client_can_join(sockets[i]))
            world_fail("nobody listens at %s", sockets[i]);
}

/* All streams run with the filters in force, and nothing is left of what was. */
void check_quiet(void)
{
    for (const struct sv_stream *s = check.sv->streams; s; s = s->next) {
        const int chain = engine_chain(s, 0);
        if (!engine_runs(s) || s->state != SV_RUNNING)
            world_fail("%s does not run, though nothing has disturbed it for half a minute (%s)",
                       s->name, s->why);
        if (world_chain_number(s->settings.filters) != world_file_chain(s->name))
            world_fail("%s is filtered by %s, but the settings file says %d", s->name,
                       s->settings.filters, world_file_chain(s->name));
        check_promises(s);
        for (int i = 0; i < s->settings.renditions; i++)
            if (engine_chain(s, i + 1) != world_chain_number(s->settings.rendition[i].filters) ||
                engine_hides(s, i + 1) != world_chain_hides(s->settings.rendition[i].filters))
                world_fail("a rendition of %s is filtered by %d, but %s are in force", s->name,
                           engine_chain(s, i + 1), s->settings.rendition[i].filters);
        if (chain != world_chain_number(s->settings.filters) ||
            engine_hides(s, 0) != world_chain_hides(s->settings.filters))
            world_fail("%s is filtered by %d, but %s are in force", s->name, chain,
                       s->settings.filters);
    }
    check_sockets();
    if (check.sv->requests)
        world_fail("a request is still there in a quiet minute");
    check_status();
    broker_check_quiet();
    const int descriptors = count_descriptors();
    const size_t bytes = mallinfo2().uordblks;
    world_say("quiet: %d descriptors", descriptors);
    check.quiet++;
    if (check.quiet == 1)
        check.descriptors = descriptors;
    if (check.quiet == FULL)
        check.bytes = bytes;
    if (check.quiet > 1 && descriptors != check.descriptors)
        say_descriptors();
    if (check.quiet > 1 && descriptors != check.descriptors)
        world_fail("%d descriptors are open, not %d as in an earlier quiet minute", descriptors,
                   check.descriptors);
    if (check.quiet > FULL && bytes > check.bytes + KEPT)
        world_fail("%zu bytes are in use, %zu more than in an earlier quiet minute", bytes,
                   bytes - check.bytes);
}

/* ---- the daemon's life ---- */

/* Streams end for reasons that events give, and for no others. */
static void check_reason(const char *stream, const char *why)
{
    static const char *const of_engine[] = {"the engine", "the GPU failed", "killed: ", "it sent"};
    const struct sv_stream *s = find_stream(stream);
    static const char *const reasons[] = {"restart requested", "its settings have changed",
                                          "its input",         "a stage is stuck",
                                          "the engine",        "the GPU failed",
                                          "killed: ",          "it sent",
                                          "the GPU's memory"};
    for (size_t i = 0; i < 4; i++)
        if (s && s->place.engine != check.failed &&
            !strncmp(why, of_engine[i], strlen(of_engine[i])))
            world_fail("%s restarts, though not its engine has failed: %s", stream, why);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (!strncmp(why, reasons[i], strlen(reasons[i])))
            return;
    world_fail("%s ends, though no event is a reason for that: %s", stream, why);
}

int64_t check_changed(const char *stream)
{
    const int64_t at = stream_record(stream)->changed;
    return at > check.reloaded ? at : check.reloaded;
}

static void on_event(struct halo_listener *listener, json_t *event)
{
    static const char *const keys[] = {"event", "stream", "state", "why"};
    const char *word[4];
    (void)listener;
    for (int i = 0; i < 4; i++) {
        word[i] = json_string_value(json_object_get(event, keys[i]));
        word[i] = word[i] ? word[i] : "-";
    }
    world_say("%s %s: %s (%s)", word[0], word[1], word[2], word[3]);
    if (!strcmp(word[0], "set") && !world_is_ending())
        engines_check_set(word[1], world_chain_number(word[3]));
    if (!strcmp(word[0], "reload"))
        check.reloaded = world_awake();
    for (int i = 0; i < HIDES && !strcmp(word[0], "refused"); i++)
        stream_record(word[1])->hide[i].known = false;
    if (strcmp(word[0], "state") != 0)
        return;
    struct record *r = stream_record(word[1]);
    r->changed = world_awake();
    if (!strcmp(word[2], "running") && !r->good_since)
        r->good_since = world_now();
    if (!strcmp(word[2], "restarting") || !strcmp(word[2], "failed"))
        check_reason(word[1], word[3]);
}

int __wrap_halo_supervisor_create(struct halo_supervisor **ret, uv_loop_t *loop,
                                  const char *program, struct halo_daemon_settings *settings,
                                  struct halo_error *err);
int __real_halo_supervisor_create(struct halo_supervisor **ret, uv_loop_t *loop,
                                  const char *program, struct halo_daemon_settings *settings,
                                  struct halo_error *err);

int __wrap_halo_supervisor_create(struct halo_supervisor **ret, uv_loop_t *loop,
                                  const char *program, struct halo_daemon_settings *settings,
                                  struct halo_error *err)
{
    world_take_loop(loop);
    const int code = __real_halo_supervisor_create(ret, loop, program, settings, err);
    if (code < 0 && !play.settings)
        world_fail("the daemon does not start: %s", err->text);
    if (code < 0)
        return code;
    check.sv = *ret;
    check.listener.event = on_event;
    halo_supervisor_listen(check.sv, &check.listener);
    return code;
}

void __wrap_halo_control_destroy(struct halo_control *control);
void __real_halo_control_destroy(struct halo_control *control);

/* When everything has stopped. */
void __wrap_halo_control_destroy(struct halo_control *control)
{
    __real_halo_control_destroy(control);
    world_leave_loop();
}

void check_end(void)
{
    while (check.records) {
        struct engine_record *r = check.records;
        check.records = r->next;
        free(r);
    }
}
