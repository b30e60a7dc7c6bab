/* SPDX-License-Identifier: BSD-2-Clause
 * What the outputs of networks mean: boxes around faces and people, or masks of people. A table has
 * one row for each network.
 *
 * A network for boxes has a grid of cells for each of its levels, and in each cell some anchors:
 * boxes of sizes that are the level's. For each anchor it gives a score, which is a probability,
 * and values from which the box follows. Numbers are single precision, and each operation is
 * rounded in the order in which it is written, so equal outputs give equal boxes on every machine;
 * only the exponential function is a polynomial in double precision (decoders.c).
 *
 * Any thread; nothing blocks or allocates. */
#ifndef HALO_DECODERS_H
#define HALO_DECODERS_H

#include <stddef.h>
#include <stdint.h>

#include "pipeline/detect/boxes.h"

enum {
    HALO_DECODER_OUTPUTS = 12,
    HALO_DECODER_LEVELS = 6,
    HALO_DECODER_ANCHORS = 6, /* in a cell */
    HALO_DECODER_VALUES = 16  /* of an anchor */
};

/* An output: planes that begin `stride` floats apart, of rows without gaps. Values are finite. */
struct halo_decoder_tensor {
    const float *data;
    int planes, width, height;
    size_t stride;
};

/* An anchor's size, in pixels of the network's input. */
struct halo_anchor {
    float width, height;
};

struct halo_decoder_level {
    int anchors; /* in each cell */
    struct halo_anchor anchor[HALO_DECODER_ANCHORS];
};

struct halo_decoder;

/* Returns the box of an anchor, in pixels of the network's input. The anchor's centre is at
 * (at[0] + 0.5) * pitch[0] and (at[1] + 0.5) * pitch[1]. */
typedef struct halo_detect_box halo_decode_box(const struct halo_decoder *d,
                                               const struct halo_anchor *anchor, const float at[2],
                                               const float pitch[2], const float *value);

/* A row of the table. */
struct halo_decoder {
    const char *name; /* of the network */
    /* The names of the outputs that it reads: for boxes, of each level the scores and then the
     * tensors of values; for masks, one. */
    const char *output[HALO_DECODER_OUTPUTS];
    int outputs;

    /* Boxes: */
    halo_decode_box *box; /* NULL: a mask */
    int levels;
    int tensors;        /* of a level, the scores included */
    int scores;         /* planes of scores of an anchor, of which the last one counts */
    int values;         /* planes of values of an anchor */
    float centre, size; /* what values of centres and sizes are multiplied by */
    struct halo_decoder_level level[HALO_DECODER_LEVELS];
};

extern const struct halo_decoder halo_decoders[];
extern const int halo_decoder_count;

/* Returns the decoder of the network with this name, or NULL. */
const struct halo_decoder *halo_decoder_find(const char *name);

/* Adds the boxes whose score is at least `least` to the list, level by level, then row by row, cell
 * by cell and anchor by anchor. output[i] is what the network calls d->output[i]; size is the width
 * and height of its input. Returns 0; or -EINVAL if the decoder is one for masks or an output is
 * not as it must be, and then the list is as it was. */
int halo_decode_boxes(const struct halo_decoder *d, const struct halo_decoder_tensor *output,
                      const int size[2], float least, struct halo_boxes *boxes);

/* A mask as detectors give it (detect_wire.h): rows without gaps; 255: certainly a person. */
struct halo_decoded_mask {
    uint8_t *weight;
    int width, height;
};

/* Draws the part `from` of a mask network's output, one plane of values from 0 to 1, into the part
 * `to` of the mask, which may reach beyond it: pixel x of the part shows the value at x * from[2] /
 * to[2], rounded down, and likewise rows. A weight is only ever raised, so that several people add
 * up. Rectangles are x, y, width and height. Returns 0; or -EINVAL if the output has several
 * planes, `from` is not in it, or a rectangle is empty or more than HALO_BOXES_MAX pixels large or
 * away. */
int halo_decode_mask(const struct halo_decoder_tensor *output, const int from[4],
                     const struct halo_decoded_mask *mask, const int to[4]);

#endif
