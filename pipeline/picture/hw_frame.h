/* SPDX-License-Identifier: BSD-2-Clause
 * Decoded pictures in a GPU's memory: what they hold and where, in the terms of software decoding.
 *
 * NVDEC writes NV12, P010, P016 or 4:4:4 with the samples in the upper bits. To the filters, and so
 * to the output, such a picture is what a software decoder would have made of the same packet
 * ("format" below): planes of their own for U and V, samples as plain numbers, cropped. */
#ifndef HALO_HW_FRAME_H
#define HALO_HW_FRAME_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "config/error.h"
#include "kernels/frame.h"
#include "pipeline/picture/memory.h"

bool halo_hw_frame_is(const AVFrame *frame);

/* Whether NVDEC has a form for pictures that software decodes to format. */
bool halo_hw_format_known(enum AVPixelFormat format);

/* wanted where the picture can be read as that, else the most usual format that it can be read
 * as. */
enum AVPixelFormat halo_hw_frame_format(const AVFrame *frame, enum AVPixelFormat wanted);

/* Pixels, without those that cropping takes off. */
int halo_hw_frame_width(const AVFrame *frame);
int halo_hw_frame_height(const AVFrame *frame);

/* src and gather of plane number index as the filters take it (kernels/frame.h); format is from
 * halo_hw_frame_format(). The rest of *ret is untouched. */
void halo_hw_frame_plane(const AVFrame *frame, enum AVPixelFormat format, int index,
                         struct halo_frame_plane *ret);

/* The cudaStream_t on which it is being written. */
void *halo_hw_frame_stream(const AVFrame *frame);

/* Brings pictures to the host, in memory of the backend's that is used again. One thread at a
 * time; the pictures may outlive it. NULL: out of memory. */
struct halo_hw_download;
struct halo_hw_download *halo_hw_download_create(struct halo_memory *memory);
void halo_hw_download_destroy(struct halo_hw_download *d); /* NULL is nothing to do */

/* The same picture on the host in format, with all that it carries; blocks. The caller owns *ret.
 * 0, -ENOMEM or -EIO with err filled. */
int halo_hw_download(struct halo_hw_download *d, const AVFrame *frame, enum AVPixelFormat format,
                     AVFrame **ret, struct halo_error *err);

#endif
