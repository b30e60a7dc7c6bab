/* SPDX-License-Identifier: BSD-2-Clause
 * What the played worlds share (play.h). */
#include "tests/world/play.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/base/log.h"

enum { LINE = 1200, LAST = 100, EVENTS_MAX = 1 << 20, TEXTS = EVENTS_MAX * 40, SEEDS = 3 };

struct play play;

static struct {
    const struct play_world *world;
    const char *trace_path, *keep; /* where the events of a failure are written */
    uint64_t draws, hash;
    int64_t lines;
    int result; /* the descriptor to which the child writes how it ended */
    char last[LAST][LINE];
    FILE *trace;
    bool loud; /* what fails is printed, though no list is kept */
    char
        *texts; /* of all events, one after the other: none is freed while the world counts bytes */
    size_t used;
} own = {.result = -1};

/* Keeps a text; appended: it goes on with what was kept last. */
static const char *keep_text(const char *text, bool appended)
{
    const size_t size = strlen(text) + 1;
    if (own.used + size > TEXTS)
        world_fail("the events are too long");
    char *kept = own.texts + own.used - appended;
    memcpy(kept, text, size);
    own.used += size - appended;
    return kept;
}

uint64_t world_draw_from(uint64_t *state, uint64_t below)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (x ^ (x >> 31)) % below;
}

/* ---- the trace ---- */

void world_say(const char *format, ...)
{
    char text[LINE - 60];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *at;
         play.folder[0] && (at = strstr(text, play.folder));) /* differs from run to run */
        memmove(at, at + strlen(play.folder), strlen(at + strlen(play.folder)) + 1);
    const int64_t now = own.world->now();
    char *line = own.last[own.lines++ % LAST];
    snprintf(line, LINE, "%" PRId64 " %" PRId64 ".%06d %s", own.lines, now / 1000000,
             (int)(now % 1000000), text);
    for (const char *c = line; *c; c++)
        own.hash = (own.hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3); /* FNV-1a */
    if (own.trace)
        fprintf(own.trace, "%s\n", line);
}

static void write_block(FILE *file, const char *lines, const char *first)
{
    fprintf(file, "%s\n", first);
    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1)
        fprintf(file, "  %.*s\n", (int)(end - lines), lines);
    fprintf(file, "end\n");
}

static void write_events(const char *path, const char *why)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "# %s\nseed %" PRIu64 "\n", why, play.seed);
    if (play.settings)
        write_block(file, play.settings, "settings");
    const int count = play.drawn ? play.count : play.next;
    for (int i = 0; i < count; i++) {
        char first[LINE];
        const char *text = play.events[i].text, *block = strchr(text, '\n');
        if (!block) {
            fprintf(file, "at %.3f %s\n", play.events[i].at, text);
            continue;
        }
        snprintf(first, sizeof first, "at %.3f %.*s", play.events[i].at, (int)(block - text), text);
        write_block(file, block + 1, first);
    }
    fclose(file);
}

static void clean_up(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", play.folder);
    if (play.folder[0] && system(command) != 0)
        fprintf(stderr, "%s cannot be removed\n", play.folder);
}

void world_fail(const char *format, ...)
{
    char text[LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    world_say("FAILED: %s", text);
    if (own.trace)
        fflush(own.trace);
    if (own.loud)
        fprintf(stderr, "%.3f s: %s\n", (double)own.world->now() / 1e6, text);
    if (own.keep) {
        const int64_t from = own.lines > LAST ? own.lines - LAST : 0;
        for (int64_t i = from; i < own.lines; i++)
            fprintf(stderr, "%s\n", own.last[i % LAST]);
        write_events(own.keep, text);
        fprintf(stderr, "the events are in %s; repeat this by: %s --events %s\n", own.keep,
                own.world->name, own.keep);
    }
    /* failures of the same kind have the same format */
    if (own.result >= 0 && write(own.result, format, strlen(format)) < 0)
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
        snprintf(pid, sizeof pid, "%s%d", before[i], (int)getpid());
        char *at = strstr(text, pid);
        if (at) /* differs from run to run, also in its length */
            memmove(at, at + strlen(pid), strlen(at + strlen(pid)) + 1);
    }
    world_say("log %d: %s", (int)level, text);
    if (own.world->log)
        own.world->log(text);
}

/* ---- events ---- */

void play_draw_row(const struct play_row *rows, int count, uint64_t *state, char *ret, size_t size)
{
    int sum = 0, at = 0;
    for (int i = 0; i < count; i++)
        sum += rows[i].weight;
    int chosen = (int)world_draw_from(state, (uint64_t)sum);
    while (chosen >= rows[at].weight)
        chosen -= rows[at++].weight;
    size_t words = 0;
    while (rows[at].one_of && rows[at].one_of[words])
        words++;
    const char *one = words ? rows[at].one_of[world_draw_from(state, words)] : "";
    const int number =
        rows[at].below ? rows[at].least + (int)world_draw_from(state, (uint64_t)rows[at].below) : 0;
    /* the rows' formats: a word, a number, or both in this order */
    char with[100];
    const char *mark = strstr(rows[at].format, "%s");
    snprintf(with, sizeof with, "%.*s%s%s", mark ? (int)(mark - rows[at].format) : 0,
             rows[at].format, mark ? one : "", mark ? mark + 2 : rows[at].format);
    mark = strstr(with, "%d");
    if (mark)
        snprintf(ret, size, "%.*s%d%s", (int)(mark - with), with, number, mark + 2);
    else
        snprintf(ret, size, "%s", with);
}

static void play_one(const char *text)
{
    world_say("at %.*s", (int)strcspn(text, "\n"), text);
    if (!own.world->play(text))
        world_fail("nobody knows this event: %s", text);
}

double play_pause(void)
{
    const double part = (double)(world_draw_from(&own.draws, 1 << 30) + 1) / (1 << 30);
    return -log(part) * play.every;
}

void play_drawn(void)
{
    if (play.count == EVENTS_MAX)
        return;
    char text[80];
    struct play_event *event = &play.events[play.count++];
    event->at = (double)own.world->now() / 1e6;
    own.world->draw(&own.draws, text, sizeof text);
    event->text = keep_text(text, false);
    play_one(event->text);
}

void play_listed(void)
{
    play_one(play.events[play.next++].text);
}

/* ---- the run ---- */

static uint64_t run(void)
{
    snprintf(play.folder, sizeof play.folder, "/tmp/halod-%s-XXXXXX", own.world->name);
    if (!mkdtemp(play.folder) || chdir(play.folder) < 0)
        world_fail("no folder: %s", strerror(errno));
    own.hash = UINT64_C(0xcbf29ce484222325);
    own.draws = play.seed + 1;
    own.world->run();
    clean_up();
    play.folder[0] = '\0';
    return own.hash;
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
        own.result = ends[1];
        const uint64_t hash = run();
        dprintf(ends[1], "%016" PRIx64 " after %d events", hash, play.count);
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

/* Reads the lines of a block; each follows the text that was kept last, which is empty or ends with
 * '\n'. Returns false if it does not end. */
static bool read_block(FILE *file)
{
    char line[LINE];
    while (fgets(line, sizeof line, file)) {
        if (!strcmp(line, "end\n"))
            return true;
        keep_text(!strncmp(line, "  ", 2) ? line + 2 : line, true);
    }
    return false;
}

static bool takes_block(const char *event)
{
    static const char *const kinds[] = {"write ", "ask ", "talk "};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(event, kinds[i], strlen(kinds[i])))
            return true;
    return false;
}

static void read_events(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[1000];
    bool fine = true;
    play.count = 0;
    play.settings = NULL;
    own.used = 0;
    if (!file)
        world_fail("%s: %s", path, strerror(errno));
    while (fine && fgets(line, sizeof line, file)) {
        struct play_event *event = &play.events[play.count];
        int from = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "seed %" SCNu64, &play.seed) == 1 || line[0] == '#' || !line[0])
            continue;
        if (!strcmp(line, "settings")) {
            play.settings = keep_text("", false);
            fine = read_block(file);
            continue;
        }
        fine = sscanf(line, "at %lf %n", &event->at, &from) == 1 && from > 0 && line[from] &&
               ++play.count < EVENTS_MAX;
        event->text = keep_text(line + from, false);
        if (fine && takes_block(event->text)) {
            keep_text("\n", true);
            fine = read_block(file);
        }
    }
    if (!fine)
        world_fail("%s: '%s' is not an event, or its block has no end", path, line);
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
    own.keep = NULL;
    if (play_in_child(how, sizeof how)) {
        printf("%s: it does not fail\n", path);
        return;
    }
    struct play_event *all = malloc(sizeof *all * (size_t)(play.count + 1));
    for (int part = play.count; part > 0; part = part > 1 ? (part + 1) / 2 : 0)
        for (int from = 0; from < play.count;) {
            const int count = play.count, taken = from + part > count ? count - from : part;
            memcpy(all, play.events, sizeof *all * (size_t)count);
            memmove(play.events + from, play.events + from + taken,
                    sizeof *all * (size_t)(count - from - taken));
            play.count -= taken;
            if (fails_in_the_same_way(how))
                continue;
            memcpy(play.events, all, sizeof *all * (size_t)count);
            play.count = count;
            from += taken;
        }
    free(all);
    snprintf(to, sizeof to, "%s.short", path);
    play.next = play.count;
    write_events(to, how);
    printf("%s: %d events are enough: %s\n", to, play.count, how);
}

static int play_folder(const char *path)
{
    struct dirent **found;
    const int count = scandir(path, &found, NULL, alphasort);
    int bad = 0, played = 0;
    own.loud = true;
    for (int i = 0; i < count; i++) {
        char file[600], words[200];
        snprintf(file, sizeof file, "%s/%s", path, found[i]->d_name);
        const size_t length = strlen(file);
        free(found[i]);
        if (length < 7 || strcmp(file + length - 7, ".events") != 0)
            continue;
        read_events(file);
        const int seeds = play.settings ? SEEDS : own.world->seeds;
        bool fine = play_in_child(words, sizeof words);
        for (int more = 1; more < seeds && fine; more++) {
            play.seed++;
            fine = play_in_child(words, sizeof words);
        }
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
    printf("seed %" PRIu64 ": %s, %.1f s of a processor\n", play.seed, words,
           processor_seconds() - before);
    if (!fine || !twice)
        return !fine;
    if (play_in_child(again, sizeof again) && !strcmp(words, again))
        return 0;
    printf("seed %" PRIu64 ", again: %s\n", play.seed, again);
    return 1;
}

int play_main(const struct play_world *world, int argc, char **argv)
{
    const char *events = NULL;
    bool shortens = false, twice = false;
    char kept[80];
    int seeds = 1;
    own.world = world;
    play.every = world->every;
    play.length = world->length;
    play.seed = 1;
    play.drawn = true;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--shorten"))
            shortens = true;
        else if (!strcmp(argv[i], "--twice"))
            twice = true;
        else if (!strcmp(argv[i], "--serve"))
            play.serves = true;
        else if (!strcmp(argv[i], "--seed"))
            play.seed = strtoull(argv[++i] ? value : "", NULL, 10);
        else if (!strcmp(argv[i], "--seeds"))
            seeds = atoi(argv[++i] ? value : "");
        else if (!strcmp(argv[i], "--hours"))
            play.length = 3600 * atof(argv[++i] ? value : "");
        else if (!strcmp(argv[i], "--seconds"))
            play.length = atof(argv[++i] ? value : "");
        else if (!strcmp(argv[i], "--every"))
            play.every = atof(argv[++i] ? value : "");
        else if (!strcmp(argv[i], "--events"))
            events = argv[++i];
        else if (!strcmp(argv[i], "--trace"))
            own.trace_path = argv[++i];
        else
            return 64;
    }
    play.events = calloc(EVENTS_MAX, sizeof *play.events);
    own.texts = calloc(TEXTS, 1);
    if (own.trace_path)
        own.trace = fopen(own.trace_path, "w");
    struct stat found;
    int code = 0;
    if (events && stat(events, &found) == 0 && S_ISDIR(found.st_mode)) {
        play.drawn = false;
        code = play_folder(events);
    } else if (events) {
        play.drawn = false;
        read_events(events);
        own.keep = shortens || play.serves ? NULL : "again.events";
        own.loud = play.serves;
        if (shortens)
            shorten(events);
        else if (play.serves)
            run();
        else
            code = play_once(twice);
    } else {
        for (int i = 0; i < seeds && code == 0; i++, play.seed++) {
            snprintf(kept, sizeof kept, "/tmp/%s-%" PRIu64 ".events", world->name, play.seed);
            own.keep = kept;
            code = play_once(twice);
        }
    }
    if (own.trace)
        fclose(own.trace);
    free(play.events);
    free(own.texts);
    return code;
}
