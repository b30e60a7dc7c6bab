/* SPDX-License-Identifier: BSD-2-Clause
 * Page-locked memory, counted for each stream (memory.h). */
#include "pipeline/frame/memory.h"

#include <inttypes.h>
#include <libavutil/mem.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/base/log.h"

enum { ALIGNMENT = 256, MEBIBYTE = 1 << 20 };

static const int64_t default_most = INT64_C(2) << 30;

struct halo_memory {
    const struct halo_backend_ops *ops;
    const struct halo_arrival *arrival; /* of the device; NULL: it is there */
    int64_t most;
    atomic_llong locked; /* bytes now */
    atomic_int users;    /* references: the owner's, and one for every buffer */
    atomic_int said;
};

/* The opaque data of every buffer. */
struct block {
    struct halo_memory *memory;
    int64_t locked; /* bytes; 0: ordinary memory */
};

int64_t halo_memory_of_machine(void)
{
    return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

struct halo_memory *halo_memory_create(const struct halo_backend_ops *ops, int64_t most)
{
    struct halo_memory *m = av_mallocz(sizeof *m);
    if (!m)
        return NULL;
    const int64_t quarter = halo_memory_of_machine() / 4;
    m->ops = ops;
    m->most = most >= 0 ? most : quarter < default_most ? quarter : default_most;
    atomic_store(&m->users, 1);
    return m;
}

void halo_memory_expect(struct halo_memory *m, const struct halo_arrival *arrival)
{
    m->arrival = arrival;
}

bool halo_memory_is_ready(const struct halo_memory *m)
{
    return !m->arrival || halo_arrival_state(m->arrival) == HALO_ARRIVAL_THERE;
}

void halo_memory_destroy(struct halo_memory *m)
{
    if (m && atomic_fetch_sub(&m->users, 1) == 1)
        av_free(m);
}

static void say(struct halo_memory *m, bool refused)
{
    if (!m->ops->memory || halo_backend_is_lost(m->ops) || !HALO_ONCE(m->said))
        return;
    const int64_t now = atomic_load(&m->locked) / MEBIBYTE;
    if (refused)
        halo_log(HALO_LOG_WARNING,
                 "no more page-locked memory is available after %" PRId64
                 " MiB: continuing with ordinary memory, which takes longer to copy",
                 now);
    else
        halo_log(HALO_LOG_INFO,
                 "frames use %" PRId64 " MiB of page-locked memory and have reached the limit "
                 "(-pinned_memory): continuing with ordinary memory",
                 now);
}

/* Allocates page-locked memory, or returns NULL. Backends without such memory have no limit. */
static void *lock(struct halo_memory *m, int64_t size)
{
    const int64_t before = atomic_fetch_add(&m->locked, size);
    const bool fits = !m->ops->memory || before + size <= m->most;
    void *data = fits ? halo_backend_memory(m->ops, (size_t)size) : NULL;
    if (!data) {
        atomic_fetch_sub(&m->locked, size);
        say(m, fits);
    }
    return data;
}

static void give_back(void *opaque, uint8_t *data)
{
    struct block *block = opaque;
    struct halo_memory *m = block->memory;
    if (block->locked)
        halo_backend_memory_free(m->ops, data);
    else
        free(data);
    atomic_fetch_sub(&m->locked, block->locked);
    av_free(block);
    halo_memory_destroy(m);
}

AVBufferRef *halo_memory_buffer(struct halo_memory *m, size_t size)
{
    const size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct block *block = av_mallocz(sizeof *block);
    if (!block)
        return NULL;
    void *data = halo_memory_is_ready(m) ? lock(m, (int64_t)whole) : NULL;
    *block = (struct block){m, data ? (int64_t)whole : 0};
    if (!data)
        data = aligned_alloc(ALIGNMENT, whole);
    atomic_fetch_add(&m->users, 1);
    AVBufferRef *ref = data ? av_buffer_create(data, size, give_back, block, 0) : NULL;
    if (!ref)
        give_back(block, data);
    return ref;
}
