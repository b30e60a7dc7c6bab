/* SPDX-License-Identifier: BSD-2-Clause
 * Facts from a disk that hangs: who asks is told, nobody waits for it twice, and it may go on. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/statvfs.h>

#include "daemon/control/facts.h"
#include "tests/cmocka_all.h"

enum { LONG_MS = 900000, SHORT_MS = 50 };

static struct scene {
    uv_loop_t loop;
    uv_sem_t go_on;
    atomic_bool hangs;
    char *input;
    struct halo_facts *facts;
    int answers, errors;
    json_t *last;
    struct halo_error err;
} scene;

int __wrap_statvfs(const char *path, struct statvfs *ret);
int __wrap_statvfs64(const char *path, struct statvfs *ret);

int __wrap_statvfs64(const char *path, struct statvfs *ret)
{
    (void)path;
    if (scene.hangs)
        uv_sem_wait(&scene.go_on);
    *ret = (struct statvfs){.f_frsize = 1, .f_bavail = 7, .f_blocks = 9};
    return 0;
}

int __wrap_statvfs(const char *path, struct statvfs *ret)
{
    return __wrap_statvfs64(path, ret);
}

static void on_reply(void *arg, json_t *result, const struct halo_error *err)
{
    (void)arg;
    scene.answers += result != NULL;
    scene.errors += err != NULL;
    json_decref(scene.last);
    scene.last = json_incref(result);
    if (err)
        scene.err = *err;
}

static int ask(struct halo_error *err)
{
    static struct halo_stream_settings stream = {
        .name = "door",
        .outputs = 1,
        .output = {{.kind = HALO_OUTPUT_FILE, .target = "/far/away/%d.mp4"}}};
    stream.source.input = scene.input;
    const struct halo_daemon_settings settings = {.stream = &stream, .streams = 1};
    return halo_facts_gather(scene.facts, &settings, json_object(), on_reply, NULL, err);
}

static void run_until(const int *count, int wanted)
{
    while (*count < wanted)
        uv_run(&scene.loop, UV_RUN_ONCE);
}

static void begin(int patience_ms)
{
    memset(&scene, 0, sizeof scene);
    assert_int_equal(uv_loop_init(&scene.loop), 0);
    assert_int_equal(uv_sem_init(&scene.go_on, 0), 0);
    scene.facts = halo_facts_create(&scene.loop, patience_ms);
    assert_non_null(scene.facts);
}

static void end(void)
{
    halo_facts_destroy(scene.facts);
    if (scene.hangs)
        uv_sem_post(&scene.go_on);
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene.loop), 0);
    uv_sem_destroy(&scene.go_on);
    json_decref(scene.last);
}

static void one_query_answers_all(void **state)
{
    (void)state;
    begin(LONG_MS);
    scene.hangs = true;
    scene.input = (char *)"file:/far/in.mp4";
    for (int i = 0; i < 9; i++) /* more than there are threads */
        assert_int_equal(ask(NULL), 0);
    uv_sem_post(&scene.go_on);
    run_until(&scene.answers, 9);
    assert_int_equal(scene.errors, 0);
    const json_t *folder = json_array_get(json_object_get(scene.last, "folders"), 0);
    assert_string_equal(json_string_value(json_object_get(folder, "path")), "/far/away");
    assert_int_equal(json_integer_value(json_object_get(folder, "free_bytes")), 7);
    const json_t *input = json_array_get(json_object_get(scene.last, "inputs"), 0);
    assert_string_equal(json_string_value(json_object_get(input, "path")), "/far/in.mp4");
    scene.hangs = false;
    assert_int_equal(ask(NULL), 0);
    run_until(&scene.answers, 10);
    end();
}

static void a_waiter_for_a_hung_one_is_answered(void **state)
{
    (void)state;
    begin(SHORT_MS);
    scene.hangs = true;
    assert_int_equal(ask(NULL), 0);
    run_until(&scene.errors, 1);
    assert_int_equal(scene.err.code, -ETIMEDOUT);
    assert_non_null(strstr(scene.err.text, "/far/away does not respond"));
    struct halo_error err = {0};
    assert_int_equal(ask(&err), -ETIMEDOUT); /* at once */
    assert_non_null(strstr(err.text, "/far/away"));
    scene.hangs = false;
    uv_sem_post(&scene.go_on);
    while (scene.answers == 0) { /* on a busy machine another look may take too long, too */
        (void)ask(NULL);
        uv_run(&scene.loop, UV_RUN_ONCE);
    }
    end();
}

static void a_waiter_at_the_end_is_answered(void **state)
{
    (void)state;
    begin(LONG_MS);
    scene.hangs = true;
    assert_int_equal(ask(NULL), 0);
    end();
    assert_int_equal(scene.errors, 1);
    assert_int_equal(scene.answers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_query_answers_all),
        cmocka_unit_test(a_waiter_for_a_hung_one_is_answered),
        cmocka_unit_test(a_waiter_at_the_end_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
