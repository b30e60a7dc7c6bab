/* SPDX-License-Identifier: BSD-2-Clause
 * halod job watch: makes a job of each file that appears in a folder, once. What was done is seen
 * from the files: whether there is OUT, its folder, or its audit trail. A join that was killed has
 * left both of the latter. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/log.h"
#include "daemon/job/job.h"
#include "daemon/job/job_file.h"
#include "daemon/job/job_submit.h"

/* A file that was seen, and when it was last seen to change, by this machine's clock alone. */
struct seen {
    char *name;
    off_t size;
    struct timespec changed; /* its time, which is only compared with itself */
    double since;            /* seconds, monotonic */
    bool failed;             /* as it is now */
};

struct watch {
    const struct halo_job_options *options;
    char *folder, *to; /* absolute */
    char **run;        /* options of halod run */
    int count;         /* of them */
    struct seen *seen;
    int files;
};

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
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

/* Whether the file has not changed for long enough. */
static bool has_settled(struct watch *w, struct seen *seen, const struct stat *st)
{
    if (st->st_size != seen->size || st->st_mtim.tv_sec != seen->changed.tv_sec ||
        st->st_mtim.tv_nsec != seen->changed.tv_nsec) {
        seen->size = st->st_size;
        seen->changed = st->st_mtim;
        seen->since = now();
        seen->failed = false;
    }
    return st->st_size > 0 && !seen->failed && now() - seen->since >= w->options->settle;
}

static char *output_of(const struct watch *w, const char *name)
{
    char *ret;
    const char *dot = strrchr(name, '.');
    const int length = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
    const char *suffix = w->options->suffix  ? w->options->suffix
                         : dot && dot > name ? dot + 1
                                             : "mkv";
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

/* A job that has its audit trail and its folder was not joined to the end. */
static bool is_done(const char *output)
{
    return exists(output, ".job.json") ? !exists(output, ".parts/manifest.json")
                                       : exists(output, "");
}

/* Whether there is nothing to submit. */
static bool is_submitted(const char *output)
{
    char *folder;
    struct halo_error ignored = {0};
    struct halo_job_file job = {0};
    if (!exists(output, ".parts/submitted.json"))
        return false;
    if (asprintf(&folder, "%s.parts", output) < 0)
        return true; /* later */
    const bool due = halo_job_find(&job, folder, &ignored) >= 0 &&
                     halo_job_read(&job, &ignored) >= 0 && halo_job_is_due(&job);
    halo_job_close(&job);
    free(folder);
    return !due;
}

/* ---- the two steps ---- */

static int split(const struct watch *w, const char *input, const char *output)
{
    struct halo_job_options options = *w->options;
    char **words = calloc((size_t)w->count + 4, sizeof *words);
    if (!words)
        return HALO_EXIT_TRY_AGAIN;
    words[0] = "-i";
    words[1] = (char *)input;
    memcpy(words + 2, w->run, (size_t)w->count * sizeof *words);
    words[w->count + 2] = (char *)output;
    const int code = halo_job_split_command(&options, w->count + 3, words);
    free(words);
    return code;
}

static int submit(const struct watch *w, const char *output)
{
    char *folder;
    if (asprintf(&folder, "%s.parts", output) < 0)
        return HALO_EXIT_TRY_AGAIN;
    char *words[] = {folder, NULL};
    const int code = halo_job_submit_command(w->options, 1, words);
    free(folder);
    return code;
}

static int handle(const struct watch *w, const char *input, const char *output)
{
    int code = HALO_EXIT_OK;
    if (!exists(output, ".parts/manifest.json"))
        code = split(w, input, output);
    return code == HALO_EXIT_OK ? submit(w, output) : code;
}

static void look_at(struct watch *w, const char *name)
{
    struct stat st;
    char *input = NULL, *output = output_of(w, name);
    if (asprintf(&input, "%s/%s", w->folder, name) < 0)
        input = NULL;
    struct seen *seen =
        input && output && stat(input, &st) == 0 && S_ISREG(st.st_mode) ? remember(w, name) : NULL;
    if (seen && !is_done(output) && !is_submitted(output) && has_settled(w, seen, &st)) {
        const int code = handle(w, input, output);
        seen->failed = code != HALO_EXIT_OK && code != HALO_EXIT_TRY_AGAIN;
        if (seen->failed)
            halo_log(HALO_LOG_WARNING, "%s: is left alone until it changes", input);
    }
    free(input);
    free(output);
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

static void pause_for(double seconds)
{
    const struct timespec ts = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&ts, NULL);
}

static int watch(struct watch *w, struct halo_error *err)
{
    const double settle = w->options->settle;
    int code = look(w, err);
    for (bool over = false; !over && code >= 0; over = w->options->once) {
        pause_for(w->options->once || settle < 2 ? settle + 0.01 : 2);
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
    return 0;
}

int halo_job_watch_command(const struct halo_job_options *options, int count, char **rest)
{
    struct halo_error err = {0};
    struct watch w = {.options = options};
    int code = check(&w, count, rest, &err);
    if (code >= 0)
        code = watch(&w, &err);
    for (int i = 0; i < w.files; i++)
        free(w.seen[i].name);
    free(w.seen);
    free(w.to);
    free(w.folder);
    return code < 0 ? halo_job_fail(&err) : HALO_EXIT_OK;
}
