/* SPDX-License-Identifier: BSD-2-Clause
 * The CPU backend: its strategies, and the division of a call into bands of rows for the
 * workers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backends.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/pool.h"
#include "kernels/cpu/rows.h"

/* ---- regions ---- */

/* A band of a job with a region: the strategy filters the rows that the region meets, and then each
 * sample of dst is kept, replaced or blended, in place. */

enum { SPAN = 64 }; /* samples that are merged in the same way */

/* Consecutive rows to filter, within a band. */
struct run {
    int y0, y1;
};

static bool meets(const struct halo_job *job, int y, uint8_t *weights)
{
    halo_region_row(job->region, y, job->dst.width, weights);
    unsigned any = 0;
    for (int x = 0; x < job->dst.width; x++)
        any |= weights[x];
    return any;
}

/* Finds the first run from row y on. Two runs are joined if the gap between them is not higher than
 * the rows that both would read. False: no run. */
static bool next_run(const struct halo_job *job, int y, int end, uint8_t *weights, struct run *ret)
{
    const struct halo_conv *c = job->conv;
    while (y < end && !meets(job, y, weights))
        y++;
    if (y == end)
        return false;
    *ret = (struct run){y, y};
    for (; y < end && y <= ret->y1 + 2 * c->radius_y; y++)
        if (meets(job, y, weights))
            ret->y1 = y + 1;
    if (c->kind == HALO_CONV_PIXELIZE) { /* whole blocks, as in the band */
        ret->y0 = ret->y0 / c->block_h * c->block_h;
        ret->y1 = (ret->y1 + c->block_h - 1) / c->block_h * c->block_h;
        ret->y1 = ret->y1 < end ? ret->y1 : end;
    }
    return true;
}

/* Repeats the weight of a pixel for both channels. */
static void spread(uint8_t *weights, int width)
{
    for (int x = width - 1; x >= 0; x--)
        weights[2 * x] = weights[2 * x + 1] = weights[x];
}

/* Samples first .. first + count - 1 of a row. */
struct span {
    const struct halo_plane *plane;
    const void *from;
    void *to;
    int first, count;
};

static void copy_span(const struct span *s)
{
    if (s->plane->depth == 8) {
        memcpy((uint8_t *)s->to + s->first, (const uint8_t *)s->from + s->first, (size_t)s->count);
        return;
    }
    const uint16_t *restrict from = (const uint16_t *)s->from + s->first;
    uint16_t *restrict to = (uint16_t *)s->to + s->first;
    const int depth = s->plane->depth, shift = s->plane->shift;
    for (int i = 0; i < s->count; i++)
        to[i] = (uint16_t)(halo_sample_value(from[i], depth, shift) << shift);
}

/* If the weight is 0, the strategy may not have written the sample: it is not used. */
static void blend_span(const struct span *s, const uint8_t *weights)
{
    for (int i = s->first; i < s->first + s->count; i++) {
        const int source = halo_row_get(s->plane, s->from, i), w = weights[i];
        const int filtered = w ? halo_row_get(s->plane, s->to, i) : 0;
        halo_row_put(s->plane, s->to, i,
                     (int)halo_region_blend((unsigned)filtered, (unsigned)source, (unsigned)w));
    }
}

/* Most spans have only one kind of weights. */
static void merge_span(const struct span *s, const uint8_t *weights)
{
    unsigned any = 0, all = 255;
    for (int i = s->first; i < s->first + s->count; i++) {
        any |= weights[i];
        all &= weights[i];
    }
    if (!any)
        copy_span(s);
    else if (all < 255)
        blend_span(s, weights);
}

static void merge_row(const struct halo_job *job, int y, uint8_t *weights)
{
    const struct halo_plane *dst = &job->dst;
    const int n = dst->width * dst->channels;
    struct span s = {dst, halo_plane_row(&job->src, y), halo_plane_row(dst, y), 0, 0};
    halo_region_row(job->region, y, dst->width, weights);
    if (dst->channels == 2)
        spread(weights, dst->width);
    for (; s.first < n; s.first += SPAN) {
        s.count = n - s.first < SPAN ? n - s.first : SPAN;
        merge_span(&s, weights);
    }
}

/* Fills the rows [y0, y1) of a job that has a region, using the given strategy. scratch and row
 * both point to memory that belongs to the worker. */
static int cpu_region_band(const struct halo_cpu_strategy *strategy, const struct halo_job *job,
                           int y0, int y1, struct halo_cpu_scratch *scratch,
                           struct halo_cpu_scratch *row)
{
    uint8_t *weights =
        halo_cpu_scratch_get(row, (size_t)job->dst.width * (size_t)job->dst.channels);
    if (!weights)
        return -ENOMEM;
    struct run run;
    for (int y = y0; next_run(job, y, y1, weights, &run); y = run.y1) {
        const int code = strategy->band(job, run.y0, run.y1, scratch);
        if (code < 0)
            return code;
    }
    for (int y = y0; y < y1; y++)
        merge_row(job, y, weights);
    return 0;
}

/* ---- the backend ---- */

enum {
    BANDS_PER_THREAD = 3, /* compensates for late workers and repeats only little halo */
    LEAST_BAND = 16,      /* minimum height, as a multiple of the rows that a band repeats */
};

struct worker {
    struct halo_cpu_scratch scratch, row;
};

struct cpu {
    struct halo_backend base;
    struct halo_pool *pool;
    int threads;
    struct worker workers[];
};

static const struct halo_strategy *const strategies[] = {
    &halo_cpu_rows.base,      &halo_cpu_running_sums.base,    &halo_cpu_rows_v3.base,
    &halo_cpu_rows_base.base, &halo_cpu_running_sums_v3.base, &halo_cpu_running_sums_base.base,
    &halo_cpu_nodes.base,     &halo_cpu_reference.base,       NULL,
};

static int describe(char *text, size_t size)
{
    const int cpus = halo_cpu_count();
    snprintf(text, size, "%d thread%s, %s", cpus, cpus > 1 ? "s" : "", halo_rows_isa());
    return 1;
}

/* The processor's name, if Linux reports one, and the instruction set that is used. */
static void identify(const struct halo_backend *b, char *text, size_t size)
{
    char line[160], name[100] = "processor";
    FILE *info = fopen("/proc/cpuinfo", "re");
    (void)b;
    while (info && fgets(line, sizeof line, info))
        if (sscanf(line, "model name : %99[^\n]", name) == 1)
            break;
    if (info)
        fclose(info);
    snprintf(text, size, "%s, %s", name, halo_rows_isa());
}

static void cpu_close(struct halo_backend *b)
{
    struct cpu *cpu = (struct cpu *)b;
    halo_pool_destroy(cpu->pool);
    for (int i = 0; i < cpu->threads; i++) {
        free(cpu->workers[i].scratch.data);
        free(cpu->workers[i].row.data);
    }
    free(cpu);
}

static int cpu_open(struct halo_backend **ret, const struct halo_backend_settings *settings)
{
    const int wanted = settings->threads ? settings->threads : halo_cpu_count();
    const int threads = wanted > 0 ? wanted : 1;
    struct cpu *cpu = calloc(1, sizeof *cpu + (size_t)threads * sizeof cpu->workers[0]);
    if (!cpu)
        return -ENOMEM;
    cpu->base.ops = &halo_backend_cpu;
    cpu->threads = threads;
    cpu->pool = halo_pool_create(threads);
    if (!cpu->pool) {
        cpu_close(&cpu->base);
        return -ENOMEM;
    }
    *ret = &cpu->base;
    return 0;
}

struct call {
    struct cpu *cpu;
    const struct halo_job *jobs;
    int count;
    int64_t samples; /* of all jobs together */
};

static int64_t samples(const struct halo_job *job)
{
    return (int64_t)job->dst.width * job->dst.height * job->dst.channels;
}

/* The number of bands for this job. A band repeats 2 radius_y rows of its neighbours, so bands are
 * at least a few times as high, unless workers would have no band. */
static int band_count(const struct call *call, const struct halo_job *job)
{
    const int threads = call->cpu->threads;
    if (threads == 1)
        return 1;
    const int64_t all = (int64_t)threads * BANDS_PER_THREAD;
    int64_t bands = (all * samples(job) + call->samples / 2) / call->samples;
    const int tall = job->dst.height / (LEAST_BAND * (2 * job->conv->radius_y + 1));
    const int most = tall > threads ? tall : threads;
    bands = bands > most ? most : bands;
    bands = bands > job->dst.height ? job->dst.height : bands;
    return bands > 1 ? (int)bands : 1;
}

/* The first row of band number `piece`. Bands contain whole blocks, so some may be empty. */
static int first_row(const struct halo_job *job, int task, int bands)
{
    const int64_t height = job->dst.height;
    const int y = (int)(height * task / bands);
    if (job->conv->kind != HALO_CONV_PIXELIZE)
        return y;
    const int block = job->conv->block_h;
    const int up = (y + block - 1) / block * block;
    return up < job->dst.height ? up : job->dst.height;
}

static int run_band(void *arg, int task, int number)
{
    const struct call *call = arg;
    struct worker *w = &call->cpu->workers[number];
    for (int i = 0; i < call->count; i++) {
        const struct halo_job *job = &call->jobs[i];
        const int bands = band_count(call, job);
        if (task < bands) {
            const int y0 = first_row(job, task, bands), y1 = first_row(job, task + 1, bands);
            if (y0 >= y1)
                return 0;
            const struct halo_cpu_strategy *s =
                (const struct halo_cpu_strategy *)halo_backend_choose(&call->cpu->base, job);
            if (job->region && job->conv->kind != HALO_CONV_COPY)
                return cpu_region_band(s, job, y0, y1, &w->scratch, &w->row);
            return s->band(job, y0, y1, &w->scratch);
        }
        task -= bands;
    }
    return 0;
}

static int convolve(struct halo_backend *b, const struct halo_job *jobs, int count)
{
    struct call call = {.cpu = (struct cpu *)b, .jobs = jobs, .count = count};
    for (int i = 0; i < count; i++)
        call.samples += samples(&jobs[i]);
    int bands = 0;
    for (int i = 0; i < count; i++)
        bands += band_count(&call, &jobs[i]);
    return halo_pool_run(call.cpu->pool, run_band, &call, bands);
}

const struct halo_backend_ops halo_backend_cpu = {
    .name = "cpu",
    .strategies = strategies,
    .describe = describe,
    .open = cpu_open,
    .close = cpu_close,
    .convolve = convolve,
    .identify = identify,
};
