/* SPDX-License-Identifier: BSD-2-Clause
 * A run that begins on the CPU while a device starts: the output has the same bytes, whenever the
 * device arrives. The device is the test's own, and computes on the CPU. The linker puts
 * __wrap_NAME in the place of NAME. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/run.h"
#include "kernels/backends.h"
#include "kernels/frame.h"
#include "pipeline/base/arrival.h"
#include "pipeline/base/av.h"
#include "pipeline/filter/filter.h"
#include "pipeline/stream/stream.h"
#include "pipeline/stream/workload.h"
#include "tests/cmocka_all.h"

enum { FRAMES = 100, EARLY = 30, FRAME_BYTES = 128 * 96 * 3 / 2, MAX_BYTES = 4 << 20 };

static char folder[] = "/tmp/halo-arrival-XXXXXX";
static char input[64], output[64];

/* ---- what happens when ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int code;       /* with which the device starts */
    bool after_run; /* it starts when the run is over */
    bool fails;     /* its third frame fails */
    bool may_start; /* from now on, all under lock */
    bool arrives;   /* it may be used at any moment */
    bool arrived;
    int on_cpu, on_device, locked;
} play = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void set(bool *flag)
{
    pthread_mutex_lock(&play.lock);
    *flag = true;
    pthread_cond_broadcast(&play.changed);
    pthread_mutex_unlock(&play.lock);
}

static void wait_for(const bool *flag)
{
    while (!*flag)
        pthread_cond_wait(&play.changed, &play.lock);
}

/* ---- the device ---- */

struct fake {
    struct halo_backend base;
    struct halo_backend *cpu;
};

static const struct halo_backend_ops device;
static _Thread_local bool inside; /* a call that the device passes on */

static int open_device(struct halo_backend **ret, const struct halo_backend_settings *settings)
{
    pthread_mutex_lock(&play.lock);
    wait_for(&play.may_start);
    pthread_mutex_unlock(&play.lock);
    if (play.code < 0)
        return play.code;
    struct fake *fake = calloc(1, sizeof *fake);
    assert_non_null(fake);
    fake->base.ops = &device;
    assert_int_equal(halo_backend_open(&halo_backend_cpu, settings, &fake->cpu), 0);
    *ret = &fake->base;
    return 0;
}

static void close_device(struct halo_backend *b)
{
    halo_backend_close(((struct fake *)b)->cpu);
    free(b);
}

static int submit(struct halo_backend *b, const struct halo_frame *frame)
{
    pthread_mutex_lock(&play.lock);
    const bool fails = ++play.on_device == 3 && play.fails;
    pthread_mutex_unlock(&play.lock);
    inside = true;
    const int code = fails ? -EIO : halo_frame_submit(((struct fake *)b)->cpu, frame);
    inside = false;
    return code;
}

static int finish(struct halo_backend *b)
{
    return halo_frame_finish(((struct fake *)b)->cpu);
}

static void *lock_memory(size_t size)
{
    pthread_mutex_lock(&play.lock);
    assert_true(play.arrives);
    play.locked++;
    pthread_mutex_unlock(&play.lock);
    return aligned_alloc(256, size);
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
    .submit = submit,
    .finish = finish,
    .memory = lock_memory,
    .memory_free = free,
};

/* ---- in the place of the program's own functions ---- */

const struct halo_backend_ops *__wrap_halo_backend_find(const char *name);
int __wrap_access(const char *path, int mode);
enum halo_workload_place __wrap_halo_workload_choose(const struct halo_workload *w,
                                                     double seconds[HALO_WORKLOAD_PLACES]);
int __real_access(const char *path, int mode);
int __real_halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame);
int __wrap_halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame);
void __real_halo_arrival_set(struct halo_arrival *a, enum halo_arrival_state state);
void __wrap_halo_arrival_set(struct halo_arrival *a, enum halo_arrival_state state);

const struct halo_backend_ops *__wrap_halo_backend_find(const char *name)
{
    return strcmp(name, "cuda") == 0 ? &device : &halo_backend_cpu;
}

int __wrap_access(const char *path, int mode)
{
    return strcmp(path, "/dev/nvidiactl") == 0 ? 0 : __real_access(path, mode);
}

enum halo_workload_place __wrap_halo_workload_choose(const struct halo_workload *w,
                                                     double seconds[HALO_WORKLOAD_PLACES])
{
    (void)w;
    seconds[HALO_WORKLOAD_CPU] = seconds[HALO_WORKLOAD_GPU] = 1e9;
    seconds[HALO_WORKLOAD_FILTER] = 1;
    return HALO_WORKLOAD_FILTER;
}

/* Lets the device start after some frames, and keeps the next one on the CPU until it is there. */
int __wrap_halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame)
{
    if (!inside && b->ops == &halo_backend_cpu) {
        pthread_mutex_lock(&play.lock);
        const bool now = ++play.on_cpu == EARLY;
        if (now && !play.after_run) {
            play.may_start = true;
            pthread_cond_broadcast(&play.changed);
            wait_for(&play.arrived);
        }
        pthread_mutex_unlock(&play.lock);
    }
    return __real_halo_frame_submit(b, frame);
}

void __wrap_halo_arrival_set(struct halo_arrival *a, enum halo_arrival_state state)
{
    set(&play.arrives);
    __real_halo_arrival_set(a, state);
    set(&play.arrived);
}

/* ---- runs ---- */

static void do_nothing(void *arg)
{
    (void)arg;
}

static void run(const char *backend)
{
    char *words[] = {"-y",
                     "-f",
                     "rawvideo",
                     "-pixel_format",
                     "yuv420p",
                     "-s",
                     "128x96",
                     "-i",
                     input,
                     "-backend",
                     (char *)backend,
                     "-vf",
                     "gblur=sigma=2",
                     "-threads",
                     "1",
                     "-c:v",
                     "rawvideo",
                     output};
    struct halo_run_settings settings;
    struct halo_chain *chain = NULL;
    struct halo_stream *stream = NULL;
    struct halo_error err = {0};
    struct halo_stream_result result;
    assert_int_equal(halo_run_parse(&settings, sizeof words / sizeof *words, words, &err), 0);
    assert_int_equal(halo_chain_parse(&chain, settings.filters, &err), 0);
    if (halo_stream_create(&stream, &settings, chain, do_nothing, NULL, &err) < 0 ||
        halo_stream_start(stream, &err) < 0)
        fail_msg("%s", err.text);
    halo_stream_join(stream, &result);
    assert_string_equal(result.error.text, "");
    set(&play.may_start);
    halo_stream_destroy(stream);
    halo_chain_destroy(chain);
    halo_run_finish(&settings);
}

static char *read_output(size_t *ret_size)
{
    FILE *file = fopen(output, "rb");
    char *data = malloc(MAX_BYTES);
    assert_true(file && data);
    *ret_size = fread(data, 1, MAX_BYTES, file);
    fclose(file);
    return data;
}

static char *expected;
static size_t expected_size;

static void run_and_compare(void)
{
    size_t size;
    run("auto");
    char *data = read_output(&size);
    assert_int_equal(size, expected_size);
    assert_memory_equal(data, expected, size);
    free(data);
}

static void goes_over_to_the_device(void **state)
{
    (void)state;
    run_and_compare();
    assert_int_equal(play.on_cpu, EARLY);
    assert_int_equal(play.on_device, FRAMES - EARLY);
    assert_true(play.locked > 0); /* by pools that held ordinary memory before */
}

static void ends_without_it(void **state)
{
    (void)state;
    play.after_run = true;
    run_and_compare();
    assert_int_equal(play.on_cpu, FRAMES);
    assert_int_equal(play.on_device, 0);
}

static void stays_if_it_does_not_start(void **state)
{
    (void)state;
    play.code = -ENODEV;
    run_and_compare();
    assert_int_equal(play.on_cpu, FRAMES);
}

static void comes_back_if_it_fails(void **state)
{
    (void)state;
    play.fails = true;
    run_and_compare();
    assert_true(play.on_device >= 3);
    assert_true(play.on_cpu > EARLY);
}

static int reset(void **state)
{
    (void)state;
    play.code = play.on_cpu = play.on_device = play.locked = 0;
    play.after_run = play.fails = play.may_start = play.arrives = play.arrived = false;
    return 0;
}

static int write_input(void)
{
    FILE *file = fopen(input, "wb");
    unsigned sample = 1;
    for (int i = 0; file && i < FRAMES * FRAME_BYTES; i++)
        putc((int)((sample = sample * 1103515245 + 12345) >> 24), file);
    return file && fclose(file) == 0 ? 0 : -1;
}

static int prepare(void **state)
{
    (void)state;
    halo_log_set_level(HALO_LOG_ERROR);
    halo_av_init_log();
    if (!mkdtemp(folder))
        return -1;
    snprintf(input, sizeof input, "%s/in.raw", folder);
    snprintf(output, sizeof output, "%s/out.nut", folder);
    if (write_input() < 0)
        return -1;
    reset(NULL);
    play.after_run = true;
    run("cpu");
    expected = read_output(&expected_size);
    return expected_size > 0 ? 0 : -1;
}

static int clean(void **state)
{
    (void)state;
    free(expected);
    unlink(input);
    unlink(output);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(goes_over_to_the_device, reset),
        cmocka_unit_test_setup(ends_without_it, reset),
        cmocka_unit_test_setup(stays_if_it_does_not_start, reset),
        cmocka_unit_test_setup(comes_back_if_it_fails, reset),
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}
