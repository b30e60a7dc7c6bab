/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/base/path_name.h"
#include "config/output_kinds.h"
#include "daemon/engine/file_list.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "pipeline/output/output.h"
#include "pipeline/output/output_names.h"

/* Adds the folder of an output's pattern, up to the first variable part. Creates it if it is
 * missing, because an engine can only open what exists when it starts. */
static void add_output(struct halo_file_list *files, const struct halo_output_settings *output)
{
    const enum halo_output_target target = halo_output_row(output)->target;
    if (target == HALO_AT_URL)
        halo_file_list_add_network(files);
    if (!output->target ||
        (target != HALO_AT_FILE && (target != HALO_AT_URL || halo_path_is_url(output->target))))
        return;
    char *plain = strdup(halo_path_of(output->target));
    if (plain) {
        plain[strcspn(plain, "%")] = '\0';
        halo_names_make_folders(plain); /* the engine reports a failure */
        halo_file_list_add_folder_of(files, plain, HALO_FILES_WRITE);
    }
    free(plain);
}

static void add_stream(struct halo_file_list *files, const struct halo_stream_settings *set)
{
    struct halo_source_settings source = set->source;
    source.alone = !source.format; /* as live.c reads it */
    halo_file_list_add_input(files, &source);
    for (int i = 0; i < set->outputs; i++)
        add_output(files, &set->output[i]);
}

/* Returns the list, which it finishes, as [path, how, device, inode] without repetitions: equal as
 * long as the paths lead to the same files. */
static json_t *list_json(struct halo_file_list *files)
{
    json_t *ret = json_array(), *other;
    for (int i = 0; i < files->count; i++) {
        const struct halo_files *file = &files->file[i];
        struct stat st;
        size_t n;
        bool found = false;
        if (stat(file->path, &st) < 0)
            st = (struct stat){0};
        json_t *one = json_pack("[s, i, I, I]", file->path, (int)file->how, (json_int_t)st.st_dev,
                                (json_int_t)st.st_ino);
        json_array_foreach (ret, n, other)
            found |= json_equal(one, other);
        if (!found)
            json_array_append(ret, one);
        json_decref(one);
    }
    halo_file_list_finish(files);
    return ret;
}

json_t *sv_files_of(const struct sv_engine *engine)
{
    struct halo_file_list files = {0};
    const bool shared = !strchr(engine->name, ':');
    for (const struct sv_stream *s = engine->sv->streams; s; s = s->next) {
        const bool may_come = shared && !sv_stream_has_own_engine(s) && !s->place.removed;
        if (s->place.engine != engine && !may_come)
            continue;
        add_stream(&files, &s->settings);
        if (s->coming)
            add_stream(&files, s->coming);
    }
    halo_file_list_add_tests(&files);
    return list_json(&files);
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
    struct halo_file_list files = {0};
    json_t *needs, *need, *has;
    bool all = true;
    size_t i, n;
    if (engine->process && engine->process->files)
        add_stream(&files, settings);
    needs = list_json(&files);
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
