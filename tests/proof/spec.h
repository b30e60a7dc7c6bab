/* SPDX-License-Identifier: BSD-2-Clause
 * Chains with regions, made by chance, of which the proof knows by itself what they do: which
 * samples each filter hides follows from the rules of docs/filters.md, written here once more and
 * as plainly as can be. Nothing of pipeline/region/shapes.c or kernels/ is called.
 *
 * Shapes lie on borders of pixels, between them, out of the frame and over one another; filters
 * are those whose samples are a line of arithmetic. Any thread. */
#ifndef HALO_PROOF_SPEC_H
#define HALO_PROOF_SPEC_H

#include <stdbool.h>
#include <stdint.h>

struct proof_chance {
    unsigned long long state;
};
unsigned proof_chance(struct proof_chance *chance, unsigned below); /* 0 .. below - 1 */
int proof_from_to(struct proof_chance *chance, int least, int most);

enum {
    PROOF_STEPS = 3,
    PROOF_SHAPES = 4,
    PROOF_CORNERS = 40,
    PROOF_MASK = 24,   /* the longest side of a mask image */
    PROOF_EIGHTHS = 8, /* of a frame's side */
    PROOF_UNIT = 4096, /* of a luma pixel */
    PROOF_MAX_PATH = 300,
};

enum proof_filter {
    PROOF_BLACK,  /* solid=black */
    PROOF_BLOCKS, /* pixelize: means of blocks */
    PROOF_BOX,    /* avgblur */
};

enum proof_shape_kind { PROOF_RECT, PROOF_ELLIPSE, PROOF_POLYGON, PROOF_IMAGE };

struct proof_length {
    int value;     /* 1/4096 pixel; */
    bool relative; /* or eighths of the frame */
};

struct proof_shape {
    enum proof_shape_kind kind;
    struct proof_length at[2], size[2];
    struct proof_length corner[PROOF_CORNERS][2];
    int corners;
    int mask_width, mask_height;
    uint8_t mask[PROOF_MASK * PROOF_MASK];
};

/* Of one that is told: in parts of the frame, not in pixels. */
bool proof_shape_is_relative(const struct proof_shape *shape);

struct proof_step {
    enum proof_filter filter;
    int size;                               /* of blocks; radius */
    struct proof_shape shape[PROOF_SHAPES]; /* count 0: everywhere */
    int count;
    bool invert;
    int feather;  /* luma pixels */
    bool by_feed; /* its shapes are a feed's: none are here, and it is everywhere */
    int spill;    /* of the frame's chroma (pipeline/frame/format.h) */
};

struct proof_spec {
    struct proof_step step[PROOF_STEPS];
    int count;
    char text[2400];                        /* as halod reads it */
    char mask[PROOF_STEPS][PROOF_MAX_PATH]; /* files that it reads; "": none */
};

enum proof_wish {
    PROOF_ANY,
    PROOF_TOLD,      /* it shows so much of luma that a frame's number can be told, or one colour */
    PROOF_ALL_BLACK, /* every step is of one colour, so that what it hides is known by itself */
    PROOF_FEED,   /* one such step, of no images and without a feather, and its shapes are told */
    PROOF_MOVING, /* of one step or more a feed alone says where they are */
};

/* The one of that number, for frames of that size, which has no sample of which rounding could
 * say either. Mask images are written into folder, under names of their own; NULL: they are not,
 * and the text is for nobody. False: they cannot be. */
bool proof_spec_make(struct proof_spec *ret, unsigned number, int width, int height,
                     enum proof_wish wish, const char *folder);
void proof_spec_finish(struct proof_spec *spec); /* removes them */

struct proof_region {
    const struct proof_shape *shape;
    int count;
    bool all; /* the shapes do not matter: everything is hidden */
    bool invert;
    int feather; /* luma pixels */
    int spill;   /* as of the step */
    bool whole;  /* any weight above 0 is 255: with one colour */
};
struct proof_region proof_step_region(const struct proof_step *step);

/* Weights 0 .. 255 of a plane: 255 is hidden, 0 is shown. log2 of how many luma pixels a sample has
 * each way. False: some sample is too near to a border to be told from its neighbour. */
bool proof_weights(const struct proof_region *region, int frame_width, int frame_height, int log2_x,
                   int log2_y, uint8_t *ret);

/* Only shapes that are parts of the frame, or images, are known in one of another size. */
bool proof_step_has_pixels(const struct proof_step *step);

#endif
