/* SPDX-License-Identifier: BSD-2-Clause
 * What containers support, beyond what FFmpeg's muxers declare. Any thread; no call blocks or owns
 * memory. */
#ifndef HALO_CONTAINER_H
#define HALO_CONTAINER_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"
#include "config/run.h"

/* Whether the container supports this stream unchanged. Only its type and codec are checked. */
bool halo_container_holds(const AVOutputFormat *container, const AVCodecParameters *par);

/* Checks a stream for an output of the daemon; par NULL: no such stream. 0, or -ENOTSUP with a
 * one-line message that begins with `where`. */
int halo_container_check(const AVOutputFormat *container, const char *where,
                         const AVCodecParameters *par, struct halo_error *err);

/* The container of a file: by format (as -f) or, if format is NULL, by the suffix of name. NULL:
 * unknown. */
const AVOutputFormat *halo_container_guess(const char *format, const char *name);

/* The video encoder that settings name. Without one: libx264 if the container supports H.264 among
 * other codecs, otherwise the encoder of the container's default codec. NULL with a usage error
 * that names the nearest encoder, or what the container supports. */
const AVCodec *halo_container_encoder(const AVOutputFormat *container,
                                      const struct halo_run_settings *settings,
                                      struct halo_error *err);

/* Returns advice, which recommends .mkv, or "" if the container is Matroska already. */
const char *halo_container_advice(const AVOutputFormat *container, const char *advice);

/* The encoder's pixel formats that the container supports, ending with AV_PIX_FMT_NONE; NULL:
 * all. */
const enum AVPixelFormat *halo_container_formats(const AVOutputFormat *container,
                                                 const AVCodec *encoder);

/* The earliest time at which a stream may begin. */
enum halo_starts {
    HALO_STARTS_LATER,   /* at 0 or later */
    HALO_STARTS_HIDDEN,  /* audio also before 0, because edit lists hide that part (the MOV
                            family) */
    HALO_STARTS_NOWHERE, /* only at 0: times are counted from there, in frames or samples */
};
/* For a stream of this codec; AV_CODEC_ID_NONE: for most codecs. */
enum halo_starts halo_container_starts(const AVOutputFormat *container, enum AVCodecID id);

/* Whether two frames of this codec may be further apart than one frame's duration. If not, gaps
 * have to be filled with frames, because everything after a gap would be too early otherwise. */
bool halo_container_skips(const AVOutputFormat *container, enum AVCodecID id);

/* Whether its muxer removes the header (ADTS) with coding parameters from every packet of this
 * codec, and stores the parameters once. */
bool halo_container_says_once(const AVOutputFormat *container, enum AVCodecID id);

/* Options for its muxer when it writes a file. 0 or an AVERROR code; the caller frees *ret. */
int halo_container_options(const AVOutputFormat *container, AVDictionary **ret);

/* Whether its muxer returns to the beginning of the file at the end. */
bool halo_container_seeks(const AVOutputFormat *container);

#endif
