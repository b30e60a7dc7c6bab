/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/output_kinds.h"
#include "config/path_name.h"
#include "config/source_kinds.h"
#include "daemon/engine/confine_files.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "pipeline/output/output.h"
#include "pipeline/output/output_names.h"

/* Adds [path, how, device, inode]: equal as long as the path leads to the same file. */
static void add(json_t *files, const char *path, enum halo_files_how how)
{
    struct stat st;
    if (stat(path, &st) < 0)
        st = (struct stat){0};
    json_t *one =
        json_pack("[s, i, I, I]", path, (int)how, (json_int_t)st.st_dev, (json_int_t)st.st_ino);
    size_t i;
    json_t *other;
    json_array_foreach (files, i, other)
        if (json_equal(one, other)) {
            json_decref(one);
            return;
        }
    json_array_append_new(files, one);
}

/* Adds the folder that contains path, but never the root folder. */
static void add_folder_of(json_t *files, const char *path, enum halo_files_how how)
{
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash && slash != folder) {
        *slash = '\0';
        add(files, folder, how);
    } else if (folder && !slash) {
        add(files, ".", how);
    }
    free(folder);
}

/* Adds network access, and the folders of the files that resolve names, because these are updated
 * by replacing them. */
static void add_network(json_t *files)
{
    char *resolver = realpath("/etc/resolv.conf", NULL);
    add(files, "", HALO_FILES_NETWORK);
    add(files, "/etc", HALO_FILES_READ);
    if (resolver)
        add_folder_of(files, resolver, HALO_FILES_READ);
    free(resolver);
}

/* Only a demuxer that the settings name may open others in the folder of its file: playlists,
 * numbered images, descriptions (halo_source_settings.alone). */
static void add_file(json_t *files, const struct halo_stream_settings *set, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && !set->source.format)
        add(files, path, HALO_FILES_READ);
    else
        add_folder_of(files, path, HALO_FILES_READ);
}

static void add_input(json_t *files, const struct halo_stream_settings *set)
{
    if (!set->source.input)
        return;
    switch (halo_source_row(set->source.input)->place) {
    case HALO_FROM_NOTHING:
        break;
    case HALO_FROM_DEVICE:
        add(files, "/dev", HALO_FILES_DEVICE); /* a camera may return under another number */
        break;
    case HALO_FROM_SESSION:
        add(files, "", HALO_FILES_SESSION);
        break;
    case HALO_FROM_NETWORK:
        add_network(files);
        break;
    case HALO_FROM_FILE:
        add_file(files, set, halo_source_path(set->source.input));
        break;
    }
}

/* Adds the folder of an output's pattern, up to the first variable part. Creates it if it is
 * missing, because an engine can only open what exists when it starts. */
static void add_output(json_t *files, const struct halo_output_settings *output)
{
    const enum halo_output_target target = halo_output_row(output)->target;
    if (target == HALO_AT_URL)
        add_network(files);
    if (!output->target ||
        (target != HALO_AT_FILE && (target != HALO_AT_URL || halo_path_is_url(output->target))))
        return;
    char *plain = strdup(halo_path_of(output->target));
    if (plain) {
        plain[strcspn(plain, "%")] = '\0';
        halo_names_make_folders(plain); /* the engine reports a failure */
        add_folder_of(files, plain, HALO_FILES_WRITE);
    }
    free(plain);
}

static void add_stream(json_t *files, const struct halo_stream_settings *set)
{
    add_input(files, set);
    for (int i = 0; i < set->outputs; i++)
        add_output(files, &set->output[i]);
}

/* Adds the files of the tests' stand-ins. */
static void add_tests(json_t *files)
{
#ifdef HALO_FAULTS
    static const char *const variables[] = {"HALO_STANDIN_V4L2", "HALOD_FAULT_LOG",
                                            "HALO_STANDIN_NVENC_DUMP", "HALOD_CUDA_CALLS"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i])) {
            add(files, getenv(variables[i]), HALO_FILES_DEVICE);
            add_folder_of(files, getenv(variables[i]), HALO_FILES_WRITE);
        }
#else
    (void)files;
#endif
}

json_t *sv_files_of(const struct sv_engine *engine)
{
    json_t *files = json_array();
    const bool shared = !strchr(engine->name, ':');
    for (const struct sv_stream *s = engine->sv->streams; s; s = s->next) {
        const bool may_come = shared && !sv_stream_has_own_engine(s) && !s->place.removed;
        if (s->place.engine != engine && !may_come)
            continue;
        add_stream(files, &s->settings);
        if (s->coming)
            add_stream(files, s->coming);
    }
    add_tests(files);
    return files;
}

/* ENOENT counts, too: an engine cannot create a removed folder again in a place where it may not
 * create any. */
static bool says_denied(const char *why)
{
    return strstr(why, strerror(EACCES)) || strstr(why, strerror(ENOENT));
}

static bool is_denied(const struct sv_stream *stream)
{
    bool denied = says_denied(stream->why);
    for (int i = 0; i < stream->stats.outputs; i++)
        denied |= stream->stats.output[i].state == HALO_OUTPUT_FAILED &&
                  says_denied(stream->stats.output[i].why);
    return denied;
}

bool sv_files_cover(const struct sv_engine *engine, const struct halo_stream_settings *settings)
{
    json_t *needs = json_array(), *need, *has;
    bool all = true;
    size_t i, n;
    if (engine->process && engine->process->files)
        add_stream(needs, settings);
    json_array_foreach (needs, i, need) {
        bool found = false;
        json_array_foreach (engine->process->files, n, has)
            found |= json_equal(need, has);
        all &= found;
    }
    json_decref(needs);
    return all;
}

bool sv_files_are_replaced(const struct sv_stream *stream)
{
    return stream->place.phase == SV_IN && is_denied(stream) &&
           !sv_files_cover(stream->place.engine, &stream->settings);
}
