/* SPDX-License-Identifier: BSD-2-Clause
 * NVIDIA's NPP as a peer: loaded at run time, and timed like halod's kernels. Builds without CUDA
 * never find it. One thread at a time; calls block. */
#ifndef HALO_BENCH_NPP_H
#define HALO_BENCH_NPP_H

#include <stddef.h>

#include "kernels/backend.h"
#include "tools/halo-bench/mask.h"

struct halo_bench_npp;

/* Loads the newest NPP that the dynamic linker finds, for this CUDA device. 0: the caller closes
 * *ret, and text names the version; -ENODEV (text names the libraries that were not found),
 * -ENOMEM, -EIO. */
int halo_bench_npp_open(struct halo_bench_npp **ret, int device, char *text, size_t size);
void halo_bench_npp_close(struct halo_bench_npp *npp); /* NULL: no-op */

/* The name of the NPP function that filters with such a mask. */
const char *halo_bench_npp_function(const struct halo_bench_mask *mask);

/* Like halo_backend_time(), with the same mask in floats: fills ret_us[trial->rounds]. trial->conv
 * and trial->strategy are ignored; planes must have one channel of 8 bits. If the trial asks for
 * several planes in one call, they are filtered one by one. 0 or -errno; if NPP refuses, *ret_code
 * is its status and ret_us is not filled. */
int halo_bench_npp_time(struct halo_bench_npp *npp, const struct halo_bench_mask *mask,
                        const struct halo_trial *trial, double *ret_us, int *ret_code);

#endif
