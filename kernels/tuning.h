/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of measured times: which strategy is the fastest for what, on one device.
 *
 *     halod-tuning 1
 *     version 0.1.0
 *     device NVIDIA H200, sm_90, driver 13.0
 *     # kind     bits sums channels  mask     plane  strategy     us
 *     separable     8   24        1   7x7 3840x2160  tensor    11.94
 *     end
 *
 * halo-bench --tune writes one; halo_backend_tune reads it. All strategies give the same bits, so a
 * table changes the speed and nothing else, however wrong it is. No thread rules: a table is const
 * once parsed. */
#ifndef HALO_TUNING_H
#define HALO_TUNING_H

#include <stdio.h>

#include "kernels/backend.h"

enum { HALO_TUNING_MAX_ROWS = 1024, HALO_TUNING_MAX_BYTES = 1 << 17 };

/* What was measured, or what is asked for. */
struct halo_tuning_key {
    enum halo_conv_kind kind;
    enum halo_accum accum;
    int depth, channels;
    int taps_x, taps_y; /* of the mask or window */
    int width, height;  /* of the plane, in pixels */
};

struct halo_tuning_row {
    struct halo_tuning_key key;
    const struct halo_strategy *strategy; /* the fastest */
    double us;                            /* that it took for a plane */
};

struct halo_tuning; /* a parsed table */

struct halo_tuning_key halo_tuning_key_of(const struct halo_conv *conv,
                                          const struct halo_plane *like);

/* Write the head of a table, a row, and the end. device: one line. */
void halo_tuning_print_head(FILE *to, const char *device);
void halo_tuning_print_row(FILE *to, const struct halo_tuning_row *row);
void halo_tuning_print_end(FILE *to);

/* Why a text is no table. */
struct halo_tuning_fault {
    int line;         /* from 1 */
    const char *what; /* is wrong with it */
};

/* Parses size bytes of text (any bytes) as a table for ops on device. 0 with *ret to be destroyed;
 * -ESTALE (of another version or device) or -EINVAL (damaged) with *ret_fault; -ENOMEM. */
int halo_tuning_parse(struct halo_tuning **ret, const char *text, size_t size,
                      const struct halo_backend_ops *ops, const char *device,
                      struct halo_tuning_fault *ret_fault);

/* The same of a file; text is one line for the user that begins with path. Also -ENOENT, and
 * whatever reading gave. May block for the disk. */
int halo_tuning_read(struct halo_tuning **ret, const char *path, const struct halo_backend_ops *ops,
                     const char *device, char *text, size_t size);
void halo_tuning_destroy(struct halo_tuning *tuning); /* NULL is nothing to do */

/* The strategy of the nearest row, or NULL where nothing like key was measured. It may be unable to
 * do the job: the caller asks. Allocates nothing. */
const struct halo_strategy *halo_tuning_find(const struct halo_tuning *tuning,
                                             const struct halo_tuning_key *key);

#endif
