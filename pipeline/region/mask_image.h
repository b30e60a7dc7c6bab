/* SPDX-License-Identifier: BSD-2-Clause
 * Mask images: PNG, JPEG, PGM or PPM files whose gray values are the weights with which a filter
 * applies to each pixel. White is 255; black and transparent pixels are 0; a colour's weight is its
 * brightness. */
#ifndef HALO_MASK_IMAGE_H
#define HALO_MASK_IMAGE_H

#include <stdint.h>

#include "config/base/error.h"
#include "kernels/region.h"

enum {
    HALO_MAX_MASK_BYTES = 32 << 20, /* largest file */
    HALO_MAX_MASK_SIDE = 8192       /* largest width and height in pixels */
};

struct halo_mask_image {
    char *path;              /* NULL: not a file */
    int width, height;       /* 0: not loaded */
    uint8_t *weight;         /* rows without gaps */
    struct halo_rect inside; /* the smallest rectangle that contains all nonzero weights */
};

/* Lets this process read a mask file that it is not allowed to open: from now on, `fd` is read
 * instead of the file `path`, until another descriptor is given for the same path. Takes ownership
 * of fd. Any thread. */
void halo_mask_image_give(const char *path, int fd);

/* Checks that the file exists, is readable and begins like an image, without decoding it. Returns
 * 0; or, with err filled, -EINVAL (the file is not a supported image), -ENOMEM or another -errno.
 * The caller owns *ret. */
int halo_mask_image_find(struct halo_mask_image **ret, const char *path, struct halo_error *err);
/* Reads and decodes the file. If reading or decoding fails, the weights do not change. Blocks.
 * Returns 0, or an error as halo_mask_image_find() does. */
int halo_mask_image_load(struct halo_mask_image *image, struct halo_error *err);
/* Converts an image from the orientation of frames as displayed to the orientation of frames as
 * stored (display.h). Returns 0 or -ENOMEM; the caller owns *ret. */
int halo_mask_image_store(struct halo_mask_image **ret, const struct halo_mask_image *shown,
                          int turn);
/* Creates an image without a file, whose weights the caller then fills, and finally measures.
 * Returns NULL if memory runs out. */
struct halo_mask_image *halo_mask_image_create(int width, int height);
/* Sets image->inside. */
void halo_mask_image_measure(struct halo_mask_image *image);
void halo_mask_image_destroy(struct halo_mask_image *image); /* NULL is ignored */

#endif
