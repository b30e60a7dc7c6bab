/* SPDX-License-Identifier: BSD-2-Clause
 * Ranges for NVIDIA's profilers (NVTX): what a thread does, under a name, in their timelines. They
 * cost next to nothing while no profiler runs, and are nothing in builds without CUDA. Any thread;
 * ranges of one thread nest. */
#ifndef HALO_RANGES_H
#define HALO_RANGES_H

void halo_range_begin(const char *name);
void halo_range_end(void);

#endif
