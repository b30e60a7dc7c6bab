/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/detector/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/detector/spawn.h"

enum {
    PAUSE_MS = 250,
    PAUSE_MAX_MS = 5000,
    HEALTHY_MS = 60000,
};

struct client {
    struct client *next;
    char *stream;
    enum halo_find find;
    bool waits; /* for an answer */
    uint64_t id;
};

/* A program that is kept running for its clients. */
struct slot {
    struct slot *next;
    struct halo_detector_pool *pool;
    char *command; /* NULL: halo-detect */
    enum halo_find find;
    bool shared, gpu;
    struct client *clients;
    struct halo_detector_process *process; /* NULL: none */
    uint64_t started;                      /* of `process`: uv_now() */
    uint64_t not_before;                   /* uv_now() */
    int failures, starts;
    char why[400];
};

struct halo_detector_pool {
    uv_loop_t *loop;
    const char *halod;
    const struct halo_detector_pool_ops *ops;
    void *arg;
    uv_timer_t timer;
    struct slot *slots;
};

/* Returns the pause, in ms, after this many consecutive failures (at least 1). */
static uint64_t detector_pause(int failures)
{
    uint64_t pause = PAUSE_MS;
    for (int i = 1; i < failures && pause < PAUSE_MAX_MS; i++)
        pause *= 2;
    return pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
}

/* ---- clients ---- */

static struct client *find_in(struct slot *slot, const char *stream, enum halo_find find)
{
    struct client *client = slot->clients;
    while (client && (client->find != find || strcmp(client->stream, stream) != 0))
        client = client->next;
    return client;
}

static struct slot *slot_of(const struct halo_detector_pool *pool, const char *stream,
                            enum halo_find find, struct client **ret)
{
    for (struct slot *slot = pool->slots; slot; slot = slot->next)
        if ((*ret = find_in(slot, stream, find)))
            return slot;
    return NULL;
}

static void free_client(struct client *client)
{
    free(client->stream);
    free(client);
}

static void answer(struct slot *slot, struct client *client, int fd, const char *why)
{
    client->waits = false;
    slot->pool->ops->answer(slot->pool->arg, client->stream, client->find, client->id, fd, why);
}

static void report(struct slot *slot, enum halo_detector_event event, const char *why)
{
    const struct halo_detector_pool *pool = slot->pool;
    for (struct client *c = slot->clients; c && pool->ops->event; c = c->next)
        pool->ops->event(pool->arg, c->stream, c->find, event, why);
}

/* ---- processes ---- */

static void describe(const struct slot *slot, char *text, size_t size)
{
    const struct client *first = slot->clients;
    const bool named = first && first->stream[0];
    snprintf(text, size, "%s%s%s%sthe detector of %s", named ? "stream " : "",
             named ? first->stream : "", named && first->next ? " and others" : "",
             named ? ": " : "", halo_find_names[slot->find]);
}

static void fail(struct slot *slot, const char *why)
{
    const uint64_t now = uv_now(slot->pool->loop);
    char who[160];
    if (slot->process && now - slot->started >= HEALTHY_MS)
        slot->failures = 0;
    halo_detector_destroy(slot->process);
    slot->process = NULL;
    slot->not_before = now + detector_pause(++slot->failures);
    describe(slot, who, sizeof who);
    if (strcmp(slot->why, why) != 0 || slot->failures == 1)
        halo_log(HALO_LOG_ERROR, "%s: %s", who, why);
    snprintf(slot->why, sizeof slot->why, "%s", why);
    report(slot, HALO_DETECTOR_FAILED, why);
}

static void on_exit_of(void *arg, const char *why)
{
    fail(arg, why);
}

static int start(struct slot *slot)
{
    struct halo_error err = {0};
    char who[160];
    describe(slot, who, sizeof who);
    const struct halo_detector_how how = {
        .halod = slot->pool->halod,
        .command = slot->command,
        .find = slot->find,
        .gpu = slot->gpu,
        .who = who,
        .exited = on_exit_of,
        .arg = slot,
    };
    const int code = halo_detector_spawn(&slot->process, slot->pool->loop, &how, &err);
    if (code < 0) {
        fail(slot, err.text);
        return code;
    }
    slot->starts++;
    slot->started = uv_now(slot->pool->loop);
    halo_log(HALO_LOG_INFO, "%s: started (process %d)", who, halo_detector_pid(slot->process));
    report(slot, HALO_DETECTOR_STARTED, NULL);
    return 0;
}

static bool has_waiting(const struct slot *slot)
{
    for (const struct client *c = slot->clients; c; c = c->next)
        if (c->waits)
            return true;
    return false;
}

/* Connects the clients that wait. A process that does not accept connections is replaced. */
static void serve(struct slot *slot)
{
    for (struct client *c = slot->clients; c && slot->process; c = c->next) {
        if (!c->waits)
            continue;
        const int fd = halo_detector_connect(slot->process);
        if (fd >= 0)
            answer(slot, c, fd, NULL);
        else
            fail(slot, fd == -EAGAIN ? "it does not accept connections" : strerror(-fd));
    }
}

/* Whoever waits when a process cannot be started is told so, and may want it again. */
static void refuse_all(struct slot *slot)
{
    for (struct client *c = slot->clients; c; c = c->next)
        if (c->waits)
            answer(slot, c, -1, slot->why);
}

static void step(struct slot *slot)
{
    if (!has_waiting(slot) || (!slot->process && uv_now(slot->pool->loop) < slot->not_before))
        return;
    if (slot->process || start(slot) == 0)
        serve(slot);
    else
        refuse_all(slot);
}

/* ---- slots ---- */

static void free_slot(struct slot *slot)
{
    struct slot **at = &slot->pool->slots;
    while (*at != slot)
        at = &(*at)->next;
    *at = slot->next;
    halo_detector_destroy(slot->process);
    while (slot->clients) {
        struct client *client = slot->clients;
        slot->clients = client->next;
        free_client(client);
    }
    free(slot->command);
    free(slot);
}

static void on_timer(uv_timer_t *timer);

/* Sets the timer for the next process that must be started. A slot without clients is kept until
 * its pause is over, so that a stream that restarts does not shorten the pause. */
static void set_timer(struct halo_detector_pool *pool)
{
    const uint64_t now = uv_now(pool->loop);
    uint64_t next = UINT64_MAX;
    for (const struct slot *slot = pool->slots; slot; slot = slot->next)
        if ((has_waiting(slot) || !slot->clients) && !slot->process && slot->not_before < next)
            next = slot->not_before;
    if (next == UINT64_MAX)
        uv_timer_stop(&pool->timer);
    else
        uv_timer_start(&pool->timer, on_timer, next > now ? next - now : 0, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct halo_detector_pool *pool = timer->data;
    for (struct slot *slot = pool->slots, *next; slot; slot = next) {
        next = slot->next;
        if (!slot->clients && uv_now(pool->loop) >= slot->not_before)
            free_slot(slot);
        else
            step(slot);
    }
    set_timer(pool);
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool serves(const struct slot *slot, const char *stream, enum halo_find find,
                   const struct halo_detector_settings *settings)
{
    if (!same(slot->command, settings->command) || slot->gpu != settings->gpu ||
        slot->shared != settings->shared || (!settings->command && slot->find != find))
        return false;
    return slot->shared || !slot->clients || find_in((struct slot *)slot, stream, find);
}

static struct slot *make_slot(struct halo_detector_pool *pool, enum halo_find find,
                              const struct halo_detector_settings *settings)
{
    struct slot *slot = calloc(1, sizeof *slot);
    if (!slot)
        return NULL;
    slot->pool = pool;
    slot->find = find;
    slot->shared = settings->shared;
    slot->gpu = settings->gpu;
    slot->command = settings->command ? strdup(settings->command) : NULL;
    if (settings->command && !slot->command) {
        free(slot);
        return NULL;
    }
    slot->next = pool->slots;
    pool->slots = slot;
    return slot;
}

static struct client *make_client(struct slot *slot, const char *stream, enum halo_find find)
{
    struct client *client = find_in(slot, stream, find);
    if (client || !(client = calloc(1, sizeof *client)))
        return client;
    client->stream = strdup(stream);
    client->find = find;
    if (!client->stream) {
        free(client);
        return NULL;
    }
    client->next = slot->clients;
    slot->clients = client;
    return client;
}

static void remove_client(struct slot *slot, struct client *client)
{
    struct client **at = &slot->clients;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    free_client(client);
    if (slot->clients)
        return;
    halo_detector_destroy(slot->process);
    slot->process = NULL;
    if (uv_now(slot->pool->loop) >= slot->not_before)
        free_slot(slot);
}

/* ---- for its owner ---- */

int halo_detector_pool_create(struct halo_detector_pool **ret, uv_loop_t *loop, const char *halod,
                              const struct halo_detector_pool_ops *ops, void *arg)
{
    struct halo_detector_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return -ENOMEM;
    pool->loop = loop;
    pool->halod = halod;
    pool->ops = ops;
    pool->arg = arg;
    uv_timer_init(loop, &pool->timer);
    pool->timer.data = pool;
    *ret = pool;
    return 0;
}

void halo_detector_pool_want(struct halo_detector_pool *pool, const char *stream,
                             enum halo_find find, uint64_t id,
                             const struct halo_detector_settings *settings)
{
    struct client *client = NULL;
    struct slot *old = slot_of(pool, stream, find, &client), *slot = pool->slots;
    if (old && !serves(old, stream, find, settings))
        remove_client(old, client);
    for (slot = pool->slots; slot && !serves(slot, stream, find, settings);)
        slot = slot->next;
    if (!slot)
        slot = make_slot(pool, find, settings);
    client = slot ? make_client(slot, stream, find) : NULL;
    if (!client) {
        pool->ops->answer(pool->arg, stream, find, id, -1, "out of memory");
        return;
    }
    client->waits = true;
    client->id = id;
    step(slot);
    set_timer(pool);
}

void halo_detector_pool_broken(struct halo_detector_pool *pool, const char *stream,
                               enum halo_find find, const char *why)
{
    struct client *client;
    struct slot *slot = slot_of(pool, stream, find, &client);
    if (!slot || !slot->process)
        return;
    char text[200];
    snprintf(text, sizeof text, "killed, because it violated the protocol: %.150s", why);
    fail(slot, text);
    set_timer(pool);
}

void halo_detector_pool_leave(struct halo_detector_pool *pool, const char *stream,
                              enum halo_find find)
{
    struct client *client;
    struct slot *slot = slot_of(pool, stream, find, &client);
    if (slot)
        remove_client(slot, client);
    set_timer(pool);
}

bool halo_detector_pool_status(const struct halo_detector_pool *pool, const char *stream,
                               enum halo_find find, struct halo_detector_status *ret)
{
    struct client *client;
    const struct slot *slot = slot_of(pool, stream, find, &client);
    if (!slot)
        return false;
    *ret = (struct halo_detector_status){
        .up = slot->process != NULL,
        .pid = slot->process ? halo_detector_pid(slot->process) : 0,
        .restarts = slot->starts > 1 ? slot->starts - 1 : 0,
    };
    snprintf(ret->why, sizeof ret->why, "%s", slot->why);
    return true;
}

static void on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

void halo_detector_pool_destroy(struct halo_detector_pool *pool)
{
    if (!pool)
        return;
    while (pool->slots)
        free_slot(pool->slots);
    uv_close((uv_handle_t *)&pool->timer, on_closed);
}
