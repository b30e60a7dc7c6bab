/* SPDX-License-Identifier: BSD-2-Clause
 * Options as rows: each type's good and bad texts, nearest names, help. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/option.h"
#include "tests/cmocka_all.h"

struct settings {
    bool flag;
    int n, word, lone;
    double real, ratio, time;
    int64_t bytes;
    char *text, *size;
};

#define AT(field) offsetof(struct settings, field)

static const char *const words[] = {"replicate", "reflect", "wrap", NULL};

static const char *const automatic[] = {"auto", NULL};

static const struct halo_option table[] = {
    {"flag", NULL, HALO_OPTION_FLAG, AT(flag), .help = "a flag"},
    {"n", "number|count", HALO_OPTION_INT, AT(n), 3, -5, 64, .help = "a number"},
    {"lone", NULL, HALO_OPTION_INT, AT(lone), 0, 1, 6, .help = "zero when not given",
     .choices = automatic},
    {"word", NULL, HALO_OPTION_CHOICE, AT(word), 1, .choices = words, .help = "a word"},
    {"sigma", NULL, HALO_OPTION_REAL, AT(real), 0.5, 0, 21, .help = "a real"},
    {"ratio", NULL, HALO_OPTION_RATIO, AT(ratio), 0, -10, 10, .help = "a ratio"},
    {"time", NULL, HALO_OPTION_TIME, AT(time), -1, 0, INFINITY, .help = "a time"},
    {"bytes", NULL, HALO_OPTION_BYTES, AT(bytes), 0, 1000, 9e15, .help = "bytes"},
    {"text", NULL, HALO_OPTION_STRING, AT(text), .help = "a text"},
    {"size", NULL, HALO_OPTION_STRING, AT(size), .help = "a size", .pattern = "^[0-9]+x[0-9]+$",
     .must_be = "WIDTHxHEIGHT"},
    {NULL},
};

static int set(struct settings *s, const char *name, const char *text, struct halo_error *err)
{
    *err = (struct halo_error){0};
    const struct halo_option *row = halo_option_find(table, name, strlen(name));
    assert_non_null(row);
    return halo_option_set(row, s, text, err);
}

static void defaults(void **state)
{
    (void)state;
    struct settings s;
    memset(&s, 0xff, sizeof s);
    halo_options_init(table, &s);
    assert_false(s.flag);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.lone, 0);
    assert_int_equal(s.word, 1);
    assert_true(s.real == 0.5 && s.ratio == 0 && s.time == -1);
    assert_null(s.text);
    halo_options_finish(table, &s);
}

static void finds_names_and_aliases(void **state)
{
    (void)state;
    assert_ptr_equal(halo_option_find(table, "n", 1), &table[1]);
    assert_ptr_equal(halo_option_find(table, "number", 6), &table[1]);
    assert_ptr_equal(halo_option_find(table, "count=7", 5), &table[1]);
    assert_null(halo_option_find(table, "numbe", 5));
    assert_null(halo_option_find(table, "number|count", 12));
    assert_null(halo_option_find(table, "", 0));
}

static void good_values(void **state)
{
    (void)state;
    struct settings s;
    struct halo_error err;
    halo_options_init(table, &s);
    assert_int_equal(set(&s, "flag", "1", &err), 0);
    assert_true(s.flag);
    assert_int_equal(set(&s, "n", "-5", &err), 0);
    assert_int_equal(s.n, -5);
    assert_int_equal(set(&s, "word", "wrap", &err), 0);
    assert_int_equal(s.word, 2);
    assert_int_equal(set(&s, "sigma", "2.5e0", &err), 0);
    assert_true(s.real == 2.5);
    assert_int_equal(set(&s, "ratio", "-1/9", &err), 0);
    assert_true(s.ratio == -1.0 / 9);
    assert_int_equal(set(&s, "text", "one", &err), 0);
    assert_int_equal(set(&s, "text", "two", &err), 0);
    assert_string_equal(s.text, "two");
    halo_options_finish(table, &s);
    assert_null(s.text);
}

static void bad_values_leave_the_field(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        int code;
        const char *says;
    } bad[] = {
        {"sigma", "99", -ERANGE, "sigma=99: must be between 0 and 21"},
        {"sigma", "-0.1", -ERANGE, "sigma=-0.1: must be between 0 and 21"},
        {"sigma", "2x", -EINVAL, "sigma=2x: must be a number such as 2 or 0.5"},
        {"sigma", "2,5", -EINVAL, "sigma=2,5: must be a number such as 2 or 0.5"},
        {"n", "7.0", -EINVAL, "n=7.0: must be a whole number"},
        {"n", "w/10", -EINVAL, "n=w/10: must be a whole number; expressions are not supported"},
        {"n", "99999999999999999999", -ERANGE, "n=99999999999999999999: must be between -5 and 64"},
        {"lone", "0", -ERANGE, "lone=0: must be between 1 and 6"},
        {"flag", "yes", -EINVAL, "flag=yes: must be 0 or 1"},
        {"time", "-2", -ERANGE, "time=-2: must be at least 0"},
        {"ratio", "1/0", -EINVAL, "ratio=1/0: must be a number such as 3, 0.5 or 1/9"},
        {"word", "reflct", -EINVAL,
         "word=reflct: must be one of replicate, reflect, wrap (nearest: reflect)"},
        {"word", "\x1b[31m", -EINVAL, "word=?[31m: must be one of replicate, reflect, wrap"},
    };
    struct settings s;
    struct halo_error err;
    halo_options_init(table, &s);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(set(&s, bad[i].name, bad[i].text, &err), bad[i].code);
        assert_string_equal(err.text, bad[i].says);
        assert_int_equal(err.code, bad[i].code);
    }
    assert_true(s.real == 0.5 && s.n == 3 && s.lone == 0 && s.word == 1 && s.time == -1);
    halo_options_finish(table, &s);
}

static void reals(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    " 1",  "1 ",  "+",     ".",    "-.e1", "1e",  "1e+",
                                      "inf", "nan", "0x1", "1e999", "1..2", "--1",  "1_0", "1/2"};
    double v = 7;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(halo_parse_real(bad[i], &v), -EINVAL);
    assert_true(v == 7);
    assert_int_equal(halo_parse_real("+.5e-1", &v), 0);
    assert_true(v == 0.05);
    assert_int_equal(halo_parse_real("-3.", &v), 0);
    assert_true(v == -3);
    assert_int_equal(halo_parse_ratio("1/2/3", &v), -EINVAL);
    assert_int_equal(halo_parse_part("10%", &v), 0);
    assert_true(v == 0.1);
    assert_int_equal(halo_parse_part("0.25", &v), 0);
    assert_true(v == 0.25);
    assert_int_equal(halo_parse_part("10 %", &v), -EINVAL);
    assert_int_equal(halo_parse_part("%", &v), -EINVAL);
    assert_int_equal(halo_parse_part("1%%", &v), -EINVAL);
    assert_int_equal(halo_parse_ratio("1/", &v), -EINVAL);
    assert_int_equal(halo_parse_ratio("/2", &v), -EINVAL);
    assert_int_equal(halo_parse_ratio("1e300/1e-300", &v), -EINVAL);
}

static void reals_in_another_locale(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        skip();
    double v;
    const int code = halo_parse_real("0.5", &v);
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(code, 0);
    assert_true(v == 0.5);
}

static void times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } good[] = {
        {"90", 90},           {"1:30", 90},       {"01:30:00.5", 5400.5},
        {"200ms", 0.2},       {"1500000us", 1.5}, {"2s", 2},
        {"-0:05", -5},        {"90:00", 5400},    {"0.25", 0.25},
        {"100:00:00", 3.6e5}, {"1:2:3.", 3723},
    };
    static const char *const bad[] = {
        "",    ":",     "1:",    ":1",     "1:60", "1:2:3:4", "1:60:00", "5m", "1e3",  "1:2ms",
        "--1", "1:1.x", "1:001", "1.5:00", "0x10", "1:30 s",  " 1",      "ms", "1:-2", "nan"};
    double v;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(halo_parse_time(good[i].text, &v), 0);
        assert_true(fabs(v - good[i].seconds) < 1e-9);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (halo_parse_time(bad[i], &v) != -EINVAL)
            fail_msg("time %s was taken", bad[i]);
}

static const char *near(const char *name)
{
    return halo_option_nearest(table, name, strlen(name));
}

static void bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"1000", 1000},  {"20G", 2e10},        {"1.5k", 1500},   {"1.5K", 1500},
        {"1Ki", 1024},   {"3Gi", 3221225472.}, {"500M", 5e8},    {"2Ti", 2199023255552.},
        {"9000T", 9e15}, {"1000.9", 1000},     {".5Mi", 524288},
    };
    static const char *const bad[] = {"",    "G",    "20Q",   "20 G", "-20G",  "20GB", "20g",
                                      "1e9", "0x10", "20Gii", "999",  "9001T", "inf",  "+1G"};
    struct settings s;
    struct halo_error err;
    halo_options_init(table, &s);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(set(&s, "bytes", good[i].text, &err), 0);
        assert_true((double)s.bytes == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_true(set(&s, "bytes", bad[i], &err) < 0);
        assert_true(err.text[0] && s.bytes == 524288);
    }
}

static void words_for_defaults_and_patterns(void **state)
{
    (void)state;
    struct settings s;
    struct halo_error err;
    halo_options_init(table, &s);
    assert_int_equal(set(&s, "lone", "5", &err), 0);
    assert_int_equal(set(&s, "lone", "auto", &err), 0);
    assert_int_equal(s.lone, 0);
    assert_int_equal(set(&s, "lone", "0", &err), -ERANGE);
    assert_int_equal(set(&s, "n", "auto", &err), -EINVAL);
    assert_int_equal(set(&s, "size", "640x360", &err), 0);
    assert_int_equal(set(&s, "size", "640", &err), -EINVAL);
    assert_string_equal(err.text, "size=640: must be WIDTHxHEIGHT");
    assert_string_equal(s.size, "640x360");
    halo_options_finish(table, &s);
}

static void nearest_names(void **state)
{
    (void)state;
    assert_string_equal(near("sigam"), "sigma");
    assert_string_equal(near("Sigma"), "sigma");
    assert_string_equal(near("sig"), "sigma");
    assert_string_equal(near("rati"), "ratio");
    assert_null(near("border"));
    assert_null(near("wave")); /* of few letters, too many are wrong */
    assert_null(near(""));
    assert_null(near("sigmasigmasigmasigmasigmasigmasigmasigmasigmasigmasigma"));
}

static void help_has_one_line_a_row(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    halo_options_print(table, "-", to);
    fclose(to);
    int lines = 0;
    for (const char *s = text; *s; s++)
        lines += *s == '\n';
    assert_int_equal(lines, 10);
    assert_non_null(strstr(text, "-sigma X"));
    assert_non_null(strstr(text, "a real (0 to 21; default 0.5)\n"));
    assert_non_null(strstr(text, "zero when not given (1 to 6)\n"));
    assert_non_null(strstr(text, "a word (replicate|reflect|wrap; default reflect)\n"));
    assert_non_null(strstr(text, "a time (from 0)\n"));
    assert_non_null(strstr(text, "; also -number, -count\n"));
    free(text);
}

static void first_error_is_kept(void **state)
{
    (void)state;
    struct halo_error err = {0};
    assert_int_equal(halo_fail(&err, -EIO, "first\n\x7f\xc2\x9b\xff caf\xc3\xa9"), -EIO);
    assert_int_equal(halo_fail_usage(&err, "second"), -EINVAL);
    assert_string_equal(err.text, "first????? caf\xc3\xa9");
    assert_int_equal(err.code, -EIO);
    assert_false(err.usage);
    assert_int_equal(halo_fail(NULL, -ENOMEM, "nobody listens"), -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(finds_names_and_aliases),
        cmocka_unit_test(good_values),
        cmocka_unit_test(bad_values_leave_the_field),
        cmocka_unit_test(reals),
        cmocka_unit_test(reals_in_another_locale),
        cmocka_unit_test(times),
        cmocka_unit_test(bytes),
        cmocka_unit_test(words_for_defaults_and_patterns),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(help_has_one_line_a_row),
        cmocka_unit_test(first_error_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
