/* SPDX-License-Identifier: BSD-2-Clause
 * The list of streams, with functions to create streams from settings, find them by name and
 * destroy them. Loop thread only. */
#ifndef HALO_SUP_LIST_H
#define HALO_SUP_LIST_H

#include "config/base/error.h"
#include "config/daemon.h"

struct halo_supervisor;
struct sv_stream;

int sv_stream_create(struct halo_supervisor *sv, const struct halo_stream_settings *settings,
                     struct halo_error *err);
/* Returns the stream with this name, or NULL if there is no such stream; err then suggests the most
 * similar name. */
struct sv_stream *sv_stream_find(struct halo_supervisor *sv, const char *name,
                                 struct halo_error *err);
/* Removes the stream from the list and frees it. */
void sv_stream_destroy(struct sv_stream *stream);
/* Returns a copy of the settings, or NULL on failure; err then contains the reason. */
struct halo_stream_settings *sv_settings_copy(const struct halo_stream_settings *from,
                                              struct halo_error *err);
void sv_settings_free(struct halo_stream_settings *settings);

#endif
