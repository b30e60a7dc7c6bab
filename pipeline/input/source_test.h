/* SPDX-License-Identifier: BSD-2-Clause
 * The source "test:", which draws frames from their numbers, identically each time. They are
 * unfiltered frames and have to pass the gate like any others. Each sample differs from its
 * neighbours, so that a frame that no filter has processed can be recognized.
 *
 * The input is test:size=WxH:rate=N:duration=SECONDS:canary=N:format=NAME:other=WxH:every=N; all
 * options are optional (defaults: 640x480, 25, without end, no canary, yuv420p, no other size,
 * 100). With canary, the frames are those of canary.h, numbered from N; a format other than yuv420p
 * (one of the native formats in format.h) requires canary. With other, the size alternates between
 * the two after every N frames, while the numbers continue. One thread. */
#ifndef HALO_SOURCE_TEST_H
#define HALO_SOURCE_TEST_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "pipeline/frame/memory.h"

struct halo_raw_frame;
struct halo_test_source;

/* Parses input and creates the source. memory must outlive the source; it may be NULL if no frame
 * is read. Returns 0, or -EINVAL (a usage error) or -ENOMEM with err filled. The caller owns
 * *ret. */
int halo_test_source_create(struct halo_test_source **ret, const char *input,
                            struct halo_memory *memory, struct halo_error *err);
void halo_test_source_destroy(struct halo_test_source *t); /* accepts NULL */

/* Sets the codec parameters, time base and rate of the caller's stream. */
void halo_test_source_describe(const struct halo_test_source *t, AVStream *stream);

/* Returns 1 and the next frame, with its time in the time base that halo_test_source_describe()
 * sets; 0 at the end; or -ENOMEM. The caller owns *ret. */
int halo_test_source_read(struct halo_test_source *t, struct halo_raw_frame **ret);

#endif
