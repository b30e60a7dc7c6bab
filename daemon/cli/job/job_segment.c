/* SPDX-License-Identifier: BSD-2-Clause
 * halod job segment: encodes the segments of one task. halod job detect: has detectors look at
 * them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/cli/job/job.h"
#include "daemon/cli/job/job_detections.h"
#include "daemon/cli/job/job_facts.h"
#include "daemon/cli/job/job_failed.h"
#include "daemon/cli/job/job_file.h"
#include "daemon/cli/job/job_task.h"
#include "daemon/cli/run/run_end.h"
#include "daemon/cli/run/run_segments.h"
#include "daemon/engine/hide.h"
#include "pipeline/segment/manifest.h"

/* What one task does. */
struct share {
    bool detects; /* detectors look at segments; otherwise they are encoded */
    const struct halo_job_options *options;
    struct halo_job_share of;
    bool device; /* a GPU was used */
};

/* Takes a number off the end of the arguments. Returns whether there is one. */
static bool take_number(int *count, char **rest, int *ret)
{
    const char *last = *count > 1 ? rest[*count - 1] : "";
    if (!*last || strspn(last, "0123456789") != strlen(last) || strlen(last) > 8)
        return false;
    *ret = atoi(last);
    --*count;
    return true;
}

static int find_share(struct share *ret, int *count, char **rest, int of, struct halo_error *err)
{
    struct halo_job_task task = {0, 0};
    const int code = take_number(count, rest, &task.index) ? 0 : halo_job_task_find(&task, err);
    ret->of.index = task.index;
    ret->of.step = of ? of : task.count;
    if (code >= 0 && ret->of.step && task.index >= ret->of.step)
        return halo_fail_usage(err, "task %d does not exist: there are only %lld, numbered from 0",
                               task.index, (long long)ret->of.step);
    return code;
}

/* The facts of a segment's record: who and on what. */
static json_t *facts_of(const struct halo_job_file *job)
{
    const json_t *part = json_object_get(job->manifest, "job");
    const char *encoder =
        json_string_value(json_object_get(json_object_get(part, "machine"), "encoder"));
    json_t *ret = halo_job_who(), *machine = halo_job_machine(encoder ? encoder : "");
    json_object_set_new(ret, "machine", machine);
    if (json_is_true(json_object_get(part, "mixed")))
        json_object_set_new(ret, "versions", halo_manifest_versions(&job->settings));
    return ret;
}

/* Asks which of the task's segments are missing. Returns their number or -errno with err filled. */
static int want(const struct halo_job_file *job, struct halo_segments *segments, int64_t first,
                int64_t step, struct halo_error *err)
{
    int missing = 0;
    for (int64_t number = first; number < job->segments; number += step) {
        bool damaged;
        const int code = halo_segments_want(segments, (int)number, &damaged, err);
        if (code < 0)
            return code;
        if (damaged)
            halo_log(HALO_LOG_WARNING,
                     "%s: segment %d is damaged or does not match the manifest, so it is processed "
                     "again",
                     job->folder, (int)number);
        missing += code;
    }
    return missing;
}

/* A task that was given away while its machine was away may end after the join. */
static void tidy(const struct halo_job_file *job, struct halo_segments *segments)
{
    char *path;
    if (asprintf(&path, "%s/manifest.json", job->folder) < 0)
        path = NULL;
    halo_segments_close(segments, path && access(path, F_OK) < 0 && errno == ENOENT);
    free(path);
}

/* Encodes the segments, or has detectors look at them. */
static int work(struct halo_job_file *job, int64_t first, const struct share *share,
                struct halo_run_part_end *end)
{
    struct halo_error *err = &end->error;
    json_t *facts = facts_of(job);
    const int64_t step = share->of.step ? share->of.step : job->segments;
    const struct halo_segments_job about = {.facts = facts,
                                            .detects = share->detects,
                                            .detections =
                                                share->detects ? NULL : halo_job_detections(job),
                                            .frozen = share->detects ? NULL : halo_job_frozen(job)};
    struct halo_segments *segments = NULL;
    int code = facts ? halo_segments_open_job(&segments, &job->settings, job->manifest, &about, err)
                     : halo_fail(err, -ENOMEM, "out of memory");
    const int missing = code >= 0 ? want(job, segments, first, step, err) : code;
    if (missing > 0) {
        halo_run_part(&job->settings, job->chain, segments, false, end);
        halo_job_end_by_signal();
        tidy(job, segments);
    } else {
        halo_segments_close(segments, false);
    }
    json_decref(facts);
    return missing;
}

/* Whether there is nothing to detect; or -errno with err filled. */
static int is_detected(struct halo_job_file *job, struct halo_error *err)
{
    const bool needless = !halo_job_chain_detects(job->chain);
    const int code = needless ? 0 : halo_job_load_detections(job, err);
    if (code < 0 && code != -ENOENT)
        return code;
    if (code == 0)
        halo_log(HALO_LOG_INFO, "%s: %s", job->folder,
                 needless ? "needs no detectors" : "is already merged");
    *err = (struct halo_error){0};
    return code == 0;
}

/* Loads the job and what its detectors found. Returns 0; 1 if there is nothing to do; or -errno
 * with err filled. */
static int load(struct halo_job_file *job, const struct share *share, struct halo_error *err)
{
    const int code = halo_job_load(job, share->detects, err);
    if (code < 0)
        return code;
    if (!share->detects)
        return halo_job_load_detections(job, err);
    const int detected = is_detected(job, err);
    return detected ? detected : halo_job_allow_detectors(job, share->options->detector, err);
}

static const char *step_of(const struct share *share)
{
    return share->detects ? "detect" : "segment";
}

/* Does what is the task's of one job. Returns the exit code. */
static int perform(struct halo_job_file *job, int64_t first, struct share *share)
{
    struct halo_run_part_end end = {.error = {0}};
    halo_job_forget_failure(job, step_of(share), &share->of);
    int missing = load(job, share, &end.error);
    if (missing > 0)
        return HALO_EXIT_OK;
    if (missing == 0)
        missing = work(job, first, share, &end);
    share->device |= end.device;
    if ((end.error.code || end.signal) && halo_job_is_complete(job)) {
        halo_log(HALO_LOG_INFO, "%s: was completed in the meantime", job->output);
        return HALO_EXIT_OK;
    }
    if (end.signal)
        return 128 + end.signal;
    if (end.error.code)
        return halo_job_fail_step(job, step_of(share), &share->of, &end.error);
    const int64_t step = share->of.step;
    halo_log(HALO_LOG_INFO, "%s: segment %lld%s: %d %s, %lld frame%s", job->folder,
             (long long)first, step && first + step < job->segments ? " and others" : "", missing,
             share->detects ? "searched" : "encoded", (long long)end.frames,
             end.frames == 1 ? "" : "s");
    return HALO_EXIT_OK;
}

struct task {
    struct halo_job_file *job;
    int64_t first;
    struct share *share;
};

static int perform_task(void *arg)
{
    const struct task *task = arg;
    return perform(task->job, task->first, task->share);
}

static int perform_named(const char *name, void *arg)
{
    struct share *share = arg;
    struct halo_error err = {0};
    struct halo_job_file job = {0};
    int code = halo_job_find(&job, name, &err), exit_code = HALO_EXIT_OK;
    const int count = code < 0 ? code : halo_job_count(&job, &err);
    if (count < 0) {
        exit_code = halo_job_fail(&err);
        halo_job_close(&job);
        return exit_code;
    }
    const int64_t first = halo_job_share_first(&share->of);
    const bool mine = first >= 0 && first < count;
    if (mine && halo_job_is_complete(&job))
        halo_log(HALO_LOG_INFO, "%s: is already complete", job.output);
    else if (mine)
        exit_code = halo_job_apart(perform_task, &(struct task){&job, first, share});
    share->of.before += count;
    halo_job_close(&job);
    return exit_code;
}

static int perform_all(const struct halo_job_options *options, bool detects, int count, char **rest)
{
    struct halo_error err = {0};
    struct share share = {.detects = detects, .options = options};
    if (count && find_share(&share, &count, rest, options->of, &err) < 0)
        return halo_job_fail(&err);
    if (options->ended >= 0)
        return halo_job_note_ended(count, rest, step_of(&share), share.of, options->ended);
    int code = halo_job_each(step_of(&share), count, rest, perform_named, &share);
    if (code == HALO_EXIT_OK && !share.of.step && share.of.index >= share.of.before) {
        halo_fail_usage(&err, "segment %lld does not exist: there are only %lld, numbered from 0",
                        (long long)share.of.index, (long long)share.of.before);
        code = halo_job_fail(&err);
    }
    if (share.device)
        halo_run_end_now(code);
    return code;
}

int halo_job_segment_command(const struct halo_job_options *options, int count, char **rest)
{
    return perform_all(options, false, count, rest);
}

int halo_job_detect_command(const struct halo_job_options *options, int count, char **rest)
{
    return perform_all(options, true, count, rest);
}
