/* SPDX-License-Identifier: BSD-2-Clause
 * libmosquitto, which is loaded only if the settings contain `mqtt:`, so that halod also runs
 * without it. */
#ifndef HALO_MOSQUITTO_H
#define HALO_MOSQUITTO_H

#include <mosquitto.h>

#include "config/base/error.h"

#define HALO_MOSQUITTO_NAME "libmosquitto.so.1"

/* The functions that are used, without their prefix. */
#define HALO_MOSQUITTO_FUNCTIONS(F)                                                                \
    F(lib_init)                                                                                    \
    F(new)                                                                                         \
    F(destroy)                                                                                     \
    F(username_pw_set)                                                                             \
    F(will_set)                                                                                    \
    F(tls_set)                                                                                     \
    F(connect)                                                                                     \
    F(disconnect)                                                                                  \
    F(publish)                                                                                     \
    F(subscribe)                                                                                   \
    F(loop_read)                                                                                   \
    F(loop_write)                                                                                  \
    F(loop_misc)                                                                                   \
    F(socket)                                                                                      \
    F(want_write)                                                                                  \
    F(connect_callback_set)                                                                        \
    F(message_callback_set)                                                                        \
    F(log_callback_set)                                                                            \
    F(strerror)                                                                                    \
    F(connack_string)

struct halo_mosquitto {
#define HALO_MOSQUITTO_FIELD(name) __typeof__(mosquitto_##name) *name;
    HALO_MOSQUITTO_FUNCTIONS(HALO_MOSQUITTO_FIELD)
#undef HALO_MOSQUITTO_FIELD
};

/* Returns the library's functions, which remain valid until the process ends, or NULL with err
 * filled if the library is not installed or lacks a function. Loop thread only; opens files in the
 * library folders. */
const struct halo_mosquitto *halo_mosquitto_load(struct halo_error *err);

#endif
