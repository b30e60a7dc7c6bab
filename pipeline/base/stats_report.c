/* SPDX-License-Identifier: BSD-2-Clause
 * Reports where the time of a stream was spent (stats.h), as a table and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "config/base/log.h"
#include "pipeline/base/stats_private.h"

static const char *const thread_names[] = {
    [HALO_TRACK_SOURCE] = "source",   [HALO_TRACK_FILTER] = "filter",
    [HALO_TRACK_COLLECT] = "collect", [HALO_TRACK_ENCODE] = "encode",
    [HALO_TRACK_FACES] = "faces",     [HALO_TRACK_PEOPLE] = "people",
    [HALO_TRACK_LANES] = "lanes",
};

/* The numbers in both the table and the JSON file. */
struct summary {
    struct halo_stats_about about;
    double run, share[HALO_STAGES]; /* seconds; busy part of the run, 0 without frames */
    int bound; /* the stage with a resource that has the largest share; or -1 */
    struct halo_memory_cost memory;
};

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static double once(const struct halo_stats *s, enum halo_stage stage)
{
    return seconds(s->stage[stage].busy);
}

static double per_frame(int64_t sum, int64_t frames)
{
    return frames > 0 ? (double)sum / (double)frames : 0;
}

static void summarise(const struct halo_stats *s, const struct halo_stats_about *about,
                      struct summary *ret)
{
    *ret = (struct summary){.about = *about, .bound = -1};
    ret->run = seconds(s->run_end - s->run_begin);
    halo_backend_memory_cost(&ret->memory);
    for (int i = 0; about->frames > 0 && i < HALO_STAGES; i++) {
        ret->share[i] = ret->run > 0 ? seconds(s->stage[i].busy) / ret->run : 0;
        if (halo_stage_table[i].resource && ret->share[i] > 0 &&
            (ret->bound < 0 || ret->share[i] > ret->share[ret->bound]))
            ret->bound = i;
    }
}

static void print_stages(const struct halo_stats *s, const struct summary *sum, FILE *to)
{
    fprintf(to, "  %-8s %-12s %8s %10s %10s %10s %10s %8s\n", "thread", "stage", "count", "mean ms",
            "p50 ms", "p99 ms", "most ms", "share");
    for (int i = 0; i < HALO_STAGES; i++) {
        const struct halo_stage_row *row = &halo_stage_table[i];
        const struct halo_histogram *h = &s->stage[i].times;
        if (row->kind == HALO_KIND_ONCE || h->count == 0)
            continue;
        fprintf(to, "  %-8s %-12s %8" PRId64 " %10.3f %10.3f %10.3f %10.3f",
                thread_names[row->thread], row->name, h->count,
                seconds(h->sum) * 1e3 / (double)h->count,
                (double)halo_histogram_percentile(h, 0.5) / 1e6,
                (double)halo_histogram_percentile(h, 0.99) / 1e6, (double)h->most / 1e6);
        if (sum->about.frames > 0)
            fprintf(to, " %6.1f %%\n", 100 * sum->share[i]);
        else
            fprintf(to, " %8s\n", "-");
    }
}

static void print_copies(const struct halo_stats *s, const struct summary *sum, FILE *to)
{
    const int64_t n = s->device_frames, all = sum->about.frames;
    fprintf(to, "  copies per frame:");
    if (n > 0)
        fprintf(to,
                " up %.4g (%.2f MB), down %.4g (%.2f MB), on the device %.4g (%.2f MB), "
                "by the driver %.4g,",
                per_frame(s->up.count, n), per_frame(s->up.bytes, n) / 1e6,
                per_frame(s->down.count, n), per_frame(s->down.bytes, n) / 1e6,
                per_frame(s->inside.count, n), per_frame(s->inside.bytes, n) / 1e6,
                per_frame(s->up.pageable + s->down.pageable, n));
    fprintf(to, " on the host %.4g (%.2f MB)\n", per_frame(s->host_copies, all),
            per_frame(s->host_bytes, all) / 1e6);
}

static void print_text(const struct halo_stats *s, const struct summary *sum, FILE *to)
{
    const struct halo_stats_about *about = &sum->about;
    fprintf(to, "stats: %s, %d lane%s: %" PRId64 " frame%s in %.3f s, %.1f a second\n",
            about->backend, about->depth, about->depth == 1 ? "" : "s", about->frames,
            about->frames == 1 ? "" : "s", sum->run,
            sum->run > 0 ? (double)about->frames / sum->run : 0);
    fprintf(to,
            "  before: %.3f s to open (input %.3f, device %.3f, streams %.3f, output %.3f); "
            "after: %.3f s\n",
            seconds(s->run_begin - s->created), once(s, HALO_STAGE_OPEN_INPUT),
            once(s, HALO_STAGE_OPEN_DEVICE), once(s, HALO_STAGE_OPEN_STREAMS),
            once(s, HALO_STAGE_OPEN_OUTPUT), once(s, HALO_STAGE_FINISH));
    print_stages(s, sum, to);
    print_copies(s, sum, to);
    fprintf(to, "  frame memory: %" PRId64 " buffers, %.1f MB, allocated in %.3f s\n",
            sum->memory.count, (double)sum->memory.bytes / 1e6, seconds(sum->memory.ns));
    if (about->frames == 0)
        fputs("  bound: none, because no frame was output\n", to);
    else if (sum->bound >= 0)
        fprintf(to, "  bound: %s, busy %.1f %% of the run%s\n",
                halo_stage_table[sum->bound].resource, 100 * sum->share[sum->bound],
                sum->share[sum->bound] < 0.5 ? ": nothing was busy most of the time" : "");
}

static void write_stages(const struct halo_stats *s, const struct summary *sum, FILE *to)
{
    bool first = true;
    fputs("  \"stages\": [", to);
    for (int i = 0; i < HALO_STAGES; i++) {
        static const char *const kinds[] = {"work", "wait", "once"};
        const struct halo_stage_row *row = &halo_stage_table[i];
        const struct halo_histogram *h = &s->stage[i].times;
        if (h->count == 0)
            continue;
        fprintf(to,
                "%s\n    {\"thread\": \"%s\", \"stage\": \"%s\", \"kind\": \"%s\", "
                "\"count\": %" PRId64 ", \"busy_s\": %.9f, \"share\": %.6f, \"mean_ms\": %.6f, "
                "\"p50_ms\": %.6f, \"p99_ms\": %.6f, \"most_ms\": %.6f}",
                first ? "" : ",", thread_names[row->thread], row->name, kinds[row->kind], h->count,
                seconds(s->stage[i].busy), sum->share[i], seconds(h->sum) * 1e3 / (double)h->count,
                (double)halo_histogram_percentile(h, 0.5) / 1e6,
                (double)halo_histogram_percentile(h, 0.99) / 1e6, (double)h->most / 1e6);
        first = false;
    }
    fputs("\n  ],\n", to);
}

static void write_copies(const char *name, const struct halo_copies *copies, int64_t frames,
                         FILE *to)
{
    fprintf(to, "    \"%s\": {\"count\": %.6g, \"bytes\": %.0f, \"by_driver\": %.6g},\n", name,
            per_frame(copies->count, frames), per_frame(copies->bytes, frames),
            per_frame(copies->pageable, frames));
}

static void write_json(const struct halo_stats *s, const struct summary *sum, FILE *to)
{
    const struct halo_stats_about *about = &sum->about;
    fprintf(to,
            "{\n  \"backend\": \"%s\", \"lanes\": %d, \"frames\": %" PRId64 ", \"bytes\": %" PRId64
            ",\n  \"open_s\": %.9f, \"run_s\": %.9f, \"fps\": %.6g,\n",
            about->backend ? about->backend : "", about->depth, about->frames, about->bytes,
            seconds(s->run_begin ? s->run_begin - s->created : 0), sum->run,
            sum->run > 0 ? (double)about->frames / sum->run : 0);
    fprintf(to, "  \"bound\": \"%s\", \"bound_share\": %.6f,\n",
            sum->bound >= 0 ? halo_stage_table[sum->bound].resource : "",
            sum->bound >= 0 ? sum->share[sum->bound] : 0);
    write_stages(s, sum, to);
    fputs("  \"copies_per_frame\": {\n", to);
    write_copies("up", &s->up, s->device_frames, to);
    write_copies("down", &s->down, s->device_frames, to);
    write_copies("device", &s->inside, s->device_frames, to);
    fprintf(to, "    \"host\": {\"count\": %.6g, \"bytes\": %.0f}\n  },\n",
            per_frame(s->host_copies, about->frames), per_frame(s->host_bytes, about->frames));
    fprintf(to,
            "  \"picture_memory\": {\"buffers\": %" PRId64 ", \"bytes\": %" PRId64
            ", \"seconds\": %.9f}\n}\n",
            sum->memory.count, sum->memory.bytes, seconds(sum->memory.ns));
}

void halo_stats_report(struct halo_stats *s, const struct halo_stats_about *about, FILE *to)
{
    struct summary sum;
    if (!s)
        return;
    summarise(s, about, &sum);
    if (s->settings->stats && s->run_end)
        print_text(s, &sum, to);
    FILE *json = s->json ? halo_report_begin(s->json) : NULL;
    if (json) {
        write_json(s, &sum, json);
        halo_report_end(s->json);
    }
    halo_trace_write(s->trace, about->backend);
}
