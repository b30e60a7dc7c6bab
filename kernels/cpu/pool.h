/* SPDX-License-Identifier: BSD-2-Clause
 * Worker threads that share the pieces of one call. */
#ifndef HALO_POOL_H
#define HALO_POOL_H

struct halo_pool;

/* Called once for each piece, numbered 0 to count - 1. worker is 0 to threads - 1; no worker runs
 * two pieces at the same time. Returns 0 or -errno. */
typedef int halo_pool_fn(void *arg, int task, int worker);

/* Creates a pool of `threads` >= 1 workers. One worker is the thread that calls halo_pool_run(), so
 * only threads - 1 threads are started; they block all signals. Returns NULL if memory is exhausted
 * or a thread cannot be started. */
struct halo_pool *halo_pool_create(int threads);
void halo_pool_destroy(struct halo_pool *pool); /* may be NULL */

/* Runs all pieces, and returns only when the last one is done. Returns 0 or the first error of a
 * piece. After an error, pieces that have not begun are skipped. Only one thread may call this at a
 * time. */
int halo_pool_run(struct halo_pool *pool, halo_pool_fn *fn, void *arg, int count);

/* Returns how many CPUs this process may use, which may be fewer than the machine has; 1 if that is
 * unknown. */
int halo_cpu_count(void);

#endif
