/* SPDX-License-Identifier: BSD-2-Clause
 * halod job submit: gathers the jobs and passes them to an engine. */
#include "daemon/cli/job/job_submit.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/cli/job/job.h"
#include "daemon/cli/job/job_detections.h"
#include "daemon/cli/job/job_facts.h"
#include "daemon/cli/job/job_failed.h"
#include "daemon/cli/job/job_task.h"
#include "pipeline/segment/manifest.h"

static const struct halo_job_engine_row *const engines[] = {
    [HALO_JOB_SLURM] = &halo_job_slurm,
    [HALO_JOB_KUBERNETES] = &halo_job_kubernetes,
    [HALO_JOB_PARALLEL] = &halo_job_parallel,
    [HALO_JOB_LOCAL] = &halo_job_local,
};

/* The first only if detectors are needed, the second also for the cells of hide. */
static const struct halo_job_step steps[] = {
    {"detect", "-detect", .shares = true, .detects = true},
    {"merge", "-merge"},
    {"segment", "", .shares = true},
    {"join", "-join"},
};
enum { STEPS = sizeof steps / sizeof *steps, MERGED = 2 /* those until then */ };

/* ---- which jobs were submitted ---- */

static char *mark_of(const struct halo_job_file *job)
{
    char *path;
    return asprintf(&path, "%s/submitted.json", job->folder) < 0 ? NULL : path;
}

static int refuse_again(const struct halo_job_file *job, struct halo_error *err)
{
    char *path = mark_of(job);
    json_t *mark = path ? json_load_file(path, 0, NULL) : NULL;
    free(path);
    if (!mark || halo_job_is_due(job)) {
        json_decref(mark);
        return 0;
    }
    halo_fail_usage(err,
                    "%s: was already submitted to %s on %s: see halod job status; --again submits "
                    "it once more, which is safe",
                    job->folder, json_string_value(json_object_get(mark, "engine")),
                    json_string_value(json_object_get(mark, "at")));
    json_decref(mark);
    return err->code;
}

bool halo_job_is_due(const struct halo_job_file *job)
{
    char *path = mark_of(job);
    json_t *mark = path ? json_load_file(path, 0, NULL) : NULL;
    const char *last = json_string_value(json_object_get(mark, "last"));
    const bool ret = last && !strcmp(last, steps[MERGED - 1].command) &&
                     (!job->merges || halo_job_is_merged(job));
    json_decref(mark);
    free(path);
    return ret;
}

/* A job whose mark is missing may be submitted twice, which does no harm. */
static void mark(const struct halo_job_submission *s, const char *id)
{
    for (int i = 0; i < s->jobs; i++) {
        char *path = mark_of(&s->job[i]);
        json_t *what = halo_job_who();
        json_object_set_new(what, "engine", json_string(halo_job_engines[s->options->engine]));
        json_object_set_new(what, "id", halo_manifest_text(id));
        json_object_set_new(what, "last", json_string(s->step[s->steps - 1].command));
        if (access(s->job[i].folder, F_OK) == 0 && (!path || halo_manifest_save(what, path) < 0))
            halo_log(HALO_LOG_WARNING, "%s: cannot be marked as submitted", s->job[i].folder);
        json_decref(what);
        free(path);
    }
}

/* ---- the submission ---- */

/* The tasks would refuse detectors that the manifest names. */
static int check_detectors(const struct halo_job_submission *s, const struct halo_job_file *job,
                           struct halo_error *err)
{
    const json_t *part = json_object_get(job->manifest, "job");
    for (int find = 0; find < HALO_FINDS; find++)
        if (json_object_get(json_object_get(part, "detectors"), halo_find_names[find]) &&
            !s->options->detector[find] && !halo_job_is_merged(job))
            return halo_fail_usage(
                err,
                "%s: the detector command in the manifest is not run without confirmation: if you "
                "trust it, add --%s with the keys that split was given",
                job->folder, halo_find_names[find]);
    return 0;
}

static int add_job(struct halo_job_submission *s, const char *name, struct halo_error *err)
{
    struct halo_job_file *job = &s->job[s->jobs];
    int code = halo_job_find(job, name, err);
    if (code < 0)
        return code;
    s->jobs++;
    code = halo_job_read(job, err);
    if (code >= 0 && !s->options->again && !s->options->print)
        code = refuse_again(job, err);
    if (code >= 0)
        code = check_detectors(s, job, err);
    s->segments += code >= 0 ? job->segments : 0;
    const bool unmerged = code >= 0 && job->merges && !halo_job_is_merged(job);
    if (unmerged)
        s->step = job->detects || s->step == steps ? steps : steps + 1;
    return code;
}

static int gather(struct halo_job_submission *s, int count, char **rest, struct halo_error *err)
{
    static char self[PATH_MAX];
    int code = 0;
    for (int i = 0; i < count && code >= 0; i++)
        code = add_job(s, rest[i], err);
    if (code < 0)
        return code;
    if (s->segments > INT_MAX)
        return halo_fail_usage(err, "too many segments for one submission");
    s->tasks = s->segments < s->options->tasks ? (int)s->segments : s->options->tasks;
    snprintf(s->of, sizeof s->of, "%d", s->tasks);
    snprintf(s->name, sizeof s->name, "halod-%.12s",
             json_string_value(json_object_get(s->job[0].manifest, "seal")));
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    s->program = s->options->program                                   ? s->options->program
                 : s->options->engine == HALO_JOB_KUBERNETES || !*self ? "halod"
                                                                       : self;
    const struct halo_job_engine_row *engine = engines[s->options->engine];
    if (!s->step)
        s->step = steps + MERGED;
    s->merges = s->step < steps + MERGED;
    s->steps = (int)(steps + (s->merges && engine->merges_first ? MERGED : STEPS) - s->step);
    return engine->check ? engine->check(s, err) : 0;
}

static int submit(struct halo_job_submission *s, struct halo_error *err)
{
    char id[80] = "";
    const struct halo_job_engine_row *engine = engines[s->options->engine];
    if (s->options->print) {
        engine->print(s, stdout);
        return 0;
    }
    for (int i = 0; i < s->jobs; i++)
        halo_job_forget_failures(&s->job[i]);
    const int code = engine->submit(s, id, sizeof id, err);
    if (code < 0)
        return code;
    mark(s, id);
    halo_log(HALO_LOG_INFO, "%d job%s, %lld segments in %d tasks: %s%s%s%s", s->jobs,
             s->jobs == 1 ? "" : "s", (long long)s->segments, s->tasks,
             halo_job_engines[s->options->engine], *id ? " " : "", id,
             s->merges && engine->merges_first
                 ? ": this includes the steps up to merge; submit again when halod job status "
                   "shows that they are done"
                 : "");
    return 0;
}

int halo_job_submit_command(const struct halo_job_options *options, int count, char **rest)
{
    struct halo_error err = {0};
    struct halo_job_submission s = {.options = options};
    int code = 0;
    if (options->engine == HALO_JOB_NO_ENGINE)
        code = halo_fail_usage(&err, "job submit: --engine is missing: slurm, kubernetes, parallel "
                                     "or local");
    else if (count == 0)
        code = halo_fail_usage(&err, "job submit: MANIFEST is missing");
    else if (!(s.job = calloc((size_t)count, sizeof *s.job)))
        code = halo_fail(&err, -ENOMEM, "out of memory");
    if (code >= 0)
        code = gather(&s, count, rest, &err);
    if (code >= 0)
        code = submit(&s, &err);
    code = code < 0 ? halo_job_fail(&err) : halo_end_print();
    for (int i = 0; i < s.jobs; i++)
        halo_job_close(&s.job[i]);
    free(s.job);
    return code;
}
