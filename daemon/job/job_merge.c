/* SPDX-License-Identifier: BSD-2-Clause
 * halod job merge: makes all.detections of what detectors answered about the segments. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/log.h"
#include "daemon/engine/hide.h"
#include "daemon/job/job.h"
#include "daemon/job/job_detections.h"
#include "daemon/job/job_file.h"
#include "daemon/job/job_task.h"
#include "pipeline/segment/manifest.h"
#include "pipeline/segment/segments.h"

enum { WAIT_SECONDS = 5 };

static int fail_segment(const struct halo_job_file *job, int number, int code,
                        struct halo_error *err)
{
    char path[24];
    struct halo_error inner = {0};
    snprintf(path, sizeof path, "%06d.detections", number);
    code = halo_detections_fail(path, code, &inner);
    return halo_fail(err, code, "%s/%s%s", job->folder, inner.text,
                     code == -EBADMSG || code == -ENOENT ? ": halod job detect makes it (again)"
                                                         : "");
}

/* Appends what is known of all segments, in their order. */
static int gather(const struct halo_job_file *job, struct halo_segments *segments,
                  struct halo_detections *ret, struct halo_error *err)
{
    int code = 0;
    for (int i = 0; i < job->segments && code >= 0; i++) {
        struct halo_detections one;
        code = halo_segments_load_detections(segments, i, &one);
        if (code < 0)
            return fail_segment(job, i, code, err);
        code = halo_detections_append(ret, &one, err);
        halo_detections_finish(&one);
    }
    return code;
}

/* Another merge may have been faster: what it wrote counts. */
static int save(struct halo_job_file *job, struct halo_detections *all, struct halo_error *err)
{
    char *path = halo_job_all_detections(job);
    if (!path)
        return halo_fail(err, -ENOMEM, "out of memory");
    const struct halo_part_id id = halo_manifest_id(job->manifest);
    memcpy(all->id, id.hash.byte, sizeof all->id);
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
        code = save(job, &all, err);
    halo_detections_finish(&all);
    halo_segments_close(segments, false);
    return code;
}

static int merge_job(struct halo_job_file *job, struct halo_error *err)
{
    int code = halo_job_load(job, err);
    if (code < 0)
        return code;
    if (!halo_job_chain_detects(job->chain)) {
        halo_log(HALO_LOG_INFO, "%s: needs no detectors", job->folder);
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
    halo_log(HALO_LOG_INFO, "%s: %s%lld frames, %lld boxes", job->folder,
             merged ? "is already merged: " : "", (long long)job->detections.frames,
             (long long)job->detections.boxes);
    return 0;
}

/* Waits until there is something about every segment, or all of it. */
static void wait_for_detections(const struct halo_job_file *job)
{
    char *all = halo_job_all_detections(job);
    for (int i = 0; all && job->detects && i < job->segments;) {
        char *path;
        if (access(all, F_OK) == 0 || access(job->folder, F_OK) < 0 ||
            asprintf(&path, "%s/%06d.detections", job->folder, i) < 0)
            break;
        if (access(path, F_OK) == 0)
            i++;
        else
            sleep(WAIT_SECONDS);
        free(path);
    }
    free(all);
}

static int merge_named(const char *name, bool waits)
{
    struct halo_error err = {0};
    struct halo_job_file job = {0};
    int code = halo_job_find(&job, name, &err);
    if (code >= 0)
        code = halo_job_read(&job, &err);
    if (code >= 0 && waits)
        wait_for_detections(&job);
    if (code >= 0 && !halo_job_is_complete(&job))
        code = merge_job(&job, &err);
    if (code < 0 && job.folder && halo_job_is_complete(&job)) {
        halo_log(HALO_LOG_INFO, "%s: was completed meanwhile", job.output);
        code = 0;
    }
    code = code < 0 ? halo_job_fail(&err) : HALO_EXIT_OK;
    halo_job_close(&job);
    return code;
}

int halo_job_merge_command(const struct halo_job_options *options, int count, char **rest)
{
    struct halo_error err = {0};
    halo_job_end_by_signal();
    if (count == 0)
        halo_fail_usage(&err, "job merge: MANIFEST is missing");
    if (err.code || halo_hide_memory(&err) < 0)
        return halo_job_fail(&err);
    int code = HALO_EXIT_OK;
    char *folder = realpath(".", NULL);
    for (int i = 0; i < count && code == HALO_EXIT_OK; i++) {
        if (i > 0 && folder && chdir(folder) < 0) /* names are relative to it */
            break;
        code = merge_named(rest[i], options->wait);
    }
    free(folder);
    return code;
}
