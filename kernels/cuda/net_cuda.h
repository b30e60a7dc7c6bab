/* SPDX-License-Identifier: BSD-2-Clause
 * Networks on a CUDA device (kernels/net/net.h). A runner uses the device that was current on the
 * thread that opened it, and makes it current on each thread that calls it. If the device fails,
 * opening returns -EIO, too. */
#ifndef HALO_NET_CUDA_H
#define HALO_NET_CUDA_H

#include "kernels/net/net.h"

/* Runs all frames of a batch at the same time. halo_net_input() and halo_net_output() return pinned
 * host memory, and halo_net_run() copies it to the device and back. In builds without CUDA, this
 * row cannot run, and the functions below are missing. */
extern const struct halo_net_strategy halo_net_cuda;

/* The same as halo_net_input() and halo_net_output(), for frames in device memory. */
float *halo_net_cuda_input(const struct halo_net_runner *r, int frame);
const float *halo_net_cuda_output(const struct halo_net_runner *r, int frame, int output);

/* Enqueues the computation of the frames 0 to count - 1 in device memory on a stream (a
 * cudaStream_t), without copies; does not wait, except that the second call with the same count
 * records a CUDA graph, which takes milliseconds. What was enqueued on another stream before must
 * have ended. Returns as halo_net_run(). */
int halo_net_cuda_enqueue(struct halo_net_runner *r, int count, void *stream);

/* Measures each step of r->plan for so many frames, after a run: sets ret_us to the mean time of
 * many repetitions, in microseconds, of each of r->plan->step_count steps. The outputs are
 * undefined afterwards. Blocks. Returns as halo_net_run(). */
int halo_net_cuda_time(struct halo_net_runner *r, int count, double *ret_us);

#endif
