/* SPDX-License-Identifier: BSD-2-Clause
 * A video decoder: it receives the packets of one stream and returns unfiltered frames. */
#include "pipeline/input/decode.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mem.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/base/log.h"
#include "kernels/backend.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/base/damage.h"
#include "pipeline/base/display.h"
#include "pipeline/input/decode_traits.h"
#include "pipeline/input/h264_sps.h"
#include "pipeline/frame/decode_memory.h"
#include "pipeline/frame/hw_frame.h"
#include "pipeline/frame/raw_frame_private.h"

/* ---- damage ---- */

/* Checks a decoder's output: whether its frames are undamaged, and whether there are as many as the
 * packets sent. Use it from one thread at a time; only the complaints (error messages of the
 * decoder) arrive from the decoder's own threads. */

enum {
    /* More packets than any decoder holds back: 16 for its threads and 16 for reordering. */
    HALO_DECODE_JUDGE_EARLY = 64,
};

/* The state for checking one decoder. The caller provides the memory, and sets it to zero before
 * use. */
struct halo_decode_judge {
    struct halo_complaints complaints; /* the decoder's error messages; `opaque` in the decoder's
                                          AVCodecContext must point here */
    int known;                         /* number of error messages up to the last undamaged frame */
    int traits;
    bool live, begins_whole; /* live: frames are not decoded in parallel; begins_whole:
                                          the container holds the codec headers, and its first
                                          packet contains a frame */
    int64_t from;            /* packets and frames count from this time on: -ss at first,
                                          later the time of the first frame delivered */
    bool seeks;              /* whether -ss is set; if so, `from` is the time that -ss
                                          sets, until the first frame is delivered */
    /* Ring buffer: times of the newest packets sent before the first frame was delivered. */
    int64_t early[HALO_DECODE_JUDGE_EARLY];
    int64_t packets, frames; /* numbers of packets and frames counted, from `from` on */
    int64_t before; /* number of packets, and of frames, that another decoder decoded before */
    bool delivered, interlaced;
};

/* Resets the counts. Each time the stream is read from its beginning, call this before the first
 * packet. */
static void decode_judge_begin(struct halo_decode_judge *j)
{
    j->delivered = j->interlaced = j->seeks = false;
    j->packets = j->frames = 0;
    j->from = INT64_MIN;
    atomic_store(&j->complaints.latest, INT64_MIN);
}

/* Ignores the decoder's error messages so far. Call this if the messages do not indicate damage, or
 * if the damage has already been reported. */
static void decode_judge_forget(struct halo_decode_judge *j)
{
    j->known = atomic_load(&j->complaints.lines);
}

/* Counts the packets of frames that are shown, from the time of the first frame on: packets before
 * it may lack the frames that they refer to. */
static void decode_judge_packet(struct halo_decode_judge *j, const AVPacket *pkt, int64_t time)
{
    if (j->begins_whole && j->from == INT64_MIN && time != AV_NOPTS_VALUE)
        j->from = time;
    if (pkt->flags & AV_PKT_FLAG_DISCARD)
        return;
    if (!j->delivered)
        j->early[j->packets % HALO_DECODE_JUDGE_EARLY] = time;
    j->packets += !j->delivered || time == AV_NOPTS_VALUE || time >= j->from;
}

/* Returns whether a decoding error concerns a packet before -ss and can therefore be ignored. Which
 * packet caused the error is inferred from packet times, because a decoder's error messages do not
 * name the packet. */
static bool decode_judge_tolerates(const struct halo_decode_judge *j)
{
    return j->seeks && !j->delivered && atomic_load(&j->complaints.latest) < j->from;
}

/* Returns whether the decoder has complained, since the last call, about a packet that counts.
 * Frame threads are ahead of the frames delivered, so the complaint may be about a later frame; at
 * the end, all complaints have arrived. */
static bool complains(struct halo_decode_judge *j)
{
    const int known = j->known;
    decode_judge_forget(j);
    return j->known != known && atomic_load(&j->complaints.latest) >= j->from;
}

/* If threads decode several frames in parallel, the error flags of frames are unreliable. */
static bool has_flags(const struct halo_decode_judge *j, const AVFrame *frame, const AVCodec *codec)
{
    const bool by_chance =
        (j->traits & HALO_HONEST) && !j->live && (codec->capabilities & AV_CODEC_CAP_FRAME_THREADS);
    return !by_chance && (frame->decode_error_flags || (frame->flags & AV_FRAME_FLAG_CORRUPT));
}

/* In recordings that begin between keyframes, references of frames before the first frame that is
 * shown are missing. */
static bool decode_judge_frame(struct halo_decode_judge *j, const AVFrame *frame,
                               const AVCodec *codec)
{
    if (!j->delivered && frame->pts < j->from)
        return false;
    if (!j->delivered) {
        j->from = j->begins_whole ? j->from : frame->pts;
        const int64_t early = FFMIN(j->packets, HALO_DECODE_JUDGE_EARLY);
        j->packets = 0;
        for (int i = 0; i < early; i++)
            j->packets += j->early[i] == AV_NOPTS_VALUE || j->early[i] >= j->from;
    }
    j->delivered = true;
    j->interlaced |= halo_av_frame_fields(frame) & HALO_AV_INTERLACED;
    j->frames++;
    return has_flags(j, frame, codec) || ((j->traits & HALO_HONEST) && complains(j));
}

/* If headers are damaged, the decoder drops frames as out of order, without an error. Some frames
 * are also dropped at joints between recordings. */
static bool lacks_frames(const struct halo_decode_judge *j)
{
    const int64_t packets = j->before + j->packets, frames = j->before + j->frames;
    const int64_t due = j->interlaced ? packets / 2 : packets;
    return (j->traits & HALO_ONE_FOR_ONE) && j->delivered && (due - frames) * 10 > due;
}

/* Returns whether the stream is damaged. Call this at the end of the stream. A second call does not
 * report the same damage again. */
static bool decode_judge_end(struct halo_decode_judge *j)
{
    const bool broken =
        j->delivered && (((j->traits & HALO_HONEST) && complains(j)) || lacks_frames(j));
    j->frames = j->packets;
    return broken;
}

/* ---- decoding ---- */

enum {
    MAX_SKIPPED = 1000, /* largest number of packets to skip, because a demuxer that marks no
                           keyframes must not make the stream disappear */
    MAX_PACKETS = 128,  /* in a decoder's threads at the same time */
};

struct halo_decoder {
    const char *name;
    AVStream *stream;
    struct halo_damage *damage;
    struct halo_decoder_settings settings;
    struct halo_decode_hw *hw;         /* NULL if the CPU decodes */
    struct halo_hw_download *download; /* created with the first frame that has to be copied to the
                                          host */
    struct halo_hw_keep *keep;         /* the same, with the first frame that is kept on the GPU */
    struct halo_decode_memory *memory; /* NULL if FFmpeg allocates frames */
    AVCodecContext *codec;
    AVFrame *frame;
    int64_t last_pts, last_duration;            /* of the last frame delivered */
    int64_t packet_time;                        /* of the last packet sent */
    struct halo_av_packet packets[MAX_PACKETS]; /* ring buffer: the newest packets sent */
    unsigned next_packet;
    struct halo_decode_judge judge;
    int skipped; /* packets before the first keyframe */
    bool started;
    int turn;          /* as the stream declares it */
    bool differs;      /* whether some frames declared another orientation */
    bool resized;      /* whether some frames have another size than the stream declares */
    char refusal[200]; /* refusal of the `hw` that was destroyed */
};

/* The complaints that a context's opaque leads to are the judge's. */
static struct halo_decoder *decoder_of(const AVCodecContext *c)
{
    const struct halo_av_packet *packet = c->opaque;
    return (void *)((char *)packet->complaints - offsetof(struct halo_decoder, judge.complaints));
}

/* Tells the log the time of the packet that the decoder gets next. */
static void set_packet_time(struct halo_decoder *d, int64_t time)
{
    struct halo_av_packet *packet = &d->packets[d->next_packet++ % MAX_PACKETS];
    *packet = (struct halo_av_packet){&d->judge.complaints, time};
    d->codec->opaque = packet;
}

static int get_buffer(AVCodecContext *c, AVFrame *frame, int flags)
{
    return halo_decode_memory_get(decoder_of(c)->memory, c, frame, flags);
}

static enum AVPixelFormat get_format(AVCodecContext *c, const enum AVPixelFormat *offered)
{
    struct halo_decoder *d = decoder_of(c);
    const enum AVPixelFormat format = halo_decode_hw_choose(d->hw, c, offered);
    if (format != AV_PIX_FMT_CUDA) /* errors of the hardware are not damage */
        decode_judge_forget(&d->judge);
    return format;
}

/* Makes decoders that support this write frames to memory that the device can read directly.
 * Returns 0 or -ENOMEM. */
static int set_memory(struct halo_decoder *d, const AVCodec *codec)
{
    if (!(codec->capabilities & AV_CODEC_CAP_DR1))
        return 0;
    if (!d->memory && !(d->memory = halo_decode_memory_create(d->settings.memory)))
        return -ENOMEM;
    d->codec->get_buffer2 = get_buffer;
    halo_av_allow_parallel_callbacks(d->codec);
    return 0;
}

/* Opens the decoder and replaces the previous one; if d->hw is set, opens the hardware's
 * decoder. */
static int open_codec(struct halo_decoder *d, struct halo_error *err)
{
    char why[400];
    const AVCodecParameters *par = d->stream->codecpar;
    const AVCodec *codec =
        d->hw ? halo_decode_hw_codec(d->hw) : avcodec_find_decoder(par->codec_id);
    avcodec_free_context(&d->codec);
    if (!codec)
        return par->codec_id == AV_CODEC_ID_NONE
                   ? halo_fail(err, -ENOTSUP,
                               "%s: stream %d: FFmpeg does not know the codec with the tag %s",
                               d->name, d->stream->index, av_fourcc2str(par->codec_tag))
                   : halo_fail(err, -ENOTSUP, "%s: stream %d: FFmpeg has no decoder for %s",
                               d->name, d->stream->index, avcodec_get_name(par->codec_id));
    d->codec = avcodec_alloc_context3(codec);
    if (!d->codec || set_memory(d, codec) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = avcodec_parameters_to_context(d->codec, par);
    d->codec->pkt_timebase = d->stream->time_base;
    d->codec->thread_count = FFMIN(d->settings.threads, MAX_PACKETS - 1);
    d->codec->flags |= AV_CODEC_FLAG_UNALIGNED; /* otherwise it crops less than the stream
                                                   specifies */
    set_packet_time(d, INT64_MIN);
    if (d->settings.most_pixels)
        d->codec->max_pixels = d->settings.most_pixels;
    const bool conceal =
        !d->settings.whole &&
        (d->damage->keep_going ||
         (d->judge.traits & (d->hw ? HALO_FUSSY | HALO_FUSSY_ON_GPU : HALO_FUSSY)));
    d->codec->err_recognition = AV_EF_CRCCHECK | (conceal ? 0 : AV_EF_EXPLODE);
    if (!conceal && (d->judge.traits & HALO_BRITTLE))
        d->codec->thread_type = FF_THREAD_SLICE;
    if (d->settings.live)
        d->codec->thread_type = FF_THREAD_SLICE;
    if (d->hw && code >= 0) {
        d->codec->get_format = get_format;
        code = halo_decode_hw_prepare(d->hw, d->codec);
    }
    if (code >= 0)
        code = avcodec_open2(d->codec, codec, NULL);
    decode_judge_forget(&d->judge);
    return code >= 0 ? 0
                     : halo_fail(err, halo_av_errno(code),
                                 "%s: stream %d: the %s decoder could not be opened: %s", d->name,
                                 d->stream->index, codec->name,
                                 halo_av_reason(code, &d->judge.complaints, why, sizeof why));
}

/* Resets the state: nothing is known about the stream's first packet yet. */
static void begin(struct halo_decoder *d)
{
    d->started = !(d->judge.traits & HALO_STARTS_MIDWAY);
    d->skipped = 0;
    d->last_duration = 0;
    d->last_pts = d->packet_time = AV_NOPTS_VALUE;
    decode_judge_begin(&d->judge);
}

int halo_decoder_open(struct halo_decoder **ret, const char *name, AVStream *stream,
                      const struct halo_decoder_settings *settings, struct halo_damage *damage,
                      struct halo_error *err)
{
    struct halo_decoder *d = av_mallocz(sizeof *d);
    if (!d || !(d->frame = av_frame_alloc())) {
        halo_decoder_close(d);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    d->name = name;
    d->settings = *settings;
    d->stream = stream;
    d->turn = halo_display_of_stream(stream);
    d->damage = damage;
    d->judge.traits = halo_decode_traits(stream->codecpar->codec_id);
    d->judge.live = settings->live;
    d->judge.begins_whole = (d->judge.traits & HALO_ONE_FOR_ONE) &&
                            stream->codecpar->extradata_size > 0 &&
                            stream->codecpar->extradata[0] == 1;
    d->judge.complaints.until = INT64_MAX;
    d->judge.complaints.harmless = halo_decode_harmless(stream->codecpar->codec_id);
    begin(d);
    d->hw = halo_decode_hw_create(&d->settings.hw, stream);
    int code = halo_av_check_size(name, stream->codecpar->width, stream->codecpar->height,
                                  settings->most_pixels, err);
    if (code >= 0)
        code = open_codec(d, err);
    if (code < 0)
        halo_decoder_close(d);
    else
        *ret = d;
    return code;
}

/* A software decoder may keep state that a flush does not clear, and is cheap to open again. */
int halo_decoder_rewind(struct halo_decoder *d, struct halo_error *err)
{
    begin(d);
    if (!d->hw)
        return open_codec(d, err);
    avcodec_flush_buffers(d->codec);
    decode_judge_forget(&d->judge);
    return 0;
}

bool halo_decoder_goes_on(const struct halo_decoder *d, const AVPacket *first)
{
    const AVCodecParameters *par = d->stream->codecpar;
    return d->hw && par->codec_id == AV_CODEC_ID_H264 &&
           halo_h264_is_idr(par, first->data, (size_t)first->size);
}

void halo_decoder_close(struct halo_decoder *d)
{
    if (!d)
        return;
    if (!d->hw || !halo_backend_is_left()) /* the driver takes 0.2 s to close a decoder */
        avcodec_free_context(&d->codec);
    av_frame_free(&d->frame);
    halo_decode_hw_destroy(d->hw);
    halo_hw_download_destroy(d->download);
    halo_hw_keep_destroy(d->keep);
    halo_decode_memory_destroy(d->memory);
    av_free(d);
}

bool halo_decoder_in_hardware(const struct halo_decoder *d)
{
    return d->hw || halo_av_is_hardware(d->codec->codec);
}

bool halo_decoder_is_plain(const struct halo_decoder *d)
{
    return !halo_decoder_refusal(d)[0] && !d->differs && !d->resized && !d->judge.interlaced;
}

void halo_decoder_follow(struct halo_decoder *d, int64_t packets)
{
    d->judge.before = packets;
}

const char *halo_decoder_refusal(const struct halo_decoder *d)
{
    return d->hw ? halo_decode_hw_refusal(d->hw) : d->refusal;
}

void halo_decoder_set_window(struct halo_decoder *d, int64_t from, int64_t until)
{
    /* Frames count whose time t satisfies `from` <= t < `until`. */
    d->judge.from = from;
    d->judge.seeks = from != INT64_MIN;
    d->judge.complaints.until = until;
}

/* Checks whether the device is lost, which does not count as damage of the input and is never
 * tolerated. Returns 0, or -EIO with err filled. */
static int check_device(const struct halo_decoder *d, struct halo_error *err)
{
    return d->hw ? halo_decode_hw_check(d->hw, err) : 0;
}

/* Reports damage. Returns 0 if damage is accepted. A lost device does not count as damage. */
static int fail_damaged(struct halo_decoder *d, int64_t ts, const char *why, struct halo_error *err)
{
    char clock[32];
    if (d->settings.whole && d->settings.live) /* otherwise some may belong to later packets */
        decode_judge_forget(&d->judge);
    const int lost = check_device(d, err);
    if (lost < 0)
        return lost;
    const double time = ts == AV_NOPTS_VALUE ? 0 : ts * av_q2d(d->stream->time_base);
    const int large = d->settings.whole ? 0
                                        : halo_av_check_complaints(d->name, &d->judge.complaints,
                                                                   d->settings.most_pixels, err);
    if (large < 0)
        return large;
    const int ret = halo_fail(err, -EBADMSG, "%s: damaged at %s: stream %d (%s): %s", d->name,
                              halo_av_clock(time, clock, sizeof clock), d->stream->index,
                              avcodec_get_name(d->codec->codec_id), why);
    return halo_damage_meet(d->damage, ret, err);
}

static int fail_decoding(struct halo_decoder *d, int64_t ts, int averror, struct halo_error *err)
{
    char why[400];
    return fail_damaged(d, ts, halo_av_reason(averror, &d->judge.complaints, why, sizeof why), err);
}

/* Called at the first keyframe. In a file that declares its duration, the packets before it were
 * recorded and are lost; other recordings may begin between keyframes. */
static int check_beginning(struct halo_decoder *d, struct halo_error *err)
{
    char why[80];
    if (!d->skipped || d->judge.seeks)
        return 0;
    snprintf(why, sizeof why, "no keyframe in its first %d packets", d->skipped);
    if (d->settings.declared)
        return fail_damaged(d, d->stream->start_time, why, err);
    halo_log(HALO_LOG_WARNING, "%s: stream %d: %s, which are skipped", d->name, d->stream->index,
             why);
    return 0;
}

int halo_decode_refuse_encrypted(const char *name, const AVPacket *pkt, struct halo_error *err)
{
    if (!av_packet_get_side_data(pkt, AV_PKT_DATA_ENCRYPTION_INFO, NULL))
        return 0;
    return halo_fail(err, -ENOTSUP,
                     "%s: stream %d is encrypted, and halod has no keys: decrypt it first", name,
                     pkt->stream_index);
}

int halo_decoder_send(struct halo_decoder *d, const AVPacket *pkt, struct halo_error *err)
{
    const int encrypted = pkt ? halo_decode_refuse_encrypted(d->name, pkt, err) : 0;
    if (encrypted < 0)
        return encrypted;
    if (pkt && !d->started) {
        d->started = (pkt->flags & AV_PKT_FLAG_KEY) || d->skipped >= MAX_SKIPPED;
        if (!d->started) {
            d->skipped++;
            return 0;
        }
        const int damaged = check_beginning(d, err);
        if (damaged < 0)
            return damaged;
    }
    if (pkt)
        d->packet_time = pkt->pts != AV_NOPTS_VALUE ? pkt->pts : pkt->dts;
    if (pkt)
        decode_judge_packet(&d->judge, pkt, d->packet_time);
    const int64_t time =
        d->packet_time == AV_NOPTS_VALUE ? d->judge.complaints.until - 1 : d->packet_time;
    set_packet_time(d, time);
    int code = avcodec_send_packet(d->codec, pkt);
    if (d->hw && halo_decode_hw_opened(d->hw) < 0)
        return halo_fail(err, -ECANCELED, "%s: stopped before its decoder was opened", d->name);
    if (d->hw && halo_decode_hw_refused(d->hw)) {
        snprintf(d->refusal, sizeof d->refusal, "%s", halo_decode_hw_refusal(d->hw));
        halo_decode_hw_destroy(d->hw);
        d->hw = NULL;
        if ((code = open_codec(d, err)) < 0)
            return code;
        set_packet_time(d, time);
        code = avcodec_send_packet(d->codec, pkt);
    }
    if (code >= 0 || (code == AVERROR_EOF && !pkt))
        return 0;
    return decode_judge_tolerates(&d->judge) ? check_device(d, err)
                                             : fail_decoding(d, d->packet_time, code, err);
}

/* Gives every frame a time: its own, or one frame after the previous one. */
static void set_time(struct halo_decoder *d, AVFrame *frame)
{
    int64_t pts = frame->best_effort_timestamp;
    int64_t duration = halo_av_frame_duration(frame);
    if (duration <= 0 && d->stream->avg_frame_rate.num > 0)
        duration = av_rescale_q(1, av_inv_q(d->stream->avg_frame_rate), d->stream->time_base);
    if (pts == AV_NOPTS_VALUE)
        pts = d->last_pts == AV_NOPTS_VALUE ? 0 : d->last_pts + FFMAX(d->last_duration, 1);
    d->last_pts = frame->pts = pts;
    d->last_duration = duration;
}

/* A frame's own orientation is used if its stream declares none. Players differ in how they combine
 * two different ones, and in how long a frame's orientation remains valid. */
static int find_turn(struct halo_decoder *d, const AVFrame *frame)
{
    const int own = halo_display_of_frame(frame);
    if (own < 0)
        return d->differs ? HALO_DISPLAY_UNKNOWN : d->turn;
    if (own == d->turn)
        return own;
    if (!d->differs && !d->settings.apart)
        halo_log(HALO_LOG_WARNING,
                 "stream %d: metadata in the input's frames says that they must be %s for "
                 "display, but this metadata is not written to the output; regions follow the "
                 "orientation in which players show the input",
                 d->stream->index, halo_display_words(own));
    d->differs = true;
    return d->turn == 0 ? own : HALO_DISPLAY_UNKNOWN;
}

/* Sets the format that software would have decoded to, and copies the frame to the host if the
 * lanes cannot read it on the device. */
static int settle_frame(struct halo_decoder *d, struct halo_raw_frame *raw, struct halo_error *err)
{
    const AVCodecParameters *par = d->stream->codecpar;
    d->resized |= raw->frame->width != par->width || raw->frame->height != par->height;
    raw->format = raw->frame->format;
    if (!halo_hw_frame_is(raw->frame))
        return 0;
    raw->format = halo_hw_frame_format(raw->frame, d->codec->sw_pix_fmt);
    if (d->settings.hw.on_device && !d->settings.apart)
        return 0;
    if (d->settings.hw.on_device) {
        if (!d->keep && !(d->keep = halo_hw_keep_create()))
            return halo_fail(err, -ENOMEM, "out of memory");
        return halo_hw_keep_frame(d->keep, raw->frame, err);
    }
    AVFrame *host;
    if (!d->download && !(d->download = halo_hw_download_create(d->settings.memory)))
        return halo_fail(err, -ENOMEM, "out of memory");
    const int code = halo_hw_download(d->download, raw->frame, raw->format, &host, err);
    if (code < 0)
        return code;
    av_frame_free(&raw->frame);
    raw->frame = host;
    return 0;
}

int halo_decoder_receive(struct halo_decoder *d, struct halo_raw_frame **ret,
                         struct halo_error *err)
{
    if (!d->started)
        return 0;
    int code, damaged = 0;
    do {
        code = avcodec_receive_frame(d->codec, d->frame);
        if (d->hw && halo_decode_hw_opened(d->hw) < 0)
            return halo_fail(err, -ECANCELED, "%s: stopped before its decoder was opened", d->name);
        if (code == AVERROR_EOF && decode_judge_end(&d->judge))
            return fail_decoding(d, d->last_pts, AVERROR_INVALIDDATA, err);
        if (code == AVERROR(EAGAIN) || code == AVERROR_EOF)
            return 0;
        if (code < 0 && decode_judge_tolerates(&d->judge))
            return check_device(d, err);
        if (code < 0)
            damaged = fail_decoding(d, d->packet_time, code, err);
    } while (code < 0 && damaged == 0);
    if (damaged < 0)
        return damaged;
    set_time(d, d->frame);
    const bool broken = decode_judge_frame(&d->judge, d->frame, d->codec->codec);
    if (broken)
        damaged = fail_decoding(d, d->frame->pts, AVERROR_INVALIDDATA, err);
    if (damaged < 0 || (broken && d->settings.whole)) {
        av_frame_unref(d->frame);
        return damaged;
    }
    struct halo_raw_frame *raw = av_mallocz(sizeof *raw);
    if (!raw || !(raw->frame = av_frame_alloc())) {
        halo_raw_frame_destroy(raw);
        return halo_fail(err, -ENOMEM, "out of memory for a frame");
    }
    raw->turn = find_turn(d, d->frame);
    av_frame_move_ref(raw->frame, d->frame);
    code = settle_frame(d, raw, err);
    if (code < 0) {
        halo_raw_frame_destroy(raw);
        return code;
    }
    *ret = raw;
    return 1;
}
