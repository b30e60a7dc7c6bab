/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of measured times: which strategy is the fastest for a mask and plane, on one device.
 *
 *     halod-tuning 1
 *     version 0.1.0
 *     device NVIDIA H200, sm_90, driver 13.0
 *     # kind     bits sums channels  mask     plane  strategy     us
 *     separable     8   24        1   7x7 3840x2160  tensor    11.94
 *     end
 *
 * halo-bench --tune writes a table; halo_backend_tune reads it. All strategies give the same bits,
 * so even a wrong table changes only the speed. Any thread: a table is const once parsed. */
#ifndef HALO_TUNING_H
#define HALO_TUNING_H

#include <stdio.h>

#include "kernels/backend.h"

enum { HALO_TUNING_MAX_ROWS = 1024, HALO_TUNING_MAX_BYTES = 1 << 17 };

/* The conditions under which times were measured, or for which a strategy is looked up. */
struct halo_tuning_key {
    enum halo_conv_kind kind;
    enum halo_accum accum;
    int depth, channels;
    int taps_x, taps_y; /* size of the mask or window */
    int width, height;  /* size of the plane in pixels */
};

struct halo_tuning_row {
    struct halo_tuning_key key;
    const struct halo_strategy *strategy; /* the fastest */
    double us;                            /* measured for a plane */
};

struct halo_tuning; /* a parsed table */

struct halo_tuning_key halo_tuning_key_of(const struct halo_conv *conv,
                                          const struct halo_plane *like);

/* Write the header, one row and the end of a table. device is one line of text. */
void halo_tuning_print_head(FILE *to, const char *device);
void halo_tuning_print_row(FILE *to, const struct halo_tuning_row *row);
void halo_tuning_print_end(FILE *to);

/* The reason why a text is not a valid table. */
struct halo_tuning_fault {
    int line;         /* from 1 */
    const char *what; /* the error in this line */
};

/* Parses size bytes of text, which may be any bytes, as a table for ops on device. Returns 0 (the
 * caller destroys *ret), -ENOMEM, or, with *ret_fault filled, -ESTALE (the table is for another
 * version or device) or -EINVAL (it is malformed). */
int halo_tuning_parse(struct halo_tuning **ret, const char *text, size_t size,
                      const struct halo_backend_ops *ops, const char *device,
                      struct halo_tuning_fault *ret_fault);

/* Reads a file, and parses it like halo_tuning_parse(). On failure, fills text with a line for the
 * user that begins with path. Also returns -ENOENT and other errors from reading the file. May
 * block on the disk. */
int halo_tuning_read(struct halo_tuning **ret, const char *path, const struct halo_backend_ops *ops,
                     const char *device, char *text, size_t size);
void halo_tuning_destroy(struct halo_tuning *tuning); /* may be NULL */

/* Returns the strategy of the nearest row, or NULL if nothing similar to key was measured. The
 * caller must check whether the strategy supports the job. Does not allocate memory. */
const struct halo_strategy *halo_tuning_find(const struct halo_tuning *tuning,
                                             const struct halo_tuning_key *key);

#endif
