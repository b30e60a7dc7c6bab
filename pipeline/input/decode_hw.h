/* SPDX-License-Identifier: BSD-2-Clause
 * Decides whether the GPU (NVDEC) decodes a video stream, and logs the reason if it does not.
 *
 * FFmpeg's decoder parses the stream and, once it has read a header, offers pixel formats. NVDEC is
 * used if its format is one of them. If the hardware then refuses the stream, FFmpeg's decoder
 * falls back to software on its own. */
#ifndef HALO_DECODE_HW_H
#define HALO_DECODE_HW_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "config/run.h"
#include "pipeline/base/arrival.h"

/* Functions that are called before and after the driver opens something. If a pointer to this
 * struct is NULL, the driver may open things without waiting for a turn. */
struct halo_opening {
    bool (*begin)(void *arg); /* may wait for its turn; if it returns false, the caller must neither
                                 open anything nor call end */
    void (*end)(void *arg);
    void *arg;
};

struct halo_decode_hw_wish {
    enum halo_hwaccel hwaccel;
    int gpu;        /* number of the GPU */
    bool on_device; /* whether the lanes filter on that GPU, so frames need not be copied to the
                       host */
    int in_flight;  /* number of frames that may be in use outside the decoder at the same time */
    const struct halo_opening *opening;
    struct halo_arrival *arrival; /* of the GPU; NULL: it is there */
};

struct halo_decode_hw;

/* Returns NULL if the stream is to be decoded in software. If the user might expect NVDEC, the
 * reason for decoding in software is logged. `wish` and `stream` must outlive the result. Blocks
 * until the GPU arrives, and while the driver starts. */
struct halo_decode_hw *halo_decode_hw_create(const struct halo_decode_hw_wish *wish,
                                             const AVStream *stream);
void halo_decode_hw_destroy(struct halo_decode_hw *hw); /* accepts NULL */

/* halo_decode_hw_codec() returns the decoder to open, which may differ from the one for software
 * decoding. halo_decode_hw_prepare() sets what that decoder needs before it is opened, and returns
 * 0 or -ENOMEM. */
const AVCodec *halo_decode_hw_codec(const struct halo_decode_hw *hw);
int halo_decode_hw_prepare(const struct halo_decode_hw *hw, AVCodecContext *c);

/* Chooses one of the offered pixel formats. To be called by the decoder's callback get_format. If
 * NVDEC's format is returned, the decoder opens the hardware next, and the turn that `opening`
 * granted lasts until halo_decode_hw_opened(). */
enum AVPixelFormat halo_decode_hw_choose(struct halo_decode_hw *hw, const AVCodecContext *c,
                                         const enum AVPixelFormat *offered);

/* Ends the turn. Call this after each call to the decoder. Returns 0, or -ECANCELED if `opening`
 * did not permit the hardware to be opened. */
int halo_decode_hw_opened(struct halo_decode_hw *hw);

/* If NVDEC was tried but does not decode this stream, returns the reason, otherwise "". */
const char *halo_decode_hw_refusal(const struct halo_decode_hw *hw);

/* Checks whether the GPU is lost. Call this after the decoder has returned an error. Returns 0 if
 * the input may have caused the error, or -EIO with err filled if the GPU is lost. */
int halo_decode_hw_check(const struct halo_decode_hw *hw, struct halo_error *err);

/* Returns whether NVDEC refused this stream before anything was decoded. Call this after each
 * packet. If it returns true, open another decoder, with its own threads, and decode in software
 * from this packet on. If NVDEC refuses the stream later, the decoder that is already open
 * continues in software for as long as necessary. */
bool halo_decode_hw_refused(struct halo_decode_hw *hw);

#endif
