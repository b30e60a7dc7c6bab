/* SPDX-License-Identifier: BSD-2-Clause
 * The kinds of sources of live streams. */
#include "pipeline/stream/source_ops.h"

#include <errno.h>

#include "pipeline/gate/ring.h"
#include "pipeline/input/source_test.h"
#include "pipeline/stream/live_input.h"
#include "pipeline/stream/live_stream.h"

/* ---- test: ---- */

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

static int read_test(struct halo_live_input *in, struct halo_raw_frame **ret,
                     struct halo_error *err)
{
    const int code = halo_test_source_read(in->test, ret);
    in->frames += code > 0;
    return code < 0 ? halo_fail(err, code, "out of memory") : code;
}

const struct halo_source_ops halo_source_test = {.check = check_test, .open = open_test};

/* ---- all kinds ---- */

const struct halo_source_ops *const halo_source_ops[HALO_SOURCE_KINDS] = {
    [HALO_SOURCE_CAMERA] = &halo_source_camera, [HALO_SOURCE_PIPEWIRE] = &halo_source_camera,
    [HALO_SOURCE_TEST] = &halo_source_test,     [HALO_SOURCE_HTTP] = &halo_source_file,
    [HALO_SOURCE_URL] = &halo_source_file,      [HALO_SOURCE_FILE] = &halo_source_file,
};

int halo_live_input_open(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    *in = (struct halo_live_input){.pkt = av_packet_alloc()};
    if (!in->pkt)
        return halo_fail(err, -ENOMEM, "out of memory");
    return live->ops->open(live, in, err);
}

int halo_live_input_read(struct halo_live *live, struct halo_live_input *in,
                         struct halo_raw_frame **ret_raw, AVPacket **ret_sound,
                         struct halo_error *err)
{
    *ret_raw = NULL;
    *ret_sound = NULL;
    return in->camera ? halo_live_read_camera(live, in, ret_raw, err)
           : in->test ? read_test(in, ret_raw, err)
                      : halo_live_read_file(live, in, ret_raw, ret_sound, err);
}
