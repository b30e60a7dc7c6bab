/* SPDX-License-Identifier: BSD-2-Clause
 * A rough estimate of a run's time (workload.h). */
#include "pipeline/stream/workload.h"

#include <math.h>

#include "pipeline/base/av.h"

/* Seconds on one thread of the CPU for each byte of an encoded frame; and to start, of which most
 * is memory for frames, and so grows with the pixels of one. */
static const double cpu_byte = 96e-9, cpu_start = 0.03, cpu_start_pixel = 20e-9;

/* Frames of a group, where that is not known: what encoders make of most clips. */
static const double usual_group = 250;

/* Nanoseconds for each pixel of the encoder, of which there are faster and slower ones. */
static const double encode_ns = 15;

/* Planes of 4:2:0: samples for each pixel. */
static const double samples = 1.5;

/* Seconds on a GPU: to start the driver, the same for each pixel, to start a decoder, and to end
 * the process that has used them; a decoder's time for each frame and pixel; and the time of the
 * copy to the host. */
static const double gpu_start = 0.22, gpu_start_pixel = 20e-9, gpu_decoder = 0.08, gpu_end = 0.1;
static const double gpu_frame = 0.7e-3, gpu_pixel = 0.57e-9;
static const double gpu_pass_frame = 0.15e-3, gpu_pass_pixel = 0.04e-9;

/* Nanoseconds for each pixel, besides those for each byte. */
static double decode_ns(enum AVCodecID codec)
{
    switch (codec) {
    case AV_CODEC_ID_H264:
        return 1.3;
    case AV_CODEC_ID_HEVC:
        return 2.4;
    default:
        return 2;
    }
}

/* The speed of n processors in units of one: threads wait for each other, and many processors are
 * half of a core. */
static double speed_of(int processors)
{
    return pow(processors, 0.6);
}

/* Nanoseconds for each sample, of 8 bits. */
static double conv_ns(const struct halo_conv *c)
{
    const double width = 2 * c->radius_x + 1, height = 2 * c->radius_y + 1;
    switch (c->kind) {
    case HALO_CONV_COPY:
    case HALO_CONV_SOLID:
    case HALO_CONV_CELLS:
        return 0.1;
    case HALO_CONV_SEPARABLE:
        return 0.25 + 0.0075 * (width + height);
    case HALO_CONV_DENSE:
        return 0.15 + 0.007 * width * height;
    default:
        return 0.6;
    }
}

static double chain_ns(const struct halo_chain *chain, int width, int height)
{
    const struct halo_plane_info luma = {.width = width, .height = height, .target = {.depth = 8}};
    double sum = 0;
    for (int i = 0; i < chain->count; i++) {
        struct halo_plane_plan plan;
        struct halo_error err = {0};
        if (halo_filter_plan(&chain->filter[i], luma, &plan, &err) == 0)
            sum += conv_ns(&plan.conv) * plan.passes * samples;
    }
    return sum;
}

static bool is_decoded_on_gpus(enum AVCodecID codec)
{
    return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC || codec == AV_CODEC_ID_VP8 ||
           codec == AV_CODEC_ID_VP9 || codec == AV_CODEC_ID_AV1;
}

/* Frames of the longest group. The index of an MP4 file has all frames, but others have only those
 * that were read until now, or none. */
static double longest_group(const AVStream *st, double seconds, double rate)
{
    const int count = avformat_index_get_entries_count(st);
    const double unit = av_q2d(st->time_base);
    double longest = 0, latest = 0, key = 0;
    for (int i = 0; i < count; i++) {
        const AVIndexEntry *entry = avformat_index_get_entry((AVStream *)st, i);
        latest = (double)entry->timestamp * unit;
        if (i == 0 || entry->flags & AVINDEX_KEYFRAME) {
            longest = fmax(longest, i == 0 ? 0 : latest - key);
            key = latest;
        }
    }
    longest = fmax(longest, latest - key + 1 / rate); /* up to the end of the last frame */
    return latest > 0.9 * seconds ? longest * rate : 0;
}

int halo_workload_tracks(const AVFormatContext *input)
{
    int count = 0;
    for (unsigned i = 0; i < input->nb_streams; i++)
        count += halo_av_is_video(input->streams[i]);
    return FFMAX(count, 1);
}

bool halo_workload_gpu_decodes(const AVFormatContext *input)
{
    bool ret = false;
    for (unsigned i = 0; i < input->nb_streams; i++)
        ret |= halo_av_is_video(input->streams[i]) &&
               is_decoded_on_gpus(input->streams[i]->codecpar->codec_id);
    return ret;
}

bool halo_workload_of(struct halo_workload *w, const AVFormatContext *input,
                      const struct halo_source_part *part, const struct halo_chain *chain)
{
    const int64_t size = input->pb ? avio_size(input->pb) : -1;
    const double duration = (double)input->duration / AV_TIME_BASE;
    if (size <= 0 || input->duration <= 0)
        return false;
    const double left = fmax(duration - fmax(part->seek, 0), 0);
    const double seconds = part->duration >= 0 ? fmin(part->duration, left) : left;
    double pixels = 0;
    w->frames = w->filter_ns = w->group = 0;
    for (unsigned i = 0; i < input->nb_streams; i++) {
        const AVStream *st = input->streams[i];
        const AVCodecParameters *par = st->codecpar;
        const double rate = av_q2d(st->avg_frame_rate);
        if (!halo_av_is_video(st))
            continue;
        if (par->width <= 0 || par->height <= 0 || !(rate > 0))
            return false;
        w->codec = par->codec_id;
        w->frames += rate * seconds;
        pixels += rate * seconds * par->width * par->height;
        w->group = fmax(w->group, longest_group(st, duration, rate));
        w->filter_ns = fmax(w->filter_ns, chain_ns(chain, par->width, par->height));
    }
    if (!(w->frames >= 1))
        w->frames = 1;
    w->pixels = pixels / w->frames;
    w->bytes = (double)size * seconds / duration / w->frames;
    return pixels > 0;
}

static double decode_seconds(const struct halo_workload *w)
{
    return w->pixels * decode_ns(w->codec) * 1e-9 + w->bytes * cpu_byte;
}

static double encode_seconds(const struct halo_workload *w)
{
    return w->encodes ? w->pixels * encode_ns * 1e-9 : 0;
}

static double cpu_seconds(const struct halo_workload *w)
{
    const double one = decode_seconds(w) + encode_seconds(w) + w->pixels * w->filter_ns * 1e-9;
    return cpu_start + w->pixels * cpu_start_pixel + w->frames * one / speed_of(w->processors);
}

/* Seconds of one decoder of the GPU for each frame. */
static double gpu_decode_seconds(const struct halo_workload *w)
{
    return gpu_frame + w->pixels * gpu_pixel;
}

int halo_workload_gpu_decoders(const struct halo_workload *w)
{
    const double part = 0.05; /* of a group: durations are rounded, or those of the audio */
    /* They start one after the other: n of them take n * gpu_decoder + time / n. */
    const double time = w->frames * gpu_decode_seconds(w);
    const double groups =
        w->group > 0 ? ceil(w->frames / w->group - part) : HALO_WORKLOAD_GPU_DECODERS;
    const double most = fmin(groups, HALO_WORKLOAD_GPU_DECODERS);
    return (int)fmax(fmin(sqrt(time / gpu_decoder), most), 1);
}

static double gpu_seconds(const struct halo_workload *w, bool decodes)
{
    const double group = fmin(w->group > 0 ? w->group : usual_group, w->frames);
    const int decoders = decodes ? halo_workload_gpu_decoders(w) : 0;
    double frame = gpu_pass_frame + w->pixels * gpu_pass_pixel;
    double host = encode_seconds(w);
    if (decodes) /* one decoder decodes a whole group */
        frame = fmax(frame, gpu_decode_seconds(w) * fmax(1.0 / decoders, group / w->frames));
    else
        host += decode_seconds(w);
    frame = fmax(frame, host / speed_of(w->processors));
    return gpu_start + w->pixels * gpu_start_pixel + decoders * gpu_decoder + w->frames * frame +
           gpu_end;
}

/* HALO_WORKLOAD_FILTER is for small frames with expensive filters. Its estimate is the least
 * certain one, since it takes both a decoder's threads and a GPU. */
enum halo_workload_place halo_workload_choose(const struct halo_workload *w,
                                              double seconds[HALO_WORKLOAD_PLACES])
{
    const double clearly = 0.8;
    seconds[HALO_WORKLOAD_CPU] = cpu_seconds(w);
    seconds[HALO_WORKLOAD_FILTER] = gpu_seconds(w, false);
    seconds[HALO_WORKLOAD_GPU] = gpu_seconds(w, is_decoded_on_gpus(w->codec));
    const enum halo_workload_place best = seconds[HALO_WORKLOAD_CPU] < seconds[HALO_WORKLOAD_GPU]
                                              ? HALO_WORKLOAD_CPU
                                              : HALO_WORKLOAD_GPU;
    return seconds[HALO_WORKLOAD_FILTER] < clearly * seconds[best] ? HALO_WORKLOAD_FILTER : best;
}
