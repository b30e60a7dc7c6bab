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

#include "config/error.h"

/* Returns the negative errno that is nearest to averror. Any thread. */
int halo_av_errno(int averror);

/* Writes FFmpeg's message for averror, followed by the last error line that FFmpeg logged since the
 * previous call, if any. Example: "Invalid data found (h264: error while decoding MB 3 4)". Returns
 * text. */
const char *halo_av_reason(int averror, char *text, size_t size);

/* Writes only FFmpeg's last error line, or "" if none was logged since the previous call. Returns
 * text. */
const char *halo_av_last_line(char *text, size_t size);

/* Redirects FFmpeg's log to halod: the last error line is kept for halo_av_reason(), and the whole
 * log is shown at -v debug. Call this once, before any thread is started: it changes the
 * environment. */
void halo_av_init_log(void);

/* Counts the error lines that a decoder or demuxer logs. The field `opaque` of its context must
 * point to this struct (for a decoder, before it is opened). Decoders that conceal damage report it
 * only in their log, because frames that are decoded on several threads lose their error flags. If
 * reordered_opaque in a decoder's context contains the time of its packet, that time is recorded,
 * too: the decoder's threads have copies of this field. */
struct halo_complaints {
    atomic_int lines;
    atomic_llong too_large; /* a size that max_pixels refused, as width << 32 | height; or 0 */
    atomic_llong latest;    /* latest packet time of all counted lines; INT64_MIN: none */
    long long until;        /* lines about packets from this time on do not count; 0: all count */
    const char *const *harmless; /* prefixes of lines that do not count; NULL-terminated, or NULL */
};

/* Sets where this thread's decoders that have no opaque (those that avformat_find_stream_info()
 * opens) record frames that are too large. NULL: nowhere. */
void halo_av_probe(struct halo_complaints *complaints);

/* Returns 0, or -EFBIG if a frame of width x height has more than `most` pixels (0: no limit). err
 * then names the setting max_pixels. */
int halo_av_check_size(const char *name, int64_t width, int64_t height, int64_t most,
                       struct halo_error *err);
/* Checks in the same way the frame size that is recorded in complaints->too_large. */
int halo_av_check_complaints(const char *name, const struct halo_complaints *complaints,
                             int64_t most, struct halo_error *err);

/* Writes a time as "00:01:02.345". Returns text. */
const char *halo_av_clock(double seconds, char *text, size_t size);

/* Returns the encoder with this name, or one for the codec with this name. Returns NULL if no such
 * encoder of this type exists; err is then a usage error about the option and suggests the nearest
 * name. */
const AVCodec *halo_av_find_encoder(const char *option, const char *name, enum AVMediaType type,
                                    struct halo_error *err);

/* Returns whether the codec runs, or may run, on a hardware device. */
static inline bool halo_av_is_hardware(const AVCodec *codec)
{
    return codec->capabilities & (AV_CODEC_CAP_HARDWARE | AV_CODEC_CAP_HYBRID);
}

/* Creates a scaler between two formats and sizes: bicubic, accurate rounding, never
 * SWS_FAST_BILINEAR. full_range is 0 or 1; an unspecified space counts as BT.709 in conversions
 * between RGB and YUV. Returns NULL if swscale does not support the conversion, or memory runs out.
 * The caller frees the result with sws_freeContext(). */
struct halo_scaler_side {
    int width, height;
    enum AVPixelFormat format;
    enum AVColorSpace space;
    int full_range;
    bool left; /* Only for `to`: if the conversion halves chroma horizontally, each chroma sample
                  is sited at the left one of its two pixels, as players assume by default. If
                  false, swscale sites it between the two pixels. If chroma was halved already,
                  its siting does not change. */
};
struct SwsContext *halo_av_scaler(struct halo_scaler_side from, struct halo_scaler_side to);

/* Scales the whole frame `from` into `to`. Both must have the formats and sizes of the scaler.
 * Returns 0, or -EIO if a row may be missing; the destination must not be used then. */
int halo_av_scale(struct SwsContext *sws, const AVFrame *from, const AVFrame *to);

#endif
