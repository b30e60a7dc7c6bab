/* SPDX-License-Identifier: BSD-2-Clause
 * What the settings need to know about PipeWire (pipeline/pipewire). */
#ifndef HALO_CONFIG_PIPEWIRE_H
#define HALO_CONFIG_PIPEWIRE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    HALO_PIPEWIRE_NAME = 64, /* bytes of a node's name, with its final 0 */
    HALO_MAX_NODES = 4,      /* outputs of kind PIPEWIRE, per stream */
    /* formats that a node offers; each is an encoding, which is made only while it is chosen */
    HALO_DESKTOP_FORMATS = 4,
};

/* Returns whether this build supports PipeWire. */
bool halo_pipewire_is_built(void);

/* Returns the NAME of an input or output called "pipewire:NAME", which may be "", or NULL if it is
 * called otherwise. */
const char *halo_pipewire_name_of(const char *name);

/* Sets ret to the name in the graph (node.name) of the node with this name in the settings:
 * characters other than letters, digits, "." and "-" are replaced by "_". */
void halo_pipewire_node_name(const char *name, char ret[HALO_PIPEWIRE_NAME]);

#endif
