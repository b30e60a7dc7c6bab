/* SPDX-License-Identifier: BSD-2-Clause
 * Loads the settings of detectors: a map with a section for each find. */
#include "config/daemon_tables.h"
#include "config/load.h"

static void load_find(struct halo_loader *l, struct halo_stream_settings *stream,
                      enum halo_find find, struct halo_node *node)
{
    const struct halo_section section = {halo_detector_options[find], {{NULL}}};
    halo_loader_section(l, &section, &stream->detector[find], node, NULL);
}

static void load_faces(struct halo_loader *l, void *settings, struct halo_node *node)
{
    load_find(l, settings, HALO_FIND_FACES, node);
}

static void load_people(struct halo_loader *l, void *settings, struct halo_node *node)
{
    load_find(l, settings, HALO_FIND_PEOPLE, node);
}

/* Checks combinations of keys, including those that another map has set. */
static void check(struct halo_loader *l, const struct halo_stream_settings *stream,
                  const struct halo_node *map)
{
    for (int find = 0; find < HALO_FINDS; find++) {
        const struct halo_node *node = halo_node_get(map, halo_find_names[find]);
        if (!node || node->bad)
            continue;
        struct halo_error err = {0};
        const size_t mark = halo_loader_enter(l, halo_find_names[find], 0);
        const int code = halo_detector_check(&stream->detector[find], &err);
        halo_loader_passes(l, node, code, err.text);
        halo_loader_leave(l, mark);
    }
}

void halo_load_detectors(struct halo_loader *l, void *settings, struct halo_node *node)
{
    static const struct halo_option no_rows[] = {{NULL}};
    static const struct halo_section section = {
        no_rows,
        {{"faces", load_faces, NULL}, {"people", load_people, NULL}, {NULL}},
    };
    const int before = halo_error_list_count(l->errors);
    halo_loader_section(l, &section, settings, node, NULL);
    if (halo_error_list_count(l->errors) == before)
        check(l, settings, node);
}
