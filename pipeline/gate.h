/* SPDX-License-Identifier: BSD-2-Clause
 * The gate: the one place where a raw picture becomes an output picture.
 *
 * The two are different types. A sink takes halo_output_picture, which halo_gate_pass() alone can
 * make, and it makes one only when every filter of the chain has run on every plane. Raw, scratch
 * and output memory come from different pools and never trade places; output planes are poisoned
 * before the filters run, so that a cell which no filter wrote shows gray and not an old picture.
 *
 * A gate serves one video stream and one thread at a time. */
#ifndef HALO_GATE_H
#define HALO_GATE_H

#include <libavutil/frame.h>

#include "config/error.h"
#include "kernels/backend.h"
#include "pipeline/filter.h"

struct halo_raw_picture;
struct halo_output_picture;
struct halo_gate;

/* What the decoder will deliver. */
struct halo_gate_input {
    int stream; /* number of the input stream, for messages */
    enum AVPixelFormat format;
    int width, height;
    enum AVColorSpace space;
    enum AVColorRange range;
};

/* Plans chain for every plane. chain and backend must outlive the gate. 0 or -errno with err filled
 * (-EINVAL: the chain does not fit, -ENOTSUP: the pixel format). The caller owns *ret. */
int halo_gate_create(struct halo_gate **ret, const struct halo_chain *chain,
                     struct halo_backend *backend, const struct halo_gate_input *input,
                     struct halo_error *err);
void halo_gate_destroy(struct halo_gate *gate); /* NULL is nothing to do */

/* The native format that leaves the gate. */
enum AVPixelFormat halo_gate_format(const struct halo_gate *gate);

/* Filters one picture. raw stays the caller's. On success the caller owns *ret; on failure there is
 * no output picture at all: 0, -ENOMEM, -EIO (a conversion or a filter failed), with
 * err filled. A picture of another size or format than the first is brought to the first's before
 * it is filtered. Blocks until the picture is done. */
int halo_gate_pass(struct halo_gate *gate, const struct halo_raw_picture *raw,
                   struct halo_output_picture **ret, struct halo_error *err);

/* The filtered picture, for encoders: read-only, valid until destroyed (its buffers are counted, so
 * an encoder may keep a reference). */
const AVFrame *halo_output_picture_frame(const struct halo_output_picture *picture);
void halo_output_picture_destroy(
    struct halo_output_picture *picture); /* any thread; NULL: nothing */

#endif
