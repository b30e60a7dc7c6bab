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

/* The video encoder that settings name. Where none: libx264 if the container holds H.264 as
 * anything else, otherwise the encoder of the container's own default codec. NULL with a usage
 * error that says the nearest name, or what the container does hold. */
const AVCodec *halo_container_encoder(const AVOutputFormat *container,
                                      const struct halo_run_settings *settings,
                                      struct halo_error *err);

/* The pixel formats that the container takes of the encoder, up to AV_PIX_FMT_NONE; NULL: all. */
const enum AVPixelFormat *halo_container_formats(const AVOutputFormat *container,
                                                 const AVCodec *encoder);

/* Its muxer goes back to the beginning of the file when it ends. */
bool halo_container_seeks(const AVOutputFormat *container);

#endif
