/* SPDX-License-Identifier: BSD-2-Clause
 * The command line of halod run with a camera, as settings of a stream (run_live.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/daemon_tables.h"
#include "config/encoding.h"
#include "config/pipewire.h"
#include "config/source_kinds.h"
#include "daemon/cli/run/run_live.h"
#include "pipeline/base/path.h"
#include "pipeline/camera/camera.h"
#include "pipeline/camera/camera_find.h"
#include "pipeline/filter/privacy.h"

bool halo_run_live_is(const struct halo_run_settings *run)
{
    return halo_source_row(run->source.input)->captures || halo_run_live_shows(run);
}

bool halo_run_live_shows(const struct halo_run_settings *run)
{
    return halo_is_camera(run->output) || halo_pipewire_name_of(run->output);
}

/* ---- options that exclude each other ---- */

static int check_options(const struct halo_run_settings *run, struct halo_error *err)
{
    const struct {
        const char *name;
        bool given;
    } without[] = {
        {"-ss", run->part.seek > 0},
        {"-c:a", run->audio_codec != NULL},
        {"-pixel_format", run->source.pixel_format != NULL},
        {"-copy_unfiltered", run->copy_unfiltered},
        {"-pinned_memory", run->pinned_memory >= 0},
        {"-stats_json", run->stats_json != NULL},
        {"-trace", run->trace != NULL},
    };
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (without[i].given)
            return halo_fail_usage(err, "%s has no effect with a camera: leave it out",
                                   without[i].name);
    if (run->source.format && strcmp(run->source.format, "v4l2") != 0 &&
        strcmp(run->source.format, "video4linux2") != 0)
        return halo_fail_usage(err,
                               "-f %s before -i cannot be used: %s is a camera (use -input_format "
                               "for its pixel format)",
                               run->source.format, run->source.input);
    return 0;
}

static bool is_camera_format(const char *name)
{
    for (int i = 0; halo_camera_formats[i]; i++)
        if (!strcmp(halo_camera_formats[i], name))
            return true;
    return false;
}

static int check_desktop(const struct halo_run_settings *run, struct halo_error *err)
{
    const char *name = halo_pipewire_name_of(run->output);
    if (!halo_pipewire_is_built())
        return halo_fail_usage(err, "%s: this halod was built without PipeWire", run->output);
    if (strlen(name) >= HALO_PIPEWIRE_NAME)
        return halo_fail_usage(err, "%.80s: a name can have at most %d bytes", run->output,
                               HALO_PIPEWIRE_NAME - 1);
    if (run->output_format)
        return halo_fail_usage(err, "leave out -f: programs negotiate the format with %s",
                               run->output);
    return 0;
}

static int check_shown(const struct halo_run_settings *run, struct halo_error *err)
{
    const char *const without[][2] = {{"-c:v", run->video_codec},
                                      {"-b:v", run->bitrate},
                                      {"-crf", run->crf},
                                      {"-preset", run->preset}};
    const char *format = run->output_format;
    if (!halo_source_row(run->source.input)->captures)
        return halo_fail_usage(err,
                               "%s is a virtual camera, so IN must be a camera, too (the daemon "
                               "can also play files and URLs into it: see v4l2 and pipewire in "
                               "halod.yaml(5))",
                               run->output);
    if (!strncmp(run->output, "v4l2:", 5))
        return halo_fail_usage(
            err, "%s: specify the virtual camera by its device, such as /dev/video10", run->output);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (without[i][1])
            return halo_fail_usage(
                err, "leave out %s: %s is a virtual camera, which accepts only raw frames",
                without[i][0], run->output);
    if (format && strcmp(format, "v4l2") != 0 && !is_camera_format(format))
        return halo_fail_usage(
            err,
            "-f %s: the format of a virtual camera must be yuyv (the default), yu12, nv12 or mjpeg",
            format);
    return halo_pipewire_name_of(run->output) ? check_desktop(run, err) : 0;
}

int halo_run_live_check(const struct halo_run_settings *run, const struct halo_chain *chain,
                        struct halo_error *err)
{
    enum halo_chain_does does = HALO_CHAIN_FILTERS;
    int code = halo_run_live_shows(run) ? check_shown(run, err) : 0;
    if (code >= 0)
        code = check_options(run, err);
    if (code >= 0)
        code = halo_camera_check(run->source.input, err);
    if (code >= 0)
        code = halo_chain_does(chain, &does, err);
    if (code >= 0 && does == HALO_CHAIN_IDLE)
        code = halo_fail_usage(err,
                               "-vf %s passes frames unfiltered: use a filter that changes "
                               "them, or request this explicitly with -vf null",
                               run->filters);
    return code;
}

/* ---- the requested capture format ---- */

static const char *format_of(const char *name)
{
    static const char *const names[][2] = {{"yuyv422", "yuyv"},
                                           {"uyvy422", "uyvy"},
                                           {"yuv420p", "yu12"},
                                           {"gray", "grey"},
                                           {"jpeg", "mjpeg"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i][0], name))
            return names[i][1];
    return name;
}

static int set(const struct halo_option *rows, const char *key, const char *option,
               const char *value, void *settings, struct halo_error *err)
{
    struct halo_error inner = {0};
    const struct halo_option *row = halo_option_find(rows, key, strlen(key));
    const int code = halo_option_set(row, settings, value, &inner);
    const char *what = strstr(inner.text, ": ");
    if (code == -ENOMEM)
        return halo_fail(err, code, "out of memory");
    return code < 0 ? halo_fail_usage(err, "%s %.80s%s", option, value, what ? what : "") : 0;
}

static int read_capture(struct halo_capture_settings *capture, const struct halo_run_settings *run,
                        struct halo_error *err)
{
    static const struct halo_option rates[] = {
        {"fps", NULL, HALO_OPTION_RATIO, offsetof(struct halo_capture_settings, fps), 0, 0.1, 1000},
        {NULL},
    };
    int code = 0;
    if (run->source.video_size)
        code =
            set(halo_capture_options, "size", "-video_size", run->source.video_size, capture, err);
    if (code >= 0 && run->source.framerate)
        code = set(rates, "fps", "-framerate", run->source.framerate, capture, err);
    if (code >= 0 && run->capture_format)
        code = set(halo_capture_options, "format", "-input_format", format_of(run->capture_format),
                   capture, err);
    return code;
}

/* ---- the output ---- */

static bool is_nearer(const struct halo_camera_offered_mode *mode,
                      const struct halo_camera_offered_mode *best, int width, int height)
{
    return !best || abs(mode->width - width) + abs(mode->height - height) <
                        abs(best->width - width) + abs(best->height - height);
}

/* Programs do not follow a change of size, so this looks up the size that the camera will have. If
 * the camera is in use, the requested size is kept. */
static void choose_size(int *width, int *height, const struct halo_capture_settings *capture,
                        const struct halo_camera_id *id)
{
    struct halo_camera_offer offer;
    struct halo_error ignored = {0};
    const struct halo_camera_offered_mode *best = NULL;
    const char *format = capture->format ? halo_capture_formats[capture->format] : NULL;
    if (halo_camera_ask(&offer, id, &ignored) >= 0)
        for (int i = 0; i < offer.modes; i++)
            if ((!format || !strcmp(offer.mode[i].format->name, format)) &&
                is_nearer(&offer.mode[i], best, *width, *height))
                best = &offer.mode[i];
    if (best) {
        *width = best->width;
        *height = best->height;
    }
    halo_camera_offer_finish(&offer);
}

static char *copy(const char *text, bool *failed)
{
    char *ret = text ? strdup(text) : NULL;
    *failed |= text && !ret;
    return ret;
}

static void fill_shown(struct halo_output_settings *output, const struct halo_run_settings *run,
                       const struct halo_capture_settings *capture, const struct halo_camera_id *id,
                       bool *failed)
{
    char text[32];
    int width, height;
    const char *format = run->output_format;
    halo_camera_wishes(capture, &width, &height, &output->video.fps);
    choose_size(&width, &height, capture, id);
    snprintf(text, sizeof text, "%dx%d", width > 2 ? width & ~1 : 2, height > 2 ? height & ~1 : 2);
    output->kind = HALO_OUTPUT_V4L2;
    output->format =
        copy(format && is_camera_format(format) ? format : halo_camera_formats[0], failed);
    output->video.size = copy(text, failed);
}

/* The PipeWire camera, for which the real camera is open only while it is used. */
static void fill_desktop(struct halo_stream_settings *ret, const struct halo_run_settings *run,
                         const struct halo_camera_id *id, bool *failed)
{
    struct halo_output_settings *output = &ret->output[0];
    const char *name = halo_pipewire_name_of(run->output);
    char text[32];
    int width, height;
    halo_camera_wishes(&ret->capture, &width, &height, &output->video.fps);
    choose_size(&width, &height, &ret->capture, id);
    /* the chain is prepared for this size before the camera is opened */
    snprintf(text, sizeof text, "%dx%d", width, height);
    free(ret->capture.size);
    ret->capture.size = copy(text, failed);
    snprintf(text, sizeof text, "%dx%d", width > 8 ? width & ~7 : 8, height > 2 ? height & ~1 : 2);
    output->kind = HALO_OUTPUT_PIPEWIRE;
    output->video.size = copy(text, failed);
    free(output->target);
    output->target = copy(*name ? name : "halod", failed);
    ret->capture.open = HALO_CAPTURE_ON_DEMAND;
}

static void fill_output(struct halo_output_settings *output, const struct halo_run_settings *run,
                        const char *codec, bool is_file, bool *failed)
{
    output->kind = !codec ? HALO_OUTPUT_NULL : is_file ? HALO_OUTPUT_FILE : HALO_OUTPUT_URL;
    output->video.codec = copy(codec, failed);
    output->video.bitrate = copy(run->bitrate, failed);
    output->video.crf = copy(run->crf, failed);
    output->video.preset = copy(run->preset, failed);
}

static void fill_stream(struct halo_stream_settings *ret, const struct halo_run_settings *run,
                        const struct halo_chain *chain, bool *failed)
{
    enum halo_chain_does does = HALO_CHAIN_FILTERS;
    *failed |= halo_chain_does(chain, &does, NULL) < 0;
    ret->name = copy("camera", failed);
    ret->source.input = copy(run->source.input, failed);
    ret->source.max_pixels = run->source.max_pixels;
    ret->device = run->device;
    for (int find = 0; find < HALO_FINDS; find++) {
        ret->detector[find] = run->detector[find];
        *failed |= halo_options_own(halo_detector_options[find], &ret->detector[find]) < 0;
    }
    ret->filters = copy(run->filters, failed);
    ret->privacy = does == HALO_CHAIN_OPEN_NULL ? HALO_PRIVACY_OFF : HALO_PRIVACY_CHANGED;
}

static int find(struct halo_camera_id *ret, const struct halo_run_settings *run,
                struct halo_error *err)
{
    struct halo_error inner = {0};
    const int code = halo_camera_find(ret, run->source.input, NULL, &inner);
    if (code == -EEXIST)
        return halo_fail_usage(err, "%s", inner.text);
    if (code < 0)
        return halo_fail_device(err, "%s", inner.text);
    if (!strcmp(ret->node, run->output) || halo_path_same(ret->node, run->output))
        return halo_fail_usage(err, "%s: OUT is the same camera as IN: use another camera",
                               run->output);
    return 0;
}

int halo_run_live_settings(struct halo_stream_settings *ret, const struct halo_run_settings *run,
                           const struct halo_chain *chain, const char *codec, bool is_file,
                           struct halo_error *err)
{
    struct halo_output_settings *output = &ret->output[0];
    struct halo_camera_id id;
    bool failed = false;
    memset(ret, 0, sizeof *ret);
    halo_options_init(halo_stream_options, ret);
    halo_options_init(halo_capture_options, &ret->capture);
    halo_options_init(halo_output_options, output);
    halo_options_init(halo_video_options, &output->video);
    ret->outputs = 1;
    int code = read_capture(&ret->capture, run, err);
    if (code >= 0)
        code = find(&id, run, err);
    if (code < 0)
        return code;
    fill_stream(ret, run, chain, &failed);
    output->target = copy(run->output, &failed);
    if (halo_pipewire_name_of(run->output))
        fill_desktop(ret, run, &id, &failed);
    else if (halo_run_live_shows(run))
        fill_shown(output, run, &ret->capture, &id, &failed);
    else
        fill_output(output, run, codec, is_file, &failed);
    return failed ? halo_fail(err, -ENOMEM, "out of memory") : 0;
}
