/* SPDX-License-Identifier: BSD-2-Clause
 * Interprets OUT (target.h). */
#include "pipeline/output/target.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/beside.h"
#include "pipeline/base/path.h"

/* The paths of the files on the command line; NULL: not a file. */
struct names {
    char *in, *out;
    struct side {
        const char *option, *name; /* name NULL: not requested */
        char *path;
    } side[3];
};

/* The path of an open stream, or a copy of the path in name. NULL with errno: ENOMEM, or 0 if there
 * is no path. */
static char *path_of(const char *name, int fd)
{
    char *path = halo_path_of_stream(name, fd);
    if (path || errno != EINVAL)
        return path;
    errno = 0;
    return halo_path_is_url(name) || !strcmp(name, "null:") ? NULL : strdup(halo_path_of(name));
}

/* Standard input that is not a regular file cannot be destroyed: a terminal or a socket may also be
 * the output. */
static bool is_no_file(const char *input, const char *path)
{
    struct stat st;
    return (!strcmp(input, "-") || halo_path_is_url(input)) &&
           !(stat(path, &st) == 0 && S_ISREG(st.st_mode));
}

static void finish_names(struct names *names)
{
    free(names->in);
    free(names->out);
    for (size_t i = 0; i < sizeof names->side / sizeof *names->side; i++)
        free(names->side[i].path);
}

static int init_names(struct names *names, const struct halo_run_settings *set,
                      struct halo_error *err)
{
    *names = (struct names){.side = {{"-progress", set->progress, NULL},
                                     {"-stats_json", set->stats_json, NULL},
                                     {"-trace", set->trace, NULL}}};
    names->in = path_of(set->source.input, STDIN_FILENO);
    int no_memory = !names->in && errno;
    names->out = path_of(set->output, STDOUT_FILENO);
    no_memory |= !names->out && errno;
    for (size_t i = 0; i < sizeof names->side / sizeof *names->side; i++) {
        struct side *side = &names->side[i];
        const bool open = side->name && !strcmp(side->name, "-");
        if (side->name)
            side->path = open ? halo_path_of_stream(side->name, STDOUT_FILENO)
                              : strdup(halo_path_of(side->name));
        no_memory |= side->name && !side->path;
    }
    if (names->in && is_no_file(set->source.input, names->in)) {
        free(names->in);
        names->in = NULL;
    }
    return no_memory ? halo_fail(err, -ENOMEM, "out of memory") : 0;
}

/* Whether writing to both would destroy or mix data. Terminals and /dev/null are no problem. */
static bool collide(const char *a, const char *b)
{
    struct stat st;
    return halo_path_same(a, b) && !(stat(a, &st) == 0 && S_ISCHR(st.st_mode));
}

static int fail_partial(const struct halo_target *target, const char *out, const char *what,
                        struct halo_error *err)
{
    return halo_fail_usage(err,
                           "%s: if interrupted, halod would leave the unfinished output as %s, "
                           "which is the %s: use another OUT",
                           out, target->partial, what);
}

static int check_side(const struct halo_target *target, const struct names *names,
                      const struct side *side, const char *out, struct halo_error *err)
{
    char what[40];
    snprintf(what, sizeof what, "%s file", side->option);
    if (collide(names->out, side->path))
        return halo_fail_usage(err, "%s: OUT is the same file as the %s: use another one", out,
                               what);
    if (collide(side->path, names->in))
        return halo_fail_usage(err, "%s %s: this is the same file as IN: use another one",
                               side->option, side->name);
    return collide(target->partial, side->path) ? fail_partial(target, out, what, err) : 0;
}

static int compare(const struct halo_target *target, const struct names *names, const char *out,
                   struct halo_error *err)
{
    if (collide(names->out, names->in))
        return halo_fail_usage(err, "%s: OUT is the same file as IN: use another one", out);
    if (collide(target->partial, names->in))
        return fail_partial(target, out, "input", err);
    for (size_t i = 0; i < sizeof names->side / sizeof *names->side; i++) {
        const struct side *side = &names->side[i];
        const int code = check_side(target, names, side, out, err);
        if (code < 0)
            return code;
        for (size_t k = 0; k < i; k++)
            if (collide(side->path, names->side[k].path))
                return halo_fail_usage(err, "%s %s: this is also the %s file: use another one",
                                       side->option, side->name, names->side[k].option);
    }
    return 0;
}

/* No two names on the command line may refer to one file: opening the later one would destroy
 * it. */
static int check_names(const struct halo_target *target, const struct halo_run_settings *set,
                       struct halo_error *err)
{
    struct names names;
    int code = init_names(&names, set, err);
    if (code >= 0)
        code = compare(target, &names, set->output, err);
    finish_names(&names);
    return code;
}

/* Sets the names of the future file; a symbolic link remains one. */
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
        return halo_fail_usage(err, "%s: this is a directory: specify a file in it", out);
    int code = target->kind == HALO_TARGET_FILE ? name_file(target, out, err) : 0;
    if (code >= 0)
        code = check_names(target, set, err);
    if (code < 0 || target->kind == HALO_TARGET_DIRECT)
        return code;
    if (exists && !set->overwrite)
        return halo_fail_usage(err, "%s: this file already exists: use -y to replace it", out);
    if (exists)
        target->mode = st.st_mode & 07777;
    return halo_beside_check(target->path, err);
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
    return check_names(target, set, err);
}

void halo_target_finish(struct halo_target *target)
{
    free(target->path);
    free(target->partial);
    *target = (struct halo_target){0};
}
