/* SPDX-License-Identifier: BSD-2-Clause
 * What halod plan prints (plan.h). */
#include "daemon/cli/run/plan.h"

#include <stdio.h>

#include "pipeline/base/av.h"
#include "pipeline/filter/leaves.h"
#include "pipeline/segment/cut_list.h"

/* The trial has no steady state at its beginning and end, so this is rough. */
static void print_length(const struct halo_stream_stats *stats, double rate)
{
    char clock[32];
    if (stats->total <= 0 || rate <= 0)
        return;
    printf("expected: %lld frames in about %s\n", (long long)stats->total,
           halo_av_clock((double)stats->total / rate, clock, sizeof clock));
}

void halo_plan_print(const struct halo_stream *stream, const struct halo_run_settings *settings,
                     bool stopped)
{
    struct halo_stream_stats stats;
    halo_stream_stats(stream, &stats);
    printf("for %s, halod run would do this (measured by a trial of %s):\n", settings->source.input,
           stopped ? "its first seconds" : "all of it");
    halo_stream_report(stream, stdout);
    print_length(&stats, halo_stream_rate(stream));
    if (settings->filters)
        (void)halo_leaves_print(settings->filters, "what is left of ", stdout, NULL);
    if (settings->segments)
        puts("-segments processes several segments at the same time; the trial processed one.");
}

struct cuts {
    int count;
    double shortest, longest, before;
};

static int count_cut(void *arg, const struct halo_segment *segment, struct halo_error *err)
{
    struct cuts *cuts = arg;
    const double length = segment->time - cuts->before;
    (void)err;
    if (cuts->count > 0) { /* the length of the one before */
        cuts->longest = length > cuts->longest ? length : cuts->longest;
        cuts->shortest = cuts->count == 1 || length < cuts->shortest ? length : cuts->shortest;
    }
    cuts->before = segment->time;
    cuts->count++;
    return 0;
}

int halo_plan_print_cuts(const struct halo_run_settings *settings, struct halo_error *err)
{
    const atomic_int stop = 0;
    struct halo_cut_input input;
    struct cuts cuts = {0};
    const int code = halo_cut_list_read(&input, settings, &stop, count_cut, &cuts, err);
    if (code < 0)
        return code;
    printf("%s: %d segment%s", settings->source.input, cuts.count, cuts.count == 1 ? "" : "s");
    if (cuts.count > 1)
        printf(" of %.2f to %.2f s, besides the last", cuts.shortest, cuts.longest);
    putchar('\n');
    return 0;
}
