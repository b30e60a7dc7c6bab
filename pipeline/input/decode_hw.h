/* SPDX-License-Identifier: BSD-2-Clause
 * Decides whether the GPU (NVDEC) decodes a video stream, and logs the reason if it does not.
 *
 * FFmpeg's decoder parses the stream and, once it has read a header, offers pixel formats. NVDEC is
 * used if its format is among them; if the hardware then refuses, the decoder falls back to
 * software by itself. */
#ifndef HALO_DECODE_HW_H
#define HALO_DECODE_HW_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"
#include "config/run.h"

/* Called before and after the driver opens something; NULL: no need to wait for a turn. */
struct halo_opening {
    bool (*begin)(void *arg); /* may wait for its turn; false: do not open, and do not call end */
    void (*end)(void *arg);
    void *arg;
};

struct halo_decode_hw_wish {
    enum halo_hwaccel hwaccel;
    int gpu;        /* the device's number */
    bool on_device; /* the lanes filter on that GPU: frames need not be copied to the host */
    int in_flight;  /* frames that may be held outside of the decoder at once */
    const struct halo_opening *opening;
};

struct halo_decode_hw;

/* NULL: decode in software; the log gives the reason if the user might expect NVDEC. wish and
 * stream must outlive the result. Blocks while the driver starts. */
struct halo_decode_hw *halo_decode_hw_create(const struct halo_decode_hw_wish *wish,
                                             const AVStream *stream);
void halo_decode_hw_destroy(struct halo_decode_hw *hw); /* accepts NULL */

/* halo_decode_hw_codec returns the decoder to open, which need not be the one that software
 * decoding would use; halo_decode_hw_prepare sets what it needs before it is opened: 0 or
 * -ENOMEM. */
const AVCodec *halo_decode_hw_codec(const struct halo_decode_hw *hw);
int halo_decode_hw_prepare(const struct halo_decode_hw *hw, AVCodecContext *c);

/* For get_format. If this returns NVDEC's format, the decoder opens the hardware next, and the turn
 * that `opening` gave lasts until halo_decode_hw_opened(). */
enum AVPixelFormat halo_decode_hw_choose(struct halo_decode_hw *hw, const AVCodecContext *c,
                                         const enum AVPixelFormat *offered);

/* Call after each call of the decoder. -ECANCELED: `opening` did not permit the hardware to be
 * opened. */
int halo_decode_hw_opened(struct halo_decode_hw *hw);

/* Why NVDEC does not decode this stream although it was tried; "" if it was not refused. */
const char *halo_decode_hw_refusal(const struct halo_decode_hw *hw);

/* Call after a decoder's error: 0 if the input may have caused it, -EIO with err filled if the
 * device is lost. */
int halo_decode_hw_check(const struct halo_decode_hw *hw, struct halo_error *err);

/* Call after each packet: whether NVDEC refused this stream before anything was decoded. If so,
 * decode in software from this packet on, in a newly opened decoder with threads of its own. If
 * NVDEC refuses later, the open decoder continues, in software for as long as it has to. */
bool halo_decode_hw_refused(struct halo_decode_hw *hw);

#endif
