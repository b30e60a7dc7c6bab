/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/engine/file_list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/source_kinds.h"

void halo_file_list_add(struct halo_file_list *list, const char *path, enum halo_files_how how)
{
    struct halo_files *more = realloc(list->file, ((size_t)list->count + 1) * sizeof *more);
    char *copy = strdup(path);
    if (more)
        list->file = more;
    if (more && copy)
        list->file[list->count++] = (struct halo_files){copy, how};
    else
        free(copy);
}

void halo_file_list_add_folder_of(struct halo_file_list *list, const char *path,
                                  enum halo_files_how how)
{
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash && slash != folder) {
        *slash = '\0';
        halo_file_list_add(list, folder, how);
    } else if (folder && !slash) {
        halo_file_list_add(list, ".", how);
    }
    free(folder);
}

/* Files that resolve names are updated by replacing them, so folders are needed. */
void halo_file_list_add_network(struct halo_file_list *list)
{
    char *resolver = realpath("/etc/resolv.conf", NULL);
    halo_file_list_add(list, "", HALO_FILES_NETWORK);
    halo_file_list_add(list, "/etc", HALO_FILES_READ);
    if (resolver)
        halo_file_list_add_folder_of(list, resolver, HALO_FILES_READ);
    free(resolver);
}

/* Whether the input makes its reader open other files in its folder: a playlist, numbered images, a
 * description. */
static bool names_others(const struct halo_source_settings *source, const char *path)
{
    static const char *const endings[] = {".m3u8", ".m3u", ".mpd", ".ffconcat", ".txt",
                                          ".sdp",  ".idx", ".cue", ".ifo"};
    const char *dot = strrchr(path, '.');
    if (source->format || source->alone)
        return source->format;
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (!strcmp(dot, endings[i]))
            return true;
    return strchr(path, '%');
}

static void add_file(struct halo_file_list *list, const struct halo_source_settings *source)
{
    const char *path = halo_source_path(source->input);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && !names_others(source, path))
        halo_file_list_add(list, path, HALO_FILES_READ);
    else
        halo_file_list_add_folder_of(list, path, HALO_FILES_READ);
}

void halo_file_list_add_input(struct halo_file_list *list,
                              const struct halo_source_settings *source)
{
    if (!source->input)
        return;
    switch (halo_source_row(source->input)->place) {
    case HALO_FROM_NOTHING:
        break;
    case HALO_FROM_DEVICE:
        /* a camera may return under another number */
        halo_file_list_add(list, "/dev", HALO_FILES_DEVICE);
        break;
    case HALO_FROM_SESSION:
        halo_file_list_add(list, "", HALO_FILES_SESSION);
        break;
    case HALO_FROM_NETWORK:
        halo_file_list_add_network(list);
        break;
    case HALO_FROM_FILE:
        add_file(list, source);
        break;
    }
}

void halo_file_list_add_tests(struct halo_file_list *list)
{
#ifdef HALO_FAULTS
    static const char *const variables[] = {"HALO_STANDIN_V4L2", "HALOD_FAULT_LOG",
                                            "HALO_STANDIN_NVENC_DUMP", "HALOD_CUDA_CALLS",
                                            "HALO_STANDIN_LOOPBACK"};
    if (getenv("HALO_STANDIN_LOOPBACK")) /* a socket stands for the device */
        halo_file_list_add(list, "", HALO_FILES_SESSION);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i])) {
            halo_file_list_add(list, getenv(variables[i]), HALO_FILES_DEVICE);
            halo_file_list_add_folder_of(list, getenv(variables[i]), HALO_FILES_WRITE);
        }
#else
    (void)list;
#endif
}

void halo_file_list_finish(struct halo_file_list *list)
{
    for (int i = 0; i < list->count; i++)
        free((char *)list->file[i].path);
    free(list->file);
    *list = (struct halo_file_list){0};
}
