/* SPDX-License-Identifier: BSD-2-Clause
 * libpipewire, which is loaded only when a stream needs it, so that halod also runs without it. */
#ifndef HALO_PIPEWIRE_LIBRARY_H
#define HALO_PIPEWIRE_LIBRARY_H

#include <pipewire/impl.h>
#include <pipewire/pipewire.h>

#include "config/base/error.h"

#define HALO_PIPEWIRE_LIBRARY "libpipewire-0.3.so.0"

#define HALO_PIPEWIRE_OURS "halod.filtered" /* a property of nodes that halod has made */

/* The functions that are used, without their prefix. */
#define HALO_PIPEWIRE_FUNCTIONS(F)                                                                 \
    F(init)                                                                                        \
    F(log_set_level)                                                                               \
    F(loop_new)                                                                                    \
    F(loop_destroy)                                                                                \
    F(context_new)                                                                                 \
    F(context_load_module)                                                                         \
    F(context_connect)                                                                             \
    F(context_destroy)                                                                             \
    F(core_disconnect)                                                                             \
    F(properties_new)                                                                              \
    F(proxy_add_listener)                                                                          \
    F(proxy_destroy)                                                                               \
    F(stream_new)                                                                                  \
    F(stream_add_listener)                                                                         \
    F(stream_connect)                                                                              \
    F(stream_destroy)                                                                              \
    F(stream_update_params)                                                                        \
    F(stream_dequeue_buffer)                                                                       \
    F(stream_queue_buffer)                                                                         \
    F(stream_is_driving)                                                                           \
    F(stream_get_node_id)                                                                          \
    F(stream_trigger_process)

struct halo_pipewire {
#define HALO_PIPEWIRE_FIELD(name) __typeof__(pw_##name) *name;
    HALO_PIPEWIRE_FUNCTIONS(HALO_PIPEWIRE_FIELD)
#undef HALO_PIPEWIRE_FIELD
};

/* Returns the library's functions, which remain valid until the process ends, or NULL with err
 * filled if the library is not installed or lacks a function. Any thread; opens files in the
 * library folders. */
const struct halo_pipewire *halo_pipewire_load(struct halo_error *err);

#endif
