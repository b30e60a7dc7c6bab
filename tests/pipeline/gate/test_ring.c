/* SPDX-License-Identifier: BSD-2-Clause
 * Where the lanes of a ring are, before and after failures of a device. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backends.h"
#include "kernels/clock.h"
#include "pipeline/gate/ring.h"
#include "tests/cmocka_all.h"

static const struct halo_backend_ops device;

/* A device that takes until a test lets it start, and then does, or fails with `start_code`. */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static int start_code;

static int open_device(struct halo_backend **ret, const struct halo_backend_settings *settings)
{
    (void)settings;
    pthread_mutex_lock(&starting);
    const int code = start_code;
    pthread_mutex_unlock(&starting);
    if (code < 0)
        return code;
    *ret = calloc(1, sizeof **ret);
    assert_non_null(*ret);
    (*ret)->ops = &device;
    return 0;
}

static int closed;

static void close_device(struct halo_backend *b)
{
    closed++;
    free(b);
}

static int fail_frame(struct halo_backend *b, const struct halo_frame *frame)
{
    (void)b;
    (void)frame;
    return -EIO;
}

static void identify(const struct halo_backend *b, char *text, size_t size)
{
    (void)b;
    snprintf(text, size, "a device of the test's own");
}

static bool any(const struct halo_conv *conv, int channels)
{
    (void)conv;
    (void)channels;
    return true;
}

static const struct halo_strategy strategy = {.name = "one", .can = any};
static const struct halo_strategy *const strategies[] = {&strategy, NULL};

static const struct halo_backend_ops device = {
    .name = "cuda",
    .strategies = strategies,
    .open = open_device,
    .close = close_device,
    .identify = identify,
    .submit = fail_frame,
};

const struct halo_backend_ops *__wrap_halo_backend_find(const char *name);
const struct halo_backend_ops *__wrap_halo_backend_find(const char *name)
{
    return strcmp(name, "cuda") == 0 ? &device : &halo_backend_cpu;
}

/* Seconds, by which nothing here is late: the test may stand still for a while. */
enum { DEADLINE = 30, OPENING_DEADLINE = 3 };

static struct halo_ring *create(const char *backend, int depth)
{
    struct halo_error err = {0};
    struct halo_ring *ring = NULL;
    const struct halo_ring_settings settings = {
        .backend = backend, .depth = depth, .threads = 1, .locked = -1, .deadline = DEADLINE};
    assert_int_equal(halo_ring_create(&ring, &settings, &err), 0);
    return ring;
}

static struct halo_ring *create_worker(void)
{
    struct halo_error err = {0};
    struct halo_ring *ring = NULL;
    const struct halo_ring_settings settings = {.backend = "auto",
                                                .depth = 2,
                                                .threads = 1,
                                                .locked = -1,
                                                .deadline = 1,
                                                .in_background = true};
    assert_int_equal(halo_ring_create(&ring, &settings, &err), 0);
    return ring;
}

static void is_at(const struct halo_ring *ring, const char *wanted)
{
    char where[24];
    halo_ring_where(ring, where, sizeof where);
    assert_string_equal(where, wanted);
}

/* A lane that has fallen back stays there; the others are where they were. */
static void falls_back_lane_by_lane(void **state)
{
    static const char *const wanted[] = {"cuda", "cuda+cpu", "cuda+cpu", "cpu"};
    struct halo_ring *ring = create("auto", 3);
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct halo_error err = {0};
        is_at(ring, wanted[i]);
        struct halo_lane *lane = halo_ring_acquire(ring);
        assert_int_equal(halo_ring_fall_back(ring, lane, -EIO, &err), 0);
        halo_ring_release(ring, lane);
        is_at(ring, wanted[i + 1]);
    }
    struct halo_error err = {0};
    assert_int_equal(halo_ring_fall_back(ring, halo_ring_acquire(ring), -EIO, &err), -EIO);
    is_at(ring, "cpu");
    assert_ptr_equal(halo_ring_ops(ring), &device);
    halo_ring_destroy(ring);
}

struct asking {
    struct halo_ring *ring;
    bool can;
};

static void *ask(void *arg)
{
    static const struct halo_conv conv;
    struct asking *asking = arg;
    for (int i = 0; i < 1000 && asking->can; i++)
        asking->can = halo_ring_can(asking->ring, &strategy, &conv, 1);
    return NULL;
}

/* Chains are planned while lanes fall back, whose backends are closed then. ThreadSanitizer sees it
 * if nothing keeps the two apart. */
static void plans_meanwhile(void **state)
{
    struct asking asking = {create("auto", 3), true};
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, ask, &asking), 0);
    for (int i = 0; i < 2; i++) {
        struct halo_error err = {0};
        struct halo_lane *lane = halo_ring_acquire(asking.ring);
        assert_int_equal(halo_ring_fall_back(asking.ring, lane, -EIO, &err), 0);
        halo_ring_release(asking.ring, lane);
    }
    pthread_join(thread, NULL);
    assert_true(asking.can); /* in the lane that is left */
    struct halo_error err = {0};
    assert_int_equal(halo_ring_fall_back(asking.ring, halo_ring_acquire(asking.ring), -EIO, &err),
                     0);
    ask(&asking);
    assert_false(asking.can);
    halo_ring_destroy(asking.ring);
}

static void others_do_not(void **state)
{
    (void)state;
    static const char *const backends[] = {"cuda", "cpu"};
    for (int i = 0; i < 2; i++) {
        struct halo_error err = {0};
        struct halo_ring *ring = create(backends[i], 1);
        is_at(ring, backends[i]);
        assert_int_equal(halo_ring_fall_back(ring, halo_ring_acquire(ring), -EIO, &err), -EIO);
        assert_true(err.device);
        is_at(ring, backends[i]);
        halo_ring_destroy(ring);
    }
}

static int64_t ago(int seconds)
{
    return halo_now_ns() - INT64_C(1000000000) * seconds;
}

static void is_stuck(struct halo_ring_watch watch, struct halo_ring *ring, int64_t opening,
                     bool wanted)
{
    struct halo_error err = {0};
    assert_int_equal(halo_ring_watch_is_stuck(&watch, ring, opening, OPENING_DEADLINE, &err),
                     wanted);
    assert_int_equal(err.device, wanted);
}

/* Who was stopped for a while has seen nothing of the device in that time. Who looked "just now"
 * did so in the future, which stays less than two seconds ago. */
static void looks(void **state)
{
    const int64_t just_now = ago(-60);
    const struct halo_ring_watch first = {0}, after = {just_now, 0}, stopped = {ago(3), 0},
                                 before = {just_now, ago(20)};
    (void)state;
    is_stuck(first, NULL, 0, false);
    is_stuck(first, NULL, ago(26), false);
    is_stuck(first, NULL, ago(46), true);
    is_stuck(after, NULL, ago(46), true);
    is_stuck(stopped, NULL, ago(46), false);
    is_stuck(before, NULL, ago(46), false);
    struct halo_ring *ring = create("cuda", 1);
    struct halo_lane *lane = halo_ring_acquire(ring);
    is_stuck(first, ring, ago(46), false); /* it is open */
    atomic_store(&lane->waiting, ago(40));
    is_stuck(first, ring, 0, true);
    is_stuck(after, ring, 0, true);
    is_stuck(stopped, ring, 0, false);
    is_stuck(before, ring, 0, false);
    atomic_store(&lane->waiting, ago(20));
    is_stuck(first, ring, 0, false);
    halo_ring_destroy(ring);
}

static const struct halo_backend_ops *use_next_lane(struct halo_ring *ring)
{
    struct halo_lane *lane = halo_ring_acquire(ring);
    const struct halo_backend_ops *ops = lane->backend->ops;
    halo_ring_release(ring, lane);
    return ops;
}

static void filters_on_the_cpu_until_a_device_has_started(void **state)
{
    (void)state;
    pthread_mutex_lock(&starting);
    struct halo_ring *ring = create_worker();
    assert_ptr_equal(halo_ring_ops(ring), &device); /* for which chains are planned */
    assert_ptr_equal(use_next_lane(ring), &halo_backend_cpu);
    struct halo_lane *early = halo_ring_acquire(ring);
    assert_ptr_equal(early->backend->ops, &halo_backend_cpu);
    assert_false(halo_memory_is_ready(halo_ring_memory(ring)));
    is_at(ring, "cpu");
    pthread_mutex_unlock(&starting);
    assert_int_equal(halo_arrival_wait(halo_ring_arrival(ring)), HALO_ARRIVAL_THERE);
    assert_true(halo_memory_is_ready(halo_ring_memory(ring)));
    is_at(ring, "cuda");
    for (int i = 0; i < 3; i++) /* although the frame in the early lane is not finished */
        assert_ptr_equal(use_next_lane(ring), &device);
    halo_ring_release(ring, early);
    assert_int_equal(halo_ring_early(ring), 2);
    assert_int_equal(halo_ring_depth(ring), 2);
    halo_ring_destroy(ring);
}

static void stays_on_the_cpu_if_the_device_does_not_start(void **state)
{
    static const int codes[] = {-ENODEV, -EIO, -ENOMEM};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char why[200];
        bool memory;
        start_code = codes[i];
        struct halo_ring *ring = create_worker();
        assert_int_equal(halo_arrival_wait(halo_ring_arrival(ring)), HALO_ARRIVAL_NEVER);
        assert_ptr_equal(use_next_lane(ring), &halo_backend_cpu);
        assert_false(halo_memory_is_ready(halo_ring_memory(ring)));
        assert_int_equal(halo_ring_fell_back(ring, &memory, why, sizeof why), i > 0);
        is_at(ring, "cpu");
        halo_ring_destroy(ring);
    }
    start_code = 0;
}

/* The driver may hang, although frames are filtered meanwhile. */
static void a_device_that_never_starts_is_noticed(void **state)
{
    (void)state;
    pthread_mutex_lock(&starting);
    struct halo_ring *ring = create_worker();
    struct halo_ring_watch first = {0}, second = {0}; /* one may be stopped between two looks */
    struct halo_error err = {0};
    assert_false(halo_ring_watch_is_stuck(&first, ring, 0, OPENING_DEADLINE, &err));
    assert_true(halo_ring_watch_is_stuck(&second, ring, 0, 1e-12, &err));
    assert_true(err.device);
    pthread_mutex_unlock(&starting);
    halo_ring_destroy(ring);
}

/* Comes last: it is for good. */
static void leaves_devices_to_the_end(void **state)
{
    struct halo_ring *kept = create("cuda", 2), *ring = create("cuda", 2);
    struct halo_lane *lane[] = {halo_ring_acquire(kept), halo_ring_acquire(kept)};
    struct halo_backend *left[] = {lane[0]->backend, lane[1]->backend};
    (void)state;
    closed = 0;
    assert_false(halo_backend_is_left());
    halo_ring_destroy(ring);
    assert_int_equal(closed, 2);
    halo_backend_leave();
    halo_ring_destroy(kept);
    assert_int_equal(closed, 2);
    halo_ring_destroy(create("cpu", 1)); /* its threads are joined as before */
    for (int i = 0; i < 2; i++)
        free(left[i]); /* for leak checkers */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(falls_back_lane_by_lane),
        cmocka_unit_test(plans_meanwhile),
        cmocka_unit_test(others_do_not),
        cmocka_unit_test(looks),
        cmocka_unit_test(filters_on_the_cpu_until_a_device_has_started),
        cmocka_unit_test(stays_on_the_cpu_if_the_device_does_not_start),
        cmocka_unit_test(a_device_that_never_starts_is_noticed),
        cmocka_unit_test(leaves_devices_to_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
