/* SPDX-License-Identifier: BSD-2-Clause
 * halod job merge: makes all.detections of what detectors answered about the segments. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/cli/job/job.h"
#include "daemon/cli/job/job_detections.h"
#include "daemon/cli/job/job_failed.h"
#include "daemon/cli/job/job_file.h"
#include "daemon/cli/job/job_task.h"
#include "daemon/cli/run/run_segments.h"
#include "pipeline/detect/replay.h"
#include "pipeline/gate/gate_cells.h"
#include "pipeline/segment/manifest.h"
#include "pipeline/segment/segments.h"

static int fail_segment(const struct halo_job_file *job, int number, int code,
                        struct halo_error *err)
{
    char path[24];
    struct halo_error inner = {0};
    snprintf(path, sizeof path, "%06d.detections", number);
    code = halo_detections_fail(path, code, &inner);
    return halo_fail(err, code, "%s/%s%s", job->folder, inner.text,
                     code == -EBADMSG || code == -ENOENT ? ": halod job detect creates it" : "");
}

/* Appends what is known of all segments, in their order: nothing, if no detector is needed. */
static int gather(const struct halo_job_file *job, struct halo_segments *segments,
                  struct halo_detections *ret, struct halo_error *err)
{
    int code = 0;
    const bool detects = halo_job_chain_detects(job->chain);
    for (int i = 0; i < job->segments && code >= 0; i++) {
        struct halo_detections one = {.frame = NULL};
        if (detects)
            code = halo_segments_load_detections(segments, i, &one);
        if (code < 0)
            return fail_segment(job, i, code, err);
        code = halo_detections_append(ret, &one, err);
        halo_detections_finish(&one);
    }
    return code;
}

/* ---- cells ---- */

/* The verdict of a frame; NULL: it is hidden entirely. */
static int verdict_of(const struct halo_judge_step *step, struct halo_verdict **ret)
{
    *ret = NULL;
    if (step->what != HALO_JUDGE_PASS)
        return 0;
    *ret = halo_verdict_create();
    bool fine = *ret != NULL;
    for (int find = 0; fine && find < HALO_FINDS; find++)
        if (step->known & halo_find_bit(find))
            fine = halo_verdict_set(*ret, find, &step->hidden[find], &step->shown[find]) == 0;
    return fine ? 0 : -ENOMEM;
}

/* Finds out which object appears in which frame. Without detectors, all appear in the first. */
static int plan_frames(struct halo_detections *all, struct halo_replay *replay,
                       struct halo_gate_cells *cells, struct halo_error *err)
{
    int code = 0;
    const int64_t frames = replay ? all->frames : 1;
    for (int64_t i = 0; i < frames && code >= 0; i++) {
        const struct halo_judge_step *step;
        struct halo_verdict *verdict = NULL;
        all->frozen.frame = i;
        code = replay ? halo_replay_next(replay, all->frame[i].pts, &step, err) : 0;
        if (code >= 0 && replay)
            code = verdict_of(step, &verdict);
        if (code >= 0)
            code = halo_gate_cells_plan(cells, all->width, all->height, verdict);
        halo_verdict_destroy(verdict);
    }
    return code;
}

static int plan_cells(const struct halo_job_file *job, struct halo_detections *all,
                      struct halo_error *err)
{
    const struct halo_replay_settings settings = {
        .detections = all, .detector = job->settings.detector, .count = all->frames};
    struct halo_replay *replay = NULL;
    struct halo_gate_cells *cells = NULL;
    all->frozen.mode = HALO_FROZEN_PLAN;
    int code = halo_gate_cells_create(&cells, job->chain, NULL, &all->frozen);
    if (code >= 0 && all->finds)
        code = halo_replay_create(&replay, &settings);
    if (code >= 0)
        code = plan_frames(all, replay, cells, err);
    halo_replay_destroy(replay);
    halo_gate_cells_destroy(cells);
    return code < 0 && !err->code ? halo_fail(err, code, "out of memory") : code;
}

/* Takes values from the segments that *need says. */
static int take_from(struct halo_job_file *job, struct halo_detections *all, const bool *need,
                     struct halo_error *err)
{
    const struct halo_segments_job about = {
        .facts = job->manifest, .detections = all, .frozen = &all->frozen};
    struct halo_run_part_end end = {.error = {0}};
    struct halo_segments *segments = NULL;
    int code = halo_segments_open_job(&segments, &job->settings, job->manifest, &about, err);
    if (code >= 0) {
        for (int i = 0; i < job->segments; i++)
            if (need[i])
                halo_segments_need(segments, i);
        halo_run_part(&job->settings, job->chain, segments, false, &end);
        halo_job_end_by_signal();
        *err = end.error;
        code = end.error.code;
    }
    halo_segments_close(segments, false);
    if (end.signal)
        raise(end.signal);
    return code;
}

/* With detectors: the segments in which objects appear. Returns whether there are any. */
static bool find_segments(const struct halo_detections *all, bool *ret_need)
{
    bool ret = false;
    int64_t from = 0;
    for (int64_t i = 0; i < all->segments; from += all->segment[i++]) {
        ret_need[i] = halo_frozen_count(&all->frozen, from, from + all->segment[i]) > 0;
        ret |= ret_need[i];
    }
    return ret;
}

/* Takes the values of all objects from the frames in which they appear, once for all segments.
 * Without detectors, that is the first frame; with -ss, there may be segments without frames. */
static int take_cells(struct halo_job_file *job, struct halo_detections *all,
                      struct halo_error *err)
{
    int code = 0;
    bool *need = calloc((size_t)job->segments + 1, sizeof *need);
    if (!need)
        return halo_fail(err, -ENOMEM, "out of memory");
    all->frozen.mode = HALO_FROZEN_TAKE;
    if (all->finds && find_segments(all, need))
        code = take_from(job, all, need, err);
    for (int i = 0; !all->finds && i < job->segments && code >= 0 && !all->frozen.entered; i++) {
        need[i] = true;
        code = take_from(job, all, need, err);
        need[i] = false;
    }
    free(need);
    if (code >= 0 &&
        (!halo_frozen_is_complete(&all->frozen) || (!all->finds && !all->frozen.entered)))
        code = halo_fail(err, -EIO, "%s: not all frames in which objects appear could be read",
                         job->folder);
    all->frozen.mode = HALO_FROZEN_SHOW;
    return code;
}

static int add_cells(struct halo_job_file *job, struct halo_detections *all, struct halo_error *err)
{
    if (!halo_chain_has_cells(job->chain))
        return 0;
    const int code = plan_cells(job, all, err);
    return code < 0 ? code : take_cells(job, all, err);
}

/* ---- the file ---- */

/* Another merge may have been faster: what it wrote counts. */
static int save(struct halo_job_file *job, struct halo_detections *all, struct halo_error *err)
{
    char *path = halo_job_all_detections(job);
    if (!path)
        return halo_fail(err, -ENOMEM, "out of memory");
    const struct halo_part_id id = halo_manifest_id(job->manifest);
    memcpy(all->id, id.hash.byte, sizeof all->id);
    all->seen = false; /* no thumbnail is needed any more */
    int code = halo_detections_save(all, path, true, err);
    if (code == -EEXIST) {
        *err = (struct halo_error){0};
        code = 0;
    }
    free(path);
    return code < 0 ? code : halo_job_load_detections(job, err);
}

static int merge(struct halo_job_file *job, struct halo_error *err)
{
    const struct halo_segments_job about = {.facts = job->manifest, .detects = true};
    struct halo_segments *segments = NULL;
    struct halo_detections all = {.frame = NULL};
    int code = halo_segments_open_job(&segments, &job->settings, job->manifest, &about, err);
    if (code >= 0)
        code = gather(job, segments, &all, err);
    if (code >= 0)
        code = add_cells(job, &all, err);
    if (code >= 0)
        code = save(job, &all, err);
    halo_detections_finish(&all);
    halo_segments_close(segments, false);
    return code;
}

static void say_merged(const struct halo_job_file *job, bool before)
{
    const struct halo_detections *d = &job->detections;
    halo_log(HALO_LOG_INFO, "%s: %s%lld frames, %lld boxes", job->folder,
             before ? "is already merged: " : "", (long long)d->frames, (long long)d->boxes);
    if (d->frozen.shown > 0)
        halo_log(HALO_LOG_INFO,
                 "%s: hide replaces %lld object%s by cells, which reveal at most %.0f bits in all",
                 job->folder, (long long)d->frozen.shown, d->frozen.shown == 1 ? "" : "s",
                 ceil(d->frozen.bits));
    if (d->frozen.epsilons > 0)
        halo_log(HALO_LOG_INFO, "%s: the epsilons of hide=noise add up to %g", job->folder,
                 d->frozen.epsilons);
}

static int merge_job(struct halo_job_file *job, struct halo_error *err)
{
    int code = halo_job_load(job, false, err);
    if (code < 0)
        return code;
    if (!halo_job_chain_merges(job->chain)) {
        halo_log(HALO_LOG_INFO, "%s: the job needs no detectors, so there is nothing to merge",
                 job->folder);
        return 0;
    }
    code = halo_job_load_detections(job, err);
    const bool merged = code >= 0;
    if (code == -ENOENT) {
        *err = (struct halo_error){0};
        code = merge(job, err);
    }
    struct halo_error ignored = {0};
    if (code == -ENOENT && halo_job_load_detections(job, &ignored) >= 0) { /* was faster */
        *err = (struct halo_error){0};
        code = 0;
    }
    if (code < 0)
        return code;
    halo_job_remove_detections(job);
    say_merged(job, merged);
    return 0;
}

/* Waits until there is something about every segment, or all of it. */
static int wait_for_detections(const struct halo_job_file *job, struct halo_error *err)
{
    char *all = halo_job_all_detections(job);
    const int code = all && job->detects ? halo_job_wait(job, "detections", all, err) : 0;
    free(all);
    return code;
}

static int end_complete(const struct halo_job_file *job)
{
    halo_log(HALO_LOG_INFO, "%s: was completed in the meantime", job->output);
    return HALO_EXIT_OK;
}

static int merge_begun(void *arg)
{
    struct halo_job_file *job = arg;
    struct halo_error err = {0};
    if (halo_job_is_complete(job) || merge_job(job, &err) >= 0)
        return HALO_EXIT_OK;
    return halo_job_is_complete(job) ? end_complete(job)
                                     : halo_job_fail_step(job, "merge", NULL, &err);
}

static int merge_named(const char *name, void *arg)
{
    const struct halo_job_options *options = arg;
    struct halo_error err = {0};
    struct halo_job_file job = {0};
    int code = halo_job_find(&job, name, &err);
    if (code >= 0)
        code = halo_job_read(&job, &err);
    if (code >= 0 && options->wait)
        code = wait_for_detections(&job, &err);
    if (code >= 0) {
        halo_job_forget_failure(&job, "merge", NULL);
        code = halo_job_apart(merge_begun, &job);
    } else {
        code = job.folder && halo_job_is_complete(&job) ? end_complete(&job) : halo_job_fail(&err);
    }
    halo_job_close(&job);
    return code;
}

int halo_job_merge_command(const struct halo_job_options *options, int count, char **rest)
{
    if (options->ended >= 0)
        return halo_job_note_ended(count, rest, "merge", (struct halo_job_share){0},
                                   options->ended);
    return halo_job_each("merge", count, rest, merge_named, (void *)options);
}
