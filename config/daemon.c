/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of the daemon: copying and freeing them. */
#include "config/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/daemon_tables.h"

bool halo_controls_next(const char **at, char *ret_name, size_t size, int64_t *ret_value)
{
    const char *text = *at;
    if (!text || !*text)
        return false;
    const size_t length = strcspn(text, "=,");
    snprintf(ret_name, size, "%.*s", (int)length, text);
    *ret_value = text[length] == '=' ? strtoll(text + length + 1, NULL, 10) : 0;
    text += strcspn(text, ",");
    *at = *text ? text + 1 : text;
    return true;
}

char *halo_controls_put(const char *controls, const char *name, int64_t value)
{
    char *text = NULL, one[68];
    size_t size = 0;
    int64_t old;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    for (const char *at = controls; halo_controls_next(&at, one, sizeof one, &old);)
        if (strcmp(one, name))
            fprintf(to, "%s=%" PRId64 ",", one, old);
    fprintf(to, "%s=%" PRId64, name, value);
    return fclose(to) ? NULL : text;
}

bool halo_is_name(const char *text, size_t length)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    return length > 0 && length <= 64 && strspn(text, letters) >= length;
}

void halo_stream_settings_finish(struct halo_stream_settings *stream)
{
    halo_options_finish(halo_stream_options, stream);
    halo_options_finish(halo_capture_options, &stream->capture);
    for (int find = 0; find < HALO_FINDS; find++)
        halo_options_finish(halo_detector_options[find], &stream->detector[find]);
    free(stream->capture.controls);
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
    memset(stream, 0, sizeof *stream);
}

static int own(char **text)
{
    return *text && !(*text = strdup(*text)) ? -ENOMEM : 0;
}

int halo_stream_settings_copy(struct halo_stream_settings *ret,
                              const struct halo_stream_settings *stream)
{
    struct halo_stream_settings copy = *stream;
    int failed = halo_options_own(halo_stream_options, &copy);
    failed |= halo_options_own(halo_capture_options, &copy.capture);
    for (int find = 0; find < HALO_FINDS; find++)
        failed |= halo_options_own(halo_detector_options[find], &copy.detector[find]);
    failed |= own(&copy.name) | own(&copy.filters) | own(&copy.capture.controls);
    for (int i = 0; i < copy.renditions; i++)
        failed |= own(&copy.rendition[i].name) | own(&copy.rendition[i].filters);
    for (int i = 0; i < copy.outputs; i++) {
        failed |= halo_options_own(halo_output_options, &copy.output[i]);
        failed |= halo_options_own(halo_video_options, &copy.output[i].video);
        failed |= own(&copy.output[i].target);
    }
    if (failed) {
        halo_stream_settings_finish(&copy);
        return -ENOMEM;
    }
    *ret = copy;
    return 0;
}

const struct halo_stream_settings *halo_daemon_stream(const struct halo_daemon_settings *settings,
                                                      const char *name)
{
    for (int i = 0; i < settings->streams; i++)
        if (!strcmp(settings->stream[i].name, name))
            return &settings->stream[i];
    return NULL;
}

void halo_daemon_settings_destroy(struct halo_daemon_settings *settings)
{
    if (!settings)
        return;
    for (int i = 0; i < settings->streams; i++)
        halo_stream_settings_finish(&settings->stream[i]);
    free(settings->stream);
    halo_options_finish(halo_daemon_options, settings);
    halo_options_finish(halo_control_options, &settings->control);
    halo_options_finish(halo_http_options, &settings->http);
    halo_options_finish(halo_mqtt_options, &settings->mqtt);
    free(settings);
}
