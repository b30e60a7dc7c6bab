/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of the daemon: their end, and what two of them differ in. */
#include "config/daemon.h"

#include <stdlib.h>
#include <string.h>

#include "config/daemon_tables.h"

void halo_stream_settings_finish(struct halo_stream_settings *stream)
{
    halo_options_finish(halo_stream_options, stream);
    free(stream->name);
    free(stream->filters);
    for (int i = 0; i < stream->renditions; i++) {
        free(stream->rendition[i].name);
        free(stream->rendition[i].filters);
    }
    for (int i = 0; i < stream->outputs; i++) {
        halo_options_finish(halo_output_options, &stream->output[i]);
        halo_options_finish(halo_video_options, &stream->output[i].video);
        free(stream->output[i].target);
    }
    memset(stream, 0, sizeof(*stream));
}

void halo_daemon_settings_destroy(struct halo_daemon_settings *settings)
{
    if (!settings)
        return;
    for (int i = 0; i < settings->streams; i++)
        halo_stream_settings_finish(&settings->stream[i]);
    free(settings->stream);
    halo_options_finish(halo_control_options, &settings->control);
    halo_options_finish(halo_http_options, &settings->http);
    free(settings);
}
