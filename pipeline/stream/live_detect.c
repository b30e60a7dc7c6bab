/* SPDX-License-Identifier: BSD-2-Clause
 * Detection in a live stream (live_detect.h). */
#include "pipeline/stream/live_detect.h"

#include <errno.h>
#include <inttypes.h>
#include <libavutil/mem.h>
#include <stdio.h>

#include "pipeline/detect/detect.h"
#include "pipeline/stream/live_counters.h"
#include "pipeline/stream/live_listener.h"
#include "pipeline/stream/live_stream.h"

struct halo_live_detect {
    struct halo_detect_calls calls;
    struct halo_detect_settings settings;
    struct halo_detect *detect;
    int64_t dropped; /* frames whose loss was counted; loop thread, as is the next */
    struct halo_live_load load;
};

static void want(void *arg, enum halo_find find)
{
    struct halo_live *live = arg;
    halo_live_tell_detector_want(live->listener, find);
}

static void broken(void *arg, enum halo_find find, const char *why)
{
    struct halo_live *live = arg;
    halo_live_tell_detector_broken(live->listener, find, why);
}

static void unwanted(void *arg, enum halo_find find)
{
    struct halo_live *live = arg;
    halo_live_tell_detector_unwanted(live->listener, find);
}

int halo_live_detect_create(struct halo_live_detect **ret, struct halo_live *live)
{
    struct halo_live_detect *detect = av_mallocz(sizeof *detect);
    if (!detect)
        return -ENOMEM;
    if (live->listener->events->detector.want)
        detect->calls = (struct halo_detect_calls){want, broken, unwanted};
    detect->settings = (struct halo_detect_settings){.stream = live->settings.name,
                                                     .detector = live->settings.detector,
                                                     .calls = &detect->calls,
                                                     .arg = live,
                                                     .time_base = {1, 1000000},
                                                     .live = live->live,
                                                     .patient = true,
                                                     .stop = &live->stop};
    const int code = halo_detect_create(&detect->detect, &detect->settings);
    if (code < 0)
        av_free(detect);
    else
        *ret = detect;
    return code;
}

void halo_live_detect_destroy(struct halo_live_detect *detect)
{
    if (!detect)
        return;
    halo_detect_destroy(detect->detect);
    av_free(detect);
}

struct halo_detect *halo_live_detector(struct halo_live_detect *detect)
{
    return detect->detect;
}

int64_t halo_live_detect_dropped(struct halo_live_detect *detect)
{
    struct halo_detect_stats ignored[HALO_FINDS];
    struct halo_detect_counts counts;
    halo_detect_stats(detect->detect, ignored, &counts);
    const int64_t more = counts.dropped - detect->dropped;
    detect->dropped = counts.dropped;
    return more;
}

void halo_live_detect_wake(struct halo_live_detect *detect)
{
    halo_detect_wake(detect->detect);
}

void halo_live_detect_connect(struct halo_live_detect *detect, enum halo_find find, int fd,
                              const char *why)
{
    halo_detect_connect(detect->detect, find, fd, why);
}

void halo_live_detect_stats(struct halo_live_detect *detect,
                            struct halo_live_detector ret[HALO_FINDS])
{
    struct halo_detect_stats stats[HALO_FINDS];
    struct halo_detect_counts counts;
    halo_detect_stats(detect->detect, stats, &counts);
    for (int find = 0; find < HALO_FINDS; find++) {
        ret[find] = (struct halo_live_detector){0};
        if (!stats[find].needed)
            continue;
        ret[find] = (struct halo_live_detector){.wanted = true,
                                                .ready = stats[find].ready,
                                                .verdicts = stats[find].verdicts,
                                                .late = counts.dropped,
                                                .hidden = counts.hidden,
                                                .mean = stats[find].mean * 1e3,
                                                .most = stats[find].most * 1e3};
        snprintf(ret[find].name, sizeof ret[find].name, "%s", stats[find].name);
    }
}

void halo_live_detect_load(struct halo_live_detect *detect, int64_t now, char *words, size_t size)
{
    struct halo_detect_stats stats[HALO_FINDS];
    struct halo_detect_counts counts;
    int slow = -1;
    words[0] = '\0';
    halo_detect_stats(detect->detect, stats, &counts);
    for (int find = 0; find < HALO_FINDS; find++) {
        if (stats[find].needed && !stats[find].ready) { /* the detector itself is the reason */
            detect->load = (struct halo_live_load){0};
            return;
        }
        if (stats[find].needed && (slow < 0 || stats[find].mean > stats[slow].mean))
            slow = find;
    }
    halo_live_load_judge(&detect->load, now, counts.hidden, counts.judged);
    if (slow < 0 || !detect->load.behind)
        return;
    snprintf(words, size,
             "%" PRId64 " of %" PRId64 " frames were hidden completely: the detector of %s takes "
             "%.0f ms for a frame, but frames wait only %.0f ms (wait)",
             detect->load.of[0], detect->load.of[1], halo_find_names[slow], stats[slow].mean * 1e3,
             detect->settings.detector[slow].wait * 1e3);
}
