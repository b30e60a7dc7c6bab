/* SPDX-License-Identifier: BSD-2-Clause
 * Source "test:": pictures drawn by their number, the same each time. They are raw pictures and
 * have to pass the gate as any others; each sample differs from its neighbours, so that a picture
 * that no filter has seen is told by that.
 *
 * test:size=WxH:rate=N:duration=SECONDS:canary=N:format=NAME:other=WxH:every=N, all optional
 * (640x480, 25, without end, none, yuv420p, none, 100). With canary the pictures are those of
 * canary.h, from number N on; format (one of format.h's native ones) wants that. With other every N
 * pictures are of one size and then of the other: the numbers go on. One thread. */
#ifndef HALO_SOURCE_TEST_H
#define HALO_SOURCE_TEST_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"
#include "pipeline/picture/memory.h"

struct halo_raw_picture;
struct halo_test_source;

/* memory, which may be NULL where no picture is asked for, must outlive it. 0, a usage error or
 * -ENOMEM with err filled; the caller owns *ret. */
int halo_test_source_create(struct halo_test_source **ret, const char *input,
                            struct halo_memory *memory, struct halo_error *err);
void halo_test_source_destroy(struct halo_test_source *t); /* NULL is nothing to do */

/* Codec parameters, time base and rate, into a stream of the caller's. */
void halo_test_source_describe(const struct halo_test_source *t, AVStream *stream);

/* The next picture, its time in that time base. 1; 0: the end; -ENOMEM. The caller owns *ret. */
int halo_test_source_read(struct halo_test_source *t, struct halo_raw_picture **ret);

#endif
