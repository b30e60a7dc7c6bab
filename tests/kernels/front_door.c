/* SPDX-License-Identifier: BSD-2-Clause
 * The kernel check's part on jobs that break the rules of backend.h. */
#include <errno.h>
#include <stdlib.h>

#include "tests/kernels/check.h"

void check_front_door(struct check *k)
{
    static unsigned char a[64], b[64];
    struct halo_conv box;
    struct halo_conv_target target = {.depth = 8};
    if (halo_conv_box(&box, 1, 1, &target))
        exit(1);
    const struct halo_plane src = {a, 8, 8, 8, 1, 8, 0}, dst = {b, 8, 8, 8, 1, 8, 0};
    const struct halo_job good = {&box, NULL, src, dst};
    struct halo_job j = good;
    expect(k, "good job", halo_backend_convolve(k->oracle, &j, 1), 0);
    expect(k, "no jobs", halo_backend_convolve(k->oracle, NULL, 0), 0);
    j.dst.data = a + 63;
    expect(k, "overlap", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    j = good, j.dst.width = 7;
    expect(k, "other width", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    j = good, j.src.stride = j.dst.stride = 7;
    expect(k, "rows that overlap", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    j = good, j.src.depth = j.dst.depth = 10;
    expect(k, "other depth", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    j = good, j.src.data = NULL;
    expect(k, "no picture", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    j = good, j.strategy = halo_strategy_find(halo_backends[0], "rows");
    expect(k, "a strategy that cannot", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    struct halo_conv unknown = box;
    unknown.kind = (enum halo_conv_kind)(HALO_CONV_TABLE + 1);
    for (size_t i = 0; halo_backends[0]->strategies[i]; i++) {
        j = good, j.conv = &unknown, j.strategy = halo_backends[0]->strategies[i];
        expect(k, "an unknown kind", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    }
    j.strategy = NULL;
    expect(k, "an unknown kind for any", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);

    struct halo_region region = {0}; /* nowhere */
    j = good, j.region = &region;
    expect(k, "a region without a pixel", halo_backend_convolve(k->oracle, &j, 1), 0);
    region.rect_count = 1;
    expect(k, "no rectangles", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    region = (struct halo_region){.mask = src};
    expect(k, "the source as mask", halo_backend_convolve(k->oracle, &j, 1), 0);
    region.mask.height = 7;
    expect(k, "a mask of other height", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    region.mask = dst;
    expect(k, "a mask that is written", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
}
