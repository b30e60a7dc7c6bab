/* SPDX-License-Identifier: BSD-2-Clause
 * halod job join: makes OUT of the parts, and writes OUT.job.json. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/atomic_file.h"
#include "config/base/log.h"
#include "daemon/cli/job/job.h"
#include "daemon/cli/job/job_detections.h"
#include "daemon/cli/job/job_facts.h"
#include "daemon/cli/job/job_failed.h"
#include "daemon/cli/job/job_file.h"
#include "daemon/cli/job/job_task.h"
#include "daemon/cli/run/run_segments.h"
#include "pipeline/base/path.h"
#include "pipeline/segment/manifest.h"

/* ---- the audit trail ---- */

/* What each segment's record says, with its hash; a record may be missing. */
static json_t *describe_segments(const struct halo_job_file *job)
{
    json_t *ret = json_array();
    for (int i = 0; i < job->segments; i++) {
        char *path;
        if (asprintf(&path, "%s/%06d.json", job->folder, i) < 0)
            path = NULL;
        json_t *record = path ? json_load_file(path, 0, NULL) : NULL;
        free(path);
        json_array_append_new(ret, record ? record : json_object());
    }
    return ret;
}

static json_t *describe(const struct halo_job_file *job, int64_t size,
                        const struct halo_joined *joined, const char *hash)
{
    json_t *part = json_object_get(job->manifest, "job");
    char *name = strrchr(job->output, '/') + 1;
    json_t *output = json_pack("{s:o, s:I, s:s, s:I, s:f}", "name", halo_manifest_text(name),
                               "size", (json_int_t)size, "sha256", hash, "frames",
                               (json_int_t)joined->packets, "seconds", joined->seconds);
    json_t *ret = json_pack(
        "{s:i, s:o, s:O, s:O, s:O, s:O, s:O, s:O, s:O, s:o, s:o}", "version", 1, "output", output,
        "input", json_object_get(job->manifest, "input"), "arguments",
        json_object_get(part, "arguments"), "terms", json_object_get(job->manifest, "terms"),
        "machine", json_object_get(part, "machine"), "mixed", json_object_get(part, "mixed"), "job",
        json_object_get(job->manifest, "seal"), "split", json_object_get(part, "split"), "join",
        halo_job_who(), "segments", describe_segments(job));
    json_t *detectors = halo_job_describe_detections(job);
    json_t *hidden = halo_job_describe_hidden(job);
    if (ret && detectors)
        json_object_set(ret, "detectors", detectors);
    if (ret && hidden)
        json_object_set(ret, "hidden", hidden);
    json_decref(detectors);
    json_decref(hidden);
    return ret;
}

/* Whether OUT is complete, and is what its audit trail says. */
static bool is_joined(struct halo_job_file *job)
{
    char hash[HALO_SHA256_TEXT];
    const char *wanted = "";
    struct halo_error ignored = {0};
    json_t *audit = halo_job_is_complete(job) ? json_load_file(job->audit, 0, NULL) : NULL;
    const bool ret = audit && json_unpack(audit, "{s:{s:s}}", "output", "sha256", &wanted) == 0 &&
                     halo_job_hash_file(job->output, hash, &ignored) >= 0 && !strcmp(hash, wanted);
    json_decref(audit);
    return ret;
}

/* Checks that the folder does not contain another job's manifest by now; no manifest is fine. */
static int check_manifest(const struct halo_job_file *job, struct halo_error *err)
{
    struct halo_error inner = {0};
    struct halo_job_file now = {.folder = job->folder};
    halo_job_look_again(job);
    int code = halo_job_read(&now, &inner);
    if (code >= 0 &&
        !json_equal(json_object_get(now.manifest, "seal"), json_object_get(job->manifest, "seal")))
        code = halo_fail(&inner, -ESTALE, "%s: was split again in the meantime", job->folder);
    json_decref(now.manifest);
    if (code >= 0 || code == -ENOENT)
        return 0;
    *err = inner;
    return code;
}

static bool is_split_again(const struct halo_job_file *job)
{
    struct halo_error ignored = {0};
    return check_manifest(job, &ignored) < 0;
}

/* What other processes have done meanwhile. Returns 0, or -errno with err filled. */
static int check_others(struct halo_job_file *job, struct halo_error *err)
{
    if (is_joined(job)) /* and that join has begun to remove what describe() reads */
        return halo_fail(err, -EEXIST, "%s: another join has completed it", job->output);
    const int code = check_manifest(job, err);
    if (code >= 0 && !job->settings.overwrite && access(job->output, F_OK) == 0)
        return halo_fail(err, -EEXIST, "%s: this file exists now: remove it or split again with -y",
                         job->output);
    return code;
}

/* Writes OUT.job.json. Until then it is in the folder, where nothing stays if this is killed. */
static int save_audit(const struct halo_job_file *job, const json_t *audit)
{
    char *path;
    if (!audit || asprintf(&path, "%s/" HALO_SEGMENTS_AUDIT, job->folder) < 0)
        return -ENOMEM;
    int code = halo_manifest_save(audit, path);
    if (code >= 0)
        code = halo_atomic_file_replace(path, job->audit);
    if (code >= 0)
        halo_sync_folder(job->audit);
    free(path);
    return code;
}

/* Called with the complete output, before it gets its name. */
static int check(void *arg, const char *path, const struct halo_joined *joined,
                 struct halo_error *err)
{
    struct halo_job_file *job = arg;
    char hash[HALO_SHA256_TEXT];
    struct stat st;
    int code = halo_joined_check(path, joined, job->output, err);
    if (code >= 0)
        code = halo_job_hash_file(path, hash, err);
    if (code >= 0 && stat(path, &st) < 0)
        code = halo_fail(err, -errno, "%s: %s", path, strerror(errno));
    if (code < 0)
        return code;
    json_t *audit = describe(job, st.st_size, joined, hash);
    code = check_others(job, err);
    if (code >= 0 && (code = save_audit(job, audit)) < 0)
        halo_fail(err, code, "%s: cannot be written: %s", job->audit, strerror(-code));
    json_decref(audit);
    return code;
}

/* ---- what is joined ---- */

static int check_input(const struct halo_job_file *job, struct halo_error *err)
{
    char hash[HALO_SHA256_TEXT];
    const char *name = job->settings.source.input;
    const char *before =
        json_string_value(json_object_get(json_object_get(job->manifest, "input"), "sha256"));
    const int code = halo_job_hash_file(halo_path_of(name), hash, err);
    if (code < 0)
        return code;
    return before && !strcmp(before, hash)
               ? 0
               : halo_fail(err, -ESTALE, "%s: is not the file that was split: split again with -y",
                           name);
}

static void fail_missing(const struct halo_job_file *job, int missing, int first,
                         struct halo_error *err)
{
    struct halo_error why = {0};
    json_t *failures = halo_job_failures(job);
    halo_job_fail_failures(job, failures, true, &why);
    halo_fail(err, -ENOENT, "%s: %d of %d segments are missing, the first one is %d%s%s",
              job->folder, missing, job->segments, first, why.code ? ": " : "", why.text);
    json_decref(failures);
}

/* Checks every part. Returns 0; 1 if some are missing; or -errno with err filled. */
static int check_parts(const struct halo_job_file *job, struct halo_segments *segments,
                       struct halo_error *err)
{
    int missing = 0, first = -1;
    for (int i = 0; i < job->segments; i++) {
        bool damaged;
        const int code = halo_segments_want(segments, i, &damaged, err);
        if (code < 0)
            return code;
        if (damaged)
            return halo_fail(err, -EBADMSG,
                             "%s/%06d.part: is damaged or does not match the manifest: encode it "
                             "again with halod job segment MANIFEST %d",
                             job->folder, i, i);
        if (code && !missing++)
            first = i;
    }
    if (missing)
        fail_missing(job, missing, first, err);
    return missing > 0;
}

static int open_parts(struct halo_job_file *job, struct halo_segments **ret, struct halo_error *err)
{
    const struct halo_segments_job about = {
        .facts = job->manifest, .check = check, .arg = job, .detections = halo_job_detections(job)};
    const int code = halo_segments_open_job(ret, &job->settings, job->manifest, &about, err);
    return code < 0 ? code : check_parts(job, *ret, err);
}

/* ---- the command ---- */

static void say_complete(const struct halo_job_file *job)
{
    json_t *audit = json_load_file(job->audit, 0, NULL);
    const json_t *output = json_object_get(audit, "output");
    halo_log(HALO_LOG_INFO, "%s: %lld frames in %zu segments, sha256 %.12s...", job->output,
             (long long)json_integer_value(json_object_get(output, "frames")),
             json_array_size(json_object_get(audit, "segments")),
             json_string_value(json_object_get(output, "sha256")));
    json_decref(audit);
}

/* Another join has completed OUT. It may have been killed before it had removed the folder, and
 * what this one had there may have kept it from doing so. */
static int end_complete(const struct halo_job_file *job, const char *how)
{
    halo_log(HALO_LOG_INFO, "%s: %s", job->output, how);
    if (!is_split_again(job))
        halo_segments_remove(job->folder,
                             json_string_value(json_object_get(job->manifest, "seal")));
    return HALO_EXIT_OK;
}

static int end_join(struct halo_job_file *job, struct halo_segments *segments,
                    struct halo_run_part_end *end)
{
    const bool complete = !end->error.code && !end->signal;
    const bool full = segments && (end->error.code == -ENOSPC || end->error.code == -EDQUOT);
    const bool removes = (complete || full) && !is_split_again(job);
    if (full && removes) /* all parts are complete, so nobody needs these files */
        halo_segments_remove_begun(segments);
    halo_segments_close(segments, complete && removes);
    if (!complete && is_joined(job))
        return end_complete(job, "another join has completed it");
    if (end->signal)
        return 128 + end->signal;
    if (!complete)
        return halo_job_fail_step(job, "join", NULL, &end->error);
    say_complete(job);
    return HALO_EXIT_OK;
}

/* Whether this machine can still load the job does not matter if OUT is complete. */
static int join(void *arg)
{
    struct halo_job_file *job = arg;
    struct halo_run_part_end end = {.error = {0}};
    struct halo_segments *segments = NULL;
    if (is_joined(job))
        return end_complete(job, "is already complete");
    int code = halo_job_load(job, false, &end.error);
    if (code >= 0)
        code = check_input(job, &end.error);
    if (code >= 0)
        code = halo_job_load_detections(job, &end.error);
    if (code >= 0)
        code = open_parts(job, &segments, &end.error);
    if (code == 0)
        halo_run_part(&job->settings, job->chain, segments, true, &end);
    halo_job_end_by_signal();
    return end_join(job, segments, &end);
}

static int join_named(const char *name, void *arg)
{
    const struct halo_job_options *options = arg;
    struct halo_error err = {0};
    struct halo_job_file job = {0};
    int code = halo_job_find(&job, name, &err);
    if (code >= 0 && (code = halo_job_read(&job, &err)) >= 0 && options->wait)
        code = halo_job_wait(&job, "part", NULL, &err);
    if (code >= 0)
        halo_job_forget_failure(&job, "join", NULL);
    if (code == -ENOENT && job.folder && is_joined(&job)) {
        code = end_complete(&job, "is already complete");
    } else {
        code = code < 0 ? halo_job_fail(&err) : halo_job_apart(join, &job);
    }
    halo_job_close(&job);
    return code;
}

int halo_job_join_command(const struct halo_job_options *options, int count, char **rest)
{
    if (options->ended >= 0)
        return halo_job_note_ended(count, rest, "join", (struct halo_job_share){0}, options->ended);
    return halo_job_each("join", count, rest, join_named, (void *)options);
}
