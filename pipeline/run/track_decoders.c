/* SPDX-License-Identifier: BSD-2-Clause
 * How many decoders work on a track (track_decoders.h). */
#include "pipeline/run/track_decoders.h"

#include <unistd.h>

#include "kernels/device_memory.h"
#include "pipeline/input/decode_traits.h"
#include "pipeline/input/decoders.h"
#include "pipeline/picture/memory.h"
#include "pipeline/run/workload.h"

enum {
    PROCESSORS = 16,     /* that one software decoder uses well */
    VP9_PROCESSORS = 4,  /* the same, of small frames */
    FFV1_PROCESSORS = 2, /* since a frame waits for the one before it */
    MAX_SOFTWARE = 8,
    SMALL = 1280 * 720, /* pixels of a frame */
    HOST_SHARE = 8,     /* part of the memory that may hold frames that wait */
    GPU_SHARE = 2,      /* part of the GPU's free memory */
};
static const int64_t max_window = INT64_C(8) << 30, max_gpu_window = INT64_C(32) << 30;

static int count_processors(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static bool is_on_gpu(const struct halo_decoder_settings *decoder, const AVStream *in)
{
    return decoder->hw.on_device && decoder->hw.hwaccel != HALO_HWACCEL_NONE &&
           (halo_decode_traits(in->codecpar->codec_id) & HALO_EXACT);
}

/* A short track is decoded before all decoders have started. */
static int count_worthwhile(const struct halo_route *route)
{
    struct halo_workload w = {0};
    return halo_workload_of(&w, halo_source_format(route->source), &route->settings->part,
                            route->chain)
               ? halo_workload_gpu_decoders(&w)
               : HALO_WORKLOAD_GPU_DECODERS;
}

/* Several decoders need more memory than one with as many threads, and are rarely faster. */
static int count_in_software(const AVCodecParameters *par)
{
    const bool small = (int64_t)par->width * par->height < SMALL;
    const int each = par->codec_id == AV_CODEC_ID_FFV1           ? FFV1_PROCESSORS
                     : par->codec_id == AV_CODEC_ID_VP9 && small ? VP9_PROCESSORS
                                                                 : PROCESSORS;
    return FFMIN(count_processors() / each, MAX_SOFTWARE);
}

static int choose_number(const struct halo_route *route, const AVStream *in, bool on_gpu)
{
    const AVFormatContext *input = halo_source_format(route->source);
    if (!input->pb || !(input->pb->seekable & AVIO_SEEKABLE_NORMAL))
        return 1;
    if (route->settings->decoders > 0)
        return route->settings->decoders;
    const int most = on_gpu ? count_worthwhile(route) : count_in_software(in->codecpar);
    return FFMAX(most / halo_workload_tracks(input), 1);
}

static int64_t choose_window(const struct halo_route *route, bool on_gpu, int gpu)
{
    const int tracks = halo_workload_tracks(halo_source_format(route->source));
    struct halo_device_memory memory = {0};
    if (!on_gpu)
        return FFMIN(halo_memory_of_machine() / HOST_SHARE, max_window) / tracks;
    if (halo_device_memory(gpu, &memory) < 0)
        return 0;
    return FFMIN((memory.size - memory.used) / GPU_SHARE, max_gpu_window) / tracks;
}

int halo_track_open_decoders(struct halo_track *t, const struct halo_route *route,
                             struct halo_error *err)
{
    const struct halo_run_settings *settings = route->settings;
    struct halo_decoders_settings all = {
        .decoder = halo_track_decoder(&settings->source, &settings->device, route->ring)};
    struct halo_decoder_settings *one = &all.decoder;
    if (route->cpu_decodes)
        one->hw.hwaccel = HALO_HWACCEL_NONE;
    const bool on_gpu = is_on_gpu(one, t->in);
    one->declared = halo_source_declares(route->source);
    all.most = choose_number(route, t->in, on_gpu);
    if (route->in_segments)
        one->threads = count_processors() / FFMAX(settings->workers, 1) + 1;
    if (all.most > 1) {
        all.window = choose_window(route, on_gpu, one->hw.gpu);
        one->apart = true;
        one->threads = FFMAX(count_processors() / all.most, 1) + 1;
    }
    return halo_decoders_open(&t->decoders, settings->source.input, t->in, &all, route->damage,
                              err);
}
