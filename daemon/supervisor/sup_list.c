/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/supervisor/sup_camera.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_feed.h"
#include "daemon/supervisor/sup_hides.h"
#include "daemon/supervisor/sup_request.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "kernels/clock.h"

/* ---- settings ---- */

struct halo_stream_settings *sv_settings_copy(const struct halo_stream_settings *from,
                                              struct halo_error *err)
{
    struct halo_stream_settings *ret = calloc(1, sizeof *ret);
    if (ret && halo_stream_settings_copy(ret, from) == 0)
        return ret;
    halo_fail(err, -ENOMEM, "out of memory");
    free(ret);
    return NULL;
}

void sv_settings_free(struct halo_stream_settings *settings)
{
    if (settings)
        halo_stream_settings_finish(settings);
    free(settings);
}

/* ---- streams ---- */

int sv_stream_create(struct halo_supervisor *sv, const struct halo_stream_settings *settings,
                     struct halo_error *err)
{
    struct sv_stream *stream = calloc(1, sizeof *stream);
    if (!stream || halo_stream_settings_copy(&stream->settings, settings) < 0) {
        free(stream);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    stream->sv = sv;
    snprintf(stream->name, sizeof stream->name, "%s", settings->name);
    /* other than before a restart */
    stream->hides.revision = stream->revision = (int64_t)(halo_unix_time() * 1000);
    if (sv_hides_begin(stream) < 0) {
        sv_hides_finish(&stream->hides);
        halo_stream_settings_finish(&stream->settings);
        free(stream);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    stream->recording = true;
    stream->place.wanted = settings->enabled;
    stream->state = settings->enabled ? SV_STARTING : SV_DISABLED;
    struct sv_stream **last = &sv->streams;
    while (*last)
        last = &(*last)->next;
    *last = stream;
    return 0;
}

void sv_stream_destroy(struct sv_stream *stream)
{
    struct sv_stream **at = &stream->sv->streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    sv_request_fail_all(stream, "the stream was removed");
    sv_feed_close(stream, "the stream was removed");
    sv_camera_close(stream);
    sv_settings_free(stream->coming);
    halo_stream_settings_finish(&stream->settings);
    sv_hides_finish(&stream->hides);
    free(stream->camera_is);
    json_decref(stream->masks);
    json_decref(stream->regions);
    free(stream);
}

struct sv_stream *sv_stream_find(struct halo_supervisor *sv, const char *name,
                                 struct halo_error *err)
{
    const char *names[HALO_MAX_STREAMS + 1];
    size_t count = 0;
    for (struct sv_stream *s = sv->streams; s; s = s->next) {
        if (s->place.removed)
            continue;
        if (!strcmp(s->name, name))
            return s;
        if (count < HALO_MAX_STREAMS)
            names[count++] = s->name;
    }
    char near[HALO_NEAREST_WORDS];
    halo_fail(err, -ENOENT, "no stream '%s'%s", name, halo_nearest_words(near, name, names, count));
    return NULL;
}
