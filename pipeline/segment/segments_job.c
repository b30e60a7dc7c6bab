/* SPDX-License-Identifier: BSD-2-Clause
 * The segments of a job, which several processes encode (segments.h). Nothing is locked, because
 * they may be on machines whose shared folder has no locks: a part is renamed when it is complete,
 * and two processes that encode the same segment write the same bytes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/atomic_file.h"
#include "config/base/log.h"
#include "config/base/thread.h"
#include "kernels/clock.h"
#include "pipeline/detect/detections.h"
#include "pipeline/segment/manifest.h"
#include "pipeline/segment/segments_private.h"

static int list_segments(struct halo_segments *s, const json_t *manifest, struct halo_error *err)
{
    size_t i;
    json_t *json;
    json_array_foreach (json_object_get(manifest, "segments"), i, json) {
        struct halo_segment_entry e = {.state = HALO_SEGMENT_ELSEWHERE};
        if (halo_manifest_read_segment(json, (int)i, &e.segment) < 0)
            return halo_fail(err, -EBADMSG, "%s: segment %zu of the manifest is malformed",
                             s->folder, i);
        if (!halo_segments_add(s, &e))
            return halo_fail(err, -ENOMEM, "out of memory");
    }
    s->listed = true;
    return 0;
}

int halo_segments_open_job(struct halo_segments **ret, const struct halo_run_settings *settings,
                           const json_t *manifest, const struct halo_segments_job *job,
                           struct halo_error *err)
{
    struct halo_segments *s;
    json_t *terms = json_incref(json_object_get(manifest, "terms"));
    int code = halo_segments_create_state(&s, settings, terms, err);
    if (code < 0)
        return code;
    const char *seal = json_string_value(json_object_get(manifest, "seal"));
    s->job = *job;
    s->seal = strdup(seal ? seal : ""); /* none while it is being split */
    s->fd = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    code = !s->seal    ? halo_fail(err, -ENOMEM, "out of memory")
           : s->fd < 0 ? halo_fail(err, -errno, "%s: %s", s->folder, strerror(errno))
                       : list_segments(s, manifest, err);
    if (code < 0)
        halo_segments_close(s, false);
    else
        *ret = s;
    return code;
}

static int fail_look(const struct halo_segments *s, int number, int code, struct halo_error *err)
{
    char *path = halo_segments_path(s, number, s->job.detects ? "detections" : "part");
    if (!path)
        return halo_fail(err, -ENOMEM, "out of memory");
    code = s->job.detects ? halo_detections_fail(path, code, err)
                          : halo_fail(err, code, "%s: cannot be read: %s", path, strerror(-code));
    free(path);
    return code;
}

int halo_segments_want(struct halo_segments *s, int number, bool *ret_damaged,
                       struct halo_error *err)
{
    struct halo_segment_entry *e = &s->entry[number];
    const int code = halo_segments_look(s, e);
    *ret_damaged = code == -EBADMSG || code == -ESTALE;
    if (code < 0 && code != -ENOENT && !*ret_damaged)
        return fail_look(s, number, code, err);
    e->state = code == 0 ? HALO_SEGMENT_DONE : HALO_SEGMENT_WAITING;
    return code < 0;
}

void halo_segments_need(struct halo_segments *s, int number)
{
    s->entry[number].state = HALO_SEGMENT_WAITING;
}

void halo_segments_note_temporary(struct halo_segments *s, int number, const char *name)
{
    char *copy = strdup(name);
    halo_lock(&s->lock);
    free(s->entry[number].temporary);
    s->entry[number].temporary = copy;
    halo_unlock(&s->lock);
}

void halo_segments_give_up(struct halo_segments *s)
{
    halo_lock(&s->lock);
    for (int i = 0; i < s->count; i++)
        if (s->entry[i].temporary)
            unlink(s->entry[i].temporary);
    halo_unlock(&s->lock);
}

int halo_segments_check(struct halo_segments *s, const char *path, const struct halo_joined *joined,
                        struct halo_error *err)
{
    return s->job.check ? s->job.check(s->job.arg, path, joined, err) : 0;
}

/* For people: the part does not need it. */
static void write_record(const struct halo_segments *s, const struct halo_segment_entry *e)
{
    char *path = halo_segments_path(s, e->segment.number, s->job.detects ? "detect.json" : "json");
    json_t *record = json_deep_copy(s->job.facts);
    const double seconds = (double)(halo_now_ns() - e->began) / 1e9;
    json_object_set_new(record, "frames", json_integer((json_int_t)e->content.frames));
    json_object_set_new(record, "seconds", json_real(seconds));
    json_object_set_new(record, "hash", halo_manifest_hash(&e->content.hash));
    const int code = path && record ? halo_manifest_save(record, path) : -ENOMEM;
    if (code < 0)
        halo_log(HALO_LOG_WARNING, "%s: the record of segment %d cannot be written: %s", s->folder,
                 e->segment.number, strerror(-code));
    json_decref(record);
    free(path);
}

bool halo_segments_are_of_job(const struct halo_segments *s)
{
    return s->job.facts != NULL;
}

/* ---- detections ---- */

bool halo_segments_detects(const struct halo_segments *s)
{
    return s->job.detects;
}

const struct halo_detections *halo_segments_detections(const struct halo_segments *s)
{
    return s->job.detections;
}

struct halo_frozen *halo_segments_frozen(const struct halo_segments *s)
{
    return s->job.frozen;
}

int halo_segments_load_detections(struct halo_segments *s, int number, struct halo_detections *ret)
{
    char *path = halo_segments_path(s, number, "detections");
    const struct halo_part_id id = halo_manifest_part_id(s->terms, &s->entry[number].segment);
    const int code = path ? halo_detections_load(ret, path, id.hash.byte) : -ENOMEM;
    free(path);
    return code;
}

static void note_content(struct halo_segment_entry *e, const struct halo_detections *d)
{
    e->content.frames = d->frames;
    memcpy(e->content.hash.byte, d->hash, sizeof e->content.hash.byte);
}

int halo_segments_look_at_detections(struct halo_segments *s, struct halo_segment_entry *e)
{
    struct halo_detections d;
    const int code = halo_segments_load_detections(s, e->segment.number, &d);
    if (code < 0)
        return code;
    note_content(e, &d);
    halo_detections_finish(&d);
    return 0;
}

static void say_faster(const struct halo_segment_entry *e)
{
    halo_log(HALO_LOG_INFO, "segment %d: another process finished it first", e->segment.number);
}

static bool is_merged(const struct halo_segments *s)
{
    char *path;
    if (asprintf(&path, "%s/" HALO_SEGMENTS_ALL_DETECTIONS, s->folder) < 0)
        return false;
    halo_refresh_folder(path);
    const bool ret = access(path, F_OK) == 0;
    free(path);
    return ret;
}

int halo_segments_keep_detections(struct halo_segments *s, struct halo_segment_entry *e,
                                  struct halo_detections *detections, struct halo_error *err)
{
    if (halo_segments_look(s, e) == 0) {
        say_faster(e);
        return 0;
    }
    char *path = halo_segments_path(s, e->segment.number, "detections");
    const struct halo_part_id id = halo_manifest_part_id(s->terms, &e->segment);
    memcpy(detections->id, id.hash.byte, sizeof detections->id);
    const int code = path ? halo_detections_save(detections, path, false, err)
                          : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0)
        note_content(e, detections);
    if (code >= 0 && !is_merged(s))
        write_record(s, e);
    else if (code >= 0) /* merge may have looked before it was there */
        unlink(path);
    free(path);
    return code;
}

/* ---- parts ---- */

int halo_segments_finish_job(struct halo_segments *s, struct halo_segment_entry *e,
                             struct halo_part_writer *part, int64_t frames, struct halo_error *err)
{
    if (halo_segments_look(s, e) == 0) {
        say_faster(e);
        return 0;
    }
    const int code = halo_part_finish(part, frames, &e->content, err);
    if (code >= 0)
        write_record(s, e);
    return code;
}
