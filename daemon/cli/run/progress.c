/* SPDX-License-Identifier: BSD-2-Clause
 * Progress of halod run: a bar, plain lines, key=value blocks. */
#include "daemon/cli/run/progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "kernels/clock.h"
#include "pipeline/base/path.h"

enum {
    BAR_CELLS = 24,
    PLAIN_SECONDS = 10, /* between lines without a terminal */
};

struct halo_progress {
    const char *target; /* the -progress argument, owned by the caller */
    FILE *blocks;       /* NULL without -progress, and after a failed write */
    bool terminal;
    int64_t start, last_line, last_rate; /* ns, monotonic */
    int64_t last_frames;
    struct halo_stream_stats shown; /* frames and time of a run only grow */
    double recent;                  /* recent frames per second, for the remaining time */
};

int halo_progress_open(struct halo_progress **ret, const char *target, struct halo_error *err)
{
    struct halo_progress *p = calloc(1, sizeof *p);
    if (!p)
        return halo_fail(err, -ENOMEM, "out of memory");
    p->start = p->last_line = p->last_rate = halo_now_ns();
    p->terminal = isatty(STDERR_FILENO) && halo_log_get_level() >= HALO_LOG_INFO;
    p->target = target;
    if (target)
        p->blocks = strcmp(target, "-") ? fopen(halo_path_of(target), "we") : stdout;
    if (target && !p->blocks) {
        const int code = -errno;
        free(p);
        return halo_fail(err, code, "-progress %s cannot be opened for writing: %s", target,
                         strerror(-code));
    }
    *ret = p;
    return 0;
}

static void close_blocks(struct halo_progress *p)
{
    if (p->blocks && p->blocks != stdout)
        fclose(p->blocks);
    p->blocks = NULL;
}

void halo_progress_close(struct halo_progress *p)
{
    if (!p)
        return;
    halo_log_set_status(NULL);
    close_blocks(p);
    free(p);
}

const char *halo_progress_size(long long bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double n = (double)bytes;
    size_t unit = 0;
    while (n >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        n /= 1000;
        unit++;
    }
    snprintf(text, size, unit && n < 99.95 ? "%.1f %s" : "%.0f %s", n, units[unit]);
    return text;
}

static double seconds_since(int64_t then)
{
    return (double)(halo_now_ns() - then) / 1e9;
}

double halo_progress_rate(const struct halo_progress *p, const struct halo_stream_stats *stats)
{
    const double elapsed = seconds_since(p->start);
    return elapsed > 0 ? (double)stats->frames / elapsed : 0;
}

/* A rate that follows the last seconds, so that the remaining time stays correct when the content
 * changes. */
static void update_rate(struct halo_progress *p, const struct halo_stream_stats *stats)
{
    const double span = seconds_since(p->last_rate);
    if (span < 0.4)
        return;
    const double now = (double)(stats->frames - p->last_frames) / span;
    p->recent = p->recent > 0 ? 0.7 * p->recent + 0.3 * now : now;
    p->last_rate = halo_now_ns();
    p->last_frames = stats->frames;
}

static double done_ratio(const struct halo_stream_stats *stats)
{
    double ratio = -1;
    if (stats->total > 0)
        ratio = (double)stats->frames / (double)stats->total;
    else if (stats->duration > 0)
        ratio = stats->time / stats->duration;
    return ratio > 1 ? 1 : ratio;
}

static void format_left(double seconds, char *text, size_t size)
{
    const long s = lround(seconds);
    if (s >= 3600)
        snprintf(text, size, "%ld:%02ld:%02ld left", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, size, "%ld:%02ld left", s / 60, s % 60);
}

static void format_line(const struct halo_progress *p, const struct halo_stream_stats *stats,
                        bool bar, char *text, size_t size)
{
    char left[40] = "", bytes[24], cells[BAR_CELLS * 3 + 3] = "", of[32] = "";
    const double ratio = done_ratio(stats);
    if (ratio > 0 && p->recent > 0 && stats->total > 0)
        format_left(fmax(0, (double)(stats->total - stats->frames)) / p->recent, left, sizeof left);
    if (bar && ratio >= 0) {
        const int full = (int)(ratio * BAR_CELLS);
        snprintf(cells, sizeof cells, "[%.*s%.*s] ", full, "########################",
                 BAR_CELLS - full, "........................");
    }
    if (stats->total > 0)
        snprintf(of, sizeof of, "/%lld", (long long)stats->total);
    snprintf(text, size, "%sframe %lld%s  %.1f fps  %s%s%s", cells, (long long)stats->frames, of,
             p->recent, halo_progress_size(stats->bytes, bytes, sizeof bytes), *left ? "  " : "",
             left);
}

/* FFmpeg's keys, so that programs written for its -progress can read ours. */
static void write_block(struct halo_progress *p, const struct halo_stream_stats *stats, bool last)
{
    const long long us = (long long)(stats->time * 1e6);
    const long long abs_us = us < 0 ? -us : us;
    const double elapsed = seconds_since(p->start);
    const double bits = stats->time > 0 ? (double)stats->bytes * 8 / stats->time / 1000 : 0;
    const int written = fprintf(
        p->blocks,
        "frame=%lld\nfps=%.2f\nbitrate=%.1fkbits/s\ntotal_size=%lld\nout_time_us=%lld\n"
        "out_time_ms=%lld\nout_time=%s%02lld:%02lld:%02lld.%06lld\ndup_frames=0\n"
        "drop_frames=0\ndamaged_places=%lld\nspeed=%.3gx\nprogress=%s\n",
        (long long)stats->frames, halo_progress_rate(p, stats), bits, (long long)stats->bytes, us,
        us, us < 0 ? "-" : "", abs_us / 3600000000, abs_us / 60000000 % 60, abs_us / 1000000 % 60,
        abs_us % 1000000, (long long)stats->damaged, elapsed > 0 ? stats->time / elapsed : 0,
        last ? "end" : "continue");
    if (written >= 0 && fflush(p->blocks) == 0)
        return;
    halo_log(HALO_LOG_WARNING, "-progress %s cannot be written any more, but the run continues: %s",
             p->target, strerror(errno));
    close_blocks(p);
}

void halo_progress_show(struct halo_progress *p, const struct halo_stream_stats *now, bool last)
{
    char line[300];
    struct halo_stream_stats *stats = &p->shown;
    const struct halo_stream_stats before = *stats;
    *stats = *now;
    stats->frames = now->frames > before.frames ? now->frames : before.frames;
    stats->time = fmax(now->time, before.time);
    update_rate(p, stats);
    if (p->blocks && (stats->running || last))
        write_block(p, stats, last);
    if (last || !stats->running) {
        halo_log_set_status(NULL);
        return;
    }
    if (p->terminal) {
        format_line(p, stats, true, line, sizeof line);
        halo_log_set_status(line);
    } else if (seconds_since(p->last_line) >= PLAIN_SECONDS) {
        format_line(p, stats, false, line, sizeof line);
        halo_log(HALO_LOG_INFO, "%s", line);
        p->last_line = halo_now_ns();
    }
}
