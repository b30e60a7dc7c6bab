/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_camera.h"

#include <errno.h>
#include <string.h>

#include "config/base/log.h"
#include "config/output_kinds.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/view/camera_out.h"

static void reported(void *arg, const char *state, const char *why)
{
    struct sv_stream *stream = arg;
    const bool fine = !strcmp(state, "writing");
    halo_log(fine ? HALO_LOG_INFO : HALO_LOG_WARNING, "stream %s: virtual camera: %s", stream->name,
             fine ? state : why);
    sv_event(stream->sv, "virtual-camera", stream->name, state, why);
}

/* Removes the camera of this output from `from` and returns it; NULL: there is none. */
static struct halo_camera_out *find(struct halo_camera_out **from,
                                    const struct halo_output_settings *output)
{
    for (int i = 0; i < HALO_MAX_OUTPUTS; i++)
        if (from[i] && halo_camera_out_is_of(from[i], output)) {
            struct halo_camera_out *ret = from[i];
            from[i] = NULL;
            return ret;
        }
    return NULL;
}

void sv_camera_keep(struct sv_stream *stream)
{
    struct halo_camera_out *old[HALO_MAX_OUTPUTS];
    memcpy(old, stream->camera, sizeof old);
    memset(stream->camera, 0, sizeof stream->camera);
    for (int i = 0; i < stream->settings.outputs; i++)
        stream->camera[i] = find(old, &stream->settings.output[i]);
    for (int i = 0; i < HALO_MAX_OUTPUTS; i++)
        halo_camera_out_destroy(old[i]); /* another camera may use its device now */
}

int sv_camera_open(struct sv_stream *stream, int index, struct halo_error *err)
{
    const struct halo_output_settings *output = &stream->settings.output[index];
    struct halo_camera_out **camera = &stream->camera[index];
    int code = 0;
    if (!*camera)
        code = halo_camera_out_create(camera, stream->sv->loop, output, reported, stream, err);
    const int formats = code < 0 ? 0 : halo_output_formats(output);
    for (int format = 0; format < formats; format++)
        halo_camera_out_join(*camera, format, stream->packet_feed[stream->of[index] + format].feed);
    return code;
}

void sv_camera_leave(struct sv_stream *stream)
{
    for (int i = 0; i < HALO_MAX_OUTPUTS; i++)
        if (stream->camera[i])
            halo_camera_out_leave(stream->camera[i]);
}

void sv_camera_forget(struct sv_stream *stream)
{
    for (int i = 0; i < HALO_MAX_OUTPUTS; i++)
        if (stream->camera[i])
            halo_camera_out_forget(stream->camera[i]);
}

void sv_camera_close(struct sv_stream *stream)
{
    for (int i = 0; i < HALO_MAX_OUTPUTS; i++) {
        halo_camera_out_destroy(stream->camera[i]);
        stream->camera[i] = NULL;
    }
}
