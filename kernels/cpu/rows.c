/* SPDX-License-Identifier: BSD-2-Clause
 * Strategies in vectors: choose the build of rows_tmpl.c, box_tmpl.c or nodes_tmpl.c for this
 * CPU. */
#include "kernels/cpu/rows.h"

/* Samples are signed 16-bit factors in vectors. */
static bool can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    switch (conv->kind) {
    case HALO_CONV_COPY:
    case HALO_CONV_SEPARABLE:
    case HALO_CONV_DENSE:
    case HALO_CONV_PIXELIZE:
    case HALO_CONV_SOLID:
    case HALO_CONV_CELLS:
    case HALO_CONV_TABLE:
        return true;
    case HALO_CONV_GRADIENT:
        return conv->depth < 16;
    case HALO_CONV_BOX:
    case HALO_CONV_DECIMATED:
        return false;
    }
    return false;
}

#ifdef __x86_64__

/* The features of x86-64-v3 and -v4 that compilers can query; no CPU has these without the others.
 * rows_tmpl.c may also be compiled with AVX-512 VNNI. */
bool halo_has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

bool halo_has_v4(void)
{
    return halo_has_v3() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

const char *halo_rows_isa(void)
{
    return halo_has_v4() ? "AVX-512" : halo_has_v3() ? "AVX2" : "SSE2";
}

static int band(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    if (halo_has_v4())
        return halo_rows_band_v4(job, y0, y1, scratch);
    if (halo_has_v3())
        return halo_rows_band_v3(job, y0, y1, scratch);
    return halo_rows_band_base(job, y0, y1, scratch);
}

static int band_v3(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    return halo_rows_band_v3(job, y0, y1, scratch);
}

#else

bool halo_has_v3(void)
{
    return false;
}

bool halo_has_v4(void)
{
    return false;
}

const char *halo_rows_isa(void)
{
#ifdef __aarch64__
    return "NEON";
#else
    return "generic vectors";
#endif
}

static int band(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    return halo_rows_band_base(job, y0, y1, scratch);
}

static int band_v3(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    return halo_rows_band_base(job, y0, y1, scratch);
}

#endif

static bool can_v3(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return can(conv, channels) && halo_has_v3();
}

const struct halo_cpu_strategy halo_cpu_rows = {
    .base = {.name = "rows",
             .about = "vectors along each row, with the best instruction set of this CPU",
             .can = can},
    .band = band,
};

const struct halo_cpu_strategy halo_cpu_rows_v3 = {
    .base = {.name = "rows-avx2",
             .about = "vectors along each row, without AVX-512",
             .can = can_v3},
    .band = band_v3,
};

const struct halo_cpu_strategy halo_cpu_rows_base = {
    .base = {.name = "rows-base",
             .about = "vectors along each row, with baseline instructions only",
             .can = can},
    .band = halo_rows_band_base,
};

/* ---- running-sums ---- */

static bool can_box(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_BOX;
}

static bool can_box_v3(const struct halo_conv *conv, int channels)
{
    return can_box(conv, channels) && halo_has_v3();
}

static int box_band_v3(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
#ifdef __x86_64__
    return halo_box_band_v3(job, y0, y1, scratch);
#else
    return halo_box_band_base(job, y0, y1, scratch);
#endif
}

static int box_band(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
#ifdef __x86_64__
    if (halo_has_v4())
        return halo_box_band_v4(job, y0, y1, scratch);
#endif
    return halo_has_v3() ? box_band_v3(job, y0, y1, scratch)
                         : halo_box_band_base(job, y0, y1, scratch);
}

const struct halo_cpu_strategy halo_cpu_running_sums = {
    .base = {.name = "running-sums",
             .about = "boxes, at a cost that does not depend on the radius",
             .can = can_box},
    .band = box_band,
};

const struct halo_cpu_strategy halo_cpu_running_sums_v3 = {
    .base = {.name = "running-sums-avx2",
             .about = "boxes at the same cost, without AVX-512",
             .can = can_box_v3},
    .band = box_band_v3,
};

const struct halo_cpu_strategy halo_cpu_running_sums_base = {
    .base = {.name = "running-sums-base",
             .about = "boxes at the same cost, with baseline instructions only",
             .can = can_box},
    .band = halo_box_band_base,
};

/* ---- nodes ---- */

static bool can_nodes(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_DECIMATED;
}

static int nodes_band(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
#ifdef __x86_64__
    if (halo_has_v4())
        return halo_nodes_band_v4(job, y0, y1, scratch);
    if (halo_has_v3())
        return halo_nodes_band_v3(job, y0, y1, scratch);
#endif
    return halo_nodes_band_base(job, y0, y1, scratch);
}

const struct halo_cpu_strategy halo_cpu_nodes = {
    .base = {.name = "nodes",
             .about = "wide Gaussians, computed on a smaller plane",
             .can = can_nodes},
    .band = nodes_band,
};
