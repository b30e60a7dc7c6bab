/* SPDX-License-Identifier: BSD-2-Clause
 * The lists of --ring on halo-bench's command line. */
#include "tools/halo-bench/settings_ring.h"

#include <string.h>

#include "config/number.h"
#include "config/option.h"

static const struct halo_bench_pixels formats[] = {
    {"nv12", 2, 2, 1, 1, 8, 0},       {"yuv420p", 3, 1, 1, 1, 8, 0}, {"yuv422p", 3, 1, 1, 0, 8, 0},
    {"yuv444p", 3, 1, 0, 0, 8, 0},    {"gray", 1, 1, 0, 0, 8, 0},    {"p010", 2, 2, 1, 1, 10, 6},
    {"yuv420p10", 3, 1, 1, 1, 10, 0},
};
enum { FORMATS = sizeof formats / sizeof *formats, MAX_STREAMS = 128 };

static const struct halo_bench_pixels *find_format(const char *name, struct halo_error *err)
{
    const char *names[FORMATS];
    for (int i = 0; i < FORMATS; i++) {
        names[i] = formats[i].name;
        if (!strcmp(name, names[i]))
            return &formats[i];
    }
    const char *near = halo_nearest(name, strlen(name), names, FORMATS);
    if (near)
        halo_fail_usage(err, "--formats: unknown format '%s' (nearest: %s)", name, near);
    else
        halo_fail_usage(
            err,
            "--formats: unknown format '%s': must be nv12, yuv420p, yuv422p, yuv444p, gray, "
            "p010 or yuv420p10",
            name);
    return NULL;
}

/* The next word of a list with commas; false at its end, or where word has no room for it. */
static bool next_word(const char **at, char *word, size_t size)
{
    const size_t length = strcspn(*at, ",");
    if (length == 0 || length >= size)
        return false;
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length;
    return true;
}

static int parse_formats(struct halo_bench_settings *s, const char *list, struct halo_error *err)
{
    char word[24];
    for (const char *at = list;; at++) {
        if (s->format_count == HALO_BENCH_MAX_LIST || !next_word(&at, word, sizeof word))
            return halo_fail_usage(err, "--formats %.60s: not a list such as nv12,gray", list);
        const struct halo_bench_pixels *found = find_format(word, err);
        if (!found)
            return err->code;
        s->formats[s->format_count++] = found;
        if (!*at)
            return 0;
    }
}

static int parse_numbers(int *ret, int *ret_count, const char *name, const char *list, int most,
                         struct halo_error *err)
{
    char word[24];
    for (const char *at = list;; at++) {
        double value;
        if (*ret_count == HALO_BENCH_MAX_LIST || !next_word(&at, word, sizeof word) ||
            halo_parse_integer(word, &value) < 0 || value < 1 || value > most)
            return halo_fail_usage(
                err, "--%s %.60s: not a list of whole numbers from 1 to %d, separated by commas",
                name, list, most);
        ret[(*ret_count)++] = (int)value;
        if (!*at)
            return 0;
    }
}

/* Options that would have no effect are refused. */
static int refuse_idle(const struct halo_bench_settings *s, struct halo_error *err)
{
    static const char *const only[] = {"formats", "depths", "streams", "fps", "alone", NULL};
    static const char *const never[] = {"strategies", "channels", "region", "svg",
                                        "rounds",     "planes",   "launch", NULL};
    for (int i = 0; !s->ring && only[i]; i++)
        if (halo_bench_is_given(s, only[i]))
            return halo_fail_usage(err, "--%s can be used only with --ring", only[i]);
    for (int i = 0; s->ring && never[i]; i++)
        if (halo_bench_is_given(s, never[i]))
            return halo_fail_usage(err, "--%s cannot be used with --ring", never[i]);
    return 0;
}

int halo_bench_resolve_ring(struct halo_bench_settings *s, struct halo_error *err)
{
    if (refuse_idle(s, err) < 0)
        return err->code;
    if (!s->ring)
        return 0;
    if (s->fps > 0 && !s->stream_list)
        return halo_fail_usage(err, "--fps requires --streams");
    if (s->mask_count > HALO_BENCH_MAX_STEPS)
        return halo_fail_usage(err, "--masks: a chain can have at most %d masks",
                               HALO_BENCH_MAX_STEPS);
    int rc = parse_formats(s, s->format_list ? s->format_list : "nv12,yuv420p", err);
    if (rc == 0)
        rc = parse_numbers(s->depths, &s->depth_count, "depths",
                           s->depth_list ? s->depth_list : "1,2,3,4", HALO_BENCH_MAX_DEPTH, err);
    if (rc == 0 && s->stream_list)
        rc = parse_numbers(s->streams, &s->stream_count, "streams", s->stream_list, MAX_STREAMS,
                           err);
    return rc;
}
