/* SPDX-License-Identifier: BSD-2-Clause
 * Disturbances, as words (world.h): a table of what may happen, how often, and to whom. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/world.h"

const char *const world_streams[] = {"front", "back", "yard", "attic", NULL};
static const char *const engines[] = {"cpu", "cpu", "cpu:yard", "gpu0", "gpu1", "cpu+1", NULL};
static const char *const sockets[] = {"front.nut", "front.ts", "back.ts", "yard.mkv",
                                      "attic.nut", "small.ts", NULL};
static const char *const pages[] = {"/metrics", "/healthz", "/", NULL};

static const char *const rude[] = {
    "silent-client", "half-call",    "deaf-status",     "idle-client",

    "many-calls",    "events",       "watching-client", "silent-browser",
    "half-request",  "deaf-browser", "deaf-events",     "live",
    "deaf-live",     "mjpeg",        "snapshot",        NULL};

static const char *const user_acts[] = {"put",   "removed", "token", "token-gone", "right",
                                        "right", "wrong",   "wrong", "wrong",      "looks",
                                        "looks", "asks",    "asks",  NULL};

struct words {
    const char *who; /* the second word of an event */
    const char *what, *more;
    const char *from_who, *from_more; /* all that follows */
};

/* ---- who ---- */

static void play_engine(const struct words *w)
{
    if (!strcmp(w->what, "tells"))
        engine_tell(w->who, w->from_more);
    else
        engine_play(w->who, w->what, atoi(w->more));
}

static void play_detector(const struct words *w)
{
    detector_play(w->who, w->from_more, atoi(w->what));
}

static void play_gpus(const struct words *w)
{
    engines_find_gpus(w->from_who);
}

static void play_stream(const struct words *w)
{
    engine_stream_play(w->who, w->what, atoi(w->more));
}

static void play_viewer(const struct words *w)
{
    viewer_play(w->who, w->what);
}

static void play_rude(const struct words *w)
{
    client_be_rude(w->who);
}

static void play_user(const struct words *w)
{
    users_play(w->who);
}

static void play_crowd(const struct words *w)
{
    client_crowd(atoi(w->who));
    client_browse("/healthz");
}

static void play_flood(const struct words *w)
{
    client_flood(w->who, atoi(w->what));
}

static void play_broker(const struct words *w)
{
    if (!strcmp(w->who, "sends") || !strcmp(w->who, "retains"))
        broker_send(w->what, w->from_more, w->who[0] == 'r');
    else
        broker_play(w->who, w->what, atoi(w->what));
}

static void play_browser(const struct words *w)
{
    client_browse(w->who);
}

static json_t *of_stream(const char *name)
{
    return json_pack("{s:s}", "name", name);
}

static void look_at_status(void *arg)
{
    (void)arg;
    check_status();
}

static void play_client(const struct words *w)
{
    json_t *of = of_stream(w->what);
    if (!strcmp(w->who, "set")) {
        json_decref(of);
        client_set(w->what);
        world_after(1100, look_at_status, NULL); /* while engines change their filters */
    } else if (!strcmp(w->who, "hide")) {
        json_object_set_new(of, "id", json_string("door"));
        json_object_set_new(of, "filters", json_string("solid=black:region=rect 0 0 10% 10%"));
        client_call("Hide", of, 5000);
    } else if (!strcmp(w->who, "unhide")) {
        json_object_set_new(of, "id", json_string("door"));
        json_object_set_new(of, "filters", json_string(""));
        client_call("Hide", of, 5000);
    } else if (!strcmp(w->who, "snapshot")) {
        json_object_set_new(of, "format", json_string("jpg"));
        client_call("Snapshot", of, 5000);
    } else if (!strcmp(w->who, "start")) {
        client_call("Start", of, 1000);
    } else if (!strcmp(w->who, "stop")) {
        client_call("Stop", of, 1000);
    } else if (!strcmp(w->who, "restart")) {
        client_call("Restart", of, 1000);
    } else if (!strcmp(w->who, "status")) {
        json_decref(of);
        client_call("Status", NULL, 1000);
        check_status();
    } else {
        json_decref(of);
        if (!strcmp(w->who, "list"))
            client_call("List", NULL, 1000);
        else if (!strcmp(w->who, "events"))
            client_subscribe();
    }
}

/* Another halod.yaml. */
static void play_settings(const struct words *w)
{
    world_write_settings(atoi(w->who));
    if (!strcmp(w->what, "signal"))
        raise(SIGHUP);
    else
        client_call("Reload", NULL, 5000);
}

static void play_halod(const struct words *w)
{
    if (!strcmp(w->who, "freezes"))
        world_freeze(atoi(w->what), false);
    else if (!strcmp(w->who, "reloads"))
        raise(SIGHUP);
    else if (!strcmp(w->who, "stops"))
        world_stop(!strcmp(w->what, "beside"));
}

static void play_machine(const struct words *w)
{
    if (!strcmp(w->who, "sleeps"))
        world_freeze(atoi(w->what), true);
}

/* Where an output of `back` belongs. */
static void play_folder(const struct words *w)
{
    world_make_folder(!strcmp(w->who, "made"));
}

static void play_socket(const struct words *w)
{
    world_remove_socket(w->who);
}

static void play_files(const struct words *w)
{
    world_leave_descriptors(!strcmp(w->who, "enough") ? -1 : atoi(w->who));
}

/* Another program. */
static void play_stranger(const struct words *w)
{
    stranger_play(w->who, w->what);
}

static void play_disk(const struct words *w)
{
    world_fill_disk(!strcmp(w->who, "full"));
}

static void play_users(const char *line, const char *block)
{
    (void)block;
    asks_make_users(line);
}

/* What takes a whole line, and its block. */
static const struct {
    const char *name;
    void (*play)(const char *line, const char *block);
} blocks[] = {
    {"users ", play_users},
    {"ask ", asks_play},
    {"talk ", talks_play},
};

static const struct {
    const char *name;
    void (*play)(const struct words *words);
} kinds[] = {
    {"engine", play_engine},     {"stream", play_stream},   {"viewer", play_viewer},
    {"client", play_client},     {"browser", play_browser}, {"settings", play_settings},
    {"halod", play_halod},       {"disk", play_disk},       {"machine", play_machine},
    {"folder", play_folder},     {"user", play_user},       {"rude", play_rude},
    {"crowd", play_crowd},       {"socket", play_socket},   {"broker", play_broker},
    {"detector", play_detector}, {"gpus", play_gpus},       {"stranger", play_stranger},
    {"flood", play_flood},       {"files", play_files},
};

bool world_play(const char *event)
{
    char text[200], line[200], *rest = NULL;
    const size_t length = strcspn(event, "\n");
    if (expect_play(event))
        return true;
    snprintf(line, sizeof line, "%.*s", (int)length, event);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (!strncmp(line, blocks[i].name, strlen(blocks[i].name))) {
            blocks[i].play(line + strlen(blocks[i].name), event + length + (event[length] == '\n'));
            return true;
        }
    snprintf(text, sizeof text, "%s", event);
    const char *kind = strtok_r(text, " ", &rest), *who = strtok_r(NULL, " ", &rest);
    const char *what = strtok_r(NULL, " ", &rest), *more = strtok_r(NULL, " ", &rest);
    const struct words words = {who, what ? what : "", more ? more : "",
                                who ? event + (who - text) : "", more ? event + (more - text) : ""};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (who && !strcmp(kind, kinds[i].name)) {
            kinds[i].play(&words);
            return true;
        }
    return false;
}

/* ---- drawing ---- */

static const struct play_row rows[] = {
    {20, "viewer %s joins", sockets, 0, 0},
    {5, "viewer %s stops", sockets, 0, 0},
    {8, "viewer %s reads", sockets, 0, 0},
    {8, "viewer %s leaves", sockets, 0, 0},
    {12, "client set %s", world_streams, 0, 0},
    {4, "client hide %s", world_streams, 0, 0},
    {4, "client unhide %s", world_streams, 0, 0},
    {3, "client snapshot %s", world_streams, 0, 0},
    {3, "client restart %s", world_streams, 0, 0},
    {2, "client stop %s", world_streams, 0, 0},
    {6, "client start %s", world_streams, 0, 0},
    {8, "client status", NULL, 0, 0},
    {2, "client list", NULL, 0, 0},
    {1, "client events", NULL, 0, 0},
    {3, "browser %s", pages, 0, 0},
    {4, "engine %s dies 9", engines, 0, 0},
    {2, "engine %s dies 11", engines, 0, 0},
    {2, "engine %s exits %d", engines, 0, 3},
    {2, "engine %s exits 75", engines, 0, 0},
    {2, "engine %s frail %d", engines, 2, 8},
    {2, "engine %s hangs", engines, 0, 0},
    {1, "engine %s survives", engines, 0, 0},
    {3, "engine %s slow %d", engines, 1, 2000},
    {2, "engine %s lies %d", engines, 1, 150},
    {1, "engine %s closes", engines, 0, 0},
    {1, "engine %s garbage %d", engines, 1, 170 << 10},
    {2, "engine %s sends %d", engines, 0, 2},
    {2, "engine %s starves %d", engines, 1, 9000},
    {2, "engine %s lingers %d", engines, 1, 15000},
    {3, "stream %s fails", world_streams, 0, 0},
    {2, "stream %s ends", world_streams, 0, 0},
    {3, "stream %s waits", world_streams, 0, 0},
    {4, "stream %s runs", world_streams, 0, 0},
    {4, "stream %s refuses", world_streams, 0, 0},
    {4, "stream %s late %d", world_streams, 0, 9000},
    {2, "stream %s stalls", world_streams, 0, 0},
    {2, "stream %s detects", world_streams, 0, 0},
    {2, "stream %s encoding %d", world_streams, 0, 2},
    {4, "settings %d reload", NULL, 0, 7},
    {2, "settings %d signal", NULL, 0, 7},
    {1, "halod freezes %d", NULL, 1, 20000},
    {1, "machine sleeps %d", NULL, 1, 20000},
    {3, "broker closes %s", world_streams, 0, 0},
    {3, "broker opens %s", world_streams, 0, 0},
    {3, "broker hides %s", world_streams, 0, 0},
    {3, "broker shows %s", world_streams, 0, 0},
    {1, "broker nonsense %s", world_streams, 0, 0},
    {1, "broker keeps %s", world_streams, 0, 0},
    {1, "broker garbage %d", NULL, 1, 20},
    {2, "broker drops", NULL, 0, 0},
    {1, "broker gone", NULL, 0, 0},
    {1, "broker stops", NULL, 0, 0},
    {1, "broker mute", NULL, 0, 0},
    {1, "broker refuses %d", NULL, 1, 5},
    {1, "broker far %d", NULL, 1, 15000},
    {5, "broker back", NULL, 0, 0},
    {6, "user %s", user_acts, 0, 0},
    {6, "rude %s", rude, 0, 0},
    {1, "crowd %d", NULL, 1, 150},
    {1, "socket %s removed", sockets, 0, 0},
    {1, "folder made", NULL, 0, 0},
    {1, "folder gone", NULL, 0, 0},
    {1, "disk full", NULL, 0, 0},
    {2, "disk free", NULL, 0, 0},
};

void world_draw_event(uint64_t *state, char *ret, size_t size)
{
    play_draw_row(rows, sizeof rows / sizeof *rows, state, ret, size);
}
