/* SPDX-License-Identifier: BSD-2-Clause
 * Where the PipeWire server of the user's session listens. Any thread; does not block. */
#ifndef HALO_PIPEWIRE_SOCKET_H
#define HALO_PIPEWIRE_SOCKET_H

#include "config/base/error.h"

/* Returns the path of the server's socket, which libpipewire chooses by the same environment
 * variables, or NULL with err filled if this process belongs to no session. malloc'ed. */
char *halo_pipewire_socket(struct halo_error *err);

#endif
