/* SPDX-License-Identifier: BSD-2-Clause
 * NVIDIA's NPP as a peer, which is loaded at run time and timed like halod's kernels. Builds
 * without CUDA never find it. Functions block, and only one thread may use an object at a time. */
#ifndef HALO_BENCH_NPP_H
#define HALO_BENCH_NPP_H

#include <stddef.h>

#include "kernels/backend.h"
#include "tools/halo-bench/mask.h"

struct halo_bench_npp;

/* Loads the newest NPP that the dynamic linker finds, for this CUDA device. Returns 0 (text then
 * contains the version, and the caller must close *ret), -ENODEV (text then contains the reason),
 * -ENOMEM or -EIO. */
int halo_bench_npp_open(struct halo_bench_npp **ret, int device, char *text, size_t size);
void halo_bench_npp_close(struct halo_bench_npp *npp); /* NULL: no-op */

/* Does the same as halo_backend_time(), with the mask in floats: fills trial->rounds elements of
 * ret_us. Ignores trial->conv and trial->strategy; planes must have one 8-bit channel. If the trial
 * requests several planes in one call, they are filtered one by one. Returns 0 or -errno; if NPP
 * refuses the mask or the planes, sets *ret_code to NPP's status and does not fill ret_us. */
int halo_bench_npp_time(struct halo_bench_npp *npp, const struct halo_bench_mask *mask,
                        const struct halo_trial *trial, double *ret_us, int *ret_code);

#endif
