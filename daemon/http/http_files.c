/* SPDX-License-Identifier: BSD-2-Clause
 * The files of the page, in memory. */
#include "daemon/http/http_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/read_file.h"
#include "daemon/http/page_dir.h"

enum { FILES = 64, FILE_MAX = 1 << 20, NAME = 64 };

struct entry {
    char name[NAME];
    struct halo_http_file file;
    char *data;
};

struct halo_http_files {
    struct entry entry[FILES];
    int count;
};

static const char *type_of(const char *name)
{
    static const struct {
        const char *suffix, *type;
    } types[] = {{".html", "text/html; charset=utf-8"},
                 {".css", "text/css; charset=utf-8"},
                 {".js", "text/javascript; charset=utf-8"},
                 {".svg", "image/svg+xml"},
                 {".png", "image/png"}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof types[0]; i++)
        if (!strcmp(dot, types[i].suffix))
            return types[i].type;
    return NULL;
}

static int read_one(struct halo_http_files *files, const char *folder, const char *name,
                    struct halo_error *err)
{
    struct entry *entry = &files->entry[files->count];
    char *path = NULL;
    if (files->count == FILES || strlen(name) >= NAME)
        return halo_fail(err, -E2BIG, "%s: too many files, or a name is too long", folder);
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    const int code = halo_read_file(path, 0, FILE_MAX, &entry->data, &entry->file.size);
    if (code < 0)
        halo_fail(err, code, "%s: %s", path, strerror(-code));
    free(path);
    if (code < 0)
        return code;
    snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->file.data = entry->data;
    entry->file.type = type_of(name);
    files->count++;
    return 0;
}

static int read_all(struct halo_http_files *files, const char *folder, struct halo_error *err)
{
    DIR *dir = opendir(folder);
    int code = 0;
    if (!dir)
        return halo_fail(err, -errno, "the page cannot be read: %s: %s", folder, strerror(errno));
    for (const struct dirent *e; code == 0 && (e = readdir(dir));)
        if (e->d_name[0] != '.' && type_of(e->d_name))
            code = read_one(files, folder, e->d_name, err);
    closedir(dir);
    if (code == 0 && !halo_http_files_find(files, "index.html"))
        code = halo_fail(err, -ENOENT, "the page cannot be read: %s has no index.html", folder);
    return code;
}

int halo_http_files_read(struct halo_http_files **ret, struct halo_error *err)
{
    const char *folder = getenv("HALOD_PAGE");
    struct halo_http_files *files = calloc(1, sizeof *files);
    if (!files)
        return halo_fail(err, -ENOMEM, "out of memory");
    const int code = read_all(files, folder ? folder : HALO_PAGE_DIR, err);
    if (code < 0)
        halo_http_files_destroy(files);
    else
        *ret = files;
    return code;
}

void halo_http_files_destroy(struct halo_http_files *files)
{
    for (int i = 0; files && i < files->count; i++)
        free(files->entry[i].data);
    free(files);
}

const struct halo_http_file *halo_http_files_find(const struct halo_http_files *files,
                                                  const char *name)
{
    for (int i = 0; files && i < files->count; i++)
        if (!strcmp(files->entry[i].name, name))
            return &files->entry[i].file;
    return NULL;
}
