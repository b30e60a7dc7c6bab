/* SPDX-License-Identifier: BSD-2-Clause
 * Decoded frames in a GPU's memory, described as if they had been decoded in software.
 *
 * NVDEC writes NV12, P010, P016 or 4:4:4, with the samples in the upper bits. Filters, and
 * therefore the output, see such a frame as a software decoder would have decoded it from the same
 * packet (its format is called "format" below): with separate planes for U and V, samples as plain
 * integers, and cropped. */
#ifndef HALO_HW_FRAME_H
#define HALO_HW_FRAME_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "kernels/frame.h"
#include "pipeline/frame/memory.h"

bool halo_hw_frame_is(const AVFrame *frame);

/* Returns whether NVDEC has a layout for the frames that software decoders output in this
 * format. */
bool halo_hw_format_known(enum AVPixelFormat format);

/* Returns `wanted` if the frame can be read in that format, otherwise the most common format in
 * which it can be read. */
enum AVPixelFormat halo_hw_frame_format(const AVFrame *frame, enum AVPixelFormat wanted);

/* Return the frame's width or height in pixels, after cropping. */
int halo_hw_frame_width(const AVFrame *frame);
int halo_hw_frame_height(const AVFrame *frame);

/* Sets ret->src and ret->gather, which describe the filters' input for plane number `index`
 * (kernels/frame.h). `format` is from halo_hw_frame_format(). The other fields of *ret do not
 * change. */
void halo_hw_frame_plane(const AVFrame *frame, enum AVPixelFormat format, int index,
                         struct halo_frame_plane *ret);

/* Returns the cudaStream_t on which the frame is written. */
void *halo_hw_frame_stream(const AVFrame *frame);

/* A struct halo_hw_keep copies frames within the device's memory, so that a decoder gets the few
 * frames back that it has. Only one thread at a time may use it; the copies may outlive it.
 * halo_hw_keep_create() returns NULL if memory runs out. */
struct halo_hw_keep;
struct halo_hw_keep *halo_hw_keep_create(void);
void halo_hw_keep_destroy(struct halo_hw_keep *k); /* NULL is ignored */

/* Replaces the frame's content by a copy, once the frame is written; blocks. Returns 0, or -ENOMEM
 * or -EIO with err filled. */
int halo_hw_keep_frame(struct halo_hw_keep *k, AVFrame *frame, struct halo_error *err);

/* A struct halo_hw_download downloads frames to the host, into reusable memory of the backend. Only
 * one thread at a time may use a struct halo_hw_download; the frames may outlive it.
 * halo_hw_download_create() returns NULL if memory runs out. */
struct halo_hw_download;
struct halo_hw_download *halo_hw_download_create(struct halo_memory *memory);
void halo_hw_download_destroy(struct halo_hw_download *d); /* NULL is ignored */

/* Copies a frame to the host, in `format` and with all of its properties and side data; blocks. The
 * caller owns *ret. Returns 0, or -ENOMEM or -EIO with err filled. */
int halo_hw_download(struct halo_hw_download *d, const AVFrame *frame, enum AVPixelFormat format,
                     AVFrame **ret, struct halo_error *err);

#endif
