/* SPDX-License-Identifier: BSD-2-Clause
 * Worker threads: one mutex, one condition each way. Pieces are whole bands of a plane, so the cost
 * of taking the next one under the mutex is negligible. */
#include "kernels/cpu/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/cpu/cpu.h"

enum { ALIGNMENT = 64 };

struct worker {
    struct halo_pool *pool;
    pthread_t thread;
    int number;
};

struct halo_pool {
    pthread_mutex_t mutex;
    pthread_cond_t work, done;

    halo_pool_fn *fn;
    void *arg;
    int next, count; /* pieces [next, count) are not taken yet */
    int busy;        /* pieces being worked on */
    int error;
    bool stop;

    int threads; /* started, not counting the caller */
    struct worker workers[];
};

/* Takes and runs pieces until none is left; called with the mutex held. */
static void take_tasks(struct halo_pool *pool, int number)
{
    while (pool->next < pool->count) {
        const int task = pool->next++;
        pool->busy++;
        pthread_mutex_unlock(&pool->mutex);
        const int error = pool->fn(pool->arg, task, number);
        pthread_mutex_lock(&pool->mutex);
        if (error && !pool->error) {
            pool->error = error;
            pool->next = pool->count;
        }
        pool->busy--;
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct halo_pool *pool = w->pool;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->stop) {
        take_tasks(pool, w->number);
        if (pool->busy == 0)
            pthread_cond_signal(&pool->done);
        pthread_cond_wait(&pool->work, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static int start_workers(struct halo_pool *pool, int count)
{
    /* The daemon handles its signals in one thread; workers must never receive one. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    while (pool->threads < count && !error) {
        struct worker *w = &pool->workers[pool->threads];
        w->pool = pool;
        w->number = pool->threads + 1;
        error = pthread_create(&w->thread, NULL, work, w);
        if (!error)
            pool->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

struct halo_pool *halo_pool_create(int threads)
{
    const size_t started = (size_t)threads - 1;
    struct halo_pool *pool = calloc(1, sizeof *pool + started * sizeof pool->workers[0]);
    if (!pool)
        return NULL;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    if (start_workers(pool, threads - 1)) {
        halo_pool_destroy(pool);
        return NULL;
    }
    return pool;
}

void halo_pool_destroy(struct halo_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->threads; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

int halo_pool_run(struct halo_pool *pool, halo_pool_fn *fn, void *arg, int count)
{
    pthread_mutex_lock(&pool->mutex);
    pool->fn = fn;
    pool->arg = arg;
    pool->error = 0;
    pool->next = 0;
    pool->count = count;
    if (count > 1)
        pthread_cond_broadcast(&pool->work);
    take_tasks(pool, 0);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->done, &pool->mutex);
    const int error = pool->error;
    pthread_mutex_unlock(&pool->mutex);
    return error;
}

int halo_cpu_count(void)
{
    cpu_set_t set;
    const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    return count > 0 ? count : 1;
}

void *halo_cpu_scratch_get(struct halo_cpu_scratch *s, size_t size)
{
    if (size <= s->size)
        return s->data;
    const size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    free(s->data);
    s->data = aligned_alloc(ALIGNMENT, rounded);
    s->size = s->data ? rounded : 0;
    return s->data;
}
