/* SPDX-License-Identifier: BSD-2-Clause
 * Pixel formats: which of them are native (filtered without conversion), and to which native
 * formats the others are converted. */
#ifndef HALO_FORMAT_H
#define HALO_FORMAT_H

#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
#include <stdbool.h>

#include "kernels/net/prepare.h"
#include "kernels/plane.h"
#include "pipeline/filter/filter.h"

/* Any thread may call these functions; none of them blocks or owns memory. */

/* Spill: samples that also show what lies beside the area that they cover, so that more of them
 * must be hidden.
 *
 * Chroma spill: flags for a frame whose subsampled chroma samples also contain colour from pixels
 * next to the area that they cover: from the left or right (X), or from above or below (Y).
 * Interlaced frames have vertical spill, because each field has its own chroma rows. Rotated or
 * mirrored frames have horizontal spill if their width is odd, and vertical spill if their height
 * is odd. HALO_SPILLS is the number of combinations of these flags. */
enum { HALO_SPILL_X = 1, HALO_SPILL_Y = 2, HALO_SPILLS = 4 };

/* What a conversion to other samples spills: by how many luma pixels of the converted frame, in the
 * planes of luma, gray and RGB, and in those of chroma. The scaler computes a sample from those
 * that are less than two samples away, of the plane that has fewer of them. */
struct halo_reach {
    int x[2], y[2]; /* [chroma] */
};

/* A frame's format and size. */
struct halo_format_size {
    enum AVPixelFormat format;
    int width, height;
};

/* Returns what a frame that is converted (halo_av_scaler()) spills. */
struct halo_reach halo_format_reach(struct halo_format_size from, struct halo_format_size to);

bool halo_format_is_native(enum AVPixelFormat format);

/* Returns `format` itself if it is native, otherwise the native format that loses least (alpha is
 * always lost), or AV_PIX_FMT_NONE if swscale cannot read the format. */
enum AVPixelFormat halo_format_nearest_native(enum AVPixelFormat format);

/* Returns the format with the same layout that does not imply full range: YUV420P for YUVJ420P, for
 * example. Other formats are returned unchanged. */
enum AVPixelFormat halo_format_plain(enum AVPixelFormat format);

/* Returns whether the format is RGB in any layout, including palettes. */
bool halo_format_is_rgb(enum AVPixelFormat format);

int halo_format_planes(enum AVPixelFormat native);

/* Returns the number of interleaved channels in a plane: 1 or 2. */
int halo_format_channels(enum AVPixelFormat native, int index);

/* Returns plane number `index` of a frame in a native format. */
struct halo_plane halo_format_plane(const AVFrame *frame, int index);
/* Does the same as halo_format_plane() for a frame in device memory. The planes have the layout of
 * `format`, because the format field of a frame in device memory does not describe them. */
struct halo_plane halo_format_plane_as(const AVFrame *frame, enum AVPixelFormat format, int index);

/* Returns the description of plane number `index`, which is needed to plan filters. The border
 * fields of `target` are set later, by the filter. */
struct halo_plane_info halo_format_plane_info(enum AVPixelFormat native, int width, int height,
                                              int index);

/* Returns the colour conversion for a video's format, matrix and range. halo_format_plane_info()
 * leaves the field `colours` unset. */
struct halo_plane_colours halo_format_colours(enum AVPixelFormat native, enum AVColorSpace space,
                                              enum AVColorRange range);

/* Describes a frame that is displayed as `turn` says (pipeline/base/display.h, not UNKNOWN), for
 * copies that networks look at, and sets its components. `format` describes the planes, as in
 * halo_format_plane_as(). Returns 0; or -ENOTSUP if halo_prepare_copy_run() cannot read the format:
 * it reads all native ones, and those of most cameras. */
int halo_format_prepare(const AVFrame *frame, enum AVPixelFormat format, int turn,
                        struct halo_prepare_format *ret,
                        struct halo_prepare_component component[3]);

#endif
