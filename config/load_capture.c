/* SPDX-License-Identifier: BSD-2-Clause
 * Loads the settings of a camera from its map. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/daemon_tables.h"
#include "config/load.h"

static bool is_control(const char *name)
{
    const size_t length = strlen(name);
    return length > 0 && length <= 64 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static void load_control(struct halo_loader *l, struct halo_capture_settings *capture,
                         struct halo_node *node)
{
    char *end;
    if (!is_control(node->key)) {
        halo_loader_say_key(l, node,
                            "must be the name of a control, such as brightness; run 'halod "
                            "devices' to list the names");
        return;
    }
    const char *text = halo_loader_text(l, node);
    if (!text)
        return;
    errno = 0;
    const int64_t value = strtoll(text, &end, 10);
    if (errno || *end || end == text) {
        halo_loader_say(l, node, "%.80s: must be a whole number", halo_node_shown(node));
        return;
    }
    char *all = halo_controls_put(capture->controls, node->key, value);
    l->no_memory |= !all;
    if (all) {
        free(capture->controls);
        capture->controls = all;
    }
}

static void load_controls(struct halo_loader *l, void *settings, struct halo_node *node)
{
    if (!halo_loader_is(l, node, HALO_NODE_MAP))
        return;
    for (int i = 0; i < node->count; i++) {
        const size_t mark = halo_loader_enter(l, node->child[i]->key, 0);
        load_control(l, settings, node->child[i]);
        halo_loader_leave(l, mark);
    }
}

void halo_load_capture(struct halo_loader *l, void *settings, struct halo_node *node)
{
    static const struct halo_section section = {
        halo_capture_options,
        {{"controls", load_controls, NULL}, {NULL}},
    };
    struct halo_stream_settings *stream = settings;
    halo_loader_section(l, &section, &stream->capture, node, NULL);
}
