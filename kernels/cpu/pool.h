/* SPDX-License-Identifier: BSD-2-Clause
 * Worker threads that share the pieces of one call. */
#ifndef HALO_POOL_H
#define HALO_POOL_H

struct halo_pool;

/* Called once for each piece 0 .. count-1; worker is 0 .. threads-1 and never runs two pieces at
 * the same time. Returns 0 or -errno. */
typedef int halo_pool_fn(void *arg, int piece, int worker);

/* A pool of `threads` >= 1 workers, including the thread that calls halo_pool_run(), so threads - 1
 * are started. They block all signals. NULL: out of memory or threads. */
struct halo_pool *halo_pool_create(int threads);
void halo_pool_destroy(struct halo_pool *pool); /* may be NULL */

/* Runs all pieces; blocks until the last one is done. Returns 0 or the first error of a piece;
 * after an error, pieces that have not begun are skipped. One caller at a time. */
int halo_pool_run(struct halo_pool *pool, halo_pool_fn *fn, void *arg, int count);

#endif
