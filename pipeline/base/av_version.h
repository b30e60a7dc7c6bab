/* SPDX-License-Identifier: BSD-2-Clause
 * The parts of FFmpeg's API that differ between FFmpeg 5.1 and 9.0, under one name each. Only this
 * file and av_version.c test versions of FFmpeg; the calls work the same way with each of them.
 * Pure functions of their arguments: any thread. */
#ifndef HALO_AV_VERSION_H
#define HALO_AV_VERSION_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type of the bytes that a muxer passes to the callback of avio_alloc_context(). */
#if LIBAVFORMAT_VERSION_MAJOR < 61
typedef uint8_t halo_av_written;
#else
typedef const uint8_t halo_av_written;
#endif

#ifdef AV_PROFILE_H264_HIGH_444_PREDICTIVE
#define HALO_AV_PROFILE_H264_HIGH_444_PREDICTIVE AV_PROFILE_H264_HIGH_444_PREDICTIVE
#else
#define HALO_AV_PROFILE_H264_HIGH_444_PREDICTIVE FF_PROFILE_H264_HIGH_444_PREDICTIVE
#endif

/* A frame's duration, in the unit of its pts; 0: unknown. */
int64_t halo_av_frame_duration(const AVFrame *frame);
void halo_av_frame_set_duration(AVFrame *frame, int64_t duration);

/* Whether a frame consists of two fields, and which one is shown first: bits, or'ed. */
enum { HALO_AV_INTERLACED = 1, HALO_AV_TOP_FIRST = 2 };
int halo_av_frame_fields(const AVFrame *frame);
void halo_av_frame_set_fields(AVFrame *frame, int fields);

/* The side data that a container stores for a whole stream. The functions that return data return
 * NULL if there is none of this type (get) or memory runs out (new: `size` bytes, which the caller
 * fills, replacing older ones of this type). The stream owns what is returned. */
const uint8_t *halo_av_stream_side_data(const AVStream *stream, enum AVPacketSideDataType type,
                                        size_t *ret_size);
uint8_t *halo_av_stream_new_side_data(AVStream *stream, enum AVPacketSideDataType type,
                                      size_t size);
const AVPacketSideData *halo_av_stream_all_side_data(const AVStream *stream, int *ret_count);

/* Like FFmpeg's functions of these names, but the side data of `to` stays as it is and that of
 * `from` is not copied: newer versions keep a stream's side data among its parameters, and an
 * output must not tell everything that its input tells (pipeline/stream/copy_streams.c). Return 0
 * or an AVERROR. */
int halo_av_parameters_copy(AVCodecParameters *to, const AVCodecParameters *from);
int halo_av_parameters_from_context(AVCodecParameters *to, const AVCodecContext *from);

/* What an encoder accepts, in lists that end with AV_PIX_FMT_NONE, AV_SAMPLE_FMT_NONE, 0, or a
 * layout without channels. NULL: anything, or unknown. They live as long as the program. */
const enum AVPixelFormat *halo_av_pixel_formats(const AVCodec *codec);
const enum AVSampleFormat *halo_av_sample_formats(const AVCodec *codec);
const int *halo_av_sample_rates(const AVCodec *codec);
const AVChannelLayout *halo_av_channel_layouts(const AVCodec *codec);

/* Whether Matroska's muxer stores the rotation that players should apply. */
bool halo_av_matroska_turns(void);

/* Tells a decoder on a GPU to hand out its surfaces, as that of 5.1 always does: each of its frames
 * occupies one of these few until it is freed (extra_hw_frames adds some). Newer versions copy each
 * frame by default, and up to 9.0 they report success where this fails: such a frame shows what was
 * in the GPU's memory before. */
void halo_av_hand_out_surfaces(AVCodecContext *codec);

/* Tells a decoder that its threads may call get_buffer2 and get_format at the same time, which
 * later versions take for granted. */
void halo_av_allow_parallel_callbacks(AVCodecContext *codec);

#endif
