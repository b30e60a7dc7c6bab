/* SPDX-License-Identifier: BSD-2-Clause
 * Statistics and reports of a run with a camera (run_live.h). */
#include <stdio.h>

#include "config/log.h"
#include "daemon/run/run_live_private.h"

void run_live_stats(struct run_live *run, struct halo_stream_stats *ret)
{
    const int64_t first = atomic_load(&run->first);
    halo_live_stats(run->live, &run->numbers);
    *ret = (struct halo_stream_stats){
        .frames = run->sink && run->encoding >= 0 ? run->numbers.encoded : run->numbers.filtered,
        .time = first ? (double)(run->numbers.moved_at / 1000 - first) / 1e6 : 0,
        .duration = run->settings->part.duration,
        .bytes = run->sink ? halo_live_sink_bytes(run->sink) : 0,
        .damaged = run->numbers.damaged,
        .running = run->running && run->numbers.filtered > 0,
    };
}

static void print_times(const char *name, const struct halo_histogram *h)
{
    if (h->count)
        fprintf(stderr, "  %-8s %8lld  %8.2f  %8.2f  %8.2f\n", name, (long long)h->count,
                (double)halo_histogram_percentile(h, 0.5) / 1e6,
                (double)halo_histogram_percentile(h, 0.99) / 1e6, (double)h->most / 1e6);
}

/* -stats */
static void report(struct run_live *run)
{
    int64_t dropped = 0;
    for (int i = 0; i < HALO_DROPS; i++)
        dropped += run->numbers.dropped[i];
    fprintf(stderr, "frames: %lld from the camera, %lld filtered, %lld dropped\n",
            (long long)run->numbers.decoded, (long long)run->numbers.filtered, (long long)dropped);
    fprintf(stderr, "  %-8s %8s  %8s  %8s  %8s\n", "ms", "count", "p50", "p99", "most");
    for (int i = 0; i < HALO_LIVE_TOTAL; i++)
        print_times(halo_live_stage_names[i], &run->numbers.stage[i]);
    print_times("packet", &run->numbers.stage[HALO_LIVE_TOTAL]); /* from the time of capture */
    print_times("written", &run->delay);
}

void run_live_report(struct run_live *run, const struct halo_error *err)
{
    char bytes[24];
    struct halo_stream_stats stats;
    run_live_stats(run, &stats);
    halo_progress_show(run->progress, &stats, true);
    if (run->settings->stats)
        report(run);
    if (err->code)
        return;
    halo_log(HALO_LOG_INFO, "%s: %lld frame%s at %.1f fps%s%s", run->settings->output,
             (long long)stats.frames, stats.frames == 1 ? "" : "s",
             halo_progress_rate(run->progress, &stats), run->sink ? ", " : "",
             run->sink ? halo_progress_size(stats.bytes, bytes, sizeof bytes) : "");
}
