/* SPDX-License-Identifier: BSD-2-Clause
 * Mask images: files whose gray values are the weights with which a filter applies to each pixel.
 * PNG, JPEG, PGM and PPM; white is 255, black and transparent pixels are 0, and colours count by
 * their brightness. */
#ifndef HALO_MASK_IMAGE_H
#define HALO_MASK_IMAGE_H

#include <stdint.h>

#include "config/error.h"
#include "kernels/region.h"

enum {
    HALO_MAX_MASK_BYTES = 32 << 20, /* largest file */
    HALO_MAX_MASK_SIDE = 8192       /* largest width and height in pixels */
};

struct halo_mask_image {
    char *path;
    int width, height;       /* 0: not loaded */
    uint8_t *weight;         /* rows without gaps */
    struct halo_rect inside; /* the smallest rectangle with all weights that are not 0 */
};

/* For a process that is not allowed to open the file: fd is read instead of path from now on, until
 * another one is given for the same path. Takes over fd. Any thread. */
void halo_mask_image_give(const char *path, int fd);

/* Checks that the file exists, is readable and begins like an image; does not decode it. 0, or with
 * err filled -errno, -EINVAL (not such an image), -ENOMEM. The caller owns *ret. */
int halo_mask_image_find(struct halo_mask_image **ret, const char *path, struct halo_error *err);
/* Reads and decodes the file; if that fails, the weights stay as they were. Blocks. Errors as for
 * halo_mask_image_find(). */
int halo_mask_image_load(struct halo_mask_image *image, struct halo_error *err);
/* Converts an image that is meant for frames as displayed to the stored orientation (display.h). 0
 * or -ENOMEM; the caller owns *ret. */
int halo_mask_image_store(struct halo_mask_image **ret, const struct halo_mask_image *shown,
                          int turn);
void halo_mask_image_destroy(struct halo_mask_image *image); /* NULL is ignored */

#endif
