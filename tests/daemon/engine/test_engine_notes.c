/* SPDX-License-Identifier: BSD-2-Clause
 * Words of an engine's threads: whoever sends them, a GPU that failed ends the process. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/base/error.h"
#include "daemon/engine/engine_private.h"
#include "tests/cmocka_all.h"

enum { WENT_ON = 3 };

static void on_wake(uv_async_t *wake)
{
    (void)wake;
}

/* In a process of its own: a stream begins or ends before the loop is woken for another's words. */
static void send_words(const bool *device, int count)
{
    struct engine engine = {.link = NULL};
    struct engine_stream stream = {.engine = &engine, .name = "one"};
    engine.last = &engine.first;
    uv_loop_init(&engine.loop);
    uv_async_init(&engine.loop, &engine.wake, on_wake);
    for (int i = 0; i < count; i++) {
        struct halo_error err = {.code = -5, .device = device[i], .text = "it failed"};
        engine_report_state(&stream, HALO_LIVE_FAILED, &err);
    }
    engine_send_notes(&engine);
    _exit(engine.first || engine.notes ? 1 : WENT_ON);
}

static int status_after(const bool *device, int count)
{
    const pid_t child = fork();
    if (child == 0)
        send_words(device, count);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_gpu_that_failed_ends_it(void **state)
{
    (void)state;
    assert_int_equal(status_after((const bool[]){false, true, false}, 3), HALO_EXIT_TRY_AGAIN);
}

static void other_failures_do_not(void **state)
{
    (void)state;
    assert_int_equal(status_after((const bool[]){false, false}, 2), WENT_ON);
    assert_int_equal(status_after(NULL, 0), WENT_ON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_that_failed_ends_it),
        cmocka_unit_test(other_failures_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
