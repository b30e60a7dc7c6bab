/* SPDX-License-Identifier: BSD-2-Clause
 * What OUT means (target.h). */
#include "pipeline/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/path.h"

/* The directory must be there before an hour of work, not after it. */
static int check_directory(const char *path, struct halo_error *err)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash - path + 1) : strdup(".");
    struct stat st;
    int ret = 0;
    if (!dir)
        return halo_fail(err, -ENOMEM, "out of memory");
    if (stat(dir, &st) < 0 || access(dir, W_OK | X_OK) < 0) /* the slash asks for a directory */
        ret = halo_fail(err, -errno, "%s: cannot be written: directory %s: %s", path, dir,
                        strerror(errno));
    free(dir);
    return ret;
}

/* A file that a run writes beside OUT. */
struct side {
    const char *option, *name; /* name NULL: not asked for */
};

/* NULL where it is no file. */
static const char *side_path(const struct side *side)
{
    return side->name && strcmp(side->name, "-") ? halo_path_of(side->name) : NULL;
}

static int fail_partial(const struct halo_target *target, const char *out, const char *what,
                        struct halo_error *err)
{
    return halo_fail_usage(err,
                           "%s: an interruption would leave %s, which is the %s: name another OUT",
                           out, target->partial, what);
}

static int check_side(const struct halo_target *target, const struct side *side, const char *in,
                      const char *out, struct halo_error *err)
{
    char what[40];
    const char *path = side_path(side);
    snprintf(what, sizeof what, "%s file", side->option);
    if (halo_path_same(out, path))
        return halo_fail_usage(err, "%s: OUT is the same file as the %s: name another", out, what);
    if (halo_path_same(path, in))
        return halo_fail_usage(err, "%s %s: is the same file as IN: name another", side->option,
                               path);
    return halo_path_same(target->partial, path) ? fail_partial(target, out, what, err) : 0;
}

/* No two names on the command line may be one file: the later one opened would destroy it. */
static int check_names(const struct halo_target *target, const struct halo_run_settings *set,
                       const char *out, struct halo_error *err)
{
    const char *in = strcmp(set->input, "-") ? halo_path_of(set->input) : NULL;
    if (halo_path_same(out, in))
        return halo_fail_usage(err, "%s: OUT is the same file as IN: name another", out);
    if (halo_path_same(target->partial, in))
        return fail_partial(target, out, "input", err);
    const struct side sides[] = {
        {"-progress", set->progress}, {"-stats_json", set->stats_json}, {"-trace", set->trace}};
    const int count = sizeof sides / sizeof *sides;
    for (int i = 0; i < count; i++) {
        const int ret = check_side(target, &sides[i], in, out, err);
        if (ret < 0)
            return ret;
        for (int k = 0; k < i; k++)
            if (halo_path_same(side_path(&sides[i]), side_path(&sides[k])))
                return halo_fail_usage(err, "%s %s: is the %s file too: name another",
                                       sides[i].option, sides[i].name, sides[k].option);
    }
    return 0;
}

/* Names of the file that will be; a link stays a link. */
static int name_file(struct halo_target *target, const char *out, struct halo_error *err)
{
    target->path = halo_path_follow(out);
    if (!target->path)
        return halo_fail(err, -errno, "%s: cannot be written: %s", out, strerror(errno));
    target->partial = halo_path_partial(target->path, 1);
    return target->partial ? 0 : halo_fail(err, -ENOMEM, "out of memory");
}

static int choose_file(struct halo_target *target, const struct halo_run_settings *set,
                       const char *out, struct halo_error *err)
{
    struct stat st;
    const bool exists = stat(out, &st) == 0;
    target->kind = exists && !S_ISREG(st.st_mode) ? HALO_TARGET_DIRECT : HALO_TARGET_FILE;
    if (exists && S_ISDIR(st.st_mode))
        return halo_fail_usage(err, "%s: is a directory: name a file in it", out);
    int ret = target->kind == HALO_TARGET_FILE ? name_file(target, out, err) : 0;
    if (ret >= 0)
        ret = check_names(target, set, out, err);
    if (ret < 0 || target->kind == HALO_TARGET_DIRECT)
        return ret;
    if (exists && !set->overwrite)
        return halo_fail_usage(err, "%s: exists already: -y replaces it", out);
    if (exists)
        target->mode = st.st_mode & 07777;
    return check_directory(target->path, err);
}

int halo_target_init(struct halo_target *target, const struct halo_run_settings *set,
                     struct halo_error *err)
{
    const char *out = set->output;
    *target = (struct halo_target){.kind = HALO_TARGET_DIRECT};
    if (!strcmp(out, "null:"))
        target->kind = HALO_TARGET_NULL;
    else if (strcmp(out, "-") != 0 && !halo_path_is_url(out))
        return choose_file(target, set, halo_path_of(out), err);
    return check_names(target, set, NULL, err);
}

void halo_target_finish(struct halo_target *target)
{
    free(target->path);
    free(target->partial);
    *target = (struct halo_target){0};
}
