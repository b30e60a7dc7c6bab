/* SPDX-License-Identifier: BSD-2-Clause
 * In builds with -Dfaults=true, every source file of pipeline/ is compiled with this header
 * included first. Each call of the functions below can then be made to fail separately
 * (kernels/fault.h), without calling the real function. */
#ifndef HALO_FAULT_CALLS_H
#define HALO_FAULT_CALLS_H

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/buffer.h>
#include <libavutil/frame.h>
#include <libavutil/hwcontext.h>
#include <libavutil/mem.h>
#include <libswscale/swscale.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fault.h"

#define HALO_NO_MEMORY(function, ...)                                                              \
    (HALO_FAULT_IS("heap", #function) ? NULL : function(__VA_ARGS__))
#define HALO_NO_ROOM(function, ...)                                                                \
    (HALO_FAULT_IS("heap", #function) ? AVERROR(ENOMEM) : function(__VA_ARGS__))
#define HALO_ERROR(function, ...)                                                                  \
    (HALO_FAULT_IS("code", #function) ? AVERROR_EXTERNAL : function(__VA_ARGS__))

#define malloc(...)                   HALO_NO_MEMORY(malloc, __VA_ARGS__)
#define calloc(...)                   HALO_NO_MEMORY(calloc, __VA_ARGS__)
#define aligned_alloc(...)            HALO_NO_MEMORY(aligned_alloc, __VA_ARGS__)
#define strdup(...)                   HALO_NO_MEMORY(strdup, __VA_ARGS__)
#define av_malloc(...)                HALO_NO_MEMORY(av_malloc, __VA_ARGS__)
#define av_mallocz(...)               HALO_NO_MEMORY(av_mallocz, __VA_ARGS__)
#define av_calloc(...)                HALO_NO_MEMORY(av_calloc, __VA_ARGS__)
#define av_strdup(...)                HALO_NO_MEMORY(av_strdup, __VA_ARGS__)
#define av_realloc_array(...)         HALO_NO_MEMORY(av_realloc_array, __VA_ARGS__)
#define av_frame_alloc(...)           HALO_NO_MEMORY(av_frame_alloc, __VA_ARGS__)
#define av_frame_clone(...)           HALO_NO_MEMORY(av_frame_clone, __VA_ARGS__)
#define av_packet_alloc(...)          HALO_NO_MEMORY(av_packet_alloc, __VA_ARGS__)
#define av_packet_clone(...)          HALO_NO_MEMORY(av_packet_clone, __VA_ARGS__)
#define av_buffer_create(...)         HALO_NO_MEMORY(av_buffer_create, __VA_ARGS__)
#define av_buffer_ref(...)            HALO_NO_MEMORY(av_buffer_ref, __VA_ARGS__)
#define av_buffer_pool_get(...)       HALO_NO_MEMORY(av_buffer_pool_get, __VA_ARGS__)
#define av_buffer_pool_init(...)      HALO_NO_MEMORY(av_buffer_pool_init, __VA_ARGS__)
#define av_buffer_pool_init2(...)     HALO_NO_MEMORY(av_buffer_pool_init2, __VA_ARGS__)
#define av_frame_new_side_data(...)   HALO_NO_MEMORY(av_frame_new_side_data, __VA_ARGS__)
#define avcodec_alloc_context3(...)   HALO_NO_MEMORY(avcodec_alloc_context3, __VA_ARGS__)
#define avcodec_parameters_alloc(...) HALO_NO_MEMORY(avcodec_parameters_alloc, __VA_ARGS__)
#define avformat_alloc_context(...)   HALO_NO_MEMORY(avformat_alloc_context, __VA_ARGS__)
#define avformat_new_stream(...)      HALO_NO_MEMORY(avformat_new_stream, __VA_ARGS__)
#define sws_alloc_context(...)        HALO_NO_MEMORY(sws_alloc_context, __VA_ARGS__)

#define av_new_packet(...)                 HALO_NO_ROOM(av_new_packet, __VA_ARGS__)
#define av_packet_ref(...)                 HALO_NO_ROOM(av_packet_ref, __VA_ARGS__)
#define av_frame_get_buffer(...)           HALO_NO_ROOM(av_frame_get_buffer, __VA_ARGS__)
#define av_frame_copy_props(...)           HALO_NO_ROOM(av_frame_copy_props, __VA_ARGS__)
#define avcodec_parameters_copy(...)       HALO_NO_ROOM(avcodec_parameters_copy, __VA_ARGS__)
#define avcodec_parameters_to_context(...) HALO_NO_ROOM(avcodec_parameters_to_context, __VA_ARGS__)
#define avcodec_parameters_from_context(...)                                                       \
    HALO_NO_ROOM(avcodec_parameters_from_context, __VA_ARGS__)
#define av_hwframe_get_buffer(...) HALO_NO_ROOM(av_hwframe_get_buffer, __VA_ARGS__)
#define av_bsf_alloc(...)          HALO_NO_ROOM(av_bsf_alloc, __VA_ARGS__)
#define av_dict_set(...)           HALO_NO_ROOM(av_dict_set, __VA_ARGS__)

#define avcodec_open2(...)              HALO_ERROR(avcodec_open2, __VA_ARGS__)
#define avcodec_send_packet(...)        HALO_ERROR(avcodec_send_packet, __VA_ARGS__)
#define avcodec_receive_frame(...)      HALO_ERROR(avcodec_receive_frame, __VA_ARGS__)
#define avcodec_send_frame(...)         HALO_ERROR(avcodec_send_frame, __VA_ARGS__)
#define avcodec_receive_packet(...)     HALO_ERROR(avcodec_receive_packet, __VA_ARGS__)
#define av_read_frame(...)              HALO_ERROR(av_read_frame, __VA_ARGS__)
#define avformat_open_input(...)        HALO_ERROR(avformat_open_input, __VA_ARGS__)
#define avformat_find_stream_info(...)  HALO_ERROR(avformat_find_stream_info, __VA_ARGS__)
#define avformat_write_header(...)      HALO_ERROR(avformat_write_header, __VA_ARGS__)
#define av_interleaved_write_frame(...) HALO_ERROR(av_interleaved_write_frame, __VA_ARGS__)
#define av_write_trailer(...)           HALO_ERROR(av_write_trailer, __VA_ARGS__)
#define avio_open2(...)                 HALO_ERROR(avio_open2, __VA_ARGS__)
#define sws_init_context(...)           HALO_ERROR(sws_init_context, __VA_ARGS__)
#define sws_scale(...)                  HALO_ERROR(sws_scale, __VA_ARGS__)
#define av_bsf_init(...)                HALO_ERROR(av_bsf_init, __VA_ARGS__)
#define av_bsf_send_packet(...)         HALO_ERROR(av_bsf_send_packet, __VA_ARGS__)
#define av_bsf_receive_packet(...)      HALO_ERROR(av_bsf_receive_packet, __VA_ARGS__)
#define av_hwframe_ctx_init(...)        HALO_ERROR(av_hwframe_ctx_init, __VA_ARGS__)

#endif
