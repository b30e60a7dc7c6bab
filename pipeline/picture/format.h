/* SPDX-License-Identifier: BSD-2-Clause
 * Pixel formats: which ones are filtered as they are, and what the others are turned into. */
#ifndef HALO_FORMAT_H
#define HALO_FORMAT_H

#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
#include <stdbool.h>

#include "kernels/plane.h"
#include "pipeline/filter/filter.h"

/* Any thread; nothing here blocks or owns memory. */

/* Flags of a frame whose chroma samples, in the directions in which chroma is halved, also show the
 * pixels beside those that they cover: rows of interlaced frames, for each field has chroma rows of
 * its own; columns and rows of an odd size that was mirrored. */
enum { HALO_SPILL_X = 1, HALO_SPILL_Y = 2, HALO_SPILLS = 4 };

bool halo_format_is_native(enum AVPixelFormat format);

/* format itself where it is native, else the native format that loses least (alpha is always lost),
 * or AV_PIX_FMT_NONE where swscale cannot read it. */
enum AVPixelFormat halo_format_nearest_native(enum AVPixelFormat format);

/* The formats with a name of their own for full range under the plain name of their layout. */
enum AVPixelFormat halo_format_plain(enum AVPixelFormat format);

/* RGB in any form, a palette too. */
bool halo_format_is_rgb(enum AVPixelFormat format);

int halo_format_planes(enum AVPixelFormat native);

/* Interleaved channels of a plane: 1 or 2. */
int halo_format_channels(enum AVPixelFormat native, int index);

/* Plane number index of a frame in a native format. */
struct halo_plane halo_format_plane(const AVFrame *frame, int index);
/* The same, of a frame that does not tell its format: one of a device's. */
struct halo_plane halo_format_plane_as(const AVFrame *frame, enum AVPixelFormat format, int index);

/* The same plane as the filters plan for it; border fields of target are left for the filter. */
struct halo_plane_info halo_format_plane_info(enum AVPixelFormat native, int width, int height,
                                              int index);

/* What colours its samples are, as the video says; halo_format_plane_info() leaves that open. */
struct halo_plane_colours halo_format_colours(enum AVPixelFormat native, enum AVColorSpace space,
                                              enum AVColorRange range);

#endif
