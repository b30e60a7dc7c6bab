/* SPDX-License-Identifier: BSD-2-Clause
 * Frozen cells: what filters such as hide=cells show in place of an object (kernels/cells.h).
 *
 *   track      Shapes with the same number (shapes.h) are one object, whose box is the box around
 *              all of them, in whole luma pixels and cut to the frame. A shape in the chain's text
 *              is a track of its own. Shapes without a number, and mask images, have no cells.
 *   freeze     In the first frame in which the box of a track is at least `least` pixels wide and
 *              high, each cell gets the level of its mean, q = floor(sum levels / (count 2^depth)).
 *              From then on it shows the middle of that level, which is
 *              floor((2 q + 1) 2^depth / (2 levels)). The samples are those of the frame as it
 *              enters the chain.
 *   noise      hide=noise shows the mean itself, rounded to a value of a sample, plus noise of the
 *              discrete Laplace distribution (noise.h), cut to the values of a sample. The means of
 *              any two contents of a region differ by at most 2^depth - 1 in each of cells^2 times
 *              C values, C being the channels of all planes. With noise of the scale
 *              cells^2 C (2^depth - 1) / epsilon, no set of values is more than e^epsilon times as
 *              likely for one content as for another. The noise is drawn once for each track, and
 *              stored nowhere else.
 *   after      Only the place of the box changes. A frame's samples never change the values, so all
 *              frames of a track together show no more than cells^2 log2(levels) bits a channel,
 *              or epsilon log2(e) bits in all: no guess is right more than 2^bits times as often.
 *   otherwise  What is hidden but is in no box shows the filter's colour: tracks that are too small
 *              in this frame, those for which a convolution has no room, and those whose frame
 *              could not be read, or for which there were no random numbers.
 *
 * A gate remembers HALO_FROZEN_TRACKS tracks of each filter and forgets the one that was hidden
 * longest ago. One that returns after that has new values, and counts again. Where several
 * processes filter one file, the values are kept outside of their gates (frozen.h).
 *
 * Values are taken on the host, in the thread in which frames enter the gate, in their order,
 * before the frame is submitted; so no lane holds any state, and all backends show the same. One
 * thread. */
#ifndef HALO_GATE_CELLS_H
#define HALO_GATE_CELLS_H

#include "pipeline/gate/frozen.h"
#include "pipeline/gate/gate_plan.h"
#include "pipeline/gate/hidden.h"
#include "pipeline/region/verdict.h"

enum { HALO_FROZEN_TRACKS = 256 };

struct halo_gate_cells;

/* Returns the planes of the frame that is entering, in host memory and in the plan's format; false:
 * they cannot be read. Called only for a frame with a new track, or if a colour is a mean. */
struct halo_cells_frame {
    bool (*planes)(void *arg, struct halo_plane *ret);
    void *arg;
};

/* Creates the memory for the filters of a chain that draw cells, or whose colour is a mean
 * (gate_regions.c); *ret is NULL if there are none.
 * The chain must outlive it, and so must `all`, which counts with it (NULL: nobody asks). Returns 0
 * or -ENOMEM.
 * kept: values that are kept, which must outlive it, too; NULL: it has its own. */
int halo_gate_cells_create(struct halo_gate_cells **ret, const struct halo_chain *chain,
                           struct halo_hidden *all, struct halo_frozen *kept);
void halo_gate_cells_destroy(struct halo_gate_cells *cells); /* NULL is ignored */

/* The next calls of halo_gate_cells_draw() are for this frame. cells may be NULL. */
void halo_gate_cells_begin(struct halo_gate_cells *cells, const struct halo_cells_frame *frame);

/* The planes of this frame in host memory; NULL: they cannot be read. */
const struct halo_plane *halo_gate_cells_planes(struct halo_gate_cells *cells);

/* The shapes that a filter hides whose region detectors find; NULL: not known. */
const struct halo_verdict_shapes *halo_filter_verdict(const struct halo_filter *filter,
                                                      const struct halo_verdict *verdict);

/* Makes the convolutions of filter f for the current frame, one for each plane: those of the plan,
 * with the boxes of these shapes. `written`: the shapes are those of the chain's text. */
void halo_gate_cells_draw(struct halo_gate_cells *cells, const struct halo_gate_plan *plan, int f,
                          const struct halo_verdict_shapes *shapes, bool written,
                          struct halo_conv *ret);

/* Adds the objects to `kept` that a gate of its own would give values in this frame: frame
 * kept->frame, of this size and with this verdict (NULL: not judged). All frames of a file must be
 * passed in their order; the mode is PLAN. Returns 0 or -ENOMEM. */
int halo_gate_cells_plan(struct halo_gate_cells *cells, int width, int height,
                         const struct halo_verdict *verdict);

/* What its objects leave. Any thread; cells may be NULL. */
struct halo_hidden_counts halo_gate_cells_hidden(const struct halo_gate_cells *cells);

#endif
