/* SPDX-License-Identifier: BSD-2-Clause
 * Names of segments (output_names.h). A name is recognized by reading it with strptime and writing
 * it again: it matches the pattern only if the result is the same. */
#include "pipeline/output/output_names.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_COPIES = 9999 };

static int count_slashes(const char *s)
{
    int count = 0;
    for (; *s; s++)
        count += *s == '/';
    return count;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The position of "-1": before the suffix of the last component, if it has one. */
static size_t stem_length(const char *path)
{
    const char *name = last_part(path), *dot = strrchr(name, '.');
    return dot && dot != name ? (size_t)(dot - path) : strlen(path);
}

static bool format_tm(const char *pattern, const struct tm *tm, char ret[PATH_MAX])
{
    return strftime(ret, PATH_MAX, pattern, tm) > 0;
}

int halo_names_format(const char *pattern, time_t at, char ret[PATH_MAX])
{
    struct tm tm;
    if (strlen(pattern) >= PATH_MAX - 8)
        return -ENAMETOOLONG;
    if (!localtime_r(&at, &tm) || !format_tm(pattern, &tm, ret) || !*last_part(ret) ||
        count_slashes(ret) != count_slashes(pattern))
        return -EINVAL;
    return strlen(ret) < PATH_MAX - 8 ? 0 : -ENAMETOOLONG;
}

int halo_names_make_folders(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(folder, 0777) < 0 && errno != EEXIST && access(folder, F_OK) < 0)
            return -errno;
        *slash = '/';
    }
    return 0;
}

int halo_names_open(const char *pattern, time_t at, char ret[PATH_MAX])
{
    char name[PATH_MAX];
    int code = halo_names_format(pattern, at, name);
    if (code >= 0)
        code = halo_names_make_folders(name);
    if (code < 0)
        return code;
    const int stem = (int)stem_length(name);
    snprintf(ret, PATH_MAX, "%s", name);
    for (int n = 1; n <= MAX_COPIES; n++) {
        const int fd = open(ret, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd >= 0 ? fd : -errno;
        if (snprintf(ret, PATH_MAX, "%.*s-%d%s", stem, name, n, name + stem) >= PATH_MAX)
            return -ENAMETOOLONG;
    }
    return -EEXIST;
}

/* ---- recognised again ---- */

static bool is_written_so(const char *pattern, const char *path)
{
    struct tm tm = {.tm_mday = 1, .tm_isdst = -1};
    char again[PATH_MAX];
    const char *end = strptime(path, pattern, &tm);
    return end && !*end && format_tm(pattern, &tm, again) && !strcmp(again, path);
}

bool halo_names_match(const char *pattern, const char *path)
{
    char plain[PATH_MAX];
    if (strlen(path) >= PATH_MAX || count_slashes(path) != count_slashes(pattern))
        return false;
    if (is_written_so(pattern, path))
        return true;
    const size_t stem = stem_length(path);
    size_t at = stem;
    while (at > 0 && path[at - 1] >= '0' && path[at - 1] <= '9')
        at--;
    if (at == stem || stem - at > 4 || at < 2 || path[at - 1] != '-' || path[at] == '0')
        return false;
    snprintf(plain, sizeof plain, "%.*s%s", (int)at - 1, path, path + stem);
    return is_written_so(pattern, plain);
}

/* The end of a strftime conversion, whose '%' is before `at`. */
static const char *skip_conversion(const char *at)
{
    at += strspn(at, "_-0^#+");
    at += strspn(at, "0123456789");
    at += strspn(at, "EO");
    return *at ? at + 1 : at;
}

/* Writes the pattern as a glob, with "-*" at `stem`, unless that is after its end. */
static void write_glob(char *ret, const char *pattern, size_t stem)
{
    for (const char *at = pattern; *at || at == pattern + stem;) {
        if (at == pattern + stem) {
            *ret++ = '-';
            *ret++ = '*';
            stem = SIZE_MAX;
        } else if (*at == '%' && at[1] != '%') {
            *ret++ = '*';
            at = skip_conversion(at + 1);
        } else {
            at += *at == '%';
            if (strchr("*?[]\\", *at))
                *ret++ = '\\';
            *ret++ = *at++;
        }
    }
    *ret = 0;
}

bool halo_names_may_match(const char *pattern, const char *path)
{
    enum { FLAGS = FNM_PATHNAME | FNM_PERIOD };
    char glob[2 * PATH_MAX + 8];
    if (strlen(pattern) >= PATH_MAX || strlen(path) >= PATH_MAX)
        return false;
    for (const char *at = path; *at; at++)
        if (iscntrl((unsigned char)*at))
            return false;
    write_glob(glob, pattern, SIZE_MAX);
    if (fnmatch(glob, path, FLAGS) == 0)
        return true;
    write_glob(glob, pattern, stem_length(pattern));
    return fnmatch(glob, path, FLAGS) == 0;
}

/* ---- kept ---- */

struct found {
    char *path;
    int64_t size;
    struct timespec changed;
};

struct find {
    const char *pattern;
    struct found *found;
    int count, room;
    int64_t bytes;
    bool failed;
};

static void add_file(struct find *find, const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || !halo_names_match(find->pattern, path))
        return;
    if (find->count == find->room) {
        const int room = find->room * 2 + 64;
        struct found *more = av_realloc_array(find->found, room, sizeof *more);
        if (!more) {
            find->failed = true;
            return;
        }
        find->found = more;
        find->room = room;
    }
    char *copy = av_strdup(path);
    find->failed |= !copy;
    if (!copy)
        return;
    find->found[find->count++] = (struct found){copy, st.st_size, st.st_mtim};
    find->bytes += st.st_size;
}

/* Walks through the folders; rest is the pattern's remainder after path, which ends in '/' or is
 * empty: one folder for each plain component, all existing ones for the others. */
static void walk(struct find *find, char path[PATH_MAX], const char *rest)
{
    const size_t length = strlen(path), part = strcspn(rest, "/");
    const bool folder = rest[part] == '/';
    if (folder && !memchr(rest, '%', part)) {
        if (length + part + 2 > PATH_MAX)
            return;
        memcpy(path + length, rest, part + 1);
        path[length + part + 1] = 0;
        walk(find, path, rest + part + 1);
        path[length] = 0;
        return;
    }
    DIR *dir = opendir(length ? path : ".");
    for (struct dirent *e; dir && !find->failed && (e = readdir(dir));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            length + strlen(e->d_name) + 2 > PATH_MAX)
            continue;
        strcpy(path + length, e->d_name);
        if (!folder) {
            add_file(find, path);
            continue;
        }
        struct stat st;
        if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
            continue;
        strcat(path, "/");
        walk(find, path, rest + part + 1);
    }
    path[length] = 0;
    if (dir)
        closedir(dir);
}

static int compare(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->changed.tv_sec != y->changed.tv_sec)
        return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
    if (x->changed.tv_nsec != y->changed.tv_nsec)
        return x->changed.tv_nsec < y->changed.tv_nsec ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Removes folders whose names the pattern generates, as long as they are empty, up to a plain
 * component. */
static void remove_folders(const char *pattern, char *path)
{
    char parts[PATH_MAX];
    snprintf(parts, sizeof parts, "%s", pattern);
    for (;;) {
        char *slash = strrchr(path, '/'), *end = strrchr(parts, '/');
        if (!slash || !end || slash == path || end == parts)
            return;
        *slash = *end = 0;
        if (!strchr(last_part(parts), '%') || rmdir(path) < 0)
            return;
    }
}

int halo_names_keep(const char *pattern, int64_t keep, const char *current)
{
    struct find find = {.pattern = pattern};
    char path[PATH_MAX] = "";
    if (*pattern == '/') {
        strcpy(path, "/");
        walk(&find, path, pattern + 1);
    } else {
        walk(&find, path, pattern);
    }
    if (find.count)
        qsort(find.found, find.count, sizeof *find.found, compare);
    int removed = 0;
    for (int i = 0; i < find.count; i++) {
        struct found *f = &find.found[i];
        const bool is_current = current && !strcmp(current, f->path);
        if (find.bytes > keep && !is_current && unlink(f->path) == 0) {
            find.bytes -= f->size;
            removed++;
            remove_folders(pattern, f->path);
        }
        av_free(f->path);
    }
    av_free(find.found);
    return find.failed ? -ENOMEM : removed;
}
