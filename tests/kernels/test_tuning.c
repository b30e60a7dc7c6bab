/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of measured times: there and back, damaged, hostile, of others; the nearest row; where
 * they lie. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/write_file.h"
#include "config/folders.h"
#include "kernels/tuning.h"
#include "kernels/version.h"
#include "tests/cmocka_all.h"

#define HEAD "halod-tuning 1\nversion " HALO_VERSION "\ndevice thing\n"
#define ROW  "dense 8 24 1 3x3 640x480 rows 12.5\n"

static const struct halo_backend_ops *cpu;

static int parse(const char *text, size_t size, struct halo_tuning **ret, int *ret_line)
{
    struct halo_tuning_fault fault = {0};
    const int code = halo_tuning_parse(ret, text, size, cpu, "thing", &fault);
    assert_true(code == 0 || (fault.what && fault.line > 0));
    *ret_line = fault.line;
    return code;
}

/* Returns 0 or the error; of a table that is taken only that it can be. */
static int parse_text(const char *text, int *ret_line)
{
    struct halo_tuning *t = NULL;
    const int code = parse(text, strlen(text), &t, ret_line);
    assert_true((code == 0) == (t != NULL));
    halo_tuning_destroy(t);
    return code;
}

static const char *found(const struct halo_tuning *t, struct halo_tuning_key key)
{
    const struct halo_strategy *s = halo_tuning_find(t, &key);
    return s ? s->name : "";
}

static void test_round_trip(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    const struct halo_tuning_row rows[] = {
        {{HALO_CONV_SEPARABLE, HALO_ACCUM_F24, 8, 1, 7, 7, 3840, 2160}, cpu->strategies[0], 11.9},
        {{HALO_CONV_DENSE, HALO_ACCUM_I64, 16, 2, 127, 1, 1, 1}, cpu->strategies[2], 1e6},
        {{HALO_CONV_BOX, HALO_ACCUM_I32, 12, 2, 2049, 3, 1 << 24, 9}, cpu->strategies[1], 0},
        {{HALO_CONV_GRADIENT, HALO_ACCUM_I32, 10, 1, 3, 3, 640, 480}, cpu->strategies[3], 5},
    };
    halo_tuning_print_head(f, "thing");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        halo_tuning_print_row(f, &rows[i]);
    halo_tuning_print_end(f);
    fclose(f);
    struct halo_tuning *t;
    int line;
    assert_int_equal(parse(text, size, &t, &line), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(found(t, rows[i].key), rows[i].strategy->name);
    halo_tuning_destroy(t);
    free(text);
}

static void test_nearest(void **state)
{
    (void)state;
    struct halo_tuning *t;
    int line;
    static const char text[] = HEAD "dense 8 24 1 3x3 1920x1080 rows 1\n"
                                    "dense 8 24 1 31x31 1920x1080 rows-base 1\n"
                                    "dense 8 24 2 3x3 1920x1080 reference 1\n"
                                    "dense 8 24 1 3x3 64x64 running-sums 1\n"
                                    "separable 16 64 1 7x7 64x64 rows-avx2 1\n"
                                    "end\n";
    assert_int_equal(parse(text, strlen(text), &t, &line), 0);
    const struct halo_tuning_key key = {HALO_CONV_DENSE, HALO_ACCUM_F24, 8, 1, 3, 3, 1920, 1080};
    struct halo_tuning_key k = key;
    assert_string_equal(found(t, k), "rows");
    k.taps_x = k.taps_y = 5;
    assert_string_equal(found(t, k), "rows");
    k.taps_x = k.taps_y = 15;
    assert_string_equal(found(t, k), "rows-base");
    k = key, k.channels = 2;
    assert_string_equal(found(t, k), "reference");
    k = key, k.width = k.height = 100;
    assert_string_equal(found(t, k), "running-sums");
    k = key, k.accum = HALO_ACCUM_I32; /* the same kernels on most strategies */
    assert_string_equal(found(t, k), "rows");
    k = key, k.accum = HALO_ACCUM_I64; /* others */
    assert_string_equal(found(t, k), "");
    k = key, k.depth = 10;
    assert_string_equal(found(t, k), "");
    k = key, k.kind = HALO_CONV_COPY;
    assert_string_equal(found(t, k), "");
    k = key, k.kind = HALO_CONV_SEPARABLE, k.depth = 12, k.accum = HALO_ACCUM_I64, k.taps_x = 9;
    assert_string_equal(found(t, k), ""); /* far away: 64x64 was measured */
    k.width = k.height = 128;
    assert_string_equal(found(t, k), "rows-avx2");
    halo_tuning_destroy(t);
}

static void test_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc, line;
    } bad[] = {
        {"", -EINVAL, 1},
        {"\n", -EINVAL, 1},
        {"halod-tuning 1", -EINVAL, 1},
        {"halod-tuning 2\n", -ESTALE, 1},
        {"something else\n", -EINVAL, 1},
        {"halod-tuning 1\n", -EINVAL, 2},
        {"halod-tuning 1\nversion 0.0.0\n", -ESTALE, 2},
        {"halod-tuning 1\nver\n", -EINVAL, 2},
        {"halod-tuning 1\nversion " HALO_VERSION "\n", -EINVAL, 3},
        {"halod-tuning 1\nversion " HALO_VERSION "\ndevice other\nend\n", -ESTALE, 3},
        {"halod-tuning 1\nversion " HALO_VERSION "\ndevice thing2\nend\n", -ESTALE, 3},
        {"halod-tuning 1\nversion " HALO_VERSION "\nthing\nend\n", -EINVAL, 3},
        {HEAD, -EINVAL, 4},
        {HEAD ROW, -EINVAL, 5},
        {HEAD ROW "end", -EINVAL, 5},
        {HEAD ROW "end\n\n", -EINVAL, 5},
        {HEAD "dense 8 24 1 3x3 640x480 rows 12.5", -EINVAL, 4},
        {HEAD ROW "dense 8 24 1 3x3 640x4\nend\n", -EINVAL, 5},
        {HEAD "\nend\n", -EINVAL, 4},
        {HEAD "dens 8 24 1 3x3 640x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "(null) 8 24 1 3x3 640x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "dense 7 24 1 3x3 640x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "dense 17 24 1 3x3 640x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "dense 8 25 1 3x3 640x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 0 3x3 640x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 3 3x3 640x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 1 0x3 640x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 1 3x-3 640x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 1 3x3 99999999x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 1 3x3 999999999999999999999x480 rows 1\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 1 3x3 640x480 nothing 1\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 1 3x3 640x480 rows nan\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 1 3x3 640x480 rows 1e999\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 1 3x3 640x480 rows -1\nend\n", -EINVAL, 4},
        {HEAD "dense 8 24 1 3x3 640x480 rows 1 2\nend\n", -EINVAL, 4},
        {HEAD "%s%n 8 24 1 3x3 640x480 rows 1\nend\n", -EINVAL, 4},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int line;
        if (parse_text(bad[i].text, &line) != bad[i].rc || line != bad[i].line)
            fail_msg("table %zu: line %d", i, line);
    }
    int line;
    assert_int_equal(parse_text(HEAD "# a note\n" ROW "end\n", &line), 0);
    assert_int_equal(parse_text(HEAD "end\n", &line), 0);
}

/* Every cut but the whole is refused, and so is every byte that becomes NUL. */
static void test_cut_and_poked(void **state)
{
    (void)state;
    static const char whole[] = HEAD "# note\n" ROW ROW "end\n";
    for (size_t size = 0; size < strlen(whole); size++) {
        struct halo_tuning *t;
        int line;
        char *cut = malloc(size + 1); /* of its own, for sanitizers to see its end */
        memcpy(cut, whole, size);
        assert_true(parse(cut, size, &t, &line) < 0);
        free(cut);
        char poked[sizeof whole];
        memcpy(poked, whole, sizeof whole);
        poked[size] = '\0';
        assert_true(parse(poked, sizeof whole - 1, &t, &line) < 0);
    }
}

static void test_huge(void **state)
{
    (void)state;
    const size_t room = strlen(HEAD) + (HALO_TUNING_MAX_ROWS + 1) * strlen(ROW) + 8;
    char *text = malloc(room);
    int line;
    for (int more = 0; more < 2; more++) {
        strcpy(text, HEAD);
        char *at = text + strlen(text);
        for (int i = 0; i < HALO_TUNING_MAX_ROWS + more; i++, at += strlen(ROW))
            strcpy(at, ROW);
        strcpy(at, "end\n");
        assert_int_equal(parse_text(text, &line), more ? -EINVAL : 0);
    }
    assert_int_equal(line, HALO_TUNING_MAX_ROWS + 4);
    memset(text, 'x', room - 1);
    text[room - 2] = '\n';
    text[room - 1] = '\0';
    assert_int_equal(parse_text(text, &line), -EINVAL);
    free(text);
}

/* The table of a backend: taken, of others, damaged, no file, no table at all. */
static void test_backend(void **state)
{
    (void)state;
    char folder[] = "/tmp/halo-tuning-XXXXXX", path[PATH_MAX], text[PATH_MAX + 100], device[256];
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("CACHE_DIRECTORY");
    assert_int_equal(halo_cache_tuning_path(path, sizeof path, "cpu", 0), 0);
    struct halo_backend *b;
    const struct halo_backend_settings settings = {.threads = 1};
    assert_int_equal(halo_backend_open(cpu, &settings, &b), 0);
    assert_int_equal(halo_backend_tune(b, path, text, sizeof text), -ENOENT);
    assert_int_equal(halo_backend_tune(b, "/dev/zero", text, sizeof text), -EINVAL);

    struct halo_conv conv;
    const struct halo_conv_target target = {.depth = 8};
    static unsigned char in[64 * 64], out[64 * 64];
    const struct halo_plane src = {in, 64, 64, 64, 1, 8, 0}, dst = {out, 64, 64, 64, 1, 8, 0};
    const struct halo_job job = {&conv, NULL, src, dst};
    assert_int_equal(halo_conv_gauss(&conv, 1, 1, &target), 0);
    const struct halo_strategy *const built_in = halo_backend_choose(b, &job);
    b->ops->identify(b, device, sizeof device);
    static const struct {
        const char *version, *row;
        int code;
        const char *strategy; /* NULL: as built in */
    } tables[] = {
        {"0.0.0", "separable 8 24 1 7x7 64x64 reference 1", -ESTALE, NULL},
        {HALO_VERSION, "separable 8 24 1 7x7 64x64 reference", -EINVAL, NULL},
        {HALO_VERSION, "separable 8 24 1 7x7 64x64 running-sums 1", 0, NULL}, /* which cannot */
        {HALO_VERSION, "separable 8 24 1 7x7 64x64 reference 1", 0, "reference"},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char table[600];
        struct halo_error err = {0};
        const int size =
            snprintf(table, sizeof table, "halod-tuning 1\nversion %s\ndevice %s\n%s\nend\n",
                     tables[i].version, device, tables[i].row);
        assert_int_equal(halo_write_file(path, 0644, table, (size_t)size, &err), 0);
        assert_int_equal(halo_backend_tune(b, path, text, sizeof text), tables[i].code);
        if (tables[i].code < 0)
            assert_memory_equal(text, path, strlen(path));
        const struct halo_strategy *chosen = halo_backend_choose(b, &job);
        assert_string_equal(chosen->name, tables[i].strategy ? tables[i].strategy : built_in->name);
        assert_int_equal(halo_backend_convolve(b, &job, 1), 0);
    }
    halo_backend_close(b);
    assert_int_equal(unlink(path), 0); /* and nothing else is left beside it */
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_places(void **state)
{
    (void)state;
    char path[PATH_MAX], small[10];
    setenv("CACHE_DIRECTORY", "/service:/other", 1);
    setenv("XDG_CACHE_HOME", "/cache", 1);
    setenv("HOME", "/home/someone", 1);
    assert_int_equal(halo_cache_tuning_path(path, sizeof path, "cuda", 3), 0);
    assert_string_equal(path, "/service/tuning-cuda-3.txt");
    assert_int_equal(halo_cache_tuning_path(small, sizeof small, "cuda", 3), -ENAMETOOLONG);
    unsetenv("CACHE_DIRECTORY");
    assert_int_equal(halo_cache_tuning_path(path, sizeof path, "cuda", 3), 0);
    assert_string_equal(path, "/cache/halod/tuning-cuda-3.txt");
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    assert_int_equal(halo_cache_tuning_path(path, sizeof path, "cpu", 0), 0);
    assert_string_equal(path, "/home/someone/.cache/halod/tuning-cpu-0.txt");
    unsetenv("HOME");
    const int code = halo_cache_tuning_path(path, sizeof path, "cpu", 0);
    assert_int_equal(code, geteuid() == 0 ? 0 : -ENOENT);
    if (code == 0)
        assert_string_equal(path, "/var/cache/halod/tuning-cpu-0.txt");
    struct halo_error err = {0};
    assert_true(halo_write_file("/dev/null/no/where", 0644, "x", 1, &err) < 0);
    assert_non_null(strstr(err.text, "/dev/null/no/where"));
}

int main(void)
{
    cpu = halo_backend_find("cpu");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_damaged),    cmocka_unit_test(test_cut_and_poked),
        cmocka_unit_test(test_huge),       cmocka_unit_test(test_backend),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
