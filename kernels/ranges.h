/* SPDX-License-Identifier: BSD-2-Clause
 * Ranges for NVIDIA's profilers (NVTX): named intervals of a thread in their timelines. They cost
 * next to nothing while no profiler runs, and do nothing in builds without CUDA. Any thread; ranges
 * of one thread nest. */
#ifndef HALO_RANGES_H
#define HALO_RANGES_H

void halo_range_begin(const char *name);
void halo_range_end(void);

#endif
