/* SPDX-License-Identifier: BSD-2-Clause
 * Live streams of test patterns. */
#include "pipeline/gate/ring.h"
#include "pipeline/input/source_test.h"
#include "pipeline/stream/live_input.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/stream/source_ops.h"

static int check_test(const char *input, struct halo_error *err)
{
    struct halo_test_source *source = NULL;
    const int code = halo_test_source_create(&source, input, NULL, err);
    halo_test_source_destroy(source);
    return code;
}

static int open_test(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    int code = halo_test_source_create(&in->test, live->settings.source.input,
                                       halo_ring_memory(live->ring), err);
    if (code >= 0)
        code = halo_live_input_describe(in, err);
    if (code >= 0)
        halo_test_source_describe(in->test, in->video);
    return code;
}

int halo_live_read_test(struct halo_live_input *in, struct halo_raw_picture **ret,
                        struct halo_error *err)
{
    const int code = halo_test_source_read(in->test, ret);
    in->pictures += code > 0;
    return code < 0 ? halo_fail(err, code, "out of memory") : code;
}

const struct halo_source_ops halo_source_test = {.check = check_test, .open = open_test};
