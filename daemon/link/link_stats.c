/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of field names and offsets, used in both directions. */
#include "daemon/link/link_stats.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "config/base/secrets.h"
#include "pipeline/output/output.h"

struct row {
    const char *name;
    size_t at;
};

#define STATS(field)    #field, offsetof(struct halo_link_stats, field)
#define STAGE(field)    #field, offsetof(struct halo_link_stage, field)
#define CAPTURE(field)  #field, offsetof(struct halo_live_capture, field)
#define REGIONS(field)  #field, offsetof(struct halo_link_regions, field)
#define DETECTOR(field) #field, offsetof(struct halo_live_detector, field)
#define OUTPUT(field)   #field, offsetof(struct halo_link_output, field)

static const struct row counts[] = {
    {STATS(decoded)}, {STATS(filtered)}, {STATS(encoded)}, {STATS(bytes)},
    {STATS(opened)},  {STATS(damaged)},  {STATS(epoch)},   {STATS(ring_dropped)},
    {STATS(width)},   {STATS(height)},   {STATS(cards)},   {STATS(turn)},
    {NULL, 0},
};
static const struct row times[] = {
    {STAGE(sum)}, {STAGE(p50)}, {STAGE(p95)}, {STAGE(p99)}, {STAGE(most)}, {NULL, 0},
};
static const struct row capture_counts[] = {
    {CAPTURE(failures)}, {CAPTURE(missed)}, {CAPTURE(late)}, {CAPTURE(damaged)},
    {CAPTURE(width)},    {CAPTURE(height)}, {NULL, 0},
};
static const struct row regions_counts[] = {
    {REGIONS(updates)}, {REGIONS(refused)}, {REGIONS(frames)},
    {REGIONS(whole)},   {REGIONS(regions)}, {NULL, 0},
};
static const struct row detector_counts[] = {
    {DETECTOR(verdicts)},
    {DETECTOR(late)},
    {DETECTOR(hidden)},
    {NULL, 0},
};
static const struct row output_counts[] = {
    {OUTPUT(packets)},  {OUTPUT(bytes)},    {OUTPUT(dropped)},
    {OUTPUT(segments)}, {OUTPUT(failures)}, {NULL, 0},
};

void halo_json_text(const json_t *object, const char *key, char *ret, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(ret, size, "%s", text ? text : "");
    halo_hide_in_words(ret, size);
    halo_sanitise(ret);
}

int64_t halo_json_integer(const json_t *object, const char *key, int64_t least, int64_t most,
                          int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return otherwise;
    const int64_t number = json_integer_value(value);
    return number < least || number > most ? otherwise : number;
}

static double real_of(const json_t *object, const char *key)
{
    const double number = json_number_value(json_object_get(object, key));
    return isfinite(number) && number > 0 ? number : 0;
}

static void write_counts(json_t *to, const struct row *row, const void *from)
{
    for (; row->name; row++)
        json_object_set_new(to, row->name,
                            json_integer(*(const int64_t *)((const char *)from + row->at)));
}

static void read_counts(void *to, const struct row *row, const json_t *from)
{
    for (; row->name; row++)
        *(int64_t *)((char *)to + row->at) = halo_json_integer(from, row->name, 0, INT64_MAX, 0);
}

static json_t *write_stage(const struct halo_link_stage *stage)
{
    json_t *to = json_object(), *below = json_array();
    for (int i = 0; i < HALO_HISTOGRAM_EDGES; i++)
        json_array_append_new(below, json_integer(stage->below[i]));
    json_object_set_new(to, "count", json_integer(stage->count));
    json_object_set_new(to, "below", below);
    for (const struct row *row = times; row->name; row++)
        json_object_set_new(to, row->name,
                            json_real(*(const double *)((const char *)stage + row->at)));
    return to;
}

static void read_stage(struct halo_link_stage *ret, const json_t *from)
{
    ret->count = halo_json_integer(from, "count", 0, INT64_MAX, 0);
    for (const struct row *row = times; row->name; row++)
        *(double *)((char *)ret + row->at) = real_of(from, row->name);
    const json_t *below = json_object_get(from, "below");
    for (int64_t i = 0, least = 0; i < HALO_HISTOGRAM_EDGES; i++) {
        const json_t *value = json_array_get(below, (size_t)i);
        const int64_t number = json_integer_value(value); /* 0 if it is not a number */
        least = number < least ? least : number > ret->count ? ret->count : number;
        ret->below[i] = least;
    }
}

static json_t *write_output(const struct halo_link_output *output)
{
    json_t *to = json_object();
    write_counts(to, output_counts, output);
    json_object_set_new(to, "state", json_integer(output->state));
    json_object_set_new(to, "why", json_string(output->why));
    json_object_set_new(to, "path", json_string(output->path));
    return to;
}

static void read_output(struct halo_link_output *ret, const json_t *from)
{
    read_counts(ret, output_counts, from);
    ret->state = (int)halo_json_integer(from, "state", HALO_OUTPUT_IDLE, HALO_OUTPUT_FAILED, 0);
    halo_json_text(from, "why", ret->why, sizeof ret->why);
    halo_json_text(from, "path", ret->path, sizeof ret->path);
}

static json_t *write_capture(const struct halo_live_capture *capture)
{
    json_t *to = json_object();
    write_counts(to, capture_counts, capture);
    json_object_set_new(to, "format", json_string(capture->format));
    json_object_set_new(to, "rate", json_real(isfinite(capture->rate) ? capture->rate : 0));
    return to;
}

static void read_capture(struct halo_live_capture *ret, const json_t *from)
{
    read_counts(ret, capture_counts, from);
    ret->rate = real_of(from, "rate");
    halo_json_text(from, "format", ret->format, sizeof ret->format);
}

static json_t *write_regions(const struct halo_link_regions *regions)
{
    json_t *to = json_object();
    write_counts(to, regions_counts, regions);
    json_object_set_new(to, "age", json_real(isfinite(regions->age) ? regions->age : -1));
    json_object_set_new(to, "why", json_string(regions->why));
    return to;
}

/* If the engine's report is invalid, it is taken to hide everything. */
static void read_regions(struct halo_link_regions *ret, const json_t *from)
{
    const json_t *age = json_object_get(from, "age"), *why = json_object_get(from, "why");
    if (!json_is_number(age) || !json_is_string(why))
        return;
    read_counts(ret, regions_counts, from);
    ret->known = true;
    ret->age = isfinite(json_number_value(age)) ? json_number_value(age) : -1;
    halo_json_text(from, "why", ret->why, sizeof ret->why);
}

json_t *halo_link_detector_write(const struct halo_live_detector *detector)
{
    json_t *to = json_object();
    write_counts(to, detector_counts, detector);
    json_object_set_new(to, "ready", json_boolean(detector->ready));
    json_object_set_new(to, "name", json_string(detector->name));
    json_object_set_new(to, "mean_ms", json_real(isfinite(detector->mean) ? detector->mean : 0));
    json_object_set_new(to, "most_ms", json_real(isfinite(detector->most) ? detector->most : 0));
    return to;
}

static json_t *write_detectors(const struct halo_link_stats *stats)
{
    json_t *to = json_object();
    for (int find = 0; find < HALO_FINDS; find++)
        if (stats->detector[find].wanted)
            json_object_set_new(to, halo_find_names[find],
                                halo_link_detector_write(&stats->detector[find]));
    return to;
}

static void read_detector(struct halo_live_detector *ret, const json_t *from)
{
    if (!json_is_object(from))
        return;
    ret->wanted = true;
    ret->ready = json_is_true(json_object_get(from, "ready"));
    ret->mean = real_of(from, "mean_ms");
    ret->most = real_of(from, "most_ms");
    read_counts(ret, detector_counts, from);
    halo_json_text(from, "name", ret->name, sizeof ret->name);
}

json_t *halo_coverage_write(const struct halo_coverage *coverage)
{
    char words[HALO_COVERAGE_WORDS];
    json_t *planes = json_array();
    halo_coverage_words(coverage, words, sizeof words);
    for (int p = 0; p < coverage->planes; p++)
        json_array_append_new(planes, json_real(coverage->part[p]));
    return json_pack("{s:s, s:b, s:b, s:o}", "words", words, "known", coverage->known, "feed",
                     coverage->feed, "planes", planes);
}

static void read_coverage(struct halo_coverage *ret, const json_t *from)
{
    const json_t *planes = json_object_get(from, "planes");
    ret->known = json_is_true(json_object_get(from, "known"));
    ret->feed = json_is_true(json_object_get(from, "feed"));
    for (size_t p = 0; p < json_array_size(planes) && p < HALO_MAX_PLANES; p++)
        ret->part[ret->planes++] = fmin(fmax(json_number_value(json_array_get(planes, p)), 0), 1);
}

json_t *halo_coverages_write(const struct halo_coverage coverage[HALO_MAX_RENDITIONS + 1])
{
    json_t *to = json_array();
    for (int i = 0; i <= HALO_MAX_RENDITIONS && coverage[i].known; i++)
        json_array_append_new(to, halo_coverage_write(&coverage[i]));
    return to;
}

void halo_coverages_read(struct halo_coverage ret[HALO_MAX_RENDITIONS + 1], const json_t *from)
{
    memset(ret, 0, (HALO_MAX_RENDITIONS + 1) * sizeof *ret);
    for (size_t i = 0; i < json_array_size(from) && i <= HALO_MAX_RENDITIONS; i++)
        read_coverage(&ret[i], json_array_get(from, i));
}

json_t *halo_degradations_write(const char degradations[HALO_DEGRADATIONS][HALO_DEGRADATION_WORDS])
{
    json_t *to = json_object();
    for (int i = 0; i < HALO_DEGRADATIONS; i++)
        if (degradations[i][0])
            json_object_set_new(to, halo_degradation_names[i], json_string(degradations[i]));
    return to;
}

static void read_hidden(struct halo_hidden_counts *ret, const json_t *from)
{
    ret->objects = halo_json_integer(from, "objects", 0, INT64_MAX, 0);
    ret->bits = real_of(from, "bits");
    ret->epsilons = real_of(from, "epsilon");
}

json_t *halo_link_stats_numbers(const struct halo_link_stats *stats)
{
    json_t *to = json_object(), *dropped = json_object(), *stages = json_object();
    write_counts(to, counts, stats);
    for (int i = 0; i < HALO_DROPS; i++)
        json_object_set_new(dropped, halo_drop_names[i], json_integer(stats->dropped[i]));
    for (int i = 0; i < HALO_LIVE_STAGES; i++)
        json_object_set_new(stages, halo_live_stage_names[i], write_stage(&stats->stage[i]));
    json_object_set_new(to, "backend", json_string(stats->backend));
    json_object_set_new(to, "camera", json_string(stats->camera));
    if (stats->camera[0])
        json_object_set_new(to, "capture", write_capture(&stats->capture));
    json_object_set_new(to, "rate", json_real(isfinite(stats->rate) ? stats->rate : 0));
    json_object_set_new(to, "dropped", dropped);
    json_object_set_new(to, "hidden",
                        json_pack("{s:I, s:f, s:f}", "objects", (json_int_t)stats->hidden.objects,
                                  "bits", stats->hidden.bits, "epsilon", stats->hidden.epsilons));
    json_object_set_new(to, "degraded", halo_degradations_write(stats->degradation));
    json_object_set_new(to, "stages", stages);
    return to;
}

json_t *halo_link_stats_write(const struct halo_link_stats *stats)
{
    json_t *to = halo_link_stats_numbers(stats), *outputs = json_array();
    for (int i = 0; i < stats->outputs; i++)
        json_array_append_new(outputs, write_output(&stats->output[i]));
    if (stats->region_feed.known)
        json_object_set_new(to, "region_feed", write_regions(&stats->region_feed));
    json_object_set_new(to, "detectors", write_detectors(stats));
    json_object_set_new(to, "outputs", outputs);
    json_object_set_new(to, "coverage", halo_coverages_write(stats->coverage));
    return to;
}

void halo_link_stats_read(struct halo_link_stats *ret, const json_t *from)
{
    memset(ret, 0, sizeof *ret);
    read_counts(ret, counts, from);
    ret->rate = real_of(from, "rate");
    halo_json_text(from, "backend", ret->backend, sizeof ret->backend);
    halo_json_text(from, "camera", ret->camera, sizeof ret->camera);
    read_capture(&ret->capture, json_object_get(from, "capture"));
    read_hidden(&ret->hidden, json_object_get(from, "hidden"));
    read_regions(&ret->region_feed, json_object_get(from, "region_feed"));
    const json_t *detectors = json_object_get(from, "detectors");
    for (int find = 0; find < HALO_FINDS; find++)
        read_detector(&ret->detector[find], json_object_get(detectors, halo_find_names[find]));
    const json_t *dropped = json_object_get(from, "dropped");
    for (int i = 0; i < HALO_DROPS; i++)
        ret->dropped[i] = halo_json_integer(dropped, halo_drop_names[i], 0, INT64_MAX, 0);
    const json_t *degraded = json_object_get(from, "degraded");
    for (int i = 0; i < HALO_DEGRADATIONS; i++)
        halo_json_text(degraded, halo_degradation_names[i], ret->degradation[i],
                       sizeof ret->degradation[i]);
    const json_t *stages = json_object_get(from, "stages");
    for (int i = 0; i < HALO_LIVE_STAGES; i++)
        read_stage(&ret->stage[i], json_object_get(stages, halo_live_stage_names[i]));
    halo_coverages_read(ret->coverage, json_object_get(from, "coverage"));
    const json_t *outputs = json_object_get(from, "outputs");
    for (size_t i = 0; i < json_array_size(outputs) && i < HALO_MAX_OUTPUTS; i++)
        read_output(&ret->output[ret->outputs++], json_array_get(outputs, i));
}

json_t *halo_link_gpu_write(const struct halo_link_gpu *gpu)
{
    return json_pack("{s:I, s:I, s:I}", "number", (json_int_t)gpu->number, "memory_used_bytes",
                     (json_int_t)gpu->used, "memory_size_bytes", (json_int_t)gpu->size);
}

json_t *halo_link_gpus_write(const struct halo_link_gpu *gpu, int count)
{
    json_t *to = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(to, halo_link_gpu_write(&gpu[i]));
    return to;
}

/* A GPU number that occurs twice would produce a duplicate sample in the metrics. */
static bool is_among(const struct halo_link_gpu *gpu, int count, int64_t number)
{
    for (int i = 0; i < count; i++)
        if (gpu[i].number == number)
            return true;
    return false;
}

int halo_link_gpus_read(struct halo_link_gpu *ret, const json_t *from)
{
    int count = 0;
    for (size_t i = 0; i < json_array_size(from) && count < HALO_LINK_GPUS; i++) {
        const json_t *one = json_array_get(from, i);
        const struct halo_link_gpu gpu = {
            .number = halo_json_integer(one, "number", 0, 1023, -1),
            .used = halo_json_integer(one, "memory_used_bytes", 0, INT64_MAX, -1),
            .size = halo_json_integer(one, "memory_size_bytes", 0, INT64_MAX, -1),
        };
        if (gpu.number >= 0 && gpu.used >= 0 && gpu.size >= gpu.used &&
            !is_among(ret, count, gpu.number))
            ret[count++] = gpu;
    }
    return count;
}

json_t *halo_link_loads_write(const struct halo_device_load *load, int count)
{
    json_t *to = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(to, json_pack("{s:I, s:i}", "memory_free_bytes",
                                            (json_int_t)load[i].free, "busy", load[i].busy));
    return to;
}

int halo_link_loads_read(struct halo_device_load *ret, const json_t *from)
{
    const size_t count = json_array_size(from);
    if (!json_is_array(from) || count > HALO_LINK_GPUS)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(from, i);
        ret[i] = (struct halo_device_load){
            .free = halo_json_integer(one, "memory_free_bytes", 0, INT64_MAX / 2, -1),
            .busy = (int)halo_json_integer(one, "busy", 0, 100, -1),
        };
        if (ret[i].free < 0 || ret[i].busy < 0)
            return -1;
    }
    return (int)count;
}
