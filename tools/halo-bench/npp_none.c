/* SPDX-License-Identifier: BSD-2-Clause
 * NPP in builds without CUDA: there is none. */
#include <errno.h>
#include <stdio.h>

#include "tools/halo-bench/npp.h"

int halo_bench_npp_open(struct halo_bench_npp **ret, int device, char *text, size_t size)
{
    (void)ret;
    (void)device;
    snprintf(text, size, "built without CUDA");
    return -ENODEV;
}

void halo_bench_npp_close(struct halo_bench_npp *npp)
{
    (void)npp;
}

int halo_bench_npp_time(struct halo_bench_npp *npp, const struct halo_bench_mask *mask,
                        const struct halo_trial *trial, double *ret_us, int *ret_code)
{
    (void)npp;
    (void)mask;
    (void)trial;
    (void)ret_us;
    (void)ret_code;
    return -ENODEV;
}
