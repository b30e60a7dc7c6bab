/* SPDX-License-Identifier: BSD-2-Clause
 * Fault injection (fault.h). */
#include "kernels/fault.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_BAD_WISH = 64, /* as HALO_EXIT_USAGE in config/base/error.h */
    MAX_WISHES = 32,
    MAX_TEXT = 1000,
    MAX_FILE = 200,
};

_Thread_local bool halo_fault_hangs;

/* One entry of HALOD_FAULT. */
struct wish {
    const char *kind;
    long from;          /* number of the call, from 1; 0: random */
    double probability; /* if random */
    bool stays;
    char file[MAX_FILE]; /* the fault applies while this file exists; "": no file */
    atomic_long calls;
    atomic_bool met; /* a random fault has happened that is permanent */
    _Atomic(const char *) owner;
};

static _Thread_local const struct wish *last; /* the last fault that was met */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct wish wishes[MAX_WISHES];
static int count;
static uint64_t seed = 1;
static atomic_ullong threads; /* number of threads that have their own random numbers */
static const char *given;     /* replaces the environment variable */
static void (*report)(const char *words);
static int log_file = -1;
static _Atomic(struct halo_fault_point *) points;

static const char *kind_of(const char *text, size_t length)
{
    static const char *const kinds[] = {
        "submit", "finish",   "hang",    "memory", "open", "alloc",   "upload",  "poison",
        "launch", "download", "event",   "stall",  "kill", "stop",    "decoder", "encoder",
        "call",   "illegal",  "heap",    "code",   "time", "leak",    "skip",    "step",
        "epoch",  "probe",    "silence", "answer", "exit", "snapshot"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == length && !strncmp(text, kinds[i], length))
            return kinds[i];
    return NULL;
}

/* A misspelt fault would never happen, and a test that expects no failure would pass. */
static void refuse(const char *text)
{
    fprintf(stderr,
            "HALOD_FAULT=%.60s: faults must be KIND:N, KIND:N+, KIND:p=P or KIND:/FILE, separated "
            "by commas (see kernels/fault.h)\n",
            text);
    _exit(EXIT_BAD_WISH);
}

static bool read_number(const char *digits, long *ret, const char **ret_end)
{
    const size_t length = strspn(digits, "0123456789");
    *ret = strtol(digits, NULL, 10);
    *ret_end = digits + length;
    return length >= 1 && length <= 9;
}

static bool read_wish(char *text)
{
    const size_t length = strcspn(text, ":");
    const char *value = text + length + (text[length] == ':'), *end = value;
    long number = 0;
    if (length == 4 && !strncmp(text, "seed", length)) {
        const bool right = read_number(value, &number, &end) && !*end;
        seed = (uint64_t)number + 1;
        return right;
    }
    struct wish *wish = &wishes[count];
    if (count == MAX_WISHES || !(wish->kind = kind_of(text, length)))
        return false;
    if (*value == '/')
        return (size_t)snprintf(wish->file, sizeof wish->file, "%s", value) < sizeof wish->file &&
               ++count;
    if (!strncmp(value, "p=", 2) && strspn(value + 2, "0123456789.") > 0)
        wish->probability = strtod(value + 2, (char **)&end);
    else if (!read_number(value, &wish->from, &end) || wish->from < 1)
        return false;
    wish->stays = *end == '+';
    count++;
    return !end[wish->stays] && wish->probability <= 1;
}

static void read_wishes(void)
{
    char copy[MAX_TEXT], *rest = copy, *word;
    const char *text = given ? given : getenv("HALOD_FAULT");
    if (!text || !*text)
        return;
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
        refuse(text);
    while ((word = strsep(&rest, ",")))
        if (!read_wish(word))
            refuse(text);
}

/* Done early, because an engine must not open files later. */
__attribute__((constructor)) static void open_log(void)
{
    const char *path = getenv("HALOD_FAULT_LOG");
    if (path && *path)
        log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void halo_fault_begin(const char *list, void (*notify)(const char *words))
{
    given = list;
    report = notify;
    pthread_once(&once, read_wishes);
}

bool halo_fault_stays(void)
{
    return last && last->stays;
}

bool halo_fault_lasts(void)
{
    return last && (!last->file[0] || access(last->file, F_OK) == 0);
}

static double chance(void)
{
    static _Thread_local uint64_t state;
    if (!state)
        state = (seed * 0x9e3779b97f4a7c15u) ^ (atomic_fetch_add(&threads, 1) + 1) << 20;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static bool is_met(struct wish *wish)
{
    if (wish->file[0])
        return access(wish->file, F_OK) == 0;
    if (wish->from) {
        const long call = atomic_fetch_add(&wish->calls, 1) + 1;
        return call == wish->from || (call > wish->from && wish->stays);
    }
    if (atomic_load(&wish->met))
        return true;
    const bool ret = chance() < wish->probability;
    if (ret && wish->stays)
        atomic_store(&wish->met, true);
    return ret;
}

static bool is_wished(const char *who, const char *kind)
{
    bool ret = false;
    pthread_once(&once, read_wishes);
    for (int i = 0; i < count && !ret; i++) {
        struct wish *wish = &wishes[i];
        const char *none = NULL;
        if (strcmp(wish->kind, kind) != 0)
            continue;
        if (who && !atomic_compare_exchange_strong(&wish->owner, &none, who) &&
            strcmp(none, who) != 0)
            continue;
        ret = is_met(wish);
        last = wish;
    }
    return ret;
}

static void notify(const char *words)
{
    char line[300];
    if (report)
        report(words);
    const int length = snprintf(line, sizeof line, "%s\n", words);
    if (log_file >= 0 && write(log_file, line, (size_t)length) < 0)
        log_file = -1;
}

bool halo_fault(const char *who, const char *kind)
{
    const bool ret = is_wished(who, kind);
    if (ret)
        notify(kind);
    return ret;
}

bool halo_fault_at(struct halo_fault_point *point)
{
    char words[250];
    if (!atomic_exchange(&point->known, 1)) {
        point->next = atomic_load(&points);
        while (!atomic_compare_exchange_weak(&points, &point->next, point))
            ;
    }
    if (!is_wished(NULL, point->kind))
        return false;
    const char *slash = strrchr(point->file, '/');
    snprintf(words, sizeof words, "%s %s:%s %s", point->kind, slash ? slash + 1 : point->file,
             point->function, point->call);
    notify(words);
    return true;
}

int halo_fault_points(void)
{
    int ret = 0;
    for (const struct halo_fault_point *p = atomic_load(&points); p; p = p->next)
        ret++;
    return ret;
}
