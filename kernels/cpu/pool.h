/* SPDX-License-Identifier: BSD-2-Clause
 * Worker threads that share the pieces of one call. */
#ifndef HALO_POOL_H
#define HALO_POOL_H

struct halo_pool;

/* Called once for each piece 0 .. count-1; worker is 0 .. threads-1 and never runs two pieces at
 * once. 0 or -errno. */
typedef int halo_pool_fn(void *arg, int piece, int worker);

/* A pool of `threads` >= 1 workers, of which the thread that calls halo_pool_run() is one: so
 * threads - 1 are started. They block all signals. NULL: out of memory or threads. */
struct halo_pool *halo_pool_create(int threads);
void halo_pool_destroy(struct halo_pool *pool); /* NULL is nothing to do */

/* Runs all pieces, blocks until the last is done. The first error any piece gave, or 0; after an
 * error the pieces not yet begun are left out. One caller at a time. */
int halo_pool_run(struct halo_pool *pool, halo_pool_fn *fn, void *arg, int count);

#endif
