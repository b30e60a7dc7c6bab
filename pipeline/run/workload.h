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

#include "pipeline/filter/filter.h"

struct halo_workload {
    enum AVCodecID codec;
    double frames;    /* number of frames to be filtered */
    double pixels;    /* of a frame */
    double bytes;     /* of an encoded frame */
    double filter_ns; /* time of the chain for each pixel, on one thread of the CPU */
    bool encodes;     /* the CPU encodes the output */
    int processors;
};

/* Estimates the work for the video streams of an input whose header has been read; `from` and
 * `length` are -ss and -t in seconds (length: negative without -t), and encodes and processors are
 * to be set before. Returns false if the header does not say enough. */
bool halo_workload_of(struct halo_workload *w, const AVFormatContext *input, double from,
                      double length, const struct halo_chain *chain);

double halo_workload_cpu_seconds(const struct halo_workload *w);

/* With a GPU that filters and, if GPUs decode the codec exactly, decodes. */
double halo_workload_gpu_seconds(const struct halo_workload *w);

/* Returns the number of decoders, 1 to `most`, with which the GPU decodes the frames soonest. */
int halo_workload_gpu_decoders(const struct halo_workload *w, int most);

#endif
