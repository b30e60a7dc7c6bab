/* SPDX-License-Identifier: BSD-2-Clause
 * A trace of when each stage ran (trace.h). */
#include "pipeline/base/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/log.h"
#include "pipeline/base/report_file.h"

enum { THREADS = 1, LANES = 2 }; /* "processes" in the trace: groups of tracks */

struct track {
    struct halo_trace_event *events; /* room for HALO_TRACE_MAX; untouched pages cost nothing */
    atomic_llong count;              /* of all events, including those that were not kept */
};

struct halo_trace {
    const char *path;
    struct halo_report_file *report;
    FILE *file; /* while it is written */
    int64_t zero;
    struct track track[HALO_TRACKS];
};

int halo_trace_create(struct halo_trace **ret, const char *path, int64_t zero,
                      struct halo_error *err)
{
    struct halo_trace *t = calloc(1, sizeof *t);
    int code = t ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    for (int i = 0; i < HALO_TRACKS && code == 0; i++) {
        t->track[i].events = calloc(HALO_TRACE_MAX, sizeof *t->track[i].events);
        if (!t->track[i].events)
            code = halo_fail(err, -ENOMEM, "out of memory for -trace");
    }
    if (code == 0)
        code = halo_report_open(&t->report, "-trace", path, err);
    if (code < 0) {
        halo_trace_destroy(t);
        return code;
    }
    t->path = path;
    t->zero = zero;
    *ret = t;
    return 0;
}

void halo_trace_destroy(struct halo_trace *t)
{
    if (!t)
        return;
    halo_report_destroy(t->report);
    for (int i = 0; i < HALO_TRACKS; i++)
        free(t->track[i].events);
    free(t);
}

void halo_trace_add(struct halo_trace *t, int track, const struct halo_trace_event *event)
{
    if (!t || track >= HALO_TRACKS ||
        (track < HALO_TRACK_LANES && event->end - event->begin < HALO_TRACE_LEAST_NS))
        return;
    const long long at = atomic_fetch_add(&t->track[track].count, 1);
    if (at < HALO_TRACE_MAX)
        t->track[track].events[at] = *event;
}

static long long kept(const struct track *track)
{
    const long long count = atomic_load(&track->count);
    return count < HALO_TRACE_MAX ? count : HALO_TRACE_MAX;
}

static void write_name(FILE *to, const char *what, int group, int track, const char *name)
{
    fprintf(to,
            "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}},\n",
            what, group, track, name);
}

static void write_names(const struct halo_trace *t, const char *backend)
{
    static const char *const threads[] = {
        [HALO_TRACK_SOURCE] = "source: read, decode",
        [HALO_TRACK_FILTER] = "filter",
        [HALO_TRACK_COLLECT] = "collect",
        [HALO_TRACK_ENCODE] = "encode, write",
        [HALO_TRACK_FACES] = "detector of faces",
        [HALO_TRACK_PEOPLE] = "detector of people",
    };
    char name[100];
    write_name(t->file, "process_name", THREADS, 0, "halod: stage threads");
    snprintf(name, sizeof name, "lanes: %s", backend ? backend : "none");
    write_name(t->file, "process_name", LANES, 0, name);
    for (int i = 0; i < HALO_TRACKS; i++) {
        if (i >= HALO_TRACK_FACES && !kept(&t->track[i]))
            continue;
        snprintf(name, sizeof name, "lane %d", i - HALO_TRACK_LANES);
        write_name(t->file, "thread_name", i < HALO_TRACK_LANES ? THREADS : LANES, i + 1,
                   i < HALO_TRACK_LANES ? threads[i] : name);
    }
}

static void write_track(const struct halo_trace *t, int number)
{
    const struct track *track = &t->track[number];
    const int group = number < HALO_TRACK_LANES ? THREADS : LANES;
    for (long long i = 0; i < kept(track); i++) {
        const struct halo_trace_event *e = &track->events[i];
        fprintf(t->file,
                "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
                "\"args\":{\"frame\":%" PRId64 "}},\n",
                e->name, group, number + 1, (double)(e->begin - t->zero) / 1e3,
                (double)(e->end - e->begin) / 1e3, e->frame);
    }
}

void halo_trace_write(struct halo_trace *t, const char *backend)
{
    long long dropped = 0;
    if (!t || !(t->file = halo_report_begin(t->report)))
        return;
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", t->file);
    write_names(t, backend);
    for (int i = 0; i < HALO_TRACKS; i++) {
        write_track(t, i);
        dropped += atomic_load(&t->track[i].count) - kept(&t->track[i]);
    }
    fprintf(t->file,
            "{\"ph\":\"M\",\"name\":\"halod\",\"pid\":%d,\"args\":{\"dropped\":%lld}}\n]}\n",
            THREADS, dropped);
    if (dropped)
        halo_log(HALO_LOG_WARNING,
                 "-trace %s: the file contains only the first %d events of each thread and lane; "
                 "%lld later events are missing",
                 t->path, HALO_TRACE_MAX, dropped);
    halo_report_end(t->report);
    t->file = NULL;
}
