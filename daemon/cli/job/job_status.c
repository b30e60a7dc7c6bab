/* SPDX-License-Identifier: BSD-2-Clause
 * halod job status: what is done, from the files alone. Times are those of the file system, because
 * the clocks of machines may differ. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/cli/job/job.h"
#include "daemon/cli/job/job_detections.h"
#include "daemon/cli/job/job_failed.h"
#include "daemon/cli/job/job_file.h"
#include "daemon/cli/job/job_task.h"
#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/segment/manifest.h"

enum {
    WATCH_SECONDS = 2,
    BAR_CELLS = 24,
    SLACK_SECONDS = 60, /* between the parts of a machine, to start tasks */
};

struct node {
    const char *host; /* owned by its record */
    int segments;
    int64_t frames;
    double seconds; /* of work */
};

enum stage { DETECT, MERGE, ENCODE, JOIN, COMPLETE };
static const char *const stage_names[] = {"detect", "merge", "encode", "join", "complete"};

/* A segment that is done. */
struct part {
    double at; /* when it was completed, by the file system's clock */
    int64_t frames;
};

/* Of the stage: `done` counts the segments at which detectors have looked, or the encoded ones. */
struct status {
    enum stage stage;
    int segments, done;
    int64_t frames, frames_done;
    struct part *part;       /* those that are done; NULL: not known */
    double longest;          /* seconds of work for one of them; 0: not known */
    json_t *records;         /* an array */
    json_t *failures;        /* an array (job_failed.h) */
    struct halo_error error; /* what will not be done without somebody's help */
    struct node *node;
    int nodes;
};

static void add_record(struct status *s, json_t *record)
{
    const char *host = json_string_value(json_object_get(record, "host"));
    int i = 0;
    if (!host)
        return;
    while (i < s->nodes && strcmp(s->node[i].host, host) != 0)
        i++;
    if (i == s->nodes) {
        struct node *grown = realloc(s->node, (size_t)(s->nodes + 1) * sizeof *grown);
        if (!grown)
            return;
        s->node = grown;
        s->node[s->nodes++] = (struct node){.host = host};
    }
    s->node[i].segments++;
    s->node[i].frames += json_integer_value(json_object_get(record, "frames"));
    const double seconds = json_number_value(json_object_get(record, "seconds"));
    s->node[i].seconds += seconds;
    s->longest = fmax(s->longest, seconds);
}

static void look_at(struct status *s, const struct halo_job_file *job, int number)
{
    struct stat st;
    char *part, *path;
    const bool detects = s->stage == DETECT;
    const json_t *segments = json_object_get(job->manifest, "segments");
    const int64_t frames =
        json_integer_value(json_object_get(json_array_get(segments, (size_t)number), "packets"));
    s->frames += frames;
    if (asprintf(&part, "%s/%06d.%s", job->folder, number, detects ? "detections" : "part") < 0)
        return;
    if (stat(part, &st) == 0) {
        const double at = (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9;
        if (s->part)
            s->part[s->done] = (struct part){at, frames};
        s->done++;
        s->frames_done += frames;
        if (asprintf(&path, "%s/%06d.%sjson", job->folder, number, detects ? "detect." : "") < 0)
            path = NULL;
        json_t *record = path ? json_load_file(path, 0, NULL) : NULL;
        add_record(s, record); /* NULL if it was not written */
        json_array_append_new(s->records, record);
        free(path);
    }
    free(part);
}

static void look_at_audit(struct status *s, const struct halo_job_file *job)
{
    size_t i;
    json_t *record, *audit = json_load_file(job->audit, 0, NULL);
    s->records = json_incref(json_object_get(audit, "segments"));
    s->failures = json_array();
    s->stage = COMPLETE;
    s->segments = s->done = (int)json_array_size(s->records);
    json_array_foreach (s->records, i, record)
        add_record(s, record);
    s->frames = s->frames_done =
        json_integer_value(json_object_get(json_object_get(audit, "output"), "frames"));
    json_decref(audit);
}

static int look(struct status *s, struct halo_job_file *job, struct halo_error *err)
{
    *s = (struct status){0};
    halo_job_look_again(job);
    json_decref(job->manifest); /* it may have been split again */
    job->manifest = NULL;
    const int code = halo_job_read(job, err);
    if (halo_job_is_complete(job)) {
        *err = (struct halo_error){0};
        look_at_audit(s, job);
        return 0;
    }
    if (code < 0)
        return code;
    s->records = json_array();
    s->failures = halo_job_failures(job);
    halo_job_fail_failures(job, s->failures, false, &s->error);
    s->segments = job->segments;
    s->part = calloc((size_t)job->segments + 1, sizeof *s->part);
    s->stage = job->merges && !halo_job_is_merged(job) ? DETECT : ENCODE;
    for (int i = 0; i < job->segments; i++)
        look_at(s, job, i);
    if (s->done == s->segments || (s->stage == DETECT && !job->detects))
        s->stage++; /* the one that follows */
    return 0;
}

static void finish(struct status *s)
{
    json_decref(s->records);
    json_decref(s->failures);
    free(s->part);
    free(s->node);
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return (x->at < y->at) - (x->at > y->at); /* the latest one first */
}

/* Frames per second of all machines together, since one of them worked without a pause: while one
 * does, two parts are completed no further apart than the longest takes. 0: not known. */
static double rate_of(const struct status *s)
{
    const double pause = s->longest > 0 ? 2 * s->longest + SLACK_SECONDS : INFINITY;
    int64_t frames = 0;
    int i = 1;
    if (!s->part || s->done < 2)
        return 0;
    qsort(s->part, (size_t)s->done, sizeof *s->part, compare_parts);
    for (; i < s->done && s->part[i - 1].at - s->part[i].at <= pause; i++)
        frames += s->part[i - 1].frames;
    const double seconds = s->part[0].at - s->part[i - 1].at;
    return seconds > 0 ? (double)frames / seconds : 0;
}

static json_t *describe(const struct status *s, const struct halo_job_file *job)
{
    json_t *nodes = json_array();
    const double rate = rate_of(s);
    for (int i = 0; i < s->nodes; i++)
        json_array_append_new(nodes, json_pack("{s:s, s:i, s:I, s:f}", "host", s->node[i].host,
                                               "segments", s->node[i].segments, "frames",
                                               (json_int_t)s->node[i].frames, "seconds",
                                               s->node[i].seconds));
    json_t *ret =
        json_pack("{s:o, s:b, s:s, s:i, s:i, s:I, s:I, s:o}", "output",
                  halo_manifest_text(job->output), "complete", s->stage == COMPLETE, "stage",
                  stage_names[s->stage], "segments", s->segments, "done", s->done, "frames",
                  (json_int_t)s->frames, "frames_done", (json_int_t)s->frames_done, "nodes", nodes);
    if (s->failures)
        json_object_set(ret, "failed", s->failures);
    if (rate > 0 && s->stage != COMPLETE && !s->error.code) {
        json_object_set_new(ret, "fps", json_real(rate));
        json_object_set_new(ret, "seconds_left",
                            json_real((double)(s->frames - s->frames_done) / rate));
    }
    return ret;
}

static void write_line(const struct status *s, const struct halo_job_file *job, char *text,
                       size_t size)
{
    static const char *const words[] = {
        [MERGE] = ", not merged", [JOIN] = ", not joined", [COMPLETE] = ", complete"};
    char left[80] = "", clock[32];
    const double rate = rate_of(s);
    if (rate > 0 && s->stage != COMPLETE && !s->error.code)
        snprintf(left, sizeof left, ", %.1f fps, about %s left", rate,
                 halo_av_clock((double)(s->frames - s->frames_done) / rate, clock, sizeof clock));
    snprintf(text, size, "%s: %s%d of %d segments, %.0f %%%s", job->output,
             s->stage == DETECT || s->stage == MERGE ? "detectors: " : "", s->done, s->segments,
             s->frames ? 100.0 * (double)s->frames_done / (double)s->frames : 0,
             s->stage == DETECT || s->stage == ENCODE ? left : words[s->stage]);
}

static void print_failures(const struct status *s)
{
    size_t i;
    json_t *failure;
    json_array_foreach (s->failures, i, failure) {
        char line[600];
        const char *step = json_string_value(json_object_get(failure, "step"));
        const char *host = json_string_value(json_object_get(failure, "host"));
        const char *reason = json_string_value(json_object_get(failure, "reason"));
        const int number = (int)json_integer_value(json_object_get(failure, "segment"));
        char name[24];
        snprintf(name, sizeof name, "segment %d", number);
        snprintf(line, sizeof line, "  %s failed on %s%s: %s", step ? step : name,
                 host ? host : "?",
                 json_is_true(json_object_get(failure, "final")) ? "" : " and is tried again",
                 reason ? reason : "?");
        halo_sanitise(line);
        puts(line);
    }
}

static void print(const struct status *s, const struct halo_job_file *job, bool json)
{
    char line[500];
    if (json) {
        json_t *all = describe(s, job);
        json_dumpf(all, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
        putchar('\n');
        json_decref(all);
        return;
    }
    write_line(s, job, line, sizeof line);
    puts(line);
    print_failures(s);
    for (int i = 0; i < s->nodes; i++) {
        const struct node *n = &s->node[i];
        snprintf(line, sizeof line, "  %s: %d segment%s, %lld frames, %.1f fps each", n->host,
                 n->segments, n->segments == 1 ? "" : "s", (long long)n->frames,
                 n->seconds > 0 ? (double)n->frames / n->seconds : 0);
        halo_sanitise(line); /* others can write the records */
        puts(line);
    }
}

static void show_bar(const struct status *s, const struct halo_job_file *job)
{
    char bar[BAR_CELLS + 1], text[500], line[600];
    const int full =
        s->frames ? (int)((double)BAR_CELLS * (double)s->frames_done / (double)s->frames) : 0;
    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', (size_t)full);
    bar[BAR_CELLS] = 0;
    write_line(s, job, text, sizeof text);
    snprintf(line, sizeof line, "[%s] %s", bar, text);
    halo_log_set_status(line);
}

/* On a terminal a bar, otherwise the lines whenever something is done or fails. Ends when OUT is
 * complete, or when something has failed that nobody tries again. */
static int watch(struct halo_job_file *job, bool json, struct halo_error *err)
{
    struct status s;
    int code, before = -1;
    size_t failed = 0;
    enum stage stage = DETECT;
    const bool bar = isatty(STDERR_FILENO) && !json;
    for (bool over = false; !over && (code = look(&s, job, err)) >= 0; finish(&s)) {
        over = s.stage == COMPLETE || s.error.code;
        if (bar && !over)
            show_bar(&s, job);
        else if (over || s.done != before || s.stage != stage ||
                 json_array_size(s.failures) != failed) {
            halo_log_set_status(NULL);
            print(&s, job, json);
            fflush(stdout);
        }
        before = s.done;
        failed = json_array_size(s.failures);
        stage = s.stage;
        if (!over)
            halo_sleep(WATCH_SECONDS);
        else if (s.stage != COMPLETE)
            *err = s.error;
    }
    halo_log_set_status(NULL);
    if (code >= 0 && err->code)
        halo_log(HALO_LOG_INFO, "%s: run halod job submit --again to process the rest",
                 job->folder);
    return err->code;
}

int halo_job_status_command(const struct halo_job_options *options, int count, char **rest)
{
    struct halo_error err = {0};
    int code = count ? 0 : halo_fail_usage(&err, "job status: MANIFEST is missing");
    for (int i = 0; i < count && code >= 0; i++) {
        struct halo_job_file job = {0};
        struct status s = {0};
        code = halo_job_find(&job, rest[i], &err);
        if (code >= 0 && options->watch) {
            code = watch(&job, options->json, &err);
        } else if (code >= 0 && (code = look(&s, &job, &err)) >= 0) {
            print(&s, &job, options->json);
            finish(&s);
        }
        halo_job_close(&job);
    }
    return code < 0 ? halo_job_fail(&err) : halo_end_print();
}
