/* SPDX-License-Identifier: BSD-2-Clause
 * FFmpeg's errors, log and scaler in halod's terms. AVERROR codes do not leave pipeline/. */
#ifndef HALO_AV_H
#define HALO_AV_H

#include <libavformat/avformat.h>
#include <libavutil/rational.h>
#include <libswscale/swscale.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/base/error.h"

/* Returns the negative errno that is nearest to averror. Any thread. */
int halo_av_errno(int averror);

struct halo_complaints;

/* Writes FFmpeg's message for averror, followed by the last error line that FFmpeg logged since the
 * previous call, if any. Example: "Invalid data found (h264: error while decoding MB 3 4)". With
 * complaints, that is the line of their decoder or encoder, from any of its threads, if it logged
 * one; otherwise the line that anything else logged on the calling thread. Returns text. */
const char *halo_av_reason(int averror, struct halo_complaints *complaints, char *text,
                           size_t size);

/* Writes only this line, or "" if none was logged since the previous call. Returns text. */
const char *halo_av_last_line(struct halo_complaints *complaints, char *text, size_t size);

/* Redirects FFmpeg's log to halod: the last error line is kept for halo_av_reason(), and the whole
 * log is shown at -v debug. Call this once, before any thread is started, because it may set an
 * environment variable. */
void halo_av_init_log(void);

enum { HALO_AV_LINE = 300 }; /* bytes of a line that is kept */

/* Counts the error lines that a decoder or demuxer logs. Decoders that conceal damage report it
 * only in their log, because frames that are decoded on several threads lose their error flags. The
 * field `opaque` of a demuxer's context must point to this struct, that of a decoder's or encoder's
 * context to a struct halo_av_packet. */
struct halo_complaints {
    atomic_int lines;
    atomic_llong too_large; /* size of a frame that max_pixels forbids, as width << 32 | height; 0:
                               none */
    atomic_llong latest;    /* the latest of the times of the packets about which a decoder's line
                               was counted; INT64_MIN: none */
    atomic_llong until;     /* lines about packets at or after this time are not counted; 0: all are
                               counted */
    const char *const *harmless; /* prefixes of lines that are not counted; NULL-terminated, or
                                    NULL */
    char line[HALO_AV_LINE];     /* a codec's last error line; private to av.c */
};

/* What a codec works on. `opaque` in its context must point to one before it is opened (or be
 * NULL), and in a decoder's context to another one with each packet. FFmpeg hands each packet, with
 * the context's `opaque` of that moment, to the next of the decoder's threads, which keeps both
 * until its next packet: a line that is logged there finds its packet, and through it the stream.
 * Hence what `opaque` pointed to must stay valid for as many packets as the decoder has threads. */
struct halo_av_packet {
    struct halo_complaints *complaints;
    int64_t time; /* of the packet; recorded in complaints->latest */
};

/* From now on, if a decoder on this thread rejects a frame because it is too large, the frame's
 * size is recorded in *complaints. This applies only to decoders whose field `opaque` is NULL, such
 * as those that avformat_find_stream_info() opens. If complaints is NULL, such frames are no longer
 * recorded. */
void halo_av_probe(struct halo_complaints *complaints);

/* Checks that a frame of width x height has at most `most` pixels (0: no limit). Returns 0, or
 * -EFBIG with err filled; err then names the setting max_pixels. */
int halo_av_check_size(const char *name, int64_t width, int64_t height, int64_t most,
                       struct halo_error *err);
/* Works like halo_av_check_size(), for the frame size that is recorded in complaints->too_large. */
int halo_av_check_complaints(const char *name, const struct halo_complaints *complaints,
                             int64_t most, struct halo_error *err);

/* Writes a time as "00:01:02.345", or "an unknown time". Returns text. */
const char *halo_av_clock(double seconds, char *text, size_t size);

/* Returns the encoder with this name, or one for the codec with this name. Returns NULL if no such
 * encoder of this type exists; err is then a usage error about the option and suggests the nearest
 * name. */
const AVCodec *halo_av_find_encoder(const char *option, const char *name, enum AVMediaType type,
                                    struct halo_error *err);

/* Returns whether the stream is video that is filtered: not a cover frame or thumbnails. */
static inline bool halo_av_is_video(const AVStream *st)
{
    const int frames = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS;
    return st->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !(st->disposition & frames);
}

/* Returns whether the codec runs, or may run, on a hardware device. */
static inline bool halo_av_is_hardware(const AVCodec *codec)
{
    return codec->capabilities & (AV_CODEC_CAP_HARDWARE | AV_CODEC_CAP_HYBRID);
}

/* Describes the input or the output of a scaler. full_range is 0 or 1. An unspecified space counts
 * as BT.709 in conversions between RGB and YUV. halo_av_scaler() creates a scaler with bicubic
 * interpolation and accurate rounding (unless `to` is fast), never with SWS_FAST_BILINEAR. It
 * returns NULL if swscale does not support the conversion, or if memory runs out. The caller frees
 * the scaler with sws_freeContext(). */
struct halo_scaler_side {
    int width, height;
    enum AVPixelFormat format;
    enum AVColorSpace space;
    int full_range;
    bool left; /* Only for `to`: if the conversion halves chroma horizontally, each chroma sample is
                  sited at the left of its two pixels, as players assume by default. If false,
                  swscale sites each chroma sample between the two pixels. If chroma is already
                  halved in the input, its siting does not change. */
    bool fast; /* Only for `to`: the frame is not for viewers. Each result is the mean of the area
                  that it covers (when enlarging: bilinear), and chroma has half the resolution. */
};
struct SwsContext *halo_av_scaler(struct halo_scaler_side from, struct halo_scaler_side to);

/* Scales the whole frame `from` into `to`. The two frames must have the formats and sizes for which
 * the scaler was created. Returns 0, or -EIO if rows may be missing in `to`, which must then not be
 * used. */
int halo_av_scale(struct SwsContext *sws, const AVFrame *from, const AVFrame *to);

#endif
