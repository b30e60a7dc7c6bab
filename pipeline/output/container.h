/* SPDX-License-Identifier: BSD-2-Clause
 * What containers hold, beyond what FFmpeg's muxers tell of themselves. Any thread; nothing here
 * blocks or owns memory. */
#ifndef HALO_CONTAINER_H
#define HALO_CONTAINER_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"
#include "config/run.h"

/* May the container hold this stream as it is? Only its type and codec are looked at. */
bool halo_container_holds(const AVOutputFormat *container, const AVCodecParameters *par);

/* The same of an output of the daemon; par NULL: no such stream. 0, or -ENOTSUP with one line that
 * begins with where. */
int halo_container_check(const AVOutputFormat *container, const char *where,
                         const AVCodecParameters *par, struct halo_error *err);

/* That of a file, by format (as -f) or, where it is NULL, the ending of name. NULL: none. */
const AVOutputFormat *halo_container_guess(const char *format, const char *name);

/* The video encoder that settings name. Where none: libx264 if the container holds H.264 as
 * anything else, otherwise the encoder of the container's own default codec. NULL with a usage
 * error that says the nearest name, or what the container does hold. */
const AVCodec *halo_container_encoder(const AVOutputFormat *container,
                                      const struct halo_run_settings *settings,
                                      struct halo_error *err);

/* Advice that names .mkv, or "" if the container is that. */
const char *halo_container_advice(const AVOutputFormat *container, const char *advice);

/* The pixel formats that the container takes of the encoder, up to AV_PIX_FMT_NONE; NULL: all. */
const enum AVPixelFormat *halo_container_formats(const AVOutputFormat *container,
                                                 const AVCodec *encoder);

/* Where a stream may begin. */
enum halo_starts {
    HALO_STARTS_LATER,   /* at 0 or later */
    HALO_STARTS_HIDDEN,  /* sound before 0, too, for edit lists hide what is there (MOV's family) */
    HALO_STARTS_NOWHERE, /* at 0 alone: times are counted from there, in frames or samples */
};
/* Of this codec; AV_CODEC_ID_NONE: of most. */
enum halo_starts halo_container_starts(const AVOutputFormat *container, enum AVCodecID id);

/* A picture of this codec may come later than one frame after the last; else what lies between has
 * to be filled with pictures, or all that follows would come too early. */
bool halo_container_skips(const AVOutputFormat *container, enum AVCodecID id);

/* Its muxer takes headers off packets of this codec that say in each how it is coded (ADTS), and
 * says it once. */
bool halo_container_says_once(const AVOutputFormat *container, enum AVCodecID id);

/* What its muxer is asked for in files. 0 or an AVERROR code; the caller frees *ret. */
int halo_container_options(const AVOutputFormat *container, AVDictionary **ret);

/* Its muxer goes back to the beginning of the file when it ends. */
bool halo_container_seeks(const AVOutputFormat *container);

#endif
