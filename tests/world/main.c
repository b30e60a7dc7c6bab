/* SPDX-License-Identifier: BSD-2-Clause
 * The whole daemon in the played world (world.h): its machine, its settings, and its run. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/error_list.h"
#include "config/base/write_file.h"
#include "config/folders.h"
#include "config/mqtt.h"
#include "daemon/daemon.h"
#include "daemon/supervisor/checks.h"
#include "kernels/backend.h"
#include "tests/world/world.h"

enum {
    CALM = 30, /* s */
    LAST = 5,  /* s that a list with settings of its own goes on after its last event */
};

static struct {
    int chains;
    int of_file[8]; /* the chains of world_streams, as last written */
    bool ending, disk_is_full;
    int code;    /* with which the daemon has ended; or -1 */
    int allowed; /* with which it may end */
} world = {.code = -1};

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

/* How many below the limit are free already, depends on what libraries have opened. */
void world_leave_descriptors(int count)
{
    struct rlimit limit;
    rlim_t next = 0;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int left = count; left > 0; next++)
        left -= fcntl((int)next, F_GETFD) < 0;
    limit.rlim_cur = count < 0 ? limit.rlim_max : next;
    setrlimit(RLIMIT_NOFILE, &limit);
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

static void draw_next(void *arg)
{
    if (!is_calm((double)world_now() / 1e6) && !world.ending)
        play_drawn();
    world_after(play_pause() * 1000, draw_next, arg);
}

static void play_next(void *arg)
{
    play_listed();
    if (play.next < play.count)
        world_after(fmax(play.events[play.next].at * 1e3 - (double)world_now() / 1e3, 0), play_next,
                    arg);
}

void world_stop(bool clients_stay)
{
    world_say("the daemon is told to stop");
    world.ending = true;
    if (!clients_stay)
        clients_leave();
    raise(SIGTERM);
}

int world_code(void)
{
    return world.code;
}

void world_allow_code(int code)
{
    world.allowed = code;
}

static void stop(void *arg)
{
    (void)arg;
    if (!world.ending)
        world_stop(false);
}

static void serve(void *arg)
{
    (void)arg;
    world.ending = true; /* whenever they like: nobody here ends it, or checks */
    world_serve();
    printf("ready %s\n", play.folder);
    fflush(stdout);
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

static void write_own_settings(void)
{
    static char text[8192];
    FILE *file = fopen("halod.yaml", "w");
    mkdir("state", 0700);
    expect_fill_in(play.settings, text, sizeof text);
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        world_fail("halod.yaml cannot be written");
}

static void run(void)
{
    struct halo_daemon_settings *settings;
    struct halo_error_list *errors = NULL;
    json_object_seed(1);
    world_begin(play.seed);
    engines_begin();
    if (play.settings)
        write_own_settings();
    else
        world_write_settings(0);
    while (!play.drawn && play.next < play.count && play.events[play.next].at < 0)
        play_listed();
    if (halo_daemon_load(&settings, "halod.yaml", &halo_checks, &errors) < 0)
        world_fail("the settings are wrong: %s", halo_error_list_text(errors, 0));
    if (play.drawn)
        world_after(play_pause() * 1000, draw_next, NULL);
    else if (play.next < play.count)
        world_after(play.events[play.next].at * 1e3, play_next, NULL);
    const double last = play.drawn       ? play.length
                        : play.count > 0 ? play.events[play.count - 1].at
                                         : 0;
    if (play.settings) {
        world_after((last + LAST) * 1e3, play.serves ? serve : stop, NULL);
    } else {
        world_after(until_quiet(WORLD_QUIET), begin_quiet, NULL);
        /* a quiet minute is the last */
        world_after((floor(last / WORLD_QUIET_EVERY) + 1) * WORLD_QUIET_EVERY * 1e3, stop, NULL);
    }
    world.code = halo_run_daemon(settings, "halod.yaml", "halod");
    clients_leave();
    while (play.settings && play.next < play.count)
        play_listed();
    if (world.code != world.allowed)
        world_fail("the daemon ends with %d", world.code);
    asks_check();
    talks_check();
    talks_end();
    manager_end();
    check_end();
    expect_end();
    broker_end();
    engines_end();
    world_end();
}

int main(int argc, char **argv)
{
    static const struct play_world played = {.name = "world",
                                             .every = 9,
                                             .length = 3600,
                                             .now = world_now,
                                             .run = run,
                                             .play = world_play,
                                             .log = expect_take_log,
                                             .draw = world_draw_event};
    return play_main(&played, argc, argv);
}
