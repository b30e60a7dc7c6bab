/* SPDX-License-Identifier: BSD-2-Clause
 * Disturbances, as words (box.h): a table of what may happen, and how often. */
#include <stdlib.h>
#include <string.h>

#include "tests/box/box.h"

static const char *const kinds[] = {"test", "url", "url", "paced", "playing", "file", "loop", NULL};
static const char *const formats[] = {"png", "jpg", "jpg", "jpg", NULL};
static const char *const chains[] = {"plain", "plain", "plain", "faces", "bad", NULL};

struct words {
    const char *who, *what, *more;
    int number; /* the last word's, if it is one */
};

static void play_stream(const struct words *w)
{
    box_stream_begin(w->who, w->what, w->more);
}

static void play_source(const struct words *w)
{
    struct box_trouble *t = &box_trouble;
    if (!strcmp(w->who, "dies"))
        t->source_away = true;
    else if (!strcmp(w->who, "back"))
        t->source_away = false;
    else if (!strcmp(w->who, "breaks"))
        t->source_breaks = true;
    else if (!strcmp(w->who, "ends"))
        t->source_ends = true;
    else if (!strcmp(w->who, "late"))
        t->source_late = w->number;
    else if (!strcmp(w->who, "jumps"))
        t->jump = w->number;
    else if (!strcmp(w->who, "opens"))
        t->opening = w->number;
    else if (!strcmp(w->who, "closes"))
        t->closing = w->number;
    else if (!strcmp(w->who, "form"))
        box_shape = w->number % 3;
}

static void play_encoder(const struct words *w)
{
    struct box_trouble *t = &box_trouble;
    const int which = atoi(w->who) % 4;
    if (!strcmp(w->what, "slow"))
        t->encoder_slow[which] = w->number;
    else if (!strcmp(w->what, "holds"))
        t->encoder_holds[which] = w->number;
    else if (!strcmp(w->what, "fails"))
        t->encoder_fails[which] = true;
    else if (!strcmp(w->what, "stuck"))
        t->encoder_stuck[which] = true;
    else if (!strcmp(w->what, "opens"))
        t->encoder_opening = w->number;
    else if (!strcmp(w->what, "well")) {
        t->encoder_slow[which] = t->encoder_holds[which] = t->encoder_opening = 0;
        t->encoder_fails[which] = t->encoder_stuck[which] = false;
    }
}

static void play_filter(const struct words *w)
{
    if (!strcmp(w->who, "slow"))
        box_trouble.filter_slow = w->number;
    else if (!strcmp(w->who, "builds"))
        box_trouble.building = w->number;
    else if (!strcmp(w->who, "fails"))
        box_trouble.filter_fails = w->number;
    else
        box_trouble.filter_slow = box_trouble.filter_fails = box_trouble.building = 0;
}

static void play_detector(const struct words *w)
{
    struct box_trouble *t = &box_trouble;
    t->detector_late = !strcmp(w->who, "late") ? w->number : 0;
    t->detector_away = !strcmp(w->who, "away");
    t->detector_dies = !strcmp(w->who, "dies");
    t->detector_lies = !strcmp(w->who, "lies");
    t->detector_mute = !strcmp(w->who, "mute");
}

static void play_client(const struct words *w)
{
    if (!strcmp(w->who, "stop"))
        box_stop();
    else if (!strcmp(w->who, "set"))
        box_set(w->what);
    else if (!strcmp(w->who, "watch"))
        box_watch(w->number, true);
    else if (!strcmp(w->who, "unwatch"))
        box_watch(w->number, false);
    else if (!strcmp(w->who, "then"))
        box_then(!strcmp(w->what, "stop")  ? "stop"
                 : !strcmp(w->what, "set") ? "set"
                                           : "snapshot",
                 !strcmp(w->what, "stop") ? 1 : w->number);
    else if (!strcmp(w->who, "key"))
        box_key(w->number);
    else if (!strcmp(w->who, "snapshot"))
        box_snapshot(w->what, !strcmp(w->more, "preview"));
}

static const struct {
    const char *name;
    void (*play)(const struct words *words);
} whom[] = {{"stream", play_stream}, {"source", play_source},     {"encoder", play_encoder},
            {"filter", play_filter}, {"detector", play_detector}, {"client", play_client}};

bool box_play(const char *event)
{
    char text[200], *rest = NULL;
    snprintf(text, sizeof text, "%s", event);
    const char *word[4];
    for (int i = 0; i < 4; i++) {
        word[i] = strtok_r(i ? NULL : text, " ", &rest);
        word[i] = word[i] ? word[i] : "";
    }
    const char *last = *word[3] ? word[3] : *word[2] ? word[2] : word[1];
    const struct words words = {word[1], word[2], word[3], atoi(last)};
    for (size_t i = 0; i < sizeof whom / sizeof *whom; i++)
        if (!strcmp(word[0], whom[i].name)) {
            whom[i].play(&words);
            check_trouble();
            return true;
        }
    return false;
}

static const struct play_row begins[] = {
    {4, "stream %s card", kinds, 0, 0},           {2, "stream %s solid", kinds, 0, 0},
    {2, "stream %s last", kinds, 0, 0},           {1, "stream %s stop", kinds, 0, 0},
    {4, "stream %s card writes", kinds, 0, 0},    {2, "stream %s last rendition", kinds, 0, 0},
    {2, "stream %s card rendition", kinds, 0, 0},
};

static const struct play_row rows[] = {
    {8, "source dies", NULL, 0, 0},
    {14, "source back", NULL, 0, 0},
    {6, "source breaks", NULL, 0, 0},
    {4, "source ends", NULL, 0, 0},
    {4, "source late %d", NULL, 1, 3000},
    {2, "source jumps %d", NULL, -4000, 8000},
    {2, "source opens %d", NULL, 0, 3000},
    {2, "source closes %d", NULL, 0, 3000},
    {5, "source form %d", NULL, 0, 3},
    {30, "client watch %d", NULL, 0, 6},
    {10, "client unwatch %d", NULL, 0, 6},
    {4, "client key %d", NULL, 0, 6},
    {40, "client set %s", chains, 0, 0},
    {10, "client snapshot %s", formats, 0, 0},
    {3, "client snapshot %s preview", formats, 0, 0},
    {2, "client stop", NULL, 0, 0},
    {2, "client then stop", NULL, 0, 0},
    {12, "client then set %d", NULL, 1, 20},
    {8, "client then snapshot %d", NULL, 1, 8},
    {3, "encoder %d slow 100", NULL, 0, 4},
    {3, "encoder %d slow 25", NULL, 0, 4},
    {6, "encoder %d holds 3", NULL, 0, 4},
    {2, "encoder %d fails", NULL, 0, 4},
    {1, "encoder %d stuck", NULL, 0, 4},
    {1, "encoder 0 opens %d", NULL, 0, 2000},
    {16, "encoder %d well", NULL, 0, 4},
    {3, "filter slow %d", NULL, 1, 150},
    {2, "filter slow 1700", NULL, 0, 0},
    {3, "filter fails %d", NULL, 1, 5},
    {6, "filter well", NULL, 0, 0},
    {3, "detector late %d", NULL, 0, 1000},
    {2, "detector dies", NULL, 0, 0},
    {2, "detector lies", NULL, 0, 0},
    {1, "detector mute", NULL, 0, 0},
    {1, "detector away", NULL, 0, 0},
    {5, "detector well", NULL, 0, 0},
};

void box_draw_event(uint64_t *state, char *ret, size_t size)
{
    if (!box_has_stream() || world_draw_from(state, 60) == 0)
        play_draw_row(begins, sizeof begins / sizeof *begins, state, ret, size);
    else
        play_draw_row(rows, sizeof rows / sizeof *rows, state, ret, size);
}
