/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/segment/segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/atomic_file.h"
#include "config/base/log.h"
#include "config/base/thread.h"
#include "kernels/clock.h"
#include "pipeline/base/path.h"
#include "pipeline/detect/detections.h"
#include "pipeline/segment/manifest.h"

enum { LOCK_TRIES = 50 };

/* Says that the job was submitted (daemon/cli/job/job_submit.c). */
#define MARK "submitted.json"

enum state {
    WAITING,
    TAKEN, /* by a worker */
    DONE,
    ELSEWHERE, /* of a job: not this process's */
};

struct entry {
    struct halo_segment segment;
    enum state state;
    struct halo_part_content content; /* DONE */
    int64_t began;                    /* TAKEN, in a job: ns, monotonic */
    char *temporary;                  /* of a job: the name of the part until it is complete */
};

struct halo_segments {
    const struct halo_run_settings *settings;
    void (*notify)(void *arg);
    void *arg;
    char *folder, *output;
    int fd; /* of the folder, which is locked through it, except in a job */
    json_t *terms;
    char *seal; /* of the job's manifest */
    atomic_int stop;
    struct halo_cut_input reading; /* used by the reader thread */
    struct halo_segments_job job;  /* const once streams run */
    /* Guarded by lock: */
    struct halo_mutex lock;
    struct halo_cond changed;
    struct entry *entry;
    int count, room;
    int next;    /* no segment before it is WAITING */
    bool listed; /* the list is complete */
    enum halo_segments_end end;
    struct halo_cut_input input;
    int64_t inode;             /* of the file that becomes OUT; 0: none yet */
    struct halo_mutex writing; /* held while the manifest is written; taken before `lock` */
};

/* ---- the folder ---- */

char *halo_segments_folder_of(const struct halo_run_settings *settings)
{
    char *path = halo_path_follow(halo_path_of(settings->output)), *folder = NULL;
    if (path && asprintf(&folder, "%s.parts", path) < 0)
        folder = NULL;
    free(path);
    return folder;
}

/* Returns the name of a file of the segment, such as 000007.part; NULL if memory runs out. */
static char *segment_path(const struct halo_segments *s, int number, const char *suffix)
{
    char *path;
    return asprintf(&path, "%s/%06d.%s", s->folder, number, suffix) < 0 ? NULL : path;
}

static bool is_part(const char *name)
{
    static const char *const endings[] = {".part", ".json", ".detections", ".detect.json",
                                          ".failed"};
    bool ret = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        ret |= strspn(name, "0123456789") == 6 && !strcmp(name + 6, endings[i]);
    return ret;
}

/* Whether halo_atomic_file_open() gave the name to a file of this folder. */
static bool is_temporary(const char *name)
{
    static const char mark[] = ".halod-";
    return !strncmp(name, mark, sizeof mark - 1) && strlen(name) == sizeof mark - 1 + 6;
}

/* Calls visit for each file of the folder, which is open. Returns whether it always returned
 * true. */
static bool walk(const char *folder, int folder_fd,
                 bool (*visit)(const char *folder, int fd, const char *name))
{
    const int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;
    bool ret = dir != NULL;
    while (dir && (e = readdir(dir)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            ret &= visit(folder, folder_fd, e->d_name);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return ret;
}

static bool remove_file(const char *folder, int fd, const char *name)
{
    if (unlinkat(fd, name, 0) == 0 || errno == ENOENT) /* another process may have removed it */
        return true;
    halo_log(HALO_LOG_WARNING, "%s/%s: cannot be removed: %s", folder, name, strerror(errno));
    return false;
}

static bool remove_temporary(const char *folder, int fd, const char *name)
{
    return !is_temporary(name) || remove_file(folder, fd, name);
}

static bool remove_results(const char *folder, int fd, const char *name)
{
    if (is_part(name) || !strcmp(name, "merge.failed") || !strcmp(name, "join.failed") ||
        !strcmp(name, HALO_SEGMENTS_AUDIT) || !strcmp(name, HALO_SEGMENTS_ALL_DETECTIONS))
        return remove_file(folder, fd, name);
    return true;
}

static bool remove_parts(const char *folder, int fd, const char *name)
{
    return remove_temporary(folder, fd, name) && remove_results(folder, fd, name);
}

static bool is_no_part(const char *folder, int fd, const char *name)
{
    (void)folder;
    (void)fd;
    return !is_part(name);
}

static bool is_no_result(const char *folder, int fd, const char *name)
{
    return is_no_part(folder, fd, name) && strcmp(name, HALO_SEGMENTS_ALL_DETECTIONS) != 0;
}

static bool is_left_over(const char *folder, int fd, const char *name)
{
    (void)folder;
    (void)fd;
    return is_temporary(name);
}

/* A process that was killed needs a moment to end, more so if it has used a GPU. */
static int lock_folder(int fd, const char *folder, struct halo_error *err)
{
    int code = -1;
    for (int i = 0; i < LOCK_TRIES && code < 0; i++) {
        code = flock(fd, LOCK_EX | LOCK_NB);
        if (code < 0 && errno != EWOULDBLOCK)
            break;
        if (code < 0)
            halo_sleep(0.1);
    }
    if (code == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return halo_fail(err, -EBUSY, "%s: another halod is writing this output", folder);
    return halo_fail(err, -errno, "%s: cannot be locked: %s", folder, strerror(errno));
}

static int open_and_lock(struct halo_segments *s, struct halo_error *err)
{
    s->fd = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s->fd < 0 ? halo_fail(err, -errno, "%s: %s", s->folder, strerror(errno))
                     : lock_folder(s->fd, s->folder, err);
}

/* The output of an earlier run with the same settings is complete if the file that it wrote has its
 * final name. */
static bool is_whole(const struct halo_segments *s, const json_t *manifest)
{
    struct stat out, in;
    const char *input = s->settings->source.input;
    const json_t *of = json_object_get(manifest, "input");
    char *path = halo_path_follow(halo_path_of(s->settings->output));
    json_t *name = halo_manifest_text(input);
    const int64_t inode = json_integer_value(json_object_get(manifest, "output_inode"));
    const int64_t size = json_integer_value(json_object_get(of, "size"));
    const bool ret = path && inode && stat(path, &out) == 0 && (int64_t)out.st_ino == inode &&
                     json_equal(json_object_get(of, "name"), name) &&
                     stat(halo_path_of(input), &in) == 0 && (int64_t)in.st_size == size;
    json_decref(name);
    free(path);
    return ret;
}

/* Decides what happens to a folder that exists. 1: the output of an earlier run is complete. */
static int take_over(struct halo_segments *s, struct halo_error *err)
{
    json_t *manifest = NULL;
    const int read = halo_manifest_read(&manifest, s->folder);
    int code = 0;
    if (read == -ENOENT &&
        walk(s->folder, s->fd, is_left_over)) /* from a run that was killed early */
        goto end;
    if (read < 0)
        code = halo_fail_usage(err,
                               "%s: contains no manifest of this version of halod (%s): remove it "
                               "or choose another OUT",
                               s->folder, strerror(-read));
    else if (json_object_get(manifest, "job"))
        code = halo_fail_usage(err,
                               "%s: is the folder of a job (halod job): join it, remove it, or "
                               "choose another OUT",
                               s->folder);
    else if (s->settings->resume &&
             (code = halo_manifest_compare(json_object_get(manifest, "terms"), s->terms, s->folder,
                                           err)) == 0)
        code = is_whole(s, manifest);
    else if (!s->settings->resume && !s->settings->overwrite)
        code = halo_fail_usage(err,
                               "%s: is left from an interrupted run: continue it with -resume, or "
                               "begin again with -y",
                               s->folder);
    if (code == 0)
        walk(s->folder, s->fd, s->settings->resume ? remove_temporary : remove_parts);
end:
    json_decref(manifest);
    return code;
}

static json_t *describe_entry(const struct entry *e)
{
    json_t *ret = halo_manifest_segment(&e->segment);
    if (e->state == DONE)
        json_object_set_new(ret, "part",
                            json_pack("{s:I, s:o}", "frames", (json_int_t)e->content.frames, "hash",
                                      halo_manifest_hash(&e->content.hash)));
    return ret;
}

/* That of a job never changes. */
static int write_manifest(struct halo_segments *s, struct halo_error *err)
{
    if (s->job.facts)
        return 0;
    halo_lock(&s->writing);
    halo_lock(&s->lock);
    json_t *segments = json_array();
    for (int i = 0; i < s->count; i++)
        json_array_append_new(segments, describe_entry(&s->entry[i]));
    json_t *manifest =
        json_pack("{s:i, s:{s:o, s:I}, s:O, s:b, s:I, s:o}", "version", 1, "input", "name",
                  halo_manifest_text(s->settings->source.input), "size", (json_int_t)s->input.size,
                  "terms", s->terms, "complete", s->listed, "output_inode", (json_int_t)s->inode,
                  "segments", segments);
    halo_unlock(&s->lock);
    const int code = manifest ? halo_manifest_write(manifest, s->folder, err)
                              : halo_fail(err, -ENOMEM, "out of memory");
    json_decref(manifest);
    halo_unlock(&s->writing);
    return code;
}

/* Whether the folder was not removed before it was locked. */
static bool is_there(const struct halo_segments *s)
{
    struct stat locked, named;
    return fstat(s->fd, &locked) == 0 && stat(s->folder, &named) == 0 &&
           locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
}

/* Sets *ret_made to whether the folder is new. */
static int make_folder(struct halo_segments *s, bool *ret_made, struct halo_error *err)
{
    for (;;) {
        *ret_made = mkdir(s->folder, 0777) == 0;
        if (!*ret_made && errno != EEXIST)
            return halo_fail(err, -errno, "%s: cannot be created: %s", s->folder, strerror(errno));
        const int code = open_and_lock(s, err);
        if (code < 0 || is_there(s))
            return code;
        close(s->fd);
        s->fd = -1;
    }
}

static int open_folder(struct halo_segments *s, struct halo_error *err)
{
    bool made = false;
    int code = make_folder(s, &made, err);
    if (code >= 0 && !made)
        code = take_over(s, err);
    if (code < 0 && s->fd >= 0) { /* it stays as it is */
        close(s->fd);
        s->fd = -1;
    }
    return code;
}

/* Allocates the state for settings->output; terms is taken over, also on failure. Returns 0, or
 * -errno with err filled. */
static int create_state(struct halo_segments **ret, const struct halo_run_settings *settings,
                        json_t *terms, struct halo_error *err)
{
    struct halo_segments *s = av_mallocz(sizeof *s);
    if (!s) {
        json_decref(terms);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    s->settings = settings;
    s->fd = -1;
    s->terms = terms;
    s->input.size = -1;
    s->folder = halo_segments_folder_of(settings);
    if (!s->folder || !s->terms || asprintf(&s->output, "%s/output", s->folder) < 0) {
        halo_segments_close(s, false);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    *ret = s;
    return 0;
}

int halo_segments_open(struct halo_segments **ret, const struct halo_run_settings *settings,
                       const struct halo_chain *chain, struct halo_error *err)
{
    struct halo_segments *s;
    int code = create_state(&s, settings, halo_manifest_terms(settings, chain), err);
    if (code < 0)
        return code;
    code = open_folder(s, err);
    if (code == 0)
        code = write_manifest(s, err);
    if (code != 0)
        halo_segments_close(s, code > 0);
    else
        *ret = s;
    return code;
}

void halo_segments_listen(struct halo_segments *s, void (*notify)(void *arg), void *arg)
{
    s->notify = notify;
    s->arg = arg;
}

/* Returns 0 if the manifest has the seal; -ESTALE if it has another one; or another -errno. */
static int compare_seal(const char *path, const char *seal)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return -errno;
    json_t *manifest = json_load_file(path, 0, NULL);
    const char *now = json_string_value(json_object_get(manifest, "seal"));
    const int ret = now && !strcmp(now, seal) ? 0 : -ESTALE;
    json_decref(manifest);
    return ret;
}

/* Removes the manifest if it has the seal. It is compared once more under another name, because
 * split may have replaced it since; then it gets its name back. Returns 0 or -errno. */
static int remove_sealed(const char *path, const char *seal)
{
    char *aside;
    halo_refresh_folder(path);
    int code = compare_seal(path, seal);
    if (code < 0)
        return code;
    const int fd = halo_atomic_file_open(path, 0, &aside);
    if (fd < 0)
        return fd;
    close(fd);
    unlink(aside);
    halo_atomic_file_replace(path, aside); /* over NFS, it may have succeeded in any case */
    halo_refresh_folder(aside);
    if ((code = compare_seal(aside, seal)) == -ESTALE)
        halo_atomic_file_link(aside, path); /* unless there is a newer one */
    else if (code == 0)
        unlink(aside);
    free(aside);
    return code;
}

static int remove_manifest(const char *folder, int fd, const char *seal)
{
    char *path;
    if (!seal)
        return unlinkat(fd, "manifest.json", 0) < 0 ? -errno : 0;
    if (asprintf(&path, "%s/manifest.json", folder) < 0)
        return -ENOMEM;
    const int code = remove_sealed(path, seal);
    free(path);
    return code;
}

/* The manifest goes last, so that a later join finds the folder and tries again; only the mark goes
 * after it, so that watch does not submit the job meanwhile. seal: that of the job, whose folder
 * may be split again at any time; NULL: the folder is locked. */
static void remove_folder(const char *folder, int fd, const char *seal)
{
    const int code = walk(folder, fd, remove_parts) ? remove_manifest(folder, fd, seal) : -EACCES;
    if (code == -ESTALE) {
        halo_log(HALO_LOG_WARNING, "%s: was split again in the meantime, so it is not removed",
                 folder);
        return;
    }
    if (code == 0 || code == -ENOENT)
        remove_file(folder, fd, MARK);
    if (rmdir(folder) < 0 && errno != ENOENT) /* another process may have removed it */
        halo_log(HALO_LOG_WARNING, "%s: cannot be removed: %s", folder, strerror(errno));
}

void halo_segments_abandon(struct halo_segments *s)
{
    remove_folder(s->folder, s->fd, s->seal);
}

void halo_segments_remove(const char *folder, const char *seal)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        remove_folder(folder, fd, seal ? seal : "");
        halo_sync_folder(folder);
        close(fd);
    } else if (errno != ENOENT) {
        halo_log(HALO_LOG_WARNING, "%s: cannot be removed: %s", folder, strerror(errno));
    }
}

void halo_segments_remove_begun(struct halo_segments *s)
{
    walk(s->folder, s->fd, remove_temporary);
}

/* Checks whether the folder may be cleared. Without a manifest, nobody knows whose results these
 * are. */
static int check_clear(const char *folder, int fd, bool overwrite, struct halo_error *err)
{
    json_t *manifest = NULL;
    struct halo_error inner = {0};
    const int read = halo_manifest_read(&manifest, folder);
    const bool of_job = json_object_get(manifest, "job");
    json_decref(manifest);
    if (read == -ENOENT && !overwrite && !walk(folder, fd, is_no_result))
        return halo_fail_usage(err,
                               "%s: contains results, but no manifest: remove it, or begin again "
                               "with -y",
                               folder);
    if (read == -ENOENT || of_job || lock_folder(fd, folder, &inner) != -EBUSY)
        return 0; /* a run cannot use what it cannot lock */
    *err = inner;
    return err->code;
}

int halo_segments_clear(const char *folder, bool overwrite, struct halo_error *err)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return halo_fail(err, -errno, "%s: %s", folder, strerror(errno));
    int code = check_clear(folder, fd, overwrite, err);
    if (code >= 0 && !(walk(folder, fd, remove_results) && remove_file(folder, fd, MARK)))
        code = halo_fail(err, -EACCES, "%s: the files of an earlier job cannot be removed", folder);
    if (code >= 0)
        return fd;
    close(fd);
    return code;
}

void halo_segments_close(struct halo_segments *s, bool remove)
{
    if (!s)
        return;
    const bool is_empty = !s->job.facts && s->fd >= 0 && walk(s->folder, s->fd, is_no_part);
    if (s->fd >= 0 && (remove || is_empty)) {
        halo_segments_abandon(s);
        halo_sync_folder(s->folder);
    } else if (s->fd >= 0) {
        /* A folder that is kept must not take another file for its output. */
        struct halo_error ignored = {0};
        if (s->inode)
            halo_segments_note_output(s, 0, &ignored);
    }
    if (s->fd >= 0)
        close(s->fd);
    json_decref(s->terms);
    free(s->seal);
    free(s->folder);
    free(s->output);
    for (int i = 0; i < s->count; i++)
        free(s->entry[i].temporary);
    free(s->entry);
    av_free(s);
}

const char *halo_segments_folder(const struct halo_segments *s)
{
    return s->folder;
}

const char *halo_segments_output(const struct halo_segments *s)
{
    return s->output;
}

int halo_segments_note_output(struct halo_segments *s, int64_t inode, struct halo_error *err)
{
    halo_lock(&s->lock);
    s->inode = inode;
    halo_unlock(&s->lock);
    return write_manifest(s, err);
}

/* ---- the list ---- */

/* Adds a segment to the list. Call this with the lock held, or before there are other threads.
 * Returns NULL if memory runs out. */
static struct entry *add_segment(struct halo_segments *s, const struct entry *entry)
{
    if (s->count == s->room) {
        const int room = s->room ? 2 * s->room : 16;
        struct entry *grown = realloc(s->entry, (size_t)room * sizeof *grown);
        if (!grown)
            return NULL;
        s->entry = grown;
        s->room = room;
    }
    s->entry[s->count] = *entry;
    return &s->entry[s->count++];
}

static int fail_stale(const struct halo_segments *s, const char *path, struct halo_error *err)
{
    return halo_fail_usage(
        err,
        "%s: %s was made from another file: use the same IN, or remove the folder to begin again",
        path, s->settings->source.input);
}

int halo_segments_load_detections(struct halo_segments *s, int number, struct halo_detections *ret)
{
    char *path = segment_path(s, number, "detections");
    const struct halo_part_id id = halo_manifest_part_id(s->terms, &s->entry[number].segment);
    const int code = path ? halo_detections_load(ret, path, id.hash.byte) : -ENOMEM;
    free(path);
    return code;
}

static void note_content(struct entry *e, const struct halo_detections *d)
{
    e->content.frames = d->frames;
    memcpy(e->content.hash.byte, d->hash, sizeof e->content.hash.byte);
}

static int look_at_detections(struct halo_segments *s, struct entry *e)
{
    struct halo_detections d;
    const int code = halo_segments_load_detections(s, e->segment.number, &d);
    if (code < 0)
        return code;
    note_content(e, &d);
    halo_detections_finish(&d);
    return 0;
}

/* Whether the part exists already: returns 0 if it is complete, and e->content is filled; -EBADMSG
 * if it is damaged, -ESTALE if it was made from something else, -ENOENT, or another -errno. */
static int look_at_part(struct halo_segments *s, struct entry *e)
{
    if (s->job.detects)
        return look_at_detections(s, e);
    char *path = segment_path(s, e->segment.number, "part");
    if (!path)
        return -ENOMEM;
    const struct halo_part_id id = halo_manifest_part_id(s->terms, &e->segment);
    const int code = halo_part_check(path, &id, &e->content);
    free(path);
    return code;
}

/* Whether the earlier run encoded the segment. */
static int find_part(struct halo_segments *s, struct entry *e, struct halo_error *err)
{
    char *path = segment_path(s, e->segment.number, "part");
    if (!path)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = look_at_part(s, e);
    e->state = code == 0 ? DONE : WAITING;
    if (code == -EBADMSG)
        halo_log(HALO_LOG_WARNING, "%s: is damaged and is encoded again", path);
    if (code == -ESTALE)
        code = fail_stale(s, path, err);
    else if (code < 0 && code != -EBADMSG && code != -ENOENT)
        code = halo_fail(err, code, "%s: cannot be read: %s", path, strerror(-code));
    else
        code = 0;
    free(path);
    return code;
}

static int found(void *arg, const struct halo_segment *segment, struct halo_error *err)
{
    struct halo_segments *s = arg;
    struct entry e = {.segment = *segment};
    int code = s->settings->resume ? find_part(s, &e, err) : 0;
    if (code < 0)
        return code;
    halo_lock(&s->lock);
    const struct entry *place = add_segment(s, &e);
    if (place)
        s->input = s->reading;
    halo_cond_broadcast(&s->changed);
    halo_unlock(&s->lock);
    s->notify(s->arg);
    return place ? 0 : halo_fail(err, -ENOMEM, "out of memory");
}

int halo_segments_read_input(struct halo_segments *s, struct halo_error *err)
{
    int code = halo_cut_list_read(&s->reading, s->settings, &s->stop, found, s, err);
    if (code < 0 || atomic_load(&s->stop))
        return code;
    halo_lock(&s->lock);
    s->listed = true;
    halo_cond_broadcast(&s->changed);
    halo_unlock(&s->lock);
    s->notify(s->arg);
    return write_manifest(s, err);
}

bool halo_segments_take(struct halo_segments *s, struct halo_segment *ret)
{
    halo_lock(&s->lock);
    while (s->next < s->count && s->entry[s->next].state != WAITING)
        s->next++;
    const bool found = s->next < s->count;
    if (found) {
        s->entry[s->next].state = TAKEN;
        s->entry[s->next].began = halo_now_ns();
        *ret = s->entry[s->next].segment;
    }
    halo_unlock(&s->lock);
    return found;
}

void halo_segments_count(struct halo_segments *s, struct halo_segments_count *ret)
{
    halo_lock(&s->lock);
    *ret = (struct halo_segments_count){0};
    if (s->count > 0)
        ret->pixels = (int64_t)s->input.width * s->input.height;
    for (int i = 0; i < s->count; i++)
        if (s->entry[i].state == DONE) {
            ret->done++;
            ret->frames += s->entry[i].content.frames;
        }
    halo_unlock(&s->lock);
}

/* ---- a job ----
 * Several processes encode its segments. Nothing is locked, because they may be on machines whose
 * shared folder has no locks: a part is renamed when it is complete, and two processes that encode
 * the same segment write the same bytes. */

static int list_segments(struct halo_segments *s, const json_t *manifest, struct halo_error *err)
{
    size_t i;
    json_t *json;
    json_array_foreach (json_object_get(manifest, "segments"), i, json) {
        struct entry e = {.state = ELSEWHERE};
        if (halo_manifest_read_segment(json, (int)i, &e.segment) < 0)
            return halo_fail(err, -EBADMSG, "%s: segment %zu of the manifest is malformed",
                             s->folder, i);
        if (!add_segment(s, &e))
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
    int code = create_state(&s, settings, terms, err);
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
    char *path = segment_path(s, number, s->job.detects ? "detections" : "part");
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
    struct entry *e = &s->entry[number];
    const int code = look_at_part(s, e);
    *ret_damaged = code == -EBADMSG || code == -ESTALE;
    if (code < 0 && code != -ENOENT && !*ret_damaged)
        return fail_look(s, number, code, err);
    e->state = code == 0 ? DONE : WAITING;
    return code < 0;
}

void halo_segments_need(struct halo_segments *s, int number)
{
    s->entry[number].state = WAITING;
}

/* Remembers the name of a part that was begun, for halo_segments_give_up(). */
static void note_temporary(struct halo_segments *s, int number, const char *name)
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
static void write_record(const struct halo_segments *s, const struct entry *e)
{
    char *path = segment_path(s, e->segment.number, s->job.detects ? "detect.json" : "json");
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

static void say_faster(const struct entry *e)
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

/* Writes what detectors answered, unless another process has. */
static int keep_detections(struct halo_segments *s, struct entry *e,
                           struct halo_detections *detections, struct halo_error *err)
{
    if (look_at_part(s, e) == 0) {
        say_faster(e);
        return 0;
    }
    char *path = segment_path(s, e->segment.number, "detections");
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

/* Completes the part of a segment of a job, unless another process has. */
static int finish_job(struct halo_segments *s, struct entry *e, struct halo_part_writer *part,
                      int64_t frames, struct halo_error *err)
{
    if (look_at_part(s, e) == 0) {
        say_faster(e);
        return 0;
    }
    const int code = halo_part_finish(part, frames, &e->content, err);
    if (code >= 0)
        write_record(s, e);
    return code;
}

/* ---- parts ---- */

int halo_segments_create(struct halo_segments *s, const struct halo_segment *segment,
                         const AVCodecParameters *par, struct halo_part_writer **ret,
                         struct halo_error *err)
{
    char *path = segment_path(s, segment->number, "part");
    if (!path)
        return halo_fail(err, -ENOMEM, "out of memory");
    const struct halo_part_id id = halo_manifest_part_id(s->terms, segment);
    const int code = halo_part_create(ret, path, &id, par, err);
    if (code >= 0 && s->job.facts)
        note_temporary(s, segment->number, halo_part_temporary(*ret));
    free(path);
    return code;
}

static struct entry entry_of(struct halo_segments *s, int number)
{
    halo_lock(&s->lock);
    const struct entry ret = s->entry[number];
    halo_unlock(&s->lock);
    return ret;
}

static void set_done(struct halo_segments *s, struct entry *done)
{
    halo_lock(&s->lock);
    done->state = DONE;
    s->entry[done->segment.number] = *done;
    halo_cond_broadcast(&s->changed);
    halo_unlock(&s->lock);
}

void halo_segments_set_done(struct halo_segments *s, int number)
{
    struct entry done = entry_of(s, number);
    set_done(s, &done);
}

int halo_segments_finish(struct halo_segments *s, const struct halo_segment *segment,
                         struct halo_part_writer *part, int64_t frames, struct halo_error *err)
{
    struct entry done = entry_of(s, segment->number);
    const int code = s->job.facts ? finish_job(s, &done, part, frames, err)
                                  : halo_part_finish(part, frames, &done.content, err);
    if (code < 0)
        return code;
    set_done(s, &done);
    return write_manifest(s, err);
}

int halo_segments_finish_detections(struct halo_segments *s, const struct halo_segment *segment,
                                    struct halo_detections *detections, struct halo_error *err)
{
    struct entry done = entry_of(s, segment->number);
    const int code = keep_detections(s, &done, detections, err);
    if (code >= 0)
        set_done(s, &done);
    return code;
}

int halo_segments_next_part(struct halo_segments *s, int number, const AVCodecParameters *par,
                            struct halo_part_order *order, struct halo_part_reader **ret,
                            struct halo_error *err)
{
    halo_lock(&s->lock);
    while (s->end == HALO_SEGMENTS_GO_ON &&
           !(number < s->count && s->entry[number].state == DONE) &&
           !(s->listed && number >= s->count))
        halo_cond_wait(&s->changed, &s->lock, INT64_MAX);
    const enum halo_segments_end end = s->end;
    const bool over = s->listed && number >= s->count;
    halo_unlock(&s->lock);
    if (end == HALO_SEGMENTS_FAIL)
        return halo_fail(err, -ECANCELED, "a segment failed");
    if (end == HALO_SEGMENTS_SHORT || over)
        return 0;
    char *path = segment_path(s, number, "part");
    const int code = path ? halo_part_open(ret, path, par, order, err)
                          : halo_fail(err, -ENOMEM, "out of memory");
    free(path);
    return code < 0 ? code : 1;
}

void halo_segments_stop(struct halo_segments *s, enum halo_segments_end end)
{
    atomic_store(&s->stop, 1);
    halo_lock(&s->lock);
    if (s->end < end)
        s->end = end;
    halo_cond_broadcast(&s->changed);
    halo_unlock(&s->lock);
}
