/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a video stream is decoded by the GPU (NVDEC), and the line that says why not.
 *
 * FFmpeg's decoder parses the stream and offers formats when it has read a header; NVDEC is taken
 * where it is among them, and the decoder falls back by itself where the chip then refuses. */
#ifndef HALO_DECODE_HW_H
#define HALO_DECODE_HW_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"
#include "config/run.h"

/* Around what the driver opens; NULL: nobody has to wait for it. */
struct halo_opening {
    bool (*begin)(void *arg); /* may wait for its turn; false: it is not to be opened, end does not
                                 follow */
    void (*end)(void *arg);
    void *arg;
};

struct halo_decode_hw_wish {
    enum halo_hwaccel hwaccel;
    int gpu;        /* number of the device */
    bool on_device; /* the lanes filter on that GPU: pictures need not come to the host */
    int in_flight;  /* pictures that may be held at once outside of the decoder */
    const struct halo_opening *opening;
};

struct halo_decode_hw;

/* NULL: software decodes, and the log says why where the user may wonder. wish and stream must
 * outlive it. Blocks while the driver starts. */
struct halo_decode_hw *halo_decode_hw_create(const struct halo_decode_hw_wish *wish,
                                             const AVStream *stream);
void halo_decode_hw_destroy(struct halo_decode_hw *hw); /* NULL is nothing to do */

/* The decoder to open, which may be another than software's, and what it needs before it is. 0 or
 * -ENOMEM. */
const AVCodec *halo_decode_hw_codec(const struct halo_decode_hw *hw);
int halo_decode_hw_prepare(const struct halo_decode_hw *hw, AVCodecContext *c);

/* For get_format. The decoder opens what this returned, until halo_decode_hw_opened(). */
enum AVPixelFormat halo_decode_hw_choose(struct halo_decode_hw *hw, const AVCodecContext *c,
                                         const enum AVPixelFormat *offered);

/* After each call of the decoder. -ECANCELED: `opening` did not let it open. */
int halo_decode_hw_opened(struct halo_decode_hw *hw);

/* Why it does not decode this stream, which it could not know before it tried; "" where it does. */
const char *halo_decode_hw_refusal(const struct halo_decode_hw *hw);

/* After an error of the decoder's: 0 where it may be the input's, -EIO with err filled where the
 * device is lost. */
int halo_decode_hw_check(const struct halo_decode_hw *hw, struct halo_error *err);

/* Asked after each packet: whether NVDEC will not have this stream, and nothing was decoded yet.
 * Then software decoding can begin anew, with threads of its own, at this packet. Later on the
 * decoder goes on as it is, in software while it must. */
bool halo_decode_hw_refused(struct halo_decode_hw *hw);

#endif
