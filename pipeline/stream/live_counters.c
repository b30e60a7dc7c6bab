/* SPDX-License-Identifier: BSD-2-Clause
 * The counters of a live stream. */
#include "pipeline/stream/live_counters.h"

#include <inttypes.h>
#include <libavutil/mem.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/base/thread.h"
#include "kernels/clock.h"

/* ---- load ---- */

static const int64_t WINDOW = INT64_C(10000000000); /* ns */

/* It is behind if more than half is lost, and keeps up again if at most one in five is. */
void halo_live_load_judge(struct halo_live_load *load, int64_t now, int64_t lost, int64_t passed)
{
    if (load->since && now - load->since < WINDOW)
        return;
    const int64_t bad = lost - load->lost, good = passed - load->passed;
    if (load->since && bad > good) {
        load->behind = true;
        load->of[0] = bad;
        load->of[1] = bad + good;
    } else if (bad * 4 <= good) {
        load->behind = false;
    }
    load->since = now;
    load->lost = lost;
    load->passed = passed;
}

/* The same for decoding; slipped: seconds by which it fell behind the clock so far. A few seconds
 * once may come from a machine that was asleep. */
static void judge_decoding(struct halo_live_load *load, int64_t now, int64_t slipped)
{
    enum { MANY = 3 };
    if (load->since && now - load->since < WINDOW)
        return;
    const int64_t slips = slipped - load->lost;
    load->of[0] = slips;
    load->of[1] = (now - load->since) / 1000000000;
    load->behind = load->since && (slips >= MANY || (slips > 0 && load->behind));
    load->since = now;
    load->lost = slipped;
}

/* If load->behind is true and `words` is empty, writes text such as "40 of 50 WHAT" into
 * `words`. */
static void say_load(const struct halo_live_load *load, const char *what, char *words, size_t size)
{
    if (load->behind && !words[0])
        snprintf(words, size, "%" PRId64 " of %" PRId64 " %s", load->of[0], load->of[1], what);
}

/* ---- counters ---- */

enum { RATE = 256 }; /* frames from which the rate is computed */

static const int64_t RATE_TIME = INT64_C(4000000000); /* ns over which the rate is computed */

struct encoding {
    int64_t late, made; /* frames that it was too slow for; that it encoded */
    struct halo_live_load load;
    char instead[HALO_DEGRADATION_WORDS];
    bool no_session;
};

struct halo_live_counters {
    struct halo_mutex lock;
    struct halo_live_stats stats;
    int64_t left[RATE]; /* ns: when frames left the gate; a ring buffer */
    int64_t left_count;
    int64_t slipped;
    struct halo_hidden hidden;
    struct halo_live_load filters, decoding;
    struct encoding encoding[HALO_MAX_ENCODINGS];
};

struct halo_live_counters *halo_live_counters_create(void)
{
    return av_mallocz(sizeof(struct halo_live_counters));
}

void halo_live_counters_destroy(struct halo_live_counters *f)
{
    av_free(f);
}

/* Under the lock. */
static int64_t *field(struct halo_live_counters *f, enum halo_count what)
{
    int64_t *const fields[HALO_COUNTS] = {
        [HALO_COUNT_DECODED] = &f->stats.decoded,
        [HALO_COUNT_OPENED] = &f->stats.opened,
        [HALO_COUNT_CAPTURE_FAILURES] = &f->stats.capture.failures,
        [HALO_COUNT_CAPTURE_MISSED] = &f->stats.capture.missed,
        [HALO_COUNT_CAPTURE_LATE] = &f->stats.capture.late,
        [HALO_COUNT_CAPTURE_DAMAGED] = &f->stats.capture.damaged,
        [HALO_COUNT_SLIPPED] = &f->slipped,
    };
    return fields[what];
}

void halo_live_count(struct halo_live_counters *f, enum halo_count what, int64_t by)
{
    halo_lock(&f->lock);
    *field(f, what) += by;
    halo_unlock(&f->lock);
}

void halo_live_drop(struct halo_live_counters *f, enum halo_drop why, int64_t count)
{
    if (count <= 0)
        return;
    halo_lock(&f->lock);
    f->stats.dropped[why] += count;
    halo_unlock(&f->lock);
}

void halo_live_time(struct halo_live_counters *f, enum halo_live_stage stage, int64_t ns)
{
    halo_lock(&f->lock);
    halo_histogram_add(&f->stats.stage[stage], ns);
    halo_unlock(&f->lock);
}

void halo_live_note_degraded(struct halo_live_counters *f, enum halo_degradation degradation,
                             const char *why)
{
    halo_lock(&f->lock);
    snprintf(f->stats.degradation[degradation], sizeof f->stats.degradation[degradation], "%s",
             why);
    halo_sanitise(f->stats.degradation[degradation]);
    halo_unlock(&f->lock);
}

void halo_live_count_left(struct halo_live_counters *f, int64_t epoch,
                          const struct halo_coverage *const *coverage, int chains)
{
    halo_lock(&f->lock);
    f->stats.filtered++;
    f->stats.epoch = epoch;
    for (int i = 0; i < chains; i++)
        f->stats.coverage[i] = *coverage[i];
    f->stats.moved_at = halo_now_ns();
    f->left[f->left_count++ % RATE] = f->stats.moved_at;
    halo_unlock(&f->lock);
}

void halo_live_forget_coverage(struct halo_live_counters *f, int64_t epoch)
{
    halo_lock(&f->lock);
    for (int i = 0; i <= HALO_MAX_RENDITIONS && f->stats.epoch < epoch; i++)
        f->stats.coverage[i].known = false;
    halo_unlock(&f->lock);
}

struct halo_hidden *halo_live_hidden(struct halo_live_counters *f)
{
    return &f->hidden;
}

/* ---- encodings ---- */

void halo_live_count_late(struct halo_live_counters *f, int encoding, int64_t frames)
{
    halo_lock(&f->lock);
    f->encoding[encoding].late += frames;
    halo_unlock(&f->lock);
}

void halo_live_count_made(struct halo_live_counters *f, int encoding)
{
    halo_lock(&f->lock);
    f->encoding[encoding].made++;
    halo_unlock(&f->lock);
}

void halo_live_count_packet(struct halo_live_counters *f, int64_t bytes, bool sound, bool card)
{
    halo_lock(&f->lock);
    f->stats.encoded += !sound && !card;
    f->stats.cards += card;
    f->stats.bytes += bytes;
    halo_unlock(&f->lock);
}

void halo_live_note_instead(struct halo_live_counters *f, int encoding, const char *why,
                            bool no_session)
{
    struct encoding *e = &f->encoding[encoding];
    halo_lock(&f->lock);
    snprintf(e->instead, sizeof e->instead, "%s", why);
    halo_sanitise(e->instead);
    e->no_session = no_session;
    halo_unlock(&f->lock);
}

void halo_live_note_capture(struct halo_live_counters *f,
                            const struct halo_live_capture *capture_mode)
{
    struct halo_live_capture *capture = &f->stats.capture;
    halo_lock(&f->lock);
    snprintf(capture->format, sizeof capture->format, "%s", capture_mode->format);
    capture->width = capture_mode->width;
    capture->height = capture_mode->height;
    capture->rate = capture_mode->rate;
    halo_unlock(&f->lock);
}

/* ---- reading; under the lock ---- */

/* Computed from the intervals between the frames of the last seconds; the time since the last one
 * counts, too. */
static double rate_of(const struct halo_live_counters *f, int64_t now)
{
    const int64_t most = f->left_count < RATE ? f->left_count : RATE;
    int64_t count = 0, first = now;
    while (count < most) {
        const int64_t at = f->left[(f->left_count - 1 - count) % RATE];
        if (now - at > RATE_TIME)
            break;
        first = at;
        count++;
    }
    return count < 2 ? 0 : (double)(count - 1) * 1e9 / (double)(now - first);
}

static void check_encoding(struct encoding *e, bool runs, int64_t now, struct halo_live_stats *ret)
{
    char *late = ret->degradation[HALO_DEGRADED_LATE_ENCODER];
    halo_live_load_judge(&e->load, now, e->late, e->made);
    if (!runs)
        e->load.behind = false;
    say_load(&e->load, "frames were dropped: an encoding is too slow", late,
             HALO_DEGRADATION_WORDS);
    char *degradation =
        ret->degradation[e->no_session ? HALO_DEGRADED_SESSIONS : HALO_DEGRADED_ENCODER];
    if (e->instead[0] && !degradation[0])
        snprintf(degradation, HALO_DEGRADATION_WORDS, "%s", e->instead);
}

static void check_load(struct halo_live_counters *f, int64_t now, struct halo_live_stats *ret)
{
    halo_live_load_judge(&f->filters, now, f->stats.dropped[HALO_DROP_LATE], f->stats.filtered);
    say_load(&f->filters, "frames were dropped: the filters are too slow",
             ret->degradation[HALO_DEGRADED_LATE], HALO_DEGRADATION_WORDS);
    judge_decoding(&f->decoding, now, f->slipped);
    if (f->decoding.behind)
        snprintf(ret->degradation[HALO_DEGRADED_LATE_DECODER], HALO_DEGRADATION_WORDS,
                 "the stream fell behind by %" PRId64 " s in the last %" PRId64
                 " s: decoding is too slow",
                 f->decoding.of[0], f->decoding.of[1]);
}

void halo_live_counters_read(struct halo_live_counters *f, const bool *runs, int encodings,
                             struct halo_live_stats *ret)
{
    halo_lock(&f->lock);
    const int64_t now = halo_now_ns();
    *ret = f->stats;
    ret->hidden = halo_hidden_read(&f->hidden);
    ret->rate = rate_of(f, now);
    check_load(f, now, ret);
    for (int i = 0; i < encodings; i++)
        check_encoding(&f->encoding[i], runs[i], now, ret);
    halo_unlock(&f->lock);
}
