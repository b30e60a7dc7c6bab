/* SPDX-License-Identifier: BSD-2-Clause
 * Tracks: each stream of the input and how it is processed. */
#include "pipeline/stream/tracks.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/display.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <libavutil/stereo3d.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "config/base/error.h"
#include "config/base/log.h"
#include "config/run.h"
#include "kernels/device_memory.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/base/display.h"
#include "pipeline/gate/queue.h"
#include "pipeline/input/decode_traits.h"
#include "pipeline/input/decoders.h"
#include "pipeline/input/first_frame.h"
#include "pipeline/input/nal_units.h"
#include "pipeline/input/source_file.h"
#include "pipeline/output/container.h"
#include "pipeline/output/encode_check.h"
#include "pipeline/output/nvenc.h"
#include "pipeline/output/tags.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/memory.h"
#include "pipeline/stream/ends.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/workload.h"

/* ---- when the streams of a file begin ---- */

/* Determines when the streams of a file begin, and whether the output's container can store these
 * times. */

enum {
    SPARE_US = 50000,   /* audio before the first frame that may be lost: mostly priming */
    USUAL_FRAME = 1024, /* samples */
    MAX_SEARCHED = 100, /* packets read ahead to find the first of a stream */
};

/* Start times in the output; earliest and frame are INT64_MAX if no stream has one. */
struct starts {
    int64_t earliest, frame; /* us */
    AVStream *video;
};

/* Finds the time of the first packet that is kept (stage_source.c): edit lists hide earlier
 * packets, which the stream's start time ignores. AV_NOPTS_VALUE: it is not among the first
 * packets. */
static int find_sound(struct halo_source *source, const AVStream *st, int64_t *ret,
                      struct halo_error *err)
{
    const AVPacket *pkt;
    int r = 1;
    *ret = AV_NOPTS_VALUE;
    for (int i = 0; i < MAX_SEARCHED && (r = halo_source_peek(source, i, &pkt, err)) > 0; i++) {
        const bool hidden = pkt->flags & AV_PKT_FLAG_DISCARD;
        if (pkt->stream_index != st->index)
            continue;
        if (hidden || *ret == AV_NOPTS_VALUE)
            *ret = pkt->pts;
        if (!hidden)
            break;
    }
    return FFMIN(r, 0);
}

static bool has_edits(const AVInputFormat *input)
{
    return av_match_name("mov", input->name);
}

static int note(struct starts *all, struct halo_source *source, AVStream *st,
                const struct halo_run_settings *settings, struct halo_error *err)
{
    const AVInputFormat *from = halo_source_format(source)->iformat;
    const enum AVMediaType type = st->codecpar->codec_type;
    const bool video = halo_av_is_video(st);
    const bool sound = type == AVMEDIA_TYPE_AUDIO && !settings->source.no_audio;
    int64_t first = st->start_time;
    int code = 0;
    if (sound && has_edits(from))
        code = find_sound(source, st, &first, err);
    if (code < 0 || first == AV_NOPTS_VALUE || (!video && !sound))
        return code;
    const int64_t start = av_rescale_q(first, st->time_base, AV_TIME_BASE_Q);
    if (video && start < all->frame) {
        all->video = st;
        all->frame = start;
    }
    all->earliest = FFMIN(all->earliest, start);
    return 0;
}

/* Puts the first frame at a whole number of frames after 0, and audio at 0 or a little later. */
static int64_t on_a_frame(AVFormatContext *input, const struct starts *all)
{
    const AVRational rate = av_guess_frame_rate(input, all->video, NULL);
    const int64_t before = all->frame - all->earliest - SPARE_US;
    if (before <= 0 || rate.num <= 0)
        return all->frame;
    const AVRational frame = av_inv_q(rate);
    const int64_t frames = av_rescale_q_rnd(before, AV_TIME_BASE_Q, frame, AV_ROUND_UP);
    return all->frame - av_rescale_q(frames, frame, AV_TIME_BASE_Q);
}

/* Computes the offset that must be subtracted from all timestamps so that the streams begin at
 * times that the container can store. Sets *ret to this offset, in units of AV_TIME_BASE. The
 * offset is 0 if the container can store the original times, or if -ss defines time 0. May read
 * ahead in the source. Returns 0, or -errno with err filled. */
static int starts_offset(struct halo_source *source, const AVOutputFormat *container,
                         const struct halo_run_settings *settings, int64_t *ret,
                         struct halo_error *err)
{
    AVFormatContext *input = halo_source_format(source);
    struct starts all = {INT64_MAX, INT64_MAX, NULL};
    *ret = 0;
    if (settings->part.seek >= 0)
        return 0;
    for (unsigned i = 0; i < input->nb_streams; i++) {
        const int code = note(&all, source, input->streams[i], settings, err);
        if (code < 0)
            return code;
    }
    if (!all.video)
        return 0;
    switch (halo_container_starts(container, AV_CODEC_ID_NONE)) {
    case HALO_STARTS_NOWHERE:
        *ret = on_a_frame(input, &all);
        break;
    case HALO_STARTS_HIDDEN: /* audio before 0 that the input hides stays hidden */
        if (all.frame < 0)
            *ret = has_edits(input->iformat) ? all.frame : all.earliest;
        break;
    case HALO_STARTS_LATER:
        *ret = FFMIN(all.earliest, 0);
        break;
    }
    return 0;
}

/* Returns whether audio that begins at start (in units of tb) must be preceded by silence that
 * begins at time 0. Silence is needed if the container counts samples from time 0 and players would
 * therefore play the audio too early, by more than a packet. */
static bool starts_too_late(const AVOutputFormat *container, const AVCodecParameters *par,
                            int64_t start, AVRational tb)
{
    const int samples = par->frame_size > 0 ? par->frame_size : USUAL_FRAME;
    return halo_container_starts(container, par->codec_id) == HALO_STARTS_NOWHERE &&
           start != AV_NOPTS_VALUE && par->sample_rate > 0 &&
           av_compare_ts(start, tb, samples, (AVRational){1, par->sample_rate}) > 0;
}

/* ---- tracks ---- */

/* ---- decoders ---- */

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

/* Opens the decoders of a filtered track: as many as -decoders asks for, or as pay here; one if the
 * input cannot be read ahead. Returns 0, or -errno with err filled. */
static int track_open_decoders(struct halo_track *t, const struct halo_route *route,
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
    if (route->ends->in_segments)
        one->threads = count_processors() / FFMAX(settings->workers, 1) + 1;
    if (all.most > 1) {
        all.window = choose_window(route, on_gpu, one->hw.gpu);
        one->apart = true;
        one->threads = FFMAX(count_processors() / all.most, 1) + 1;
    }
    return halo_decoders_open(&t->decoders, settings->source.input, t->in, &all, route->damage,
                              err);
}

/* Threads of the encoder of a segment. It must be the same number everywhere, since encoders give
 * other bytes with another number: few, because several segments are encoded at once, but more for
 * large frames, since there are few segments at once in a short file. */
enum { SEGMENT_THREADS = 4, LARGE_SEGMENT_THREADS = 8, LARGE = 2560 /* pixels of a side */ };

enum { MAX_AHEAD = 50 }; /* packets of all streams, read to say why a stream has no frames */

static int count_segment_threads(const AVCodecParameters *par)
{
    return FFMAX(par->width, par->height) > LARGE ? LARGE_SEGMENT_THREADS : SEGMENT_THREADS;
}

/* VP8 and VP9 store alpha outside the frames, where FFmpeg's own decoders do not read it. */
static void say_alpha_lost(const AVStream *in)
{
    const AVDictionaryEntry *mode = av_dict_get(in->metadata, "alpha_mode", NULL, 0);
    const bool decoded = av_pix_fmt_desc_get(in->codecpar->format)->flags & AV_PIX_FMT_FLAG_ALPHA;
    if (mode && !strcmp(mode->value, "1") && !decoded) /* otherwise the gate warns */
        halo_log(HALO_LOG_WARNING, "stream %d: the transparency of its frames is lost", in->index);
}

/* Says why the probe found no frame: by chance, it finds some in encrypted packets, too. */
static int fail_without_frame(const char *name, struct halo_source *source, const AVStream *stream,
                              struct halo_error *err)
{
    const AVPacket *pkt;
    int code = 0;
    for (int i = 0; i < MAX_AHEAD && halo_source_peek(source, i, &pkt, err) > 0 && code == 0; i++)
        if (pkt->stream_index == stream->index)
            code = halo_decode_refuse_encrypted(name, pkt, err);
    return code < 0
               ? code
               : halo_fail(err, -EBADMSG, "%s: stream %d: no frame was found", name, stream->index);
}

int halo_track_check(const char *name, struct halo_source *source, const AVStream *stream,
                     struct halo_error *err)
{
    const AVCodecParameters *par = stream->codecpar;
    return par->format == AV_PIX_FMT_NONE || par->width <= 0 || par->height <= 0
               ? fail_without_frame(name, source, stream, err)
               : 0;
}

struct halo_gate_input halo_track_gate_input(const AVStream *stream, enum halo_privacy privacy)
{
    const AVCodecParameters *par = stream->codecpar;
    return (struct halo_gate_input){
        .stream = stream->index,
        .format = par->format,
        .width = par->width,
        .height = par->height,
        .space = par->color_space,
        .range = par->color_range,
        .privacy = privacy,
        .turn = halo_display_of_stream(stream),
        .spill = par->field_order > AV_FIELD_PROGRESSIVE ? HALO_SPILL_Y : 0,
    };
}

static int open_gate(struct halo_track *t, const struct halo_route *route, struct halo_error *err)
{
    int code = halo_track_check(route->settings->source.input, route->source, t->in, err);
    if (code < 0)
        return code;
    const enum halo_privacy privacy = HALO_PRIVACY_OFF; /* -vf null states it explicitly */
    struct halo_gate_input input = halo_track_gate_input(t->in, privacy);
    input.frozen = route->frozen;
    say_alpha_lost(t->in);
    code = halo_gate_create(&t->gate, route->chain, route->ring, &input, err);
    if (code >= 0 && halo_graph_add(route->graph, t->gate, t->in->index) < 0)
        code = halo_fail(err, -ENOMEM, "out of memory");
    return code;
}

static bool is_mov(const AVOutputFormat *container)
{
    return halo_container_starts(container, AV_CODEC_ID_NONE) == HALO_STARTS_HIDDEN;
}

static bool stores_rotation(const AVOutputFormat *container)
{
    return is_mov(container) ||
           (av_match_name(container->name, "matroska,webm") && halo_av_matroska_turns());
}

static void say_rotation_lost(const AVStream *in, const AVOutputFormat *container)
{
    size_t size;
    const uint8_t *matrix = halo_av_stream_side_data(in, AV_PKT_DATA_DISPLAYMATRIX, &size);
    const double angle = matrix ? av_display_rotation_get((const int32_t *)matrix) : 0;
    if (matrix && angle != 0 && !stores_rotation(container))
        halo_log(HALO_LOG_WARNING,
                 "stream %d: %s cannot store the rotation that players should apply (%.0f degrees "
                 "clockwise): use .mp4 or .mov to keep it",
                 in->index, container->name, angle < 0 ? -angle : 360 - angle);
}

/* Whether the muxer stores how the two views lie in a frame. */
static bool stores_stereo(const AVOutputFormat *container, enum AVStereo3DType type)
{
    return av_match_name(container->name, "matroska,webm") ||
           (av_match_name(container->name, "mp4,ipod") &&
            (type == AV_STEREO3D_SIDEBYSIDE || type == AV_STEREO3D_TOPBOTTOM));
}

/* Streams of HEVC with several layers: the decoder knows the first only. */
static void say_layers_lost(const AVStream *in)
{
    enum { MAX_UNITS = 64, VPS = 32 }; /* ITU-T H.265, 7.3.2.1 */
    struct halo_nal nal[MAX_UNITS];
    const bool hevc = in->codecpar->codec_id == AV_CODEC_ID_HEVC;
    const int count = hevc ? halo_nal_of_extradata(in->codecpar, nal, MAX_UNITS) : 0;
    for (int i = 0; i < count; i++) {
        const uint8_t *d = nal[i].data;
        const int more =
            nal[i].size > 3 && (d[0] >> 1 & 63) == VPS ? (d[2] & 3) << 4 | d[3] >> 4 : 0;
        if (more)
            halo_log(HALO_LOG_WARNING,
                     "stream %d: only its first layer is kept: %d more (another view, or "
                     "transparency) %s lost",
                     in->index, more, more == 1 ? "is" : "are");
        if (more)
            return;
    }
}

/* Says what players would need to show the frames as they were meant, and the output will lack. */
static void say_marks_lost(const AVStream *in, const struct halo_first_frame *first,
                           AVFormatContext *output)
{
    const AVOutputFormat *container = output->oformat;
    size_t size;
    const uint8_t *data = halo_av_stream_side_data(in, AV_PKT_DATA_STEREO3D, &size);
    const enum AVStereo3DType stereo =
        data ? ((const AVStereo3D *)(const void *)data)->type : (enum AVStereo3DType)first->stereo;
    const bool kept = data && stores_stereo(container, stereo);
    const bool round = halo_av_stream_side_data(in, AV_PKT_DATA_SPHERICAL, &size);
    if (stereo != AV_STEREO3D_2D && !kept)
        halo_log(HALO_LOG_WARNING,
                 "stream %d: the metadata that its frames show two views (%s) is lost%s", in->index,
                 av_stereo3d_type_name(stereo),
                 data ? halo_container_advice(container, ": use .mkv to keep it") : "");
    if (round && !av_match_name(container->name, "matroska,webm,mp4,ipod"))
        halo_log(
            HALO_LOG_WARNING,
            "stream %d: the metadata that marks it as 360-degree video is lost: use .mp4 or .mkv "
            "to keep it",
            in->index);
    if ((kept || round) && av_match_name(container->name, "mp4,ipod"))
        output->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL; /* otherwise it leaves them out */
    if (halo_av_stream_side_data(in, AV_PKT_DATA_ICC_PROFILE, &size) || first->profile)
        halo_log(HALO_LOG_WARNING,
                 "stream %d: its ICC profile is left out, so players may show other colours",
                 in->index);
    say_layers_lost(in);
}

static int open_filtered(struct halo_track *t, const struct halo_route *route,
                         struct halo_error *err)
{
    const struct halo_run_settings *settings = route->settings;
    AVFormatContext *input = halo_source_format(route->source);
    if (halo_sink_discards(route->sink))
        return 0;
    AVFormatContext *output = halo_sink_format(route->sink);
    const AVCodec *codec = halo_container_encoder(output->oformat, settings, err);
    if (!codec)
        return -EINVAL;
    struct halo_encoder_input ein = {
        .format = halo_gate_format(t->gate),
        .width = t->in->codecpar->width,
        .height = t->in->codecpar->height,
        .stream = t->in,
        .framerate = av_guess_frame_rate(input, t->in, NULL),
        .aspect = av_guess_sample_aspect_ratio(input, t->in, NULL),
        .gpu = halo_ring_gpu(route->ring, settings->device.gpu),
    };
    const struct halo_encoder_settings wish = {
        .container = output->oformat,
        .bitrate = settings->bitrate,
        .crf = settings->crf,
        .preset = settings->preset,
        .threads = route->ends->in_segments ? count_segment_threads(t->in->codecpar) : 0};
    struct halo_first_frame first;
    int code = halo_first_frame(&first, route->source, t->in, err);
    if (code >= 0) {
        halo_hdr_find(&ein.hdr, &first, t->in);
        halo_first_frame_fields(&first, t->in);
        say_marks_lost(t->in, &first, output);
    }
    if (code >= 0)
        code = halo_nvenc_is(codec) ? halo_nvenc_open(&t->encoder, codec, t->gate, &wish, &ein, err)
                                    : halo_encoder_open(&t->encoder, codec, &wish, &ein, err);
    if (code < 0)
        return code;
    if (!strcmp(output->oformat->name, "yuv4mpegpipe"))
        output->strict_std_compliance =
            FF_COMPLIANCE_UNOFFICIAL; /* over 8 bits: readers support it */
    t->out = avformat_new_stream(output, NULL);
    if (!t->out || halo_encoder_describe(t->encoder, t->out) < 0 ||
        halo_copy_stream(settings, t->in, t->out, HALO_ROLE_FILTER) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    say_rotation_lost(t->in, output->oformat);
    halo_hdr_say_lost(&ein.hdr, codec, t->out, output->oformat);
    return 0;
}

/* Matroska's demuxer always subtracts Opus's pre-skip, but FFmpeg's muxer before version 60 does
 * not add it: without this delay the audio would be that much too early. */
static int64_t codec_delay(const AVCodecParameters *out, AVRational tb,
                           const AVOutputFormat *container)
{
    if (avformat_version() >> 16 >= 60 || out->codec_id != AV_CODEC_ID_OPUS ||
        !av_match_name(container->name, "matroska,webm"))
        return 0;
    return av_rescale_q(out->initial_padding, (AVRational){1, 48000}, tb);
}

static int open_audio(struct halo_track *t, const struct halo_run_settings *settings,
                      const AVCodec *codec, const AVOutputFormat *container, struct halo_error *err)
{
    if (!codec)
        return -EINVAL;
    const int code =
        halo_audio_open(&t->audio, settings->source.input, t->in, codec, container, err);
    if (code < 0)
        return code;
    if (halo_audio_describe(t->audio, t->out) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    t->delay = codec_delay(t->out->codecpar, halo_audio_time_base(t->audio), container);
    return 0;
}

/* The encoder for audio that cannot be copied because it begins too late. */
static const AVCodec *find_refill(const AVStream *in, const AVOutputFormat *container,
                                  struct halo_error *err)
{
    const char *name = avcodec_get_name(in->codecpar->codec_id);
    const AVCodec *codec = avcodec_find_encoder(in->codecpar->codec_id);
    if (codec)
        halo_log(
            HALO_LOG_INFO,
            "stream %d: %s audio is re-encoded, with silence added before it: copied audio in %s "
            "would begin too early, at the same time as the video",
            in->index, name, container->name);
    else
        halo_fail_usage(err,
                        "stream %d: %s cannot delay the start of copied %s audio, so the audio "
                        "would begin too early: choose a codec with -c:a, or use .mkv",
                        in->index, container->name, name);
    return codec;
}

static int open_sound(struct halo_track *t, const struct halo_route *route, struct halo_error *err)
{
    const struct halo_run_settings *settings = route->settings;
    const AVOutputFormat *container = halo_sink_format(route->sink)->oformat;
    const AVCodecParameters *par = t->in->codecpar;
    const int64_t start = halo_source_shift(route->source, t->in->start_time, t->in->time_base);
    if (halo_audio_is_coded(settings))
        return open_audio(t, settings, halo_audio_find(settings->audio_codec, err), container, err);
    if (starts_too_late(container, par, start, t->in->time_base))
        return open_audio(t, settings, find_refill(t->in, container, err), container, err);
    t->from_zero = halo_container_starts(container, par->codec_id) == HALO_STARTS_NOWHERE;
    t->says_once = !par->extradata_size && halo_container_says_once(container, par->codec_id);
    t->delay = codec_delay(t->out->codecpar, t->in->time_base, container);
    return 0;
}

static int open_copied(struct halo_track *t, const struct halo_route *route, struct halo_error *err)
{
    AVFormatContext *output = halo_sink_format(route->sink);
    const enum AVCodecID from = t->in->codecpar->codec_id;
    t->out = avformat_new_stream(output, NULL);
    if (!t->out || halo_copy_stream(route->settings, t->in, t->out, HALO_ROLE_COPY) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    t->hides = is_mov(output->oformat);
    if (t->in->codecpar->codec_type == AVMEDIA_TYPE_AUDIO)
        return open_sound(t, route, err);
    if (t->in->codecpar->codec_type != AVMEDIA_TYPE_SUBTITLE ||
        halo_container_holds(output->oformat, t->in->codecpar))
        return 0;
    const enum AVCodecID to = halo_subtitle_codec(output->oformat, from);
    const int code = halo_subtitle_open(&t->subtitle, t->in, to, err);
    if (code < 0)
        return code;
    halo_log(HALO_LOG_INFO, "stream %d: %s subtitles are converted to %s for %s", t->in->index,
             avcodec_get_name(from), avcodec_get_name(to), output->oformat->name);
    return halo_subtitle_describe(t->subtitle, t->out) < 0
               ? halo_fail(err, -ENOMEM, "out of memory")
               : 0;
}

/* Frames in flight: those in the queue, one held by each of the threads at its ends, and one in
 * each lane. */
struct halo_decoder_settings halo_track_decoder(const struct halo_source_settings *source,
                                                const struct halo_device_settings *device,
                                                struct halo_ring *ring)
{
    const bool on_device = halo_ring_ops(ring)->submit != NULL;
    return (struct halo_decoder_settings){
        .memory = halo_ring_memory(ring),
        .most_pixels = source->max_pixels,
        .hw = {.hwaccel = (enum halo_hwaccel)device->hwaccel,
               .gpu = halo_ring_gpu(ring, device->gpu),
               .on_device = on_device,
               .arrival = halo_ring_arrival(ring),
               .in_flight = on_device ? HALO_QUEUE_FRAMES + 2 + device->depth : 1},
    };
}

static int open_track(struct halo_track *t, const struct halo_route *route, struct halo_error *err)
{
    const struct halo_run_settings *settings = route->settings;
    const AVOutputFormat *container = halo_sink_format(route->sink)->oformat;
    int code = halo_role_of(settings, t->in, container, &t->role, err);
    if (code < 0 || t->role == HALO_ROLE_DROP)
        return code;
    if (t->role == HALO_ROLE_COPY && route->ends->alone) {
        t->role = HALO_ROLE_DROP;
        return 0;
    }
    if (t->role == HALO_ROLE_COPY)
        return open_copied(t, route, err);
    code = track_open_decoders(t, route, err);
    if (code >= 0)
        code = open_gate(t, route, err);
    if (code >= 0)
        code = open_filtered(t, route, err);
    if (route->ends->joins)
        t->role = HALO_ROLE_JOIN;
    return code;
}

/* After everything has been opened: logs the encoder that was chosen by default, unless it is the
 * usual one. */
static void say_default(const struct halo_run_settings *settings, struct halo_sink *sink)
{
    const AVOutputFormat *container = halo_sink_format(sink)->oformat;
    const AVCodec *codec = settings->video_codec || halo_sink_discards(sink)
                               ? NULL
                               : halo_container_encoder(container, settings, NULL);
    if (codec && strcmp(codec->name, "libx264") != 0)
        halo_log(HALO_LOG_INFO,
                 "the video is encoded with %s, the default for %s (-c:v selects another encoder)",
                 codec->name, container->name);
}

enum { LITTLE_US = 50000 }; /* as from a codec's priming */

static int move_starts(struct halo_source *source, const struct halo_run_settings *settings,
                       const AVOutputFormat *container, struct halo_error *err)
{
    int64_t offset = 0;
    const int code = starts_offset(source, container, settings, &offset, err);
    halo_source_move(source, offset);
    if (offset)
        halo_log(FFABS(offset) < LITTLE_US ? HALO_LOG_DEBUG : HALO_LOG_INFO,
                 "%s: all timestamps are shifted by %.3f s, because %s cannot store the original "
                 "timestamps",
                 settings->source.input, -offset / 1e6, container->name);
    return code;
}

int halo_tracks_open(struct halo_tracks *tracks, const struct halo_route *route,
                     struct halo_error *err)
{
    const struct halo_run_settings *settings = route->settings;
    struct halo_source *source = route->source;
    struct halo_sink *sink = route->sink;
    AVFormatContext *input = halo_source_format(source);
    int filtered = 0;
    tracks->track = av_calloc(input->nb_streams + 1, sizeof *tracks->track);
    if (!tracks->track)
        return halo_fail(err, -ENOMEM, "out of memory");
    tracks->count = (int)input->nb_streams;
    int code = move_starts(source, settings, halo_sink_format(sink)->oformat, err);
    for (int i = 0; i < tracks->count && code >= 0; i++) {
        tracks->track[i].in = input->streams[i];
        tracks->track[i].latest = tracks->track[i].sent = INT64_MIN;
        code = open_track(&tracks->track[i], route, err);
        filtered += tracks->track[i].role >= HALO_ROLE_FILTER;
    }
    if (code < 0)
        return code;
    if (!filtered)
        return halo_fail(err, -ENODATA, "%s: no video stream to filter", settings->source.input);
    say_default(settings, sink);
    const AVRational us = AV_TIME_BASE_Q;
    const int64_t offset = -halo_source_shift(source, 0, us);
    if (halo_copy_descriptions(settings, input, halo_sink_format(sink), offset,
                               halo_source_end(source)) < 0 ||
        (!halo_sink_discards(sink) && halo_tags_fit(halo_sink_format(sink)) < 0))
        return halo_fail(err, -ENOMEM, "out of memory");
    return 0;
}

void halo_tracks_close(struct halo_tracks *tracks)
{
    for (int i = 0; i < tracks->count; i++) {
        halo_decoders_close(tracks->track[i].decoders);
        halo_encoder_close(tracks->track[i].encoder);
        halo_audio_close(tracks->track[i].audio);
        halo_subtitle_close(tracks->track[i].subtitle);
        av_packet_free(&tracks->track[i].priming);
    }
    av_freep(&tracks->track);
    tracks->count = 0;
}

bool halo_tracks_over(const struct halo_tracks *tracks)
{
    for (int i = 0; i < tracks->count; i++) {
        const struct halo_track *t = &tracks->track[i];
        const bool waits =
            t->role >= HALO_ROLE_FILTER ||
            (t->role == HALO_ROLE_COPY && t->in->codecpar->codec_type == AVMEDIA_TYPE_AUDIO);
        if (waits && !t->over)
            return false;
    }
    return true;
}
