/* SPDX-License-Identifier: BSD-2-Clause
 * halod job watch: makes a job of each file that appears in a folder, and of each that has changed
 * since. What was done is seen from the files: whether there is OUT, its folder, or its audit
 * trail. A join that was killed has left both of the latter. Both say from which file, as it was
 * then. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/cli/job/job.h"
#include "daemon/cli/job/job_facts.h"
#include "daemon/cli/job/job_failed.h"
#include "daemon/cli/job/job_file.h"
#include "daemon/cli/job/job_submit.h"
#include "daemon/cli/job/job_task.h"
#include "kernels/clock.h"
#include "pipeline/base/path.h"

enum { LONGEST_PAUSE = 300 /* seconds */ };

/* A file that was seen, and when it was last seen to change, by this machine's clock alone. */
struct seen {
    char *name;
    off_t size;
    struct timespec changed; /* its time, which is only compared with itself */
    double since;            /* seconds, monotonic */
    bool failed, told;       /* as it is now; `told`: why it is left alone */
    int tries;               /* that failed for a while, */
    double due;              /* and when the next one is due, monotonic */
    struct timespec same;    /* its time when it was found to be as it was encoded */
    char *output;            /* what was encoded from it, as it is now; or NULL */
};

struct watch {
    const struct halo_job_options *options;
    char *folder, *to;          /* absolute */
    char **run;                 /* options of halod run */
    int count;                  /* of them */
    char *detector[HALO_FINDS]; /* -faces and -people among them, or NULL */
    struct seen *seen;
    int files;
    int code; /* 1 or 75 if a file failed */
};

static double now(void)
{
    return (double)halo_now_ns() / 1e9;
}

static struct seen *remember(struct watch *w, const char *name)
{
    for (int i = 0; i < w->files; i++)
        if (!strcmp(w->seen[i].name, name))
            return &w->seen[i];
    struct seen *grown = realloc(w->seen, (size_t)(w->files + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    w->seen = grown;
    grown += w->files;
    *grown = (struct seen){.name = strdup(name), .size = -1};
    if (!grown->name)
        return NULL;
    w->files++;
    return grown;
}

/* Says once why a file, as it is now, is left alone. */
static void tell(struct seen *seen, const char *input, const char *why)
{
    if (!seen->told)
        halo_log(HALO_LOG_WARNING, "%s: %s: ignored until it changes", input, why);
    seen->told = true;
}

/* The next try is not soon. */
static void put_off(struct seen *seen)
{
    seen->due = now() + (seen->tries < 8 ? 1 << ++seen->tries : LONGEST_PAUSE);
}

static void fail(struct watch *w, struct seen *seen, int code)
{
    if (code == HALO_EXIT_TRY_AGAIN)
        put_off(seen);
    else
        seen->failed = true;
    if (w->code != HALO_EXIT_FAILED)
        w->code = code == HALO_EXIT_TRY_AGAIN ? code : HALO_EXIT_FAILED;
}

static bool is_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Whether another process still writes to the file: a copy may stall. A lease is refused then.
 * Network file systems refuse leases for other reasons, and know nothing of the writers of other
 * machines, so only local ones are asked. */
static bool is_written(const char *input)
{
    static const long local[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                 F2FS_SUPER_MAGIC, TMPFS_MAGIC,     OVERLAYFS_SUPER_MAGIC};
    struct statfs fs;
    const int fd = open(input, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool is_local = false;
    for (size_t i = 0; fd >= 0 && fstatfs(fd, &fs) == 0 && i < sizeof local / sizeof *local; i++)
        is_local |= (long)fs.f_type == local[i];
    const bool ret = is_local && fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;
    if (fd >= 0)
        close(fd); /* with the lease */
    return ret;
}

/* Whether the file has not changed for long enough. */
static bool has_settled(struct watch *w, struct seen *seen, const char *input,
                        const struct stat *st)
{
    if (st->st_size != seen->size || !is_time(&st->st_mtim, &seen->changed)) {
        seen->size = st->st_size;
        seen->changed = st->st_mtim;
        seen->since = now();
        seen->failed = seen->told = false;
        seen->tries = 0;
        seen->due = 0;
        free(seen->output);
        seen->output = NULL;
    }
    return st->st_size > 0 && !seen->failed && now() >= seen->due &&
           now() - seen->since >= w->options->settle && !is_written(input);
}

/* Whether FFmpeg reads or writes files with such a name. Copies that are not complete have others,
 * such as film.mkv.part. */
static bool is_named_like_a_video(const char *name)
{
    void *at = NULL;
    bool ret = !strchr(name, '.') || av_guess_format(NULL, name, NULL);
    for (const AVInputFormat *f; !ret && (f = av_demuxer_iterate(&at));)
        ret = f->extensions && av_match_ext(name, f->extensions);
    return ret;
}

static bool leads_out(const struct watch *w, const char *input)
{
    char *path = realpath(input, NULL);
    const size_t length = strlen(w->folder);
    const bool ret =
        path && (strncmp(path, w->folder, length) != 0 || (length > 1 && path[length] != '/'));
    free(path);
    return ret;
}

/* ---- what was done ---- */

/* What becomes of a file: the first name is "clip.mkv"; the second one, "clip.mov.mkv", is for a
 * file whose first name another one has, such as clip.mp4. */
static char *output_of(const struct watch *w, const char *name, int which)
{
    char *ret;
    const char *dot = strrchr(name, '.');
    const bool has_suffix = dot && dot > name;
    const int length = has_suffix && which == 0 ? (int)(dot - name) : (int)strlen(name);
    const char *suffix = w->options->suffix ? w->options->suffix : has_suffix ? dot + 1 : "mkv";
    return asprintf(&ret, "%s/%.*s.%s", w->to, length, name, suffix) < 0 ? NULL : ret;
}

static bool exists(const char *output, const char *suffix)
{
    char *path;
    if (asprintf(&path, "%s%s", output, suffix) < 0)
        return true; /* later */
    const bool ret = access(path, F_OK) == 0;
    free(path);
    return ret;
}

/* What the manifest or, without one, the audit trail says of the input; NULL: there is neither. */
static json_t *input_of(const char *output)
{
    json_t *ret = NULL;
    static const char *const names[] = {".parts/manifest.json", ".job.json"};
    for (int i = 0; i < 2 && !ret; i++) {
        char *path;
        if (asprintf(&path, "%s%s", output, names[i]) < 0)
            return NULL;
        json_t *all = json_load_file(path, 0, NULL);
        ret = json_incref(json_object_get(all, "input"));
        json_decref(all);
        free(path);
    }
    return ret;
}

static bool is_of(const struct watch *w, const char *input, const json_t *of)
{
    char *path;
    const char *name = json_string_value(json_object_get(of, "name"));
    if (!name || asprintf(&path, "%s/%s", w->to, name) < 0)
        return false;
    const bool moved = access(path, F_OK) < 0 && !strcmp(strrchr(path, '/'), strrchr(input, '/'));
    const bool ret = moved || halo_path_same(path, input);
    free(path);
    return ret;
}

/* Returns the name of OUT, and what is known of the input from which it was, or is being, made:
 * NULL, nothing. NULL: both names are those of other files. */
static char *choose_output(const struct watch *w, const char *name, const char *input,
                           json_t **ret_of)
{
    for (int which = 0; which < 2; which++) {
        char *output = output_of(w, name, which);
        if (!output)
            return NULL;
        *ret_of = input_of(output);
        if (!*ret_of || is_of(w, input, *ret_of))
            return output;
        json_decref(*ret_of);
        *ret_of = NULL;
        free(output);
    }
    return NULL;
}

/* Whether the file is not the one that was encoded. Its time may change without its contents. */
static bool has_changed(struct seen *seen, const char *input, const struct stat *st,
                        const json_t *of)
{
    char hash[HALO_SHA256_TEXT];
    struct halo_error ignored = {0};
    const json_t *time = json_object_get(of, "time");
    const char *before = json_string_value(json_object_get(of, "sha256"));
    if (!of || !before)
        return false;
    if (json_integer_value(json_object_get(of, "size")) != (json_int_t)st->st_size)
        return true;
    if (!time || is_time(&seen->same, &st->st_mtim) ||
        json_integer_value(time) == halo_job_time(&st->st_mtim))
        return false;
    if (halo_job_hash_file(input, hash, &ignored) < 0)
        return false; /* later */
    if (!strcmp(before, hash))
        seen->same = st->st_mtim;
    return strcmp(before, hash) != 0;
}

/* A job that has its audit trail and its folder was not joined to the end. */
static bool is_done(const char *output)
{
    return exists(output, ".job.json") ? !exists(output, ".parts/manifest.json")
                                       : exists(output, "");
}

/* Whether there is nothing to submit; err says whether that is because the job has failed. */
static bool is_submitted(const char *output, struct halo_error *err)
{
    char *folder;
    struct halo_error ignored = {0};
    struct halo_job_file job = {0};
    if (!exists(output, ".parts/submitted.json"))
        return false;
    if (asprintf(&folder, "%s.parts", output) < 0)
        return true; /* later */
    bool due = false;
    if (halo_job_find(&job, folder, &ignored) >= 0 && halo_job_read(&job, &ignored) >= 0 &&
        !(due = halo_job_is_due(&job))) {
        json_t *failures = halo_job_failures(&job);
        halo_job_fail_failures(&job, failures, false, err);
        json_decref(failures);
    }
    halo_job_close(&job);
    free(folder);
    return !due;
}

/* ---- the two steps ---- */

static int split(const struct watch *w, const char *input, const char *output, bool again)
{
    struct halo_job_options options = *w->options;
    char **words = calloc((size_t)w->count + 5, sizeof *words);
    int n = 2 + w->count;
    if (!words)
        return HALO_EXIT_TRY_AGAIN;
    words[0] = "-i";
    words[1] = (char *)input;
    memcpy(words + 2, w->run, (size_t)w->count * sizeof *words);
    if (again)
        words[n++] = "-y";
    words[n++] = (char *)output;
    const int code = halo_job_split_command(&options, n, words);
    free(words);
    return code;
}

static int submit(const struct watch *w, const char *output, bool again)
{
    char *folder;
    struct halo_job_options options = *w->options;
    if (asprintf(&folder, "%s.parts", output) < 0)
        return HALO_EXIT_TRY_AGAIN;
    char *words[] = {folder, NULL};
    options.again = again;
    for (int find = 0; find < HALO_FINDS; find++)
        options.detector[find] = w->detector[find];
    const int code = halo_job_submit_command(&options, 1, words);
    free(folder);
    return code;
}

static int handle(const struct watch *w, const char *input, const char *output, bool again)
{
    int code = HALO_EXIT_OK;
    if (again)
        halo_log(HALO_LOG_WARNING, "%s: has changed since it was encoded, and is encoded again",
                 input);
    if (again || !exists(output, ".parts/manifest.json"))
        code = split(w, input, output, again);
    return code == HALO_EXIT_OK ? submit(w, output, again) : code;
}

/* The file has settled. */
static void look_at_settled(struct watch *w, struct seen *seen, const char *name, const char *input,
                            const struct stat *st)
{
    json_t *of = NULL;
    struct halo_error err = {0};
    char *output = choose_output(w, name, input, &of);
    const bool again = output && has_changed(seen, input, st, of);
    int code = HALO_EXIT_OK;
    if (!output) {
        tell(seen, input, "all names for its output are in use for the outputs of other files");
        code = HALO_EXIT_FAILED;
    } else if (again || (!is_done(output) && !is_submitted(output, &err))) {
        code = handle(w, input, output, again);
        if (code != HALO_EXIT_OK && code != HALO_EXIT_TRY_AGAIN && !seen->told)
            halo_log(HALO_LOG_WARNING, "%s: ignored until it changes", input);
    } else if (err.code == -EAGAIN) { /* the farm was away for longer than its tasks are tried */
        halo_log(HALO_LOG_WARNING, "%s: is submitted again: %s", input, err.text);
        put_off(seen);
        code = submit(w, output, true);
    } else if (err.code) {
        tell(seen, input, err.text);
        code = HALO_EXIT_FAILED;
    } else if (!of && is_done(output)) {
        halo_log(HALO_LOG_INFO, "%s: ignored, because %s exists and was not made by a job", input,
                 output);
    }
    if (code != HALO_EXIT_OK)
        fail(w, seen, code);
    json_decref(of);
    free(seen->output);
    seen->output = output;
}

static void look_at(struct watch *w, const char *name)
{
    struct stat st;
    char *input;
    if (asprintf(&input, "%s/%s", w->folder, name) < 0)
        return;
    struct seen *seen = stat(input, &st) == 0 && S_ISREG(st.st_mode) ? remember(w, name) : NULL;
    if (!seen || !has_settled(w, seen, input, &st) || (seen->output && is_done(seen->output)))
        goto end;
    if (!is_named_like_a_video(name))
        tell(seen, input, "its suffix is not that of a video file");
    else if (leads_out(w, input))
        tell(seen, input, "is a link to a file outside the folder");
    else
        look_at_settled(w, seen, name, input, &st);
end:
    free(input);
}

static int look(struct watch *w, struct halo_error *err)
{
    DIR *dir = opendir(w->folder);
    const struct dirent *e;
    if (!dir)
        return halo_fail(err, -errno, "%s: %s", w->folder, strerror(errno));
    while ((e = readdir(dir)))
        if (e->d_name[0] != '.')
            look_at(w, e->d_name);
    closedir(dir);
    return 0;
}

static int watch(struct watch *w, struct halo_error *err)
{
    const double settle = w->options->settle;
    int code = look(w, err);
    for (bool over = false; !over && code >= 0; over = w->options->once) {
        halo_sleep(w->options->once || settle < 2 ? settle + 0.01 : 2);
        code = look(w, err);
    }
    return code;
}

/* The first word is the folder; the others are options of halod run. */
static int check(struct watch *w, int count, char **rest, struct halo_error *err)
{
    if (w->options->engine == HALO_JOB_NO_ENGINE || !w->options->to)
        return halo_fail_usage(err, "job watch: --%s is missing", w->options->to ? "engine" : "to");
    if (count < 1 || *rest[0] == '-')
        return halo_fail_usage(err,
                               "job watch: the folder must come before the options of halod run");
    if (!(w->folder = realpath(rest[0], NULL)))
        return halo_fail(err, -errno, "%s: %s", rest[0], strerror(errno));
    if (!(w->to = realpath(w->options->to, NULL)))
        return halo_fail(err, -errno, "%s: %s", w->options->to, strerror(errno));
    if (!strcmp(w->folder, w->to))
        return halo_fail_usage(err,
                               "--to %s is the folder that is watched: outputs would become jobs",
                               w->options->to);
    w->run = rest + 1;
    w->count = count - 1;
    for (int i = 0; i + 1 < w->count; i++)
        for (int find = 0; find < HALO_FINDS; find++)
            if (*w->run[i] == '-' && !strcmp(w->run[i] + 1, halo_find_names[find]))
                w->detector[find] = w->run[i + 1];
    return 0;
}

int halo_job_watch_command(const struct halo_job_options *options, int count, char **rest)
{
    struct halo_error err = {0};
    struct watch w = {.options = options};
    int code = check(&w, count, rest, &err);
    signal(SIGIO, SIG_IGN); /* somebody has opened a file whose lease is_written() holds */
    if (code >= 0)
        code = watch(&w, &err);
    for (int i = 0; i < w.files; i++)
        free(w.seen[i].name), free(w.seen[i].output);
    free(w.seen);
    free(w.to);
    free(w.folder);
    return code < 0 ? halo_job_fail(&err) : w.code;
}
