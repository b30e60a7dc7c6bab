/* SPDX-License-Identifier: BSD-2-Clause
 * The files of a job (job_file.h). */
#include "daemon/cli/job/job_file.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/atomic_file.h"
#include "config/base/log.h"
#include "config/base/path_name.h"
#include "daemon/cli/job/job_detections.h"
#include "daemon/cli/job/job_facts.h"
#include "daemon/cli/run/run_confine.h"
#include "pipeline/segment/manifest.h"

static const char suffix[] = ".parts";

/* The absolute path of a file whose folder exists. NULL: errno is set. */
static char *absolute(const char *path)
{
    char *copy = strdup(path), *again = strdup(path), *ret = NULL;
    char *folder = copy && again ? realpath(dirname(copy), NULL) : NULL;
    if (folder && asprintf(&ret, "%s/%s", strcmp(folder, "/") ? folder : "", basename(again)) < 0)
        ret = NULL;
    free(folder);
    free(copy);
    free(again);
    return ret;
}

static bool has_control(const char *text)
{
    while (*text && (unsigned char)*text >= ' ' && *text != 0x7f)
        text++;
    return *text;
}

int halo_job_find(struct halo_job_file *ret, const char *name, struct halo_error *err)
{
    static const char manifest[] = "/manifest.json";
    struct halo_job_file job = {0};
    char *path = absolute(name);
    if (!path) {
        const char *slash = strrchr(name, '/'); /* the folder was removed with the manifest in it */
        char *folder = slash && !strcmp(slash, manifest) ? strndup(name, slash - name) : NULL;
        path = folder && errno == ENOENT ? absolute(folder) : NULL;
        free(folder);
    }
    if (!path)
        return halo_fail(err, -errno, "%s: %s", name, strerror(errno));
    if (has_control(path)) {
        free(path);
        return halo_fail_usage(err,
                               "%s: the name contains a line break or another control character, "
                               "which schedulers cannot pass on: rename it",
                               name);
    }
    if (strlen(path) > strlen(manifest) &&
        !strcmp(path + strlen(path) - strlen(manifest), manifest))
        path[strlen(path) - strlen(manifest)] = 0;
    const size_t length = strlen(path);
    job.folder = path;
    if (length <= strlen(suffix) || strcmp(path + length - strlen(suffix), suffix)) {
        halo_job_close(&job);
        return halo_fail_usage(err, "%s: the manifest must be in a folder whose name ends with %s",
                               name, suffix);
    }
    job.output = strndup(path, length - strlen(suffix));
    if (!job.output || asprintf(&job.audit, "%s.job.json", job.output) < 0) {
        job.audit = NULL;
        halo_job_close(&job);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    halo_job_look_again(&job);
    *ret = job;
    return 0;
}

void halo_job_look_again(const struct halo_job_file *job)
{
    char *manifest;
    halo_refresh_folder(job->output);
    if (asprintf(&manifest, "%s/manifest.json", job->folder) < 0)
        return;
    halo_refresh_folder(manifest);
    free(manifest);
}

void halo_job_close(struct halo_job_file *job)
{
    free(job->folder);
    free(job->output);
    free(job->audit);
    json_decref(job->manifest);
    json_decref(job->detectors);
    halo_chain_destroy(job->chain);
    halo_detections_finish(&job->detections);
    halo_run_finish(&job->settings);
    *job = (struct halo_job_file){0};
}

bool halo_job_is_complete(const struct halo_job_file *job)
{
    struct stat st;
    json_int_t size = -1;
    const char *seal = "", *sealed = json_string_value(json_object_get(job->manifest, "seal"));
    json_t *audit = json_load_file(job->audit, 0, NULL);
    const bool ret =
        audit && json_unpack(audit, "{s:s, s:{s:I}}", "job", &seal, "output", "size", &size) == 0 &&
        (!sealed || !strcmp(seal, sealed)) && stat(job->output, &st) == 0 && st.st_size == size;
    json_decref(audit);
    return ret;
}

static int seal(const json_t *manifest, char ret[HALO_SHA256_TEXT])
{
    json_t *open = json_copy((json_t *)manifest);
    if (open)
        json_object_del(open, "seal");
    const int code = open ? halo_job_hash_json(open, ret) : -ENOMEM;
    json_decref(open);
    return code;
}

static int check_manifest(struct halo_job_file *job, struct halo_error *err)
{
    char hash[HALO_SHA256_TEXT];
    const char *sealed = json_string_value(json_object_get(job->manifest, "seal"));
    const json_t *segments = json_object_get(job->manifest, "segments");
    if (!json_is_object(json_object_get(job->manifest, "job")))
        return halo_fail_usage(err,
                               "%s: is the folder of halod run -resume, not of a job: run that "
                               "command again to continue it",
                               job->folder);
    if (seal(job->manifest, hash) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    if (!sealed || strcmp(sealed, hash) != 0 || json_array_size(segments) > INT_MAX)
        return halo_fail(err, -ESTALE,
                         "%s: the manifest was changed after halod job split wrote it: split again "
                         "with -y",
                         job->folder);
    job->segments = (int)json_array_size(segments);
    const json_t *part = json_object_get(job->manifest, "job");
    job->detects = json_is_true(json_object_get(part, "detects"));
    job->merges = json_is_true(json_object_get(part, "merges"));
    return 0;
}

int halo_job_read(struct halo_job_file *job, struct halo_error *err)
{
    const int code = halo_manifest_read(&job->manifest, job->folder);
    if (code == -ENOENT)
        return halo_fail(err, code, "%s: there is no manifest: create it with halod job split",
                         job->folder);
    if (code == -EBADMSG)
        return halo_fail(err, -ESTALE,
                         "%s: contains no manifest of this version of halod: split again with -y",
                         job->folder);
    if (code < 0)
        return halo_fail(err, code, "%s: its manifest cannot be read: %s", job->folder,
                         strerror(-code));
    return check_manifest(job, err);
}

int halo_job_count(struct halo_job_file *job, struct halo_error *err)
{
    if (job->manifest || halo_job_read(job, err) >= 0)
        return job->segments;
    if (err->code != -ENOENT || !halo_job_is_complete(job))
        return err->code;
    *err = (struct halo_error){0};
    json_t *audit = json_load_file(job->audit, 0, NULL);
    job->segments = (int)json_array_size(json_object_get(audit, "segments"));
    json_decref(audit);
    return job->segments;
}

/* Compares what the split recorded of its machine with this one. */
static int check_machine(const struct halo_job_file *job, struct halo_error *err)
{
    const json_t *part = json_object_get(job->manifest, "job");
    const json_t *then = json_object_get(part, "machine");
    const bool any_flags = json_is_true(json_object_get(part, "any_flags"));
    const char *encoder = json_string_value(json_object_get(then, "encoder")), *name;
    json_t *now = encoder ? halo_job_machine(encoder) : NULL, *mine;
    int code = now ? 0
                   : halo_fail(err, encoder ? -ENOMEM : -ESTALE, "%s: %s", job->folder,
                               encoder ? "out of memory" : "the manifest is malformed");
    json_object_foreach (now, name, mine) {
        const json_t *theirs = json_object_get(then, name);
        const char *before = json_string_value(theirs);
        if (code < 0 || json_equal(mine, theirs) || (any_flags && !strcmp(name, "flags")))
            continue;
        code = halo_fail(err, -ESTALE,
                         "%s: was split on a machine whose %s is %s, but here it is %s, which may "
                         "change the output: use equal machines, or split with --mixed",
                         job->folder, name, before ? before : "not known", json_string_value(mine));
    }
    json_decref(now);
    return code;
}

static int check_terms(const struct halo_job_file *job, bool mixed, struct halo_error *err)
{
    struct halo_error inner = {0};
    json_t *terms = json_object_get(job->manifest, "terms");
    json_t *now = halo_manifest_terms(&job->settings, job->chain);
    if (now && mixed)
        json_object_set(now, "versions", json_object_get(terms, "versions"));
    int code = now ? halo_manifest_compare(terms, now, job->folder, &inner)
                   : halo_fail(err, -ENOMEM, "out of memory");
    if (inner.code)
        code = halo_fail(err, -ESTALE, "%s", inner.text);
    json_decref(now);
    return code;
}

int halo_job_check_settings(struct halo_run_settings *settings, const char *output,
                            struct halo_error *err)
{
    struct stat st;
    const char *input = settings->source.input;
    if (settings->resume)
        return halo_fail_usage(err,
                               "-resume is for halod run: the segments of a job are always kept");
    if (settings->progress)
        return halo_fail_usage(err, "-progress is about one process: use halod job status --json "
                                    "for the progress of the job");
    if (!strcmp(input, "-") || halo_path_is_url(input))
        return halo_fail_usage(err, "%s: the input of a job must be a file", input);
    if (stat(halo_path_of(input), &st) < 0)
        return halo_fail(err, -errno, "%s: %s", input, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return halo_fail_usage(err, "%s: the input of a job must be a file", input);
    if (output && strcmp(settings->output, output) != 0)
        return halo_fail(err, -ESTALE,
                         "is the folder of %s, but its manifest was made for %s: rename the folder "
                         "back, or split again",
                         output + strlen("./"), settings->output);
    if (output && lstat(output, &st) == 0 && S_ISLNK(st.st_mode))
        return halo_fail(err, -ESTALE,
                         "%s is a symbolic link, which a job does not follow: remove it", output);
    settings->source.alone = true;
    return 0;
}

static int parse(struct halo_job_file *job, bool detects, struct halo_error *err)
{
    char *output;
    struct halo_error inner = {0};
    const json_t *words = json_object_get(json_object_get(job->manifest, "job"), "arguments");
    const size_t count = json_array_size(words);
    char **argv = calloc(count + 1, sizeof *argv);
    bool malformed = count == 0;
    for (size_t i = 0; argv && i < count; i++) {
        argv[i] = (char *)json_string_value(json_array_get(words, i));
        malformed |= !argv[i];
    }
    int code = argv ? 0 : halo_fail(&inner, -ENOMEM, "out of memory");
    if (code >= 0 && malformed)
        code = halo_fail(&inner, -ESTALE, "the manifest is malformed: split again with -y");
    if (code >= 0)
        code = halo_run_parse(&job->settings, (int)count, argv, &inner);
    free(argv);
    if (asprintf(&output, ".%s", strrchr(job->output, '/')) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0)
        code = halo_job_check_settings(&job->settings, output, &inner);
    free(output);
    if (code >= 0)
        code = halo_chain_parse(&job->chain, job->settings.filters, &inner);
    if (code >= 0 && detects && !(job->detectors = halo_job_hash_detectors(job)))
        code = halo_fail(&inner, -ENOMEM, "out of memory");
    if (code >= 0)
        code = halo_run_confine(&job->settings, job->chain, true, &inner);
    if (code >= 0)
        code = halo_chain_load(job->chain, &inner);
    return code < 0 ? halo_fail(err, code, "%s: %s", job->folder, inner.text) : 0;
}

int halo_job_enter(const struct halo_job_file *job, struct halo_error *err)
{
    char *copy = strdup(job->output);
    int code = copy ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0 && chdir(dirname(copy)) < 0)
        code = halo_fail(err, -errno, "%s: %s", dirname(copy), strerror(errno));
    free(copy);
    return code;
}

int halo_job_load(struct halo_job_file *job, bool detects, struct halo_error *err)
{
    const bool mixed =
        json_is_true(json_object_get(json_object_get(job->manifest, "job"), "mixed"));
    int code = halo_job_enter(job, err);
    if (code >= 0 && !mixed)
        code = check_machine(job, err);
    if (code >= 0)
        code = parse(job, detects, err);
    if (code >= 0)
        code = check_terms(job, mixed, err);
    return code;
}

int halo_job_write(struct halo_job_file *job, struct halo_error *err)
{
    char hash[HALO_SHA256_TEXT];
    if (seal(job->manifest, hash) < 0 ||
        json_object_set_new(job->manifest, "seal", json_string(hash)) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    return halo_manifest_write(job->manifest, job->folder, err);
}
