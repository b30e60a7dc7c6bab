/* SPDX-License-Identifier: BSD-2-Clause
 * The table of CUDA strategies: a new one needs a .cu file and a row here. */
#include "kernels/cuda/strategies.h"

/* The kinds that weight the cells of a window, and the copy. Not the box, which reaches 2049 cells:
 * its tile would not fit into shared memory, and running sums are faster. */
static bool weighs(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_COPY || conv->kind == HALO_CONV_SEPARABLE ||
           conv->kind == HALO_CONV_DENSE;
}

static bool always(const struct halo_conv *conv, const struct halo_plane *plane)
{
    (void)conv;
    (void)plane;
    return true;
}

/* Its largest block has 128x128 cells; no output would remain if all of them were halo. */
static bool input_tile_can(const struct halo_conv *conv, int channels)
{
    if (conv->kind == HALO_CONV_DENSE)
        return conv->radius_x * channels <= HALO_MAX_TAPS / 2;
    return weighs(conv, channels);
}

static const struct halo_cuda_strategy box_bands = {
    .base = {"box-bands", "small boxes on tensor cores, without shared memory",
             halo_cuda_box_bands_can},
    .compute = 80,
    .launch = halo_cuda_launch_box_bands,
    .selects = halo_cuda_box_bands_selects,
    .prepared_bytes = halo_cuda_box_bands_bytes,
    .prepare = halo_cuda_box_bands_prepare,
};

static const struct halo_cuda_strategy box_slide = {
    .base = {"box-slide",
             "8-bit boxes up to 257x257, in two launches whose cost hardly depends on the radius",
             halo_cuda_box_slide_can},
    .compute = 80,
    .launch = halo_cuda_launch_box_slide,
    .prepared_bytes = halo_cuda_box_slide_bytes,
    .prepare = halo_cuda_box_slide_prepare,
};

static const struct halo_cuda_strategy box_stream = {
    .base = {"box-stream", "boxes: running sums along columns, tensor cores along rows",
             halo_cuda_box_stream_can},
    .compute = 80,
    .launch = halo_cuda_launch_box_stream,
    .prepared_bytes = halo_cuda_box_stream_bytes,
    .prepare = halo_cuda_box_stream_prepare,
};

static const struct halo_cuda_strategy direct = {
    .base = {"direct",
             "small dense masks on tensor cores, with pixels loaded directly into registers",
             halo_cuda_direct_can},
    .compute = 80,
    .launch = halo_cuda_launch_direct,
    .selects = always,
    .prepared_bytes = halo_cuda_direct_bytes,
    .prepare = halo_cuda_direct_prepare,
};

static const struct halo_cuda_strategy dense_rows = {
    .base = {"dense-rows",
             "small dense masks of 16-bit samples from registers, eight outputs in each of several "
             "rows",
             halo_cuda_dense_rows_can},
    .launch = halo_cuda_launch_dense_rows,
    .selects = always,
};

static bool tensor_selects(const struct halo_conv *conv, const struct halo_plane *plane)
{
    (void)plane;
    return conv->kind == HALO_CONV_SEPARABLE;
}

static const struct halo_cuda_strategy tensor = {
    .base = {"tensor", "products with the mask's band matrix on tensor cores",
             halo_cuda_tensor_can},
    .compute = 80,
    .launch = halo_cuda_launch_tensor,
    .selects = tensor_selects,
    .prepared_bytes = halo_cuda_tensor_bytes,
    .prepare = halo_cuda_tensor_prepare,
};

static const struct halo_cuda_strategy output_tile = {
    .base = {"output-tile",
             "each block computes one output tile and loads its input tile in several steps",
             weighs},
    .launch = halo_cuda_launch_output_tile,
};

static const struct halo_cuda_strategy output_tile_steps = {
    .base = {"output-tile/steps",
             "output-tile, but row loads begin at the left halo, and dense masks are loaded with "
             "linear thread indices",
             weighs},
    .launch = halo_cuda_launch_output_tile_steps,
};

static const struct halo_cuda_strategy coarse_tile = {
    .base = {"coarse-tile", "output-tile with four outputs per thread", weighs},
    .launch = halo_cuda_launch_coarse_tile,
    .prepared_bytes = halo_cuda_coarse_bytes,
    .prepare = halo_cuda_coarse_prepare,
};

static const struct halo_cuda_strategy coarse_tile_2 = {
    .base = {"coarse-tile/2", "output-tile with two outputs per thread", weighs},
    .launch = halo_cuda_launch_coarse_tile_2,
    .prepared_bytes = halo_cuda_coarse_bytes,
    .prepare = halo_cuda_coarse_prepare,
};

static const struct halo_cuda_strategy coarse_tile_8 = {
    .base = {"coarse-tile/8", "output-tile with eight outputs per thread", weighs},
    .launch = halo_cuda_launch_coarse_tile_8,
    .prepared_bytes = halo_cuda_coarse_bytes,
    .prepare = halo_cuda_coarse_prepare,
};

static const struct halo_cuda_strategy input_tile = {
    .base = {"input-tile", "each block covers one input tile; some of its threads only load",
             input_tile_can},
    .launch = halo_cuda_launch_input_tile,
};

static bool input_tile_coarse_can(const struct halo_conv *conv, int channels)
{
    return conv->kind == HALO_CONV_DENSE && input_tile_can(conv, channels);
}

static const struct halo_cuda_strategy input_tile_coarse = {
    .base = {"input-tile/coarse", "input-tile with sixteen cells per thread, for dense masks only",
             input_tile_coarse_can},
    .launch = halo_cuda_launch_input_tile_coarse,
};

static const struct halo_cuda_strategy core_tile = {
    .base = {"core-tile",
             "only the tile's core is in shared memory; the halo is read through the caches",
             weighs},
    .launch = halo_cuda_launch_core_tile,
};

static bool box_only(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_BOX || conv->kind == HALO_CONV_COPY;
}

static const struct halo_cuda_strategy running_sums = {
    .base = {"running-sums", "boxes, at a cost that does not depend on the radius", box_only},
    .launch = halo_cuda_launch_running_sums,
};

static const struct halo_cuda_strategy gradient_rows = {
    .base = {"gradient-rows", "gradients from registers, eight outputs in each of several rows",
             halo_cuda_gradient_rows_can},
    .launch = halo_cuda_launch_gradient_rows,
    .selects = always,
};

static bool gradient_tile_can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_GRADIENT;
}

static const struct halo_cuda_strategy gradient_tile = {
    .base = {"gradient-tile", "output-tile with four rows per thread, for gradients",
             gradient_tile_can},
    .launch = halo_cuda_launch_gradient_tile,
};

static bool nodes_can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_DECIMATED;
}

static const struct halo_cuda_strategy nodes = {
    .base = {"nodes",
             "wide Gaussians, computed on a smaller plane; each pixel is read and written once",
             nodes_can},
    .launch = halo_cuda_launch_nodes,
    .prepared_bytes = halo_cuda_nodes_bytes,
    .prepare = halo_cuda_nodes_prepare,
};

static bool naive_can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    switch (conv->kind) {
    case HALO_CONV_COPY:
    case HALO_CONV_SEPARABLE:
    case HALO_CONV_DENSE:
    case HALO_CONV_GRADIENT:
    case HALO_CONV_PIXELIZE:
    case HALO_CONV_SOLID:
    case HALO_CONV_CELLS:
        return true;
    case HALO_CONV_BOX:
    case HALO_CONV_DECIMATED:
        return false;
    }
    return false;
}

static const struct halo_cuda_strategy naive = {
    .base = {"naive",
             "untiled: reads every tap from global memory and the mask from constant memory",
             naive_can},
    .launch = halo_cuda_launch_naive,
};

const struct halo_strategy *const halo_cuda_strategies[] = {
    &box_bands.base,     &box_slide.base,
    &box_stream.base,    &direct.base,
    &dense_rows.base,    &tensor.base,
    &running_sums.base,  &coarse_tile.base,
    &coarse_tile_2.base, &coarse_tile_8.base,
    &output_tile.base,   &output_tile_steps.base,
    &input_tile.base,    &input_tile_coarse.base,
    &core_tile.base,     &gradient_rows.base,
    &gradient_tile.base, &nodes.base,
    &naive.base,         NULL,
};
