/* SPDX-License-Identifier: BSD-2-Clause
 * Part files: the encoded packets of one segment, as they came from the encoder. A part file
 * appears when it is complete and synced to disk, and describes itself: it contains a hash of what
 * it was made from and one of its own bytes.
 *
 * Use a writer or reader from one thread at a time. Calls block on disk. */
#ifndef HALO_PART_FILE_H
#define HALO_PART_FILE_H

#include <libavcodec/avcodec.h>

#include "config/base/error.h"
#include "pipeline/segment/cut_list.h"

/* What a part was made from: input, settings and versions (manifest.h). */
struct halo_part_id {
    struct halo_segment_hash hash;
};

/* What a complete part contains. */
struct halo_part_content {
    int64_t frames;                /* that were encoded */
    struct halo_segment_hash hash; /* of its bytes */
};

enum { HALO_PART_MAX_DELAY = 16 };

struct halo_part_writer;

/* Creates the part with the name `path`, under a temporary name. par describes the encoder.
 * Returns 0, or -errno with err filled; the caller owns *ret. */
int halo_part_create(struct halo_part_writer **ret, const char *path, const struct halo_part_id *id,
                     const AVCodecParameters *par, struct halo_error *err);
/* Appends a packet, whose times are those of the encoder. Returns 0, or -errno with err filled. */
int halo_part_write(struct halo_part_writer *w, const AVPacket *pkt, struct halo_error *err);
/* Completes the part. *ret is filled on success. Returns 0, or -errno with err filled and no
 * part. */
int halo_part_finish(struct halo_part_writer *w, int64_t frames, struct halo_part_content *ret,
                     struct halo_error *err);
/* Frees the writer, and removes what is not complete. Accepts NULL. */
void halo_part_discard(struct halo_part_writer *w);

/* Returns the temporary name of a part that is not complete. It is valid until then. */
const char *halo_part_temporary(const struct halo_part_writer *w);

/* Reads the whole part. Returns 0 if it is complete and has this id; -ENOENT if there is none;
 * -EBADMSG if it is damaged; -ESTALE if it is complete but was made from something else; or another
 * -errno. */
int halo_part_check(const char *path, const struct halo_part_id *id, struct halo_part_content *ret);

/* The decoding times of packets in successive parts: packet n is decoded at the time at which frame
 * n - delay is presented. Encoders choose the same times in the middle of a video; at its beginning
 * they do not know the frames before, and for very few frames some return no valid times. */
struct halo_part_order {
    int delay;                           /* frames by which the encoder reorders */
    int64_t before[HALO_PART_MAX_DELAY]; /* times of the last frames of the part before; the
                                              oldest first */
    int count;                           /* of them */
};

struct halo_part_reader;

/* Opens a part; its packets get decoding times from `order`. par describes the encoder whose
 * packets are expected. Returns 0; -EINVAL if another encoder, or the same encoder with other
 * parameters, wrote the part; or another -errno, with err filled. The caller owns *ret. */
int halo_part_open(struct halo_part_reader **ret, const char *path, const AVCodecParameters *par,
                   struct halo_part_order *order, struct halo_error *err);
/* Reads the next packet into pkt. Returns 1, 0 at the end of the part, or -errno with err
 * filled. */
int halo_part_read(struct halo_part_reader *r, AVPacket *pkt, struct halo_error *err);
void halo_part_close(struct halo_part_reader *r); /* accepts NULL */

#endif
