/* SPDX-License-Identifier: BSD-2-Clause
 * Describes what containers support beyond what FFmpeg's muxers declare. Any thread; no call blocks
 * or owns memory. */
#ifndef HALO_CONTAINER_H
#define HALO_CONTAINER_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "config/run.h"

/* Returns whether the container can store this stream without transcoding. Only the stream's type
 * and codec are checked. */
bool halo_container_holds(const AVOutputFormat *container, const AVCodecParameters *par);

/* Checks whether the container of one of the daemon's outputs supports the stream with the codec
 * parameters `par`. par may be NULL if there is no stream to check. Returns 0 (also if par is
 * NULL), or -ENOTSUP with a one-line message that begins with `where`. */
int halo_container_check(const AVOutputFormat *container, const char *where,
                         const AVCodecParameters *par, struct halo_error *err);

/* Returns the container with the name `format` (as in -f) or, if format is NULL, the container to
 * which the suffix of the file name `name` belongs. Returns NULL if the container is unknown. */
const AVOutputFormat *halo_container_guess(const char *format, const char *name);

/* Returns the video encoder that `settings` specifies. If `settings` specifies no encoder, returns
 * libx264 for a container that supports H.264 and whose default codec is not raw video, and the
 * default codec's encoder for any other container. If no encoder is suitable, returns NULL with a
 * usage error that contains the name of the most similar encoder or recommends an encoder or
 * container. */
const AVCodec *halo_container_encoder(const AVOutputFormat *container,
                                      const struct halo_run_settings *settings,
                                      struct halo_error *err);

/* Returns `advice`, a text that recommends .mkv, or "" if the container is already Matroska. */
const char *halo_container_advice(const AVOutputFormat *container, const char *advice);

/* Returns the container of one of the daemon's outputs, or NULL if it has none (unencoded frames by
 * descriptor, cameras) or its format is unknown. */
const AVOutputFormat *halo_container_of(const struct halo_output_settings *output);

/* Returns a list of the encoder's pixel formats that the container supports. The list ends with
 * AV_PIX_FMT_NONE; NULL means all formats. */
const enum AVPixelFormat *halo_container_formats(const AVOutputFormat *container,
                                                 const AVCodec *encoder);

/* The earliest time at which a stream may begin. */
enum halo_starts {
    HALO_STARTS_LATER,   /* at 0 or later */
    HALO_STARTS_HIDDEN,  /* at 0 or later; audio also before 0, because edit lists hide that part
                            (the MOV family) */
    HALO_STARTS_NOWHERE, /* only at 0, because times are counted from there, in frames or samples */
};
/* Returns the earliest start of a stream with this codec, or, if id is AV_CODEC_ID_NONE, the
 * earliest start for most codecs. */
enum halo_starts halo_container_starts(const AVOutputFormat *container, enum AVCodecID id);

/* Returns whether, in this container, consecutive frames of this codec can be further apart than
 * one frame's duration. If they cannot, gaps have to be filled with frames, because otherwise
 * everything after a gap would be too early. */
bool halo_container_skips(const AVOutputFormat *container, enum AVCodecID id);

/* Returns whether the container stores when a frame is shown and not only in which order frames are
 * decoded. If it does not, readers guess by how much reordered frames are late, and the video comes
 * later than the sound. */
bool halo_container_reorders(const AVOutputFormat *container);

/* Returns whether the container's muxer removes the header with coding parameters (ADTS) from every
 * packet of this codec and stores the parameters once. */
bool halo_container_says_once(const AVOutputFormat *container, enum AVCodecID id);

/* Sets *ret to the options that the container's muxer needs for writing a file. Returns 0 or an
 * AVERROR code; the caller frees *ret. */
int halo_container_options(const AVOutputFormat *container, AVDictionary **ret);

/* Returns whether the container's muxer seeks back to the beginning of the file when it finishes
 * the file. */
bool halo_container_seeks(const AVOutputFormat *container);

#endif
