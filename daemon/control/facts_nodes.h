/* SPDX-License-Identifier: BSD-2-Clause
 * Facts about nodes of PipeWire: those that streams add or read, and what programs see. */
#ifndef HALO_FACTS_NODES_H
#define HALO_FACTS_NODES_H

#include <jansson.h>

#include "config/daemon.h"

/* Adds {stream, path, output} to `nodes` for each output and input of the stream that is a node. */
void halo_facts_ask_nodes(json_t *nodes, const struct halo_stream_settings *stream);

/* Sets "missing" of each of facts.nodes, and facts.cameras to what programs see: a list of {name,
 * filtered}. If PipeWire cannot be reached, sets facts.pipewire_error instead. Does nothing if
 * facts.nodes is empty. Not on the loop thread: it waits for the server for up to some seconds. */
void halo_facts_check_nodes(json_t *facts);

#endif
