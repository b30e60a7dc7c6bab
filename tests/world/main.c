/* SPDX-License-Identifier: BSD-2-Clause
 * world [--seed N] [--hours H] [--every S] [--events FILE [--shorten]] [--trace FILE] [--twice]:
 * plays the world (world.h). Prints the hash of the trace, or what failed and the events before.
 *
 *   --every S    a disturbance every S played seconds on average (default: 9)
 *   --events     plays the events of a file, and no others; of a folder, each file by itself
 *   --shorten    writes the shortest list of events that fails in the same way, FILE.short
 *   --twice      plays it again: the hash must be the same */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/error_list.h"
#include "config/log.h"
#include "config/mqtt.h"
#include "config/state.h"
#include "config/write_file.h"
#include "daemon/commands.h"
#include "daemon/supervisor/checks.h"
#include "kernels/backend.h"
#include "tests/world/world.h"

enum { LINE = 240, LAST = 100, EVENTS_MAX = 1 << 20, CALM = 30 /* s */ };

struct event {
    double at; /* s */
    char text[80];
};

static struct {
    /* what to play */
    uint64_t seed;
    double hours, every;
    struct event *events; /* those of a file; else those drawn so far */
    int count;
    bool drawn;
    const char *trace_path, *keep; /* where the events of a failure are written */
    /* the run */
    uint64_t draws, hash;
    int64_t lines;
    int chains, next;
    int of_file[8]; /* the chains of world_streams, as last written */
    int result;     /* the descriptor to which the child writes how it ended */
    char last[LAST][LINE];
    FILE *trace;
    char folder[64];
    bool ending, disk_is_full;
    pid_t pid;
} world;

/* ---- the trace ---- */

void world_say(const char *format, ...)
{
    char text[LINE - 60];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *at;
         world.folder[0] && (at = strstr(text, world.folder));) /* differs from run to run */
        memmove(at, at + strlen(world.folder), strlen(at + strlen(world.folder)) + 1);
    const int64_t now = world_now();
    char *line = world.last[world.lines++ % LAST];
    snprintf(line, LINE, "%" PRId64 " %" PRId64 ".%06d %s", world.lines, now / 1000000,
             (int)(now % 1000000), text);
    for (const char *c = line; *c; c++)
        world.hash = (world.hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3); /* FNV-1a */
    if (world.trace)
        fprintf(world.trace, "%s\n", line);
}

static void write_events(const char *path, const char *why)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "# %s\nseed %" PRIu64 "\n", why, world.seed);
    const int count = world.drawn ? world.count : world.next;
    for (int i = 0; i < count; i++)
        fprintf(file, "at %.3f %s\n", world.events[i].at, world.events[i].text);
    fclose(file);
}

static void clean_up(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", world.folder);
    if (world.folder[0] && system(command) != 0)
        fprintf(stderr, "%s cannot be removed\n", world.folder);
}

void world_fail(const char *format, ...)
{
    char text[LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    world_say("FAILED: %s", text);
    if (world.trace)
        fflush(world.trace);
    if (world.keep) {
        const int64_t from = world.lines > LAST ? world.lines - LAST : 0;
        for (int64_t i = from; i < world.lines; i++)
            fprintf(stderr, "%s\n", world.last[i % LAST]);
        write_events(world.keep, text);
        fprintf(stderr, "the events are in %s; repeat this by: world --events %s\n", world.keep,
                world.keep);
    }
    /* failures of the same kind have the same format */
    if (world.result >= 0 && write(world.result, format, strlen(format)) < 0)
        fprintf(stderr, "the result cannot be written\n");
    clean_up();
    _exit(1);
}

void __wrap_halo_log(enum halo_log_level level, const char *format, ...);

/* The log is a part of the trace. */
void __wrap_halo_log(enum halo_log_level level, const char *format, ...)
{
    static const char *const before[] = {"pid ", "client "};
    char text[LINE], pid[30];
    va_list arguments;
    if (level > halo_log_get_level())
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        snprintf(pid, sizeof pid, "%s%d", before[i], (int)world.pid);
        char *at = strstr(text, pid);
        if (at) /* differs from run to run, also in its length */
            memmove(at, at + strlen(pid), strlen(at + strlen(pid)) + 1);
    }
    world_say("log %d: %s", (int)level, text);
}

/* ---- the machine ---- */

/* Disks as full as an event says. */
int __wrap_halo_write_file(const char *path, mode_t mode, const char *text, size_t size,
                           struct halo_error *err);
int __real_halo_write_file(const char *path, mode_t mode, const char *text, size_t size,
                           struct halo_error *err);

int __wrap_halo_write_file(const char *path, mode_t mode, const char *text, size_t size,
                           struct halo_error *err)
{
    if (world.disk_is_full)
        return halo_fail(err, -ENOSPC, "%s: %s", path, strerror(ENOSPC));
    return __real_halo_write_file(path, mode, text, size, err);
}

void world_fill_disk(bool full)
{
    world.disk_is_full = full;
}

void world_make_folder(bool made)
{
    const int code = made ? mkdir("far", 0700) : rmdir("far"); /* unless the socket is there */
    world_say("the folder is %s%s", made ? "made" : "removed", code < 0 ? ": no" : "");
}

void world_remove_socket(const char *socket)
{
    unlink(socket);
}

const struct halo_backend_ops *__wrap_halo_backend_find(const char *name);
const struct halo_backend_ops *__real_halo_backend_find(const char *name);

/* The supervisor asks only whether there are strategies. */
const struct halo_backend_ops *__wrap_halo_backend_find(const char *name)
{
    static const struct halo_strategy *const strategies[] = {(const void *)&strategies, NULL};
    static const struct halo_backend_ops cuda = {.name = "cuda", .strategies = strategies};
    return strcmp(name, "cuda") ? __real_halo_backend_find(name) : &cuda;
}

/* ---- settings ---- */

int world_next_chain(char *ret, size_t size)
{
    snprintf(ret, size, "gblur=sigma=20.%06d", ++world.chains);
    return world.chains;
}

int world_chain_number(const char *chain)
{
    const char *at = chain ? strstr(chain, "sigma=20.") : NULL;
    return at ? atoi(at + 9) : -1;
}

int world_chain_hides(const char *chain)
{
    const char *shutter = chain ? strstr(chain, ",solid") : NULL;
    while (shutter && shutter[6] && shutter[6] != ',')
        shutter = strstr(shutter + 1, ",solid");
    return (chain && strstr(chain, ":region=rect 0 0 10%") ? WORLD_DOOR : 0) |
           (shutter ? WORLD_SHUTTER : 0);
}

static void write_stream(FILE *file, const char *name, const char *rest)
{
    char chain[80];
    const int number = world_next_chain(chain, sizeof chain);
    for (int i = 0; world_streams[i]; i++)
        if (!strcmp(world_streams[i], name))
            world.of_file[i] = number;
    fprintf(file, "  %s:\n    filters: \"%s\"\n%s", name, chain, rest);
}

int world_file_chain(const char *stream)
{
    for (int i = 0; world_streams[i]; i++)
        if (!strcmp(world_streams[i], stream))
            return world.of_file[i];
    return -1;
}

/* Variants differ in one stream, or in nothing but the numbers of chains. */
void world_write_settings(int variant)
{
    FILE *file = fopen("halod.yaml", "w");
    char folder[200];
    fprintf(file,
            "version: 1\ncontrol: {path: control.sock}\nhttp: {listen: \"unix:http.sock\"}\n"
            "state: %s/state\n"
            "defaults: {backend: cpu, detectors: {faces: {command: /bin/true}}}\n",
            getcwd(folder, sizeof folder));
    if (halo_mqtt_is_built())
        fprintf(file, "mqtt: {server: \"127.0.0.1:%d\", user: halod, password: hush}\n",
                WORLD_BROKER);
    fprintf(file, "streams:\n");
    write_stream(file, "front",
                 variant == 1 ? "    input: \"test:\"\n    outputs: [{unix: front.nut, video: "
                                "{codec: mjpeg}}]\n"
                              : "    input: \"test:\"\n    outputs: [{unix: front.nut, video: "
                                "{codec: mjpeg}}, {unix: front.ts}]\n");
    if (variant != 2) {
        char small[240], chain[80];
        world_next_chain(chain, sizeof chain);
        snprintf(small, sizeof small,
                 "    input: \"test:\"\n    renditions: {small: {filters: \"%s\"}}\n    outputs: "
                 "[{unix: back.ts}, {unix: far/back.ts}, {unix: small.ts, rendition: small}]\n",
                 chain);
        write_stream(file, "back", small);
    }
    write_stream(
        file, "yard",
        variant == 3
            ? "    input: \"test:\"\n    outputs: [{unix: yard.mkv, video: {codec: mjpeg}}]\n"
            : "    input: \"test:\"\n    own_engine: true\n    outputs: [{unix: yard.mkv, "
              "video: {codec: mjpeg}}]\n");
    write_stream(file, "attic",
                 variant == 4 ? "    input: \"test:\"\n    enabled: false\n    outputs: [{unix: "
                                "attic.nut, video: {codec: mjpeg}}]\n"
                              : "    input: \"test:\"\n    backend: auto\n    outputs: [{unix: "
                                "attic.nut, video: {codec: mjpeg}}]\n");
    if (variant == 5)
        fprintf(file, "  cellar: {imput: \"test:\"}\n"); /* is refused */
    fclose(file);
}

/* ---- the run ---- */

bool world_is_ending(void)
{
    return world.ending;
}

/* Nothing begins that might last into the quiet minute, such as the time in which the daemon stands
 * still. */
static bool is_calm(double s)
{
    return fmod(s, WORLD_QUIET_EVERY) >= WORLD_QUIET_EVERY - WORLD_QUIET - CALM;
}

/* In ms, from now: so long before the end of the ten minutes. */
static double until_quiet(double s)
{
    return (WORLD_QUIET_EVERY - s - fmod((double)world_now() / 1e6, WORLD_QUIET_EVERY)) * 1e3;
}

static void play_one(const char *text)
{
    world_say("at %s", text);
    if (!world_play(text))
        world_fail("nobody knows this event: %s", text);
}

static double draw_pause(void)
{
    const double part = (double)(world_draw_from(&world.draws, 1 << 30) + 1) / (1 << 30);
    return -log(part) * world.every;
}

static void draw_next(void *arg)
{
    const double now = (double)world_now() / 1e6;
    if (!is_calm(now) && !world.ending && world.count < EVENTS_MAX) {
        struct event *event = &world.events[world.count++];
        event->at = now;
        world_draw_event(&world.draws, event->text, sizeof event->text);
        play_one(event->text);
    }
    world_after(draw_pause() * 1000, draw_next, arg);
}

static void play_next(void *arg)
{
    const struct event *event = &world.events[world.next++];
    play_one(event->text);
    if (world.next < world.count)
        world_after(fmax(world.events[world.next].at * 1e3 - (double)world_now() / 1e3, 0),
                    play_next, arg);
}

static void stop(void *arg)
{
    (void)arg;
    world_say("the daemon is told to stop");
    world.ending = true;
    clients_leave();
    raise(SIGTERM);
}

static void end_quiet(void *arg)
{
    (void)arg;
    check_quiet();
}

/* All streams in their first state: no suspect, and no engine that only they had. */
static void restart_all(void *arg)
{
    (void)arg;
    for (int i = 0; world_streams[i]; i++)
        client_call("Restart", json_pack("{s:s}", "name", world_streams[i]), 1000);
}

static void command_all(void *arg)
{
    (void)arg;
    broker_command_all();
}

static void begin_quiet(void *arg)
{
    world_say("quiet");
    clients_leave();
    engines_heal();
    broker_heal();
    world_fill_disk(false);
    world_make_folder(true);
    world_write_settings(0);
    client_call("Reload", NULL, 5000);
    world_after(15e3, restart_all, NULL);
    world_after(50e3, command_all, NULL);
    world_after(until_quiet(1), end_quiet, NULL);
    world_after(until_quiet(WORLD_QUIET) + WORLD_QUIET_EVERY * 1e3, begin_quiet, arg);
}

static uint64_t play(void)
{
    struct halo_daemon_settings *settings;
    struct halo_error_list *errors = NULL;
    world.pid = getpid();
    snprintf(world.folder, sizeof world.folder, "/tmp/halod-world-XXXXXX");
    if (!mkdtemp(world.folder) || chdir(world.folder) < 0)
        world_fail("no folder: %s", strerror(errno));
    json_object_seed(1);
    world.hash = UINT64_C(0xcbf29ce484222325);
    world.draws = world.seed + 1;
    world_begin(world.seed);
    engines_begin();
    world_write_settings(0);
    if (halo_daemon_load(&settings, "halod.yaml", &halo_checks, &errors) < 0)
        world_fail("the settings are wrong: %s", halo_error_list_text(errors, 0));
    if (world.drawn)
        world_after(draw_pause() * 1000, draw_next, NULL);
    else if (world.count > 0)
        world_after(world.events[0].at * 1e3, play_next, NULL);
    world_after(until_quiet(WORLD_QUIET), begin_quiet, NULL);
    /* a quiet minute is the last */
    const double last = world.drawn       ? world.hours * 3600
                        : world.count > 0 ? world.events[world.count - 1].at
                                          : 0;
    world_after((floor(last / WORLD_QUIET_EVERY) + 1) * WORLD_QUIET_EVERY * 1e3, stop, NULL);
    const int code = halo_run_daemon(settings, "halod.yaml", "halod");
    if (code != 0)
        world_fail("the daemon ends with %d", code);
    check_end();
    broker_end();
    engines_end();
    world_end();
    clean_up();
    world.folder[0] = '\0';
    return world.hash;
}

/* Plays in a child, of which nothing is left. Returns whether it went well; ret_words are its hash,
 * or what failed. */
static bool play_in_child(char *ret_words, size_t size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        world.result = ends[1];
        const uint64_t hash = play();
        dprintf(ends[1], "%016" PRIx64 " after %d events", hash, world.count);
        exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], ret_words + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    ret_words[length] = '\0';
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        snprintf(ret_words, size, "signal %d", WTERMSIG(status));
    return status == 0;
}

/* ---- lists ---- */

static void read_events(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[200];
    world.count = 0;
    if (!file)
        world_fail("%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        struct event *event = &world.events[world.count];
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "seed %" SCNu64, &world.seed) == 1 || line[0] == '#' || !line[0])
            continue;
        if (sscanf(line, "at %lf %79[^\n]", &event->at, event->text) != 2 ||
            ++world.count == EVENTS_MAX)
            world_fail("%s: '%s' is not an event", path, line);
    }
    fclose(file);
}

static bool fails_in_the_same_way(const char *how)
{
    char words[200];
    return !play_in_child(words, sizeof words) && !strcmp(words, how);
}

/* Leaves out more and more events, as long as it still fails. */
static void shorten(const char *path)
{
    char how[200], to[300];
    world.keep = NULL;
    if (play_in_child(how, sizeof how)) {
        printf("%s: it does not fail\n", path);
        return;
    }
    struct event *all = malloc(sizeof *all * (size_t)(world.count + 1));
    for (int part = world.count; part > 0; part = part > 1 ? (part + 1) / 2 : 0)
        for (int from = 0; from < world.count;) {
            const int count = world.count, taken = from + part > count ? count - from : part;
            memcpy(all, world.events, sizeof *all * (size_t)count);
            memmove(world.events + from, world.events + from + taken,
                    sizeof *all * (size_t)(count - from - taken));
            world.count -= taken;
            if (fails_in_the_same_way(how))
                continue;
            memcpy(world.events, all, sizeof *all * (size_t)count);
            world.count = count;
            from += taken;
        }
    free(all);
    snprintf(to, sizeof to, "%s.short", path);
    world.next = world.count;
    write_events(to, how);
    printf("%s: %d events are enough: %s\n", to, world.count, how);
}

static int play_folder(const char *path)
{
    struct dirent **found;
    const int count = scandir(path, &found, NULL, alphasort);
    int bad = 0, played = 0;
    for (int i = 0; i < count; i++) {
        char file[600], words[200];
        snprintf(file, sizeof file, "%s/%s", path, found[i]->d_name);
        const size_t length = strlen(file);
        free(found[i]);
        if (length < 7 || strcmp(file + length - 7, ".events") != 0)
            continue;
        read_events(file);
        const bool fine = play_in_child(words, sizeof words);
        printf("%s: %s\n", file, words);
        bad += !fine;
        played++;
    }
    if (count >= 0)
        free(found);
    return bad || !played;
}

/* What a child has taken of a processor. */
static double processor_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static int play_once(bool twice)
{
    char words[200], again[200];
    const double before = processor_seconds();
    const bool fine = play_in_child(words, sizeof words);
    printf("seed %" PRIu64 ": %s, %.1f s of a processor\n", world.seed, words,
           processor_seconds() - before);
    if (!fine || !twice)
        return !fine;
    if (play_in_child(again, sizeof again) && !strcmp(words, again))
        return 0;
    printf("seed %" PRIu64 ", again: %s\n", world.seed, again);
    return 1;
}

int main(int argc, char **argv)
{
    const char *events = NULL;
    bool shortens = false, twice = false;
    char kept[80];
    int seeds = 1;
    world.every = 9;
    world.hours = 1;
    world.seed = 1;
    world.result = -1;
    world.drawn = true;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--shorten"))
            shortens = true;
        else if (!strcmp(argv[i], "--twice"))
            twice = true;
        else if (!strcmp(argv[i], "--seed"))
            world.seed = strtoull(argv[++i] ? value : "", NULL, 10);
        else if (!strcmp(argv[i], "--seeds"))
            seeds = atoi(argv[++i] ? value : "");
        else if (!strcmp(argv[i], "--hours"))
            world.hours = atof(argv[++i] ? value : "");
        else if (!strcmp(argv[i], "--every"))
            world.every = atof(argv[++i] ? value : "");
        else if (!strcmp(argv[i], "--events"))
            events = argv[++i];
        else if (!strcmp(argv[i], "--trace"))
            world.trace_path = argv[++i];
        else
            return 64;
    }
    world.events = calloc(EVENTS_MAX, sizeof *world.events);
    if (world.trace_path)
        world.trace = fopen(world.trace_path, "w");
    struct stat found;
    int code = 0;
    if (events && stat(events, &found) == 0 && S_ISDIR(found.st_mode)) {
        world.drawn = false;
        code = play_folder(events);
    } else if (events) {
        world.drawn = false;
        read_events(events);
        world.keep = shortens ? NULL : "again.events";
        if (shortens)
            shorten(events);
        else
            code = play_once(twice);
    } else {
        for (int i = 0; i < seeds && code == 0; i++, world.seed++) {
            snprintf(kept, sizeof kept, "/tmp/world-%" PRIu64 ".events", world.seed);
            world.keep = kept;
            code = play_once(twice);
        }
    }
    if (world.trace)
        fclose(world.trace);
    free(world.events);
    return code;
}
