/* SPDX-License-Identifier: BSD-2-Clause
 * The cut list of a run: where its input is cut into segments, each of which is encoded by itself.
 * It depends only on the input, -ss, -t and -segment_time, never on the machine.
 *
 * The input is cut at the first packet at or after each multiple of -segment_time with which
 * decoding may begin (decode_cuts.h; in streams without references between frames, every packet
 * that is marked as a key frame). What cannot be cut belongs to the segment before it. */
#ifndef HALO_CUT_LIST_H
#define HALO_CUT_LIST_H

#include <stdatomic.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/run.h"
#include "pipeline/input/source_file.h"

/* MurmurHash3, 128 bits: it detects other or damaged data, but not forgeries. */
struct halo_segment_hash {
    uint8_t byte[16];
};

/* The packets of the video stream from one cut to the next. */
struct halo_segment {
    int number;                    /* from 0 */
    double time;                   /* of its first frame, in seconds from the start of the first
                                      segment */
    struct halo_packet_place from; /* the first packet */
    int64_t packets;
    struct halo_segment_hash hash; /* of their times, sizes, flags and data */
};

/* What the input consists of, as far as it matters here. */
struct halo_cut_input {
    int64_t size; /* bytes; -1: unknown */
    int width, height;
    enum AVCodecID codec;
};

/* Computes the hash of packets in the order in which they are read. */
struct AVMurMur3;
struct AVMurMur3 *halo_packet_hash_create(void); /* NULL if memory runs out; free with av_free() */
void halo_packet_hash_add(struct AVMurMur3 *hash, const AVPacket *pkt);
/* Returns the hash of all packets since the previous call. */
struct halo_segment_hash halo_packet_hash_take(struct AVMurMur3 *hash);

/* Called for each segment, in order; a value other than 0 ends the reading and is returned. */
typedef int halo_cut_found(void *arg, const struct halo_segment *segment, struct halo_error *err);

/* Reads the input once and reports its segments, after it has filled *ret. *stop, which any thread
 * may set, ends the reading. Logs why the input, or the rest of it, is not cut. Returns 0; a usage
 * error if the input cannot be read several times or does not have exactly one video stream; or
 * -errno, with err filled. Blocks on disk. */
int halo_cut_list_read(struct halo_cut_input *ret, const struct halo_run_settings *settings,
                       const atomic_int *stop, halo_cut_found *found, void *arg,
                       struct halo_error *err);

#endif
