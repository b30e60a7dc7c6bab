/* SPDX-License-Identifier: BSD-2-Clause
 * A rough estimate of how long a run will take on the CPU and on a GPU, from what a file's header
 * says, so that a short run does not wait for a driver to start.
 *
 * The constants are times measured on an H100 with 16 processors and on two processors without a
 * GPU (docs/performance.md). They decide between runs whose times differ several times over; where
 * they are close, either choice is good. All functions are pure; any thread. */
#ifndef HALO_WORKLOAD_H
#define HALO_WORKLOAD_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/source.h"
#include "pipeline/filter/filter.h"

struct halo_workload {
    enum AVCodecID codec;
    double frames;    /* number of frames to be filtered */
    double group;     /* frames of the longest group, from one keyframe to the next; 0: unknown */
    double pixels;    /* of a frame */
    double bytes;     /* of an encoded frame */
    double filter_ns; /* time of the chain for each pixel, on one thread of the CPU */
    bool encodes;     /* the CPU encodes the output */
    int processors;
};

/* Estimates the work for the video streams of an input whose header has been read. The caller sets
 * encodes and processors. Returns false if the header does not say enough. */
bool halo_workload_of(struct halo_workload *w, const AVFormatContext *input,
                      const struct halo_source_part *part, const struct halo_chain *chain);

/* Returns the number of the input's video streams, except for cover images; at least 1. */
int halo_workload_tracks(const AVFormatContext *input);

/* Returns whether GPUs decode one of the input's video streams. */
bool halo_workload_gpu_decodes(const AVFormatContext *input);

enum halo_workload_place {
    HALO_WORKLOAD_GPU,    /* a GPU filters and, if GPUs decode the codec exactly, decodes */
    HALO_WORKLOAD_FILTER, /* the CPU decodes, and a GPU filters */
    HALO_WORKLOAD_CPU,    /* the CPU decodes and filters */
    HALO_WORKLOAD_PLACES
};

/* Sets the estimates for all places, and returns the place that is to be used. */
enum halo_workload_place halo_workload_choose(const struct halo_workload *w,
                                              double seconds[HALO_WORKLOAD_PLACES]);

/* No GPU has more than 7 engines for the codecs that it decodes in parts. */
enum { HALO_WORKLOAD_GPU_DECODERS = 8 };

/* Returns the number of decoders, 1 to HALO_WORKLOAD_GPU_DECODERS, with which the GPU decodes the
 * frames soonest. */
int halo_workload_gpu_decoders(const struct halo_workload *w);

#endif
