/* SPDX-License-Identifier: BSD-2-Clause
 * What has failed in a job (job_failed.h). */
#include "daemon/cli/job/job_failed.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/cli/job/job_detections.h"
#include "daemon/cli/job/job_facts.h"
#include "daemon/cli/job/job_submit.h"
#include "daemon/cli/job/job_task.h"
#include "kernels/clock.h"
#include "pipeline/segment/manifest.h"

enum { WAIT_SECONDS = 5 };

static const char suffix[] = ".failed";

static bool is_shared(const char *step)
{
    return !strcmp(step, "detect") || !strcmp(step, "segment");
}

static char *path_of(const struct halo_job_file *job, const char *step, int64_t number,
                     const char *ending)
{
    char *path;
    const int code = is_shared(step)
                         ? asprintf(&path, "%s/%06d%s", job->folder, (int)number, ending)
                         : asprintf(&path, "%s/%s%s", job->folder, step, ending);
    return code < 0 ? NULL : path;
}

static bool is_done(const struct halo_job_file *job, const char *step, int64_t number)
{
    const bool detects = !strcmp(step, "detect");
    if (detects || !strcmp(step, "merge"))
        if (halo_job_is_merged(job))
            return true;
    if (!is_shared(step))
        return !strcmp(step, "join") && halo_job_is_complete(job);
    char *path = path_of(job, step, number, detects ? ".detections" : ".part");
    const bool ret = path && access(path, F_OK) == 0;
    free(path);
    return ret;
}

int64_t halo_job_share_first(const struct halo_job_share *share)
{
    int64_t first = share->index - share->before;
    while (first < 0 && share->step)
        first += share->step;
    return first;
}

static void note(const struct halo_job_file *job, const char *step, int64_t number, int code,
                 bool final, const char *reason)
{
    char text[60];
    char *path = path_of(job, step, number, suffix);
    json_t *what = halo_job_who(), *before = path ? json_load_file(path, 0, NULL) : NULL;
    snprintf(text, sizeof text, code > 128 ? "was killed by signal %d" : "ended with status %d",
             code > 128 ? code - 128 : code);
    if (before && !reason) /* by the step itself, which knows more */
        json_object_update(what, before);
    else
        json_object_set_new(what, "reason", halo_manifest_text(reason ? reason : text));
    json_object_set_new(what, "code", json_integer(code));
    json_object_set_new(what, "final", json_boolean(final));
    if (path)
        halo_manifest_save(what, path);
    json_decref(before);
    json_decref(what);
    free(path);
}

/* Calls one() for each segment of the share, or once for a step that is not shared. */
static void each(const struct halo_job_file *job, const char *step,
                 const struct halo_job_share *share,
                 void (*one)(const struct halo_job_file *job, const char *step, int64_t number,
                             void *arg),
                 void *arg)
{
    if (!is_shared(step)) {
        one(job, step, 0, arg);
        return;
    }
    for (int64_t n = halo_job_share_first(share); n >= 0 && n < job->segments; n += share->step) {
        one(job, step, n, arg);
        if (!share->step)
            break;
    }
}

struct failure {
    int code;
    bool final;
    const char *reason;
};

static void note_one(const struct halo_job_file *job, const char *step, int64_t number, void *arg)
{
    const struct failure *f = arg;
    if (!is_done(job, step, number))
        note(job, step, number, f->code, f->final, f->reason);
}

void halo_job_note_failure(const struct halo_job_file *job, const char *step,
                           const struct halo_job_share *share, int code, bool final,
                           const char *reason)
{
    struct failure failure = {code, final, reason};
    if (access(job->folder, F_OK) == 0)
        each(job, step, share, note_one, &failure);
}

int halo_job_fail_step(const struct halo_job_file *job, const char *step,
                       const struct halo_job_share *share, const struct halo_error *err)
{
    const int code = halo_job_fail(err);
    halo_job_note_failure(job, step, share, code, !halo_job_may_succeed(code), err->text);
    return code;
}

int halo_job_note_ended(int count, char *const *names, const char *step,
                        struct halo_job_share share, int code)
{
    for (int i = 0; i < count; i++) {
        struct halo_error ignored = {0};
        struct halo_job_file job = {0};
        if (halo_job_find(&job, names[i], &ignored) < 0)
            continue;
        if (halo_job_count(&job, &ignored) >= 0)
            halo_job_note_failure(&job, step, &share, code, true, NULL);
        share.before += job.segments;
        halo_job_close(&job);
    }
    return HALO_EXIT_OK;
}

static void forget_one(const struct halo_job_file *job, const char *step, int64_t number, void *arg)
{
    char *path = path_of(job, step, number, suffix);
    (void)arg;
    if (path)
        unlink(path);
    free(path);
}

void halo_job_forget_failure(const struct halo_job_file *job, const char *step,
                             const struct halo_job_share *share)
{
    each(job, step, share, forget_one, NULL);
}

/* Calls one() for each file NAME.failed; its name is cut. */
static void each_file(const struct halo_job_file *job,
                      void (*one)(const struct halo_job_file *job, const char *path,
                                  const char *name, void *arg),
                      void *arg)
{
    DIR *dir = opendir(job->folder);
    struct dirent *e;
    while (dir && (e = readdir(dir))) {
        char *path, *dot = strrchr(e->d_name, '.');
        if (!dot || *e->d_name == '.' || strcmp(dot, suffix) != 0 ||
            asprintf(&path, "%s/%s", job->folder, e->d_name) < 0)
            continue;
        *dot = 0;
        one(job, path, e->d_name, arg);
        free(path);
    }
    if (dir)
        closedir(dir);
}

static void forget_file(const struct halo_job_file *job, const char *path, const char *name,
                        void *arg)
{
    (void)job;
    (void)name;
    (void)arg;
    unlink(path);
}

void halo_job_forget_failures(const struct halo_job_file *job)
{
    each_file(job, forget_file, NULL);
}

static void add_file(const struct halo_job_file *job, const char *path, const char *name, void *arg)
{
    json_t *failures = arg, *failure = json_load_file(path, 0, NULL);
    const bool segment = strspn(name, "0123456789") == strlen(name);
    const bool detects = job->merges && !halo_job_is_merged(job);
    const char *step = !segment ? name : detects ? "detect" : "segment";
    if (!json_is_object(failure) || is_done(job, step, atoi(name))) {
        json_decref(failure);
        return;
    }
    if (segment)
        json_object_set_new(failure, "segment", json_integer(atoi(name)));
    else
        json_object_set_new(failure, "step", json_string(name));
    json_array_append_new(failures, failure);
}

json_t *halo_job_failures(const struct halo_job_file *job)
{
    json_t *ret = json_array();
    if (ret)
        each_file(job, add_file, ret);
    return ret;
}

int halo_job_fail_failures(const struct halo_job_file *job, const json_t *failures, bool any,
                           struct halo_error *err)
{
    char what[40];
    size_t i;
    const json_t *failure, *found = any ? json_array_get(failures, 0) : NULL;
    bool lasts = false;
    json_array_foreach (failures, i, failure) {
        if (lasts || !json_is_true(json_object_get(failure, "final")))
            continue;
        lasts = !halo_job_may_succeed((int)json_integer_value(json_object_get(failure, "code")));
        if (lasts || !found || !json_is_true(json_object_get(found, "final")))
            found = failure;
    }
    if (!found)
        return 0;
    const char *step = json_string_value(json_object_get(found, "step"));
    const char *host = json_string_value(json_object_get(found, "host"));
    const char *reason = json_string_value(json_object_get(found, "reason"));
    snprintf(what, sizeof what, "segment %d",
             (int)json_integer_value(json_object_get(found, "segment")));
    return halo_fail(err, lasts ? -ECHILD : -EAGAIN, "%s: %s failed on %s: %s", job->output,
                     step ? step : what, host ? host : "?", reason ? reason : "?");
}

int halo_job_wait(const struct halo_job_file *job, const char *kind, const char *instead,
                  struct halo_error *err)
{
    int code = 0;
    for (int i = 0; i < job->segments && code >= 0;) {
        char *path;
        if ((instead && access(instead, F_OK) == 0) || access(job->folder, F_OK) < 0 ||
            asprintf(&path, "%s/%06d.%s", job->folder, i, kind) < 0)
            return 0;
        const bool there = access(path, F_OK) == 0;
        free(path);
        i += there;
        if (there)
            continue;
        json_t *failures = halo_job_failures(job);
        code = halo_job_fail_failures(job, failures, false, err);
        json_decref(failures);
        if (code >= 0) {
            halo_sleep(WAIT_SECONDS);
            halo_job_look_again(job);
        }
    }
    return code;
}
