/* SPDX-License-Identifier: BSD-2-Clause
 * What detectors answered about the frames of a job (job_detections.h). */
#include "daemon/cli/job/job_detections.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/cli/job/job_facts.h"
#include "daemon/detector/command.h"
#include "pipeline/segment/manifest.h"
#include "pipeline/segment/segments.h"

bool halo_job_chain_detects(const struct halo_chain *chain)
{
    struct halo_chain_needs needs = {0};
    halo_chain_add_needs(chain, &needs);
    return needs.hidden || needs.shown;
}

bool halo_job_chain_merges(const struct halo_chain *chain)
{
    return halo_job_chain_detects(chain) || halo_chain_has_cells(chain);
}

static bool has_background(const struct halo_chain *chain)
{
    bool ret = false;
    for (int f = 0; f < chain->count; f++)
        ret |= chain->filter[f].shapes && chain->filter[f].shapes->from == HALO_SHAPES_BACKGROUND;
    return ret;
}

int halo_job_check_chain(const struct halo_run_settings *settings, const struct halo_chain *chain,
                         struct halo_error *err)
{
    struct halo_chain_needs needs = {0};
    halo_chain_add_needs(chain, &needs);
    const bool people = (needs.hidden | needs.shown) & halo_find_bit(HALO_FIND_PEOPLE);
    if (has_background(chain) || (people && !settings->detector[HALO_FIND_PEOPLE].command))
        return halo_fail_usage(
            err,
            "a job cannot use masks of people (region=background, and "
            "region=people with halo-detect): each depends on earlier frames, which other tasks "
            "filter; use halod run, or a detector that answers with boxes (-people command=...)");
    return 0;
}

/* Of the program and, if it may be an interpreter, of its script: the first word that is no
 * option. */
static int hash_command(const char *command, enum halo_find find, char ret[HALO_SHA256_TEXT])
{
    char hash[HALO_SHA256_TEXT];
    struct halo_error ignored = {0};
    struct halo_detector_command found;
    json_t *hashes = json_array();
    int script = 1;
    int code = halo_detector_command_find(&found, command, find, &ignored);
    if (code >= 0) {
        if (halo_job_hash_file(found.program, hash, &ignored) >= 0)
            json_array_append_new(hashes, json_string(hash));
        while (found.word[script] && *found.word[script] == '-')
            script++;
        if (found.word[script] && *found.word[script] == '/' &&
            halo_job_hash_file(found.word[script], hash, &ignored) >= 0)
            json_array_append_new(hashes, json_string(hash));
        code = halo_job_hash_json(hashes, ret);
        halo_detector_command_finish(&found);
    }
    json_decref(hashes);
    return code;
}

json_t *halo_job_hash_detectors(const struct halo_job_file *job)
{
    json_t *ret = json_object();
    struct halo_chain_needs needs = {0};
    halo_chain_add_needs(job->chain, &needs);
    for (int find = 0; find < HALO_FINDS; find++) {
        char hash[HALO_SHA256_TEXT];
        const char *command = job->settings.detector[find].command;
        if (!command || !((needs.hidden | needs.shown) & halo_find_bit(find)))
            continue;
        if (hash_command(command, find, hash) < 0)
            *hash = 0;
        json_object_set_new(ret, halo_find_names[find], json_string(hash));
    }
    return ret;
}

int halo_job_allow_detectors(const struct halo_job_file *job, char *const allowed[HALO_FINDS],
                             struct halo_error *err)
{
    const json_t *part = json_object_get(job->manifest, "job");
    const json_t *then = json_object_get(part, "detectors");
    int code = 0;
    for (int find = 0; find < HALO_FINDS && code >= 0; find++) {
        const char *name = halo_find_names[find], *keys = job->settings.detector_keys[find];
        const char *hash = json_string_value(json_object_get(job->detectors, name));
        const char *before = json_string_value(json_object_get(then, name));
        if (hash && (!allowed[find] || strcmp(allowed[find], keys) != 0))
            code =
                halo_fail_usage(err,
                                "%s: the detector command in the manifest (%s) is not run without "
                                "confirmation: if you trust it, add --%s with the same keys",
                                job->folder, keys, name);
        else if (hash && *hash && before && *before && strcmp(hash, before) != 0 &&
                 !json_is_true(json_object_get(part, "mixed")))
            code = halo_fail(err, -ESTALE,
                             "%s: the detector for %s (%s) differs from that of the machine that "
                             "split the job: install the same version, or split with --mixed",
                             job->folder, name, keys);
    }
    return code;
}

char *halo_job_all_detections(const struct halo_job_file *job)
{
    char *path;
    return asprintf(&path, "%s/" HALO_SEGMENTS_ALL_DETECTIONS, job->folder) < 0 ? NULL : path;
}

bool halo_job_is_merged(const struct halo_job_file *job)
{
    char *path = halo_job_all_detections(job);
    const bool ret = path && access(path, F_OK) == 0;
    free(path);
    return ret;
}

static int fail_load(const struct halo_job_file *job, const char *path, int code,
                     struct halo_error *err)
{
    struct halo_error inner = {0};
    if (code == -ENOENT)
        return halo_fail(err, code,
                         "%s: the detections are not merged yet: run halod job detect for all "
                         "segments, then halod job merge",
                         job->folder);
    if (code != -EBADMSG && code != -ESTALE)
        return halo_detections_fail(path, code, err);
    halo_detections_fail(path, code, &inner);
    return halo_fail(err, code, "%s: remove it, and run halod job detect and halod job merge again",
                     inner.text);
}

static bool fits(const struct halo_job_file *job, const struct halo_detections *d)
{
    struct halo_chain_needs needs = {0};
    halo_chain_add_needs(job->chain, &needs);
    return d->segments == job->segments && d->finds == (needs.hidden | needs.shown);
}

/* Parts that were made from other detections do not fit. */
static int note_hash(struct halo_job_file *job)
{
    struct halo_segment_hash hash;
    json_t *terms = json_object_get(job->manifest, "terms");
    memcpy(hash.byte, job->detections.hash, sizeof hash.byte);
    return json_object_set_new(terms, "detections", halo_manifest_hash(&hash));
}

int halo_job_load_detections(struct halo_job_file *job, struct halo_error *err)
{
    if (!halo_job_chain_merges(job->chain) || job->detections.segments)
        return 0;
    char *path = halo_job_all_detections(job);
    if (!path)
        return halo_fail(err, -ENOMEM, "out of memory");
    const struct halo_part_id id = halo_manifest_id(job->manifest);
    int code = halo_detections_load(&job->detections, path, id.hash.byte);
    if (code >= 0 && !fits(job, &job->detections)) {
        halo_detections_finish(&job->detections);
        code = -ESTALE;
    }
    if (code < 0)
        code = fail_load(job, path, code, err);
    else if (note_hash(job) < 0)
        code = halo_fail(err, -ENOMEM, "out of memory");
    free(path);
    return code;
}

const struct halo_detections *halo_job_detections(const struct halo_job_file *job)
{
    return job->detections.segments ? &job->detections : NULL;
}

struct halo_frozen *halo_job_frozen(struct halo_job_file *job)
{
    return halo_chain_has_cells(job->chain) ? &job->detections.frozen : NULL;
}

void halo_job_remove_detections(const struct halo_job_file *job)
{
    for (int i = 0; i < job->segments; i++) {
        char *path;
        if (asprintf(&path, "%s/%06d.detections", job->folder, i) < 0)
            return;
        unlink(path);
        free(path);
    }
}

static json_t *describe_find(const struct halo_job_file *job, enum halo_find find)
{
    const struct halo_detections *d = &job->detections;
    const char *keys = job->settings.detector_keys[find];
    int64_t judged = 0, boxes = 0;
    for (int64_t i = 0; i < d->frames; i++) {
        judged += (d->frame[i].answered & halo_find_bit(find)) != 0;
        boxes += d->frame[i].count[find];
    }
    return json_pack("{s:o, s:o, s:I, s:I}", "name", halo_manifest_text(d->name[find]), "settings",
                     halo_manifest_text(keys ? keys : ""), "frames", (json_int_t)judged, "boxes",
                     (json_int_t)boxes);
}

json_t *halo_job_describe_hidden(const struct halo_job_file *job)
{
    const struct halo_frozen *frozen = &job->detections.frozen;
    if (!frozen->objects)
        return NULL;
    json_t *ret =
        json_pack("{s:I, s:f}", "objects", (json_int_t)frozen->shown, "bits", ceil(frozen->bits));
    if (frozen->epsilons > 0)
        json_object_set_new(ret, "epsilons", json_real(frozen->epsilons));
    return ret;
}

json_t *halo_job_describe_detections(const struct halo_job_file *job)
{
    if (!job->detections.finds)
        return NULL;
    json_t *ret = json_object();
    for (int find = 0; find < HALO_FINDS; find++)
        if (job->detections.finds & halo_find_bit(find))
            json_object_set_new(ret, halo_find_names[find], describe_find(job, find));
    return ret;
}
