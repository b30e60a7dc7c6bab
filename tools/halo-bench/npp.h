/* SPDX-License-Identifier: BSD-2-Clause
 * NVIDIA's NPP as a peer: found at run time, timed as our kernels are. In builds without CUDA
 * there is none. One thread at a time; calls block. */
#ifndef HALO_BENCH_NPP_H
#define HALO_BENCH_NPP_H

#include <stddef.h>

#include "kernels/backend.h"
#include "tools/halo-bench/mask.h"

struct halo_bench_npp;

/* Loads the newest NPP that the dynamic linker finds, for this CUDA device. 0 with *ret to be
 * closed and text saying which it is; -ENODEV (text says what was looked for), -ENOMEM, -EIO. */
int halo_bench_npp_open(struct halo_bench_npp **ret, int device, char *text, size_t size);
void halo_bench_npp_close(struct halo_bench_npp *npp); /* NULL is nothing to do */

/* The function of NPP that filters with such a mask. */
const char *halo_bench_npp_function(const struct halo_bench_mask *mask);

/* As halo_backend_time, by the same mask in floats: fills ret_us[trial->rounds]. trial->conv and
 * strategy are not looked at; the planes are those of one channel and 8 bits. Where trial wants
 * several planes in one call they go one by one. 0; -errno; where NPP says no, *ret_code is its
 * status and nothing is filled. */
int halo_bench_npp_time(struct halo_bench_npp *npp, const struct halo_bench_mask *mask,
                        const struct halo_trial *trial, double *ret_us, int *ret_code);

#endif
