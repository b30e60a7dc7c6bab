/* SPDX-License-Identifier: BSD-2-Clause
 * Checks an output that was joined from parts by reading it back. Blocks on disk. */
#ifndef HALO_JOINED_H
#define HALO_JOINED_H

#include <stdint.h>

#include "config/base/error.h"

/* What was written as video. */
struct halo_joined {
    int64_t packets;
    double seconds; /* from the first frame to the last one, by their presentation times */
};

/* Reads a complete output. Returns 0 if its video has as many packets and as long a time; -EBADMSG
 * if not, or another -errno, with err filled. name: of the output, for the error. */
int halo_joined_check(const char *path, const struct halo_joined *joined, const char *name,
                      struct halo_error *err);

#endif
