/* SPDX-License-Identifier: BSD-2-Clause
 * The statistics of a stream. The engine writes and sends them; the supervisor reads and checks
 * them. */
#ifndef HALO_LINK_STATS_H
#define HALO_LINK_STATS_H

#include <jansson.h>
#include <stdint.h>

#include "config/daemon.h"
#include "kernels/device_memory.h"
#include "pipeline/stream/live.h"

enum { HALO_LINK_GPUS = 16 };

struct halo_link_stage {
    int64_t count;
    double sum, p50, p95, p99, most; /* ms */
    /* a cumulative histogram: each value is at least the one before it, and at most `count` */
    int64_t below[HALO_HISTOGRAM_EDGES];
};

/* The statistics of one output. `output` in struct halo_link_stats lists the outputs in the same
 * order as the stream's settings, so the supervisor finds an output's kind in the settings by its
 * index. */
struct halo_link_output {
    int state;     /* enum halo_output_state */
    char why[600]; /* one printable line, "" if there is no problem */
    char path[512];
    int64_t packets, bytes, dropped, segments, failures;
};

/* The statistics of a region feed (struct halo_region_feed_stats). */
struct halo_link_regions {
    int64_t updates, refused, frames, whole, regions;
    double age;   /* age of the last update in seconds; negative: no update yet */
    char why[24]; /* why everything is hidden; "": not everything is hidden */
    bool known;   /* the stream has a region feed, and its engine has reported on it */
};

struct halo_link_stats {
    int64_t decoded, filtered, encoded, bytes, opened, damaged, epoch;
    /* position in the queue of streams that wait to open something on the GPU; 0: not waiting */
    int64_t turn;
    int64_t dropped[HALO_DROPS];
    /* for each kind of degradation, the reason for it; "": not degraded in this way */
    char degradation[HALO_DEGRADATIONS][HALO_DEGRADATION_WORDS];
    int64_t cards;        /* the sum over all encodings; not included in `encoded` */
    int64_t ring_dropped; /* packets dropped because the supervisor was too slow */
    char backend[24];
    char camera[24]; /* the camera's state in one word; "": the input is not a camera */
    struct halo_live_capture capture;
    struct halo_link_regions region_feed;
    struct halo_live_detector detector[HALO_FINDS];
    int64_t width, height;
    /* the coverage of the stream's own chain, then of each rendition's chain */
    struct halo_coverage coverage[HALO_MAX_RENDITIONS + 1];
    double rate;
    struct halo_hidden_counts hidden; /* what hide has left of objects, in all chains */
    struct halo_link_stage stage[HALO_LIVE_STAGES];
    struct halo_link_output output[HALO_MAX_OUTPUTS];
    int outputs; /* number of entries of output[] that are filled */
};

/* A GPU that an engine uses. */
struct halo_link_gpu {
    /* `used`: bytes of GPU memory in use by all processes; `size`: bytes of GPU memory in total */
    int64_t number, used, size;
};

/* Convert one GPU, or a list of GPUs, to JSON. Both functions return a new reference. */
json_t *halo_link_gpu_write(const struct halo_link_gpu *gpu);
json_t *halo_link_gpus_write(const struct halo_link_gpu *gpu, int count);
/* Fills ret, an array with HALO_LINK_GPUS elements, and returns how many elements it filled.
 * Invalid elements of the JSON list are skipped. */
int halo_link_gpus_read(struct halo_link_gpu *ret, const json_t *from);

/* Convert the free capacity of all GPUs of the machine, in the order of their numbers, to and from
 * JSON. halo_link_loads_read() returns the number of GPUs, or -1 if the list is invalid. */
json_t *halo_link_loads_write(const struct halo_device_load *load, int count);
int halo_link_loads_read(struct halo_device_load *ret, const json_t *from);

/* Convert statistics to JSON: halo_link_stats_write() with all fields that are sent over the link,
 * halo_link_stats_numbers() without the outputs. Both functions return a new reference, or NULL if
 * out of memory. */
json_t *halo_link_stats_write(const struct halo_link_stats *stats);
json_t *halo_link_stats_numbers(const struct halo_link_stats *stats);
/* Reads the statistics. The sender is not trusted: fields that are missing, of the wrong type or
 * out of range become 0 or "". */
void halo_link_stats_read(struct halo_link_stats *ret, const json_t *from);

/* Returns a new reference to {"ready": ..., "verdicts": ..., ...}. */
json_t *halo_link_detector_write(const struct halo_live_detector *detector);

/* Returns a new reference to {"words": ..., "known": ..., "feed": ..., "planes": [...]}. */
json_t *halo_coverage_write(const struct halo_coverage *coverage);
/* The coverage of a stream's own chain and of its renditions; empty while it is not known. */
json_t *halo_coverages_write(const struct halo_coverage coverage[HALO_MAX_RENDITIONS + 1]);
void halo_coverages_read(struct halo_coverage ret[HALO_MAX_RENDITIONS + 1], const json_t *from);

/* Returns a new reference to {WORD: why, ...}. */
json_t *halo_degradations_write(const char degradations[HALO_DEGRADATIONS][HALO_DEGRADATION_WORDS]);

/* Read a field of a message whose sender is not trusted. Text is cut to size - 1 bytes and made
 * safe for a terminal, and secrets in URLs are removed; missing text becomes "". An integer that is
 * missing or outside least .. most becomes `otherwise`. */
void halo_json_text(const json_t *object, const char *key, char *ret, size_t size);
int64_t halo_json_integer(const json_t *object, const char *key, int64_t least, int64_t most,
                          int64_t otherwise);

#endif
