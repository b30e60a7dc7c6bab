/* SPDX-License-Identifier: BSD-2-Clause
 * FFmpeg's errors and log in our words. AVERROR codes do not leave pipeline/. */
#ifndef HALO_AV_H
#define HALO_AV_H

#include <libavformat/avformat.h>
#include <libavutil/rational.h>
#include <libswscale/swscale.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/error.h"

/* The nearest negative errno; any thread. */
int halo_av_errno(int averror);

/* FFmpeg's words for averror, and, where one of its parts logged an error since the last call, that
 * line: "Invalid data found (h264: error while decoding MB 3 4)". Returns text. */
const char *halo_av_reason(int averror, char *text, size_t size);

/* That line alone, "" where there is none. Returns text. */
const char *halo_av_last_line(char *text, size_t size);

/* From now on FFmpeg's log is kept for halo_av_reason(), and shown at -v debug. Once, at
 * start, before there are threads: it writes to the environment. */
void halo_av_init_log(void);

/* Counts the error lines of a decoder or a demuxer: set its context's opaque to one, a decoder's
 * before it is opened. Those that conceal damage say so in no other way; frames that they decode
 * beside others have lost their error flags. Where a decoder's context has the time of its packet
 * in reordered_opaque, that is kept: its threads have copies of it. */
struct halo_complaints {
    atomic_int lines;
    atomic_llong too_large; /* width << 32 | height of pictures that max_pixels refused; 0: none */
    atomic_llong latest;    /* time of a packet in a line; INT64_MIN: no line */
    long long until;        /* lines of packets from this time on do not count; 0: all count */
    const char *const *harmless; /* beginnings of lines that do not count, up to NULL; or NULL */
};

/* Where decoders without an opaque note what is too large, those of avformat_find_stream_info()
 * on this thread; NULL: nowhere. */
void halo_av_probe(struct halo_complaints *complaints);

/* Whether that many pixels are more than `most` (0: no limit): -EFBIG with err filled, which names
 * the key. */
int halo_av_check_size(const char *name, int64_t width, int64_t height, int64_t most,
                       struct halo_error *err);
/* The same of what complaints have seen refused. */
int halo_av_check_complaints(const char *name, const struct halo_complaints *complaints,
                             int64_t most, struct halo_error *err);

/* "00:01:02.345" of a time in seconds. Returns text. */
const char *halo_av_clock(double seconds, char *text, size_t size);

/* The encoder that name means (an encoder's or a codec's name) for the option, or NULL with a usage
 * error that names the nearest one. */
const AVCodec *halo_av_find_encoder(const char *option, const char *name, enum AVMediaType type,
                                    struct halo_error *err);

/* A device does its work, or may do it. */
static inline bool halo_av_is_hardware(const AVCodec *codec)
{
    return codec->capabilities & (AV_CODEC_CAP_HARDWARE | AV_CODEC_CAP_HYBRID);
}

/* A scaler between two formats and sizes: bicubic, accurate rounding, never SWS_FAST_BILINEAR.
 * full_range is 0 or 1; an unspecified space is BT.709 where RGB meets YUV. NULL where swscale
 * cannot. The caller frees it with sws_freeContext. */
struct halo_scaler_side {
    int width, height;
    enum AVPixelFormat format;
    enum AVColorSpace space;
    int full_range;
    bool left; /* of `to`: colours that are halved across lie at the left of two pixels, as players
                  take it where nothing is said; else, and where they were halved before, where
                  swscale has them: between two, or where they were */
};
struct SwsContext *halo_av_scaler(struct halo_scaler_side from, struct halo_scaler_side to);

/* The whole picture from one frame into the other, as the scaler has their shapes. 0, or -EIO where
 * a row may be missing: the destination is then not to be used. */
int halo_av_scale(struct SwsContext *sws, const AVFrame *from, const AVFrame *to);

#endif
