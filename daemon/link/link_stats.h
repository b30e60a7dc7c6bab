/* SPDX-License-Identifier: BSD-2-Clause
 * A stream's numbers on their way from its engine: written there, read and checked here. */
#ifndef HALO_LINK_STATS_H
#define HALO_LINK_STATS_H

#include <jansson.h>
#include <stdint.h>

#include "config/daemon.h"
#include "kernels/device_memory.h"
#include "pipeline/live/live.h"

enum { HALO_LINK_GPUS = 16 };

struct halo_link_stage {
    int64_t count;
    double sum, p50, p95, p99, most;     /* ms */
    int64_t below[HALO_HISTOGRAM_EDGES]; /* never less than the one before, nor more than count */
};

/* Of one output, by its number in the settings; kind is the supervisor's to know. */
struct halo_link_output {
    int state;     /* enum halo_output_state */
    char why[600]; /* one clean line, "" where all is well */
    char path[512];
    int64_t packets, bytes, dropped, segments, failures;
};

/* Of a region feed (struct halo_region_feed_stats). */
struct halo_link_regions {
    int64_t updates, refused, pictures, whole, regions;
    double age;   /* seconds; negative: none yet */
    char why[24]; /* everything is hidden, "": it is not */
    bool known;   /* the stream has one, and its engine has told of it */
};

struct halo_link_stats {
    int64_t decoded, filtered, encoded, bytes, opened, damaged, epoch;
    int64_t turn; /* as of halo_live_stats */
    int64_t dropped[HALO_DROPS];
    char degradation[HALO_DEGRADATIONS][HALO_DEGRADATION_WORDS]; /* "": it does not lack that */
    int64_t cards;        /* of all encodings, not among encoded */
    int64_t ring_dropped; /* packets that the supervisor was too slow for */
    char backend[24];
    char camera[24]; /* in a word; "": the input is none */
    struct halo_live_capture capture;
    struct halo_link_regions region_feed;
    int64_t width, height;
    struct halo_coverage coverage[HALO_MAX_RENDITIONS + 1]; /* of its chains: the own comes first */
    double rate;
    struct halo_link_stage stage[HALO_LIVE_STAGES];
    struct halo_link_output output[HALO_MAX_OUTPUTS];
    int outputs; /* how many of them are filled */
};

/* A GPU that an engine uses. */
struct halo_link_gpu {
    int64_t number, used, size; /* bytes of its memory, of all processes */
};

/* One, and a list of them; new references. */
json_t *halo_link_gpu_write(const struct halo_link_gpu *gpu);
json_t *halo_link_gpus_write(const struct halo_link_gpu *gpu, int count);
/* Into ret, HALO_LINK_GPUS long: how many. What makes no sense is left out. */
int halo_link_gpus_read(struct halo_link_gpu *ret, const json_t *from);

/* What all GPUs of the machine have to spare, by number; likewise. -1: it makes no sense. */
json_t *halo_link_loads_write(const struct halo_device_load *load, int count);
int halo_link_loads_read(struct halo_device_load *ret, const json_t *from);

/* New references; NULL: no memory. All that goes over the link, and this less its outputs. */
json_t *halo_link_stats_write(const struct halo_link_stats *stats);
json_t *halo_link_stats_numbers(const struct halo_link_stats *stats);
/* What is absent, of another type or out of range becomes 0 or "": it may come from anybody. */
void halo_link_stats_read(struct halo_link_stats *ret, const json_t *from);

/* {"words": ..., "known": ..., "feed": ..., "planes": [...]}; a new reference. */
json_t *halo_coverage_write(const struct halo_coverage *coverage);

/* {WORD: why, ...}; a new reference. */
json_t *halo_degradations_write(const char degradations[HALO_DEGRADATIONS][HALO_DEGRADATION_WORDS]);

/* Fields of a message from outside: text of at most size - 1 bytes, made safe for a terminal and
 * without the secrets of URLs, "" where there is none; an integer of least .. most, else
 * `otherwise`. */
void halo_json_text(const json_t *object, const char *key, char *ret, size_t size);
int64_t halo_json_integer(const json_t *object, const char *key, int64_t least, int64_t most,
                          int64_t otherwise);

#endif
