/* SPDX-License-Identifier: BSD-2-Clause
 * Inputs of networks: from a frame a small copy, upright and in RGB, and from parts of the copy the
 * tensors that networks read, defined to the last bit.
 *
 *   frame, any format ─► COPY ─► three planes of bytes ─┬─► INPUT ─► tensor of one look
 *                                                       └─► INPUT ─► tensor of another look
 *
 * The copy is made once for each frame, as soon as the frame arrives, where its planes are: in host
 * memory or on the GPU that will filter it. Networks never read the frame itself.
 *
 * All is computed in integers, up to the last step of INPUT; >> rounds down, / rounds towards 0.
 *
 *   TAPS     one filter scales everything, along one axis after the other. An axis has P pixels
 *            and samples that are `step` pixels wide (the last one may reach past the end). Of its
 *            D values, value i shows the pixels from i P / D to (i + 1) P / D. The weights of its
 *            samples are integers whose sum is 2^14:
 *              reducing (step D <= P): the mean of these pixels. With e[k] = k step D - i P, 0 to P
 *              at most, and c(e) = (2^14 e + P / 2) / P, sample k has the weight
 *              c(e[k + 1]) - c(e[k])
 *              enlarging: linear between the centres of the two nearest samples. With
 *              a = (2 i + 1) P - step D, limited to at least 0, and n = 2 step D, sample a / n + 1
 *              has the weight w = (2^14 (a mod n) + n / 2) / n, sample a / n the rest; where there
 *              is no sample a / n + 1, the last sample has all the weight
 *   SCALE    first down: V = (sum of weight * sample + 2^(depth - 3)) >> (depth - 2), which is 16
 *            bits, whatever the depth; then across: (sum of weight * V + 2^13) >> 14, 16 bits
 *   COPY     each component is scaled to the size of the copy, as the frame is stored. Samples of
 *            chroma are step_x by step_y pixels large. With y, u and v (16 bits), y alone (gray) or
 *            the components of RGB:
 *              r = (y_gain (y - y_zero) + red_v (v - 32768) + 2^20) >> 21, limited to 0 .. 255,
 *            and so on (struct halo_prepare_colours). Then the copy is turned as the frame is
 *            displayed
 *   INPUT    a part of the copy is scaled to the size of `inside`, which gives values t of 16 bits
 *            (a byte times 256, if the sizes are equal), and each element of the tensor is
 *              (float)t * (scale / 256) + offset
 *            in single precision: the product is rounded, and then the sum. Elements around
 *            `inside` repeat its values, mirrored (HALO_BORDER_REFLECT), up to `mirror` elements
 *            away; beyond, t is 256 * fill
 *
 * A plan holds the tables for its sizes and the memory for one frame; it is used by one thread at a
 * time. Functions may be called on any thread and never block. */
#ifndef HALO_PREPARE_H
#define HALO_PREPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/plane.h"

enum {
    HALO_PREPARE_MAX_FRAME = 16384, /* largest width and height of a frame */
    HALO_PREPARE_MAX_SIDE = 2048,   /* of a copy or a tensor */
    HALO_PREPARE_BITS = 14,         /* of weights */
    HALO_PREPARE_COLOUR_BITS = 21,
    HALO_PREPARE_CHROMA_ZERO = 32768,
};

/* ---- TAPS ---- */

/* Value i is computed from the samples first[i], first[i] + 1, ... with the weights from
 * weight[start[i]] to weight[start[i + 1] - 1], of which the last ones may be 0 and have no sample:
 * start[] are multiples of HALO_PREPARE_TAPS. */
struct halo_prepare_axis {
    int count;      /* values: D */
    int samples;    /* that exist */
    int32_t *first; /* D elements */
    int32_t *start; /* D + 1 elements */
    int16_t *weight;
};

enum { HALO_PREPARE_TAPS = 8 };

/* ---- COPY ---- */

enum halo_prepare_kind {
    HALO_PREPARE_GRAY, /* one component */
    HALO_PREPARE_YUV,  /* luma, Cb, Cr */
    HALO_PREPARE_RGB   /* red, green, blue */
};

/* What frames are like. */
struct halo_prepare_format {
    int width, height; /* as stored, in pixels */
    int depth;         /* of samples: 8 to 16 */
    enum halo_prepare_kind kind;
    int step_x, step_y; /* pixels from one sample of chroma to the next: 1, 2 or 4; otherwise 1 */
    bool full;          /* the samples of luma and gray begin at 0; ignored for RGB */
    int kr, kb;         /* the shares of red and blue in luma, in 1/10000: 2126 and 722 for BT.709.
                         * YUV only */
    /* How frames are displayed: the stored x axis runs backwards, so does the stored y axis, and
     * then both change places. */
    bool flip_x, flip_y, sideways;
};

/* The numbers of COPY. The gains are in 1/2^21 for values of 16 bits. */
struct halo_prepare_colours {
    int32_t y_zero, y_gain; /* of RGB, for each component */
    int32_t red_v, green_u, green_v, blue_u;
};

/* A component of a frame: one of the interleaved channels of a plane in host memory, of which there
 * may be up to four. */
struct halo_prepare_component {
    struct halo_plane plane;
    int channel;
};

/* A copy: red, green and blue. The memory is the caller's. */
struct halo_prepare_small {
    uint8_t *plane[3];
    ptrdiff_t stride; /* bytes, the same in all planes */
    int width, height;
};

struct halo_prepare_copy {
    struct halo_prepare_format format;
    struct halo_prepare_colours colours;
    int width, height;                           /* of the copy, upright */
    struct halo_prepare_axis across[2], down[2]; /* as stored; [1]: of chroma */
    void *scratch;
};

/* Plans copies of width x height pixels, upright. Returns 0 (the caller destroys *ret), -EINVAL (a
 * number is outside its limits, kr or kb is above 5000, or their sum above 7500) or -ENOMEM. */
int halo_prepare_copy_create(struct halo_prepare_copy **ret,
                             const struct halo_prepare_format *format, int width, int height);
void halo_prepare_copy_destroy(struct halo_prepare_copy *copy); /* NULL is ignored */

/* Makes a copy of a frame, which has three components, or one if it is gray. Components may lie in
 * one plane. Returns 0; or -EINVAL if a component or the copy has another size or depth than
 * planned, and then nothing was written. */
int halo_prepare_copy_run(struct halo_prepare_copy *copy,
                          const struct halo_prepare_component *component,
                          const struct halo_prepare_small *ret);
/* The same, one pixel at a time: the definition. */
int halo_prepare_copy_plainly(struct halo_prepare_copy *copy,
                              const struct halo_prepare_component *component,
                              const struct halo_prepare_small *ret);
/* The same with the code for one instruction set: 0 is for all processors, 1 for x86-64-v3 and 2
 * for x86-64-v4. Returns -ENOTSUP if this processor cannot run it. */
int halo_prepare_copy_as(int level, struct halo_prepare_copy *copy,
                         const struct halo_prepare_component *component,
                         const struct halo_prepare_small *ret);

/* ---- INPUT ---- */

/* What a network reads. Rectangles are x, y, width and height. */
struct halo_prepare_look {
    int width, height;           /* of the tensor */
    int part_width, part_height; /* of the part of the copy at which the network looks */
    int inside[4];               /* where this part is in the tensor, scaled */
    int mirror;                  /* elements on each side of `inside`, 0 to HALO_PREPARE_MAX_SIDE */
    int fill;                    /* the value around them, 0 to 255 */
    bool bgr;                    /* the first plane of the tensor is blue, otherwise red */
    float scale[3], offset[3];   /* of the planes of the tensor */
};

struct halo_prepare_input {
    struct halo_prepare_look look;
    struct halo_prepare_axis across, down; /* of `inside` */
    /* For each column and row of the tensor the value of `inside`, or HALO_GHOST. */
    int32_t *column, *row;
    float gain[3]; /* scale / 256 */
    float fill[3];
    void *scratch;
};

/* Plans inputs. Returns 0 (the caller destroys *ret), -EINVAL (a size is outside its limits,
 * `inside` is not in the tensor, or a scale or offset is not finite) or -ENOMEM. */
int halo_prepare_input_create(struct halo_prepare_input **ret,
                              const struct halo_prepare_look *look);
void halo_prepare_input_destroy(struct halo_prepare_input *input); /* NULL is ignored */

/* Fills the three planes of a tensor from the part of the copy that begins at column at[0] of row
 * at[1]. Rows of the tensor have no gaps, and its planes begin `stride` floats apart. Returns 0; or
 * -EINVAL if the part is not in the copy, and then nothing was written. The other two functions are
 * as for copies. */
int halo_prepare_input_run(struct halo_prepare_input *input, const struct halo_prepare_small *small,
                           const int at[2], float *tensor, size_t stride);
int halo_prepare_input_plainly(struct halo_prepare_input *input,
                               const struct halo_prepare_small *small, const int at[2],
                               float *tensor, size_t stride);
int halo_prepare_input_as(int level, struct halo_prepare_input *input,
                          const struct halo_prepare_small *small, const int at[2], float *tensor,
                          size_t stride);

/* ---- the definitions of single values ---- */

static inline HALO_HOST_DEVICE int halo_prepare_limited(int32_t sum)
{
    const int32_t v = (sum + (1 << (HALO_PREPARE_COLOUR_BITS - 1))) >> HALO_PREPARE_COLOUR_BITS;
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

/* Red, green and blue of YUV, from values of 16 bits. */
static inline HALO_HOST_DEVICE void halo_prepare_rgb(const struct halo_prepare_colours *c, int y,
                                                     int u, int v, uint8_t rgb[3])
{
    const int32_t gray = c->y_gain * (y - c->y_zero);
    u -= HALO_PREPARE_CHROMA_ZERO;
    v -= HALO_PREPARE_CHROMA_ZERO;
    rgb[0] = (uint8_t)halo_prepare_limited(gray + c->red_v * v);
    rgb[1] = (uint8_t)halo_prepare_limited(gray + c->green_u * u + c->green_v * v);
    rgb[2] = (uint8_t)halo_prepare_limited(gray + c->blue_u * u);
}

#endif
