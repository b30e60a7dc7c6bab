/* SPDX-License-Identifier: BSD-2-Clause
 * Source "test:": frames drawn from their number, the same each time. They are unfiltered frames
 * and have to pass the gate like any others. Each sample differs from its neighbours, which reveals
 * a frame that no filter has processed.
 *
 * test:size=WxH:rate=N:duration=SECONDS:canary=N:format=NAME:other=WxH:every=N, all optional
 * (defaults: 640x480, 25, without end, none, yuv420p, none, 100). With canary, the frames are those
 * of canary.h, from number N on; a format other than yuv420p (one of format.h's native ones) needs
 * it. With other, the size alternates every N frames between the two; the numbers continue. One
 * thread. */
#ifndef HALO_SOURCE_TEST_H
#define HALO_SOURCE_TEST_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"
#include "pipeline/picture/memory.h"

struct halo_raw_picture;
struct halo_test_source;

/* memory must outlive the source; it may be NULL if no frame is read. 0, a usage error or -ENOMEM
 * with err filled; the caller owns *ret. */
int halo_test_source_create(struct halo_test_source **ret, const char *input,
                            struct halo_memory *memory, struct halo_error *err);
void halo_test_source_destroy(struct halo_test_source *t); /* accepts NULL */

/* Fills a stream of the caller's with codec parameters, time base and rate. */
void halo_test_source_describe(const struct halo_test_source *t, AVStream *stream);

/* The next frame, with its time in that time base. 1; 0: the end; -ENOMEM. The caller owns *ret. */
int halo_test_source_read(struct halo_test_source *t, struct halo_raw_picture **ret);

#endif
