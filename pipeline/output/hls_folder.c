/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/output/hls_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/clock.h"
#include "pipeline/output/output_names.h"

enum { MAX_TEXT = 65536 };

static const char temporary[] = ".tmp";
static const char suffix[] = ".m3u8";

int halo_hls_folder_open(struct halo_hls_folder *folder, const char *playlist, const char *stem)
{
    char path[PATH_MAX];
    *folder = (struct halo_hls_folder){.dir = -1, .fd = -1, .stem = stem};
    if (strlen(playlist) >= sizeof path || strlen(stem) + 40 > NAME_MAX)
        return -ENAMETOOLONG;
    const int code = halo_names_make_folders(playlist);
    if (code < 0)
        return code;
    strcpy(path, playlist);
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    folder->dir = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder->dir < 0 ? -errno : 0;
}

static void temporary_name(const struct halo_hls_folder *folder, char ret[NAME_MAX + 8])
{
    snprintf(ret, NAME_MAX + 8, "%s%s", folder->name, temporary);
}

/* Also after a failure. */
static void leave(struct halo_hls_folder *folder)
{
    char name[NAME_MAX + 8];
    if (folder->fd < 0)
        return;
    close(folder->fd);
    folder->fd = -1;
    temporary_name(folder, name);
    unlinkat(folder->dir, name, 0);
}

void halo_hls_folder_close(struct halo_hls_folder *folder)
{
    leave(folder);
    if (folder->dir >= 0)
        close(folder->dir);
    folder->dir = -1;
}

/* ---- writing ---- */

static int begin(struct halo_hls_folder *folder)
{
    char name[NAME_MAX + 8];
    temporary_name(folder, name);
    unlinkat(folder->dir, name, 0); /* what a killed process left */
    folder->fd =
        openat(folder->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return folder->fd < 0 ? -errno : 0;
}

int halo_hls_folder_begin(struct halo_hls_folder *folder, enum halo_hls_kind kind, int64_t number)
{
    halo_hls_name(folder->name, sizeof folder->name, folder->stem, kind, number);
    return begin(folder);
}

int halo_hls_folder_write(struct halo_hls_folder *folder, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(folder->fd, (const char *)bytes + done, size - done);
        if (n < 0 && errno != EINTR) {
            const int code = -errno;
            leave(folder);
            return code;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int halo_hls_folder_end(struct halo_hls_folder *folder)
{
    char name[NAME_MAX + 8];
    temporary_name(folder, name);
    const int fd = folder->fd;
    folder->fd = -1;
    int code = close(fd) < 0 && errno != EINTR ? -errno : 0;
    if (code >= 0 && renameat(folder->dir, name, folder->dir, folder->name) < 0)
        code = -errno;
    if (code < 0)
        unlinkat(folder->dir, name, 0);
    return code;
}

int halo_hls_folder_publish(struct halo_hls_folder *folder, const struct halo_hls_list *list)
{
    char *text = halo_hls_list_write(list, folder->stem);
    if (!text)
        return -ENOMEM;
    snprintf(folder->name, sizeof folder->name, "%s%s", folder->stem, suffix);
    int code = begin(folder);
    if (code >= 0)
        code = halo_hls_folder_write(folder, text, strlen(text));
    if (code >= 0)
        code = halo_hls_folder_end(folder);
    free(text);
    return code;
}

/* ---- reading ---- */

/* Returns the length of the text, or -errno. */
static ssize_t read_text(int fd, char text[MAX_TEXT])
{
    size_t length = 0;
    for (ssize_t n = 1; n && length < MAX_TEXT - 1;) {
        n = read(fd, text + length, MAX_TEXT - 1 - length);
        if (n < 0 && errno != EINTR)
            return -errno;
        length += n > 0 ? (size_t)n : 0;
    }
    text[length] = '\0';
    return (ssize_t)length;
}

/* Whether players that followed the playlist when it was written have given up. Segments that are
 * this old would also mislead new ones, and a power failure may have emptied them. */
static bool is_over(const struct stat *st, const struct halo_hls_list *list)
{
    const int64_t age = halo_unix_seconds() - st->st_mtim.tv_sec;
    int64_t length = 0;
    for (int i = 0; i < list->count; i++)
        length += list->segment[i].length;
    return age < 0 || age > 60 + 3 * length / 1000000;
}

/* Drops the newest segment that is missing, and all before it. */
static void drop_missing(const struct halo_hls_folder *folder, struct halo_hls_list *list)
{
    char name[NAME_MAX + 1];
    struct stat st;
    for (int i = list->count - 1; i >= 0; i--) {
        bool there = true;
        for (int kind = HALO_HLS_SEGMENT; kind <= HALO_HLS_INIT; kind++) {
            const struct halo_hls_segment *at = &list->segment[i];
            halo_hls_name(name, sizeof name, folder->stem, (enum halo_hls_kind)kind,
                          kind == HALO_HLS_INIT ? at->init : at->number);
            there &= fstatat(folder->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISREG(st.st_mode) && st.st_size > 0;
        }
        if (there)
            continue;
        halo_hls_list_drop(list, i + 1);
        return;
    }
}

static int read_list(int fd, const struct halo_hls_folder *folder, struct halo_hls_list *list)
{
    static const int64_t none = -1;
    struct stat st;
    char *text = malloc(MAX_TEXT);
    ssize_t code = text ? 0 : -ENOMEM;
    if (code >= 0 && fstat(fd, &st) < 0)
        code = -errno;
    else if (code >= 0 && !S_ISREG(st.st_mode))
        code = -EEXIST;
    if (code >= 0)
        code = read_text(fd, text);
    list->next = none;
    if (code > 0 && text[0]) /* not emptied by a power failure */
        code = halo_hls_list_read(list, folder->stem, text) < 0 ? -EEXIST : 0;
    free(text);
    if (code < 0)
        return (int)code;
    if (is_over(&st, list))
        halo_hls_list_drop(list, list->count);
    drop_missing(folder, list);
    return 0;
}

int halo_hls_folder_read(const struct halo_hls_folder *folder, struct halo_hls_list *list)
{
    char name[NAME_MAX + 1];
    list->count = 0;
    list->discontinuities = 0;
    list->next = -1;
    snprintf(name, sizeof name, "%s%s", folder->stem, suffix);
    const int fd = openat(folder->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return errno == ELOOP ? -EEXIST : -errno;
    const int code = fd >= 0 ? read_list(fd, folder, list) : 0;
    if (fd >= 0)
        close(fd);
    if (list->next < 0)
        list->next = halo_unix_seconds();
    return code;
}

/* ---- what is old ---- */

struct sweep {
    const struct halo_hls_folder *folder;
    int64_t oldest, next; /* segments from oldest on, and before next, are kept */
    int64_t init;         /* the newest header that is not newer than the segment `oldest` */
};

/* Removes `.tmp` from a name, if it ends with it. */
static bool is_temporary(char *name)
{
    const size_t length = strlen(name), end = sizeof temporary - 1;
    if (length <= end || strcmp(name + length - end, temporary))
        return false;
    name[length - end] = '\0';
    return true;
}

static bool is_old(const struct sweep *sweep, const char *name)
{
    char plain[NAME_MAX + 1];
    enum halo_hls_kind kind;
    int64_t number;
    snprintf(plain, sizeof plain, "%s", name);
    const bool unfinished = is_temporary(plain);
    if (!halo_hls_is_name(plain, sweep->folder->stem, &kind, &number))
        return false;
    if (unfinished)
        return true;
    return kind == HALO_HLS_SEGMENT ? number < sweep->oldest || number >= sweep->next
                                    : number < sweep->init || number > sweep->next;
}

static void note_init(struct sweep *sweep, const char *name)
{
    enum halo_hls_kind kind;
    int64_t number;
    if (halo_hls_is_name(name, sweep->folder->stem, &kind, &number) && kind == HALO_HLS_INIT &&
        number <= sweep->oldest && number > sweep->init)
        sweep->init = number;
}

void halo_hls_folder_sweep(const struct halo_hls_folder *folder, const struct halo_hls_list *list)
{
    const int64_t first = list->count ? list->segment[0].number : list->next;
    struct sweep sweep = {folder, first - list->keep, list->next, 0};
    const int fd = openat(folder->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    for (struct dirent *e; dir && (e = readdir(dir));)
        note_init(&sweep, e->d_name);
    if (dir)
        rewinddir(dir);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (is_old(&sweep, e->d_name))
            unlinkat(folder->dir, e->d_name, 0);
    if (dir)
        closedir(dir);
}
