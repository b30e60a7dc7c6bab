/* SPDX-License-Identifier: BSD-2-Clause
 * Mask images: files whose gray tells how much of a filter a pixel gets. PNG, JPEG, PGM and PPM;
 * white is 255, black and what is transparent 0, colours count as bright as they are. */
#ifndef HALO_MASK_IMAGE_H
#define HALO_MASK_IMAGE_H

#include <stdint.h>

#include "config/error.h"
#include "kernels/region.h"

enum {
    HALO_MAX_MASK_BYTES = 32 << 20, /* of the file */
    HALO_MAX_MASK_SIDE = 8192       /* pixels */
};

struct halo_mask_image {
    char *path;
    int width, height;       /* 0: not loaded */
    uint8_t *weight;         /* rows without gaps */
    struct halo_rect inside; /* the smallest that holds all weights that are not 0 */
};

/* For a process that may not open the file: fd, taken over, is read whenever path is asked for,
 * until another one is given for it. Any thread. */
void halo_mask_image_give(const char *path, int fd);

/* Looks whether the file is there, may be read and begins as an image does. 0, or with err filled
 * -errno, -EINVAL (no such image), -ENOMEM. The caller owns *ret. */
int halo_mask_image_find(struct halo_mask_image **ret, const char *path, struct halo_error *err);
/* Reads and decodes it; what was there stays where that fails. Blocks. Errors as above. */
int halo_mask_image_load(struct halo_mask_image *image, struct halo_error *err);
/* The image as it lies in the stored picture, where it is meant in the shown one (display.h). 0 or
 * -ENOMEM; the caller owns *ret. */
int halo_mask_image_store(struct halo_mask_image **ret, const struct halo_mask_image *shown,
                          int turn);
void halo_mask_image_destroy(struct halo_mask_image *image); /* NULL is nothing to do */

#endif
