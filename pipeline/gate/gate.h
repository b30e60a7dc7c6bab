/* SPDX-License-Identifier: BSD-2-Clause
 * The gate: the one place where a raw picture becomes an output picture.
 *
 *   raw --enter--> pending (in a lane of the ring: upload, filters, download) --leave--> output
 *
 * The three are different types. A sink takes halo_output_picture, which halo_gate_leave() alone
 * can make, and it makes one only when every filter of the chain has run on every plane, all of it
 * has come back, and the picture is of the configuration (epoch) that the caller takes it for.
 * (Blank ones and cards, from halo_gate_blank() and halo_gate_card(), show nothing of any input.)
 * Raw, scratch and output memory come from different pools and never trade places; output planes
 * are gray before the filters run, so that a cell which no filter wrote shows no older picture.
 *
 * A gate serves one video stream. One thread enters, one leaves, in the same order. */
#ifndef HALO_GATE_H
#define HALO_GATE_H

#include <libavutil/frame.h>

#include "config/daemon.h"
#include "config/error.h"
#include "pipeline/filter/filter.h"
#include "pipeline/gate/ring.h"
#include "pipeline/picture/card.h"

struct halo_coverage;
struct halo_raw_picture;
struct halo_region_feed;
struct halo_pending;
struct halo_output_picture;
struct halo_gate;

/* What the decoder will deliver. */
struct halo_gate_input {
    int stream; /* number of the input stream, for messages */
    enum AVPixelFormat format;
    int width, height;
    enum AVColorSpace space;
    enum AVColorRange range;
    enum halo_privacy privacy; /* what the chain may leave of them; off: all (privacy.h) */
    double min_coverage;       /* part of each plane that it must hide at least (coverage.h) */
    bool unsure;   /* settings wish for another size: regions in pixels may mean that one */
    int turn;      /* how most pictures are to be shown (display.h) */
    int spill;     /* of all of their chroma (format.h) */
    int64_t epoch; /* number of the configuration that the chain is of; 0: there is but one */
};

/* Plans chain for every plane. chain and ring must outlive the gate. 0 or -errno with err filled
 * (-EINVAL: the chain does not fit, or privacy or min_coverage refuse it; -ENOTSUP: the pixel
 * format). The caller owns *ret. */
int halo_gate_create(struct halo_gate **ret, const struct halo_chain *chain, struct halo_ring *ring,
                     const struct halo_gate_input *input, struct halo_error *err);
void halo_gate_destroy(struct halo_gate *gate); /* NULL is nothing to do */

/* How much its chain hides; valid as long as the gate. Any thread. */
const struct halo_coverage *halo_gate_coverage(const struct halo_gate *gate);

/* The native format that leaves the gate. */
enum AVPixelFormat halo_gate_format(const struct halo_gate *gate);

/* From now on output pictures lie in device's memory, in a pool of output pictures alone, for an
 * encoder there: no host sees them. Before the first picture; the lanes must be of the same GPU.
 * ret_frames is that pool (AVHWFramesContext), the gate's. Such a stream cannot go on on the CPU.
 * 0, -ENOTSUP: the lanes are no GPU's or the format is none of the device's; -ENOMEM. Then, and
 * after device NULL, output pictures lie in host memory. */
int halo_gate_set_device(struct halo_gate *gate, AVBufferRef *device, AVBufferRef **ret_frames);

/* Who tells the regions of filters with region=feed, from the next picture on; it must outlive the
 * gate, and pictures' times are then microseconds as it has them. NULL, as at first: nobody, and
 * such filters apply everywhere. The thread that enters, or before it begins. */
void halo_gate_set_feed(struct halo_gate *gate, struct halo_region_feed *feed);

/* Starts filtering a picture, in the next lane of the ring; blocks while that is busy. raw stays
 * the caller's. A picture of another size or format than the first is brought to the first's. On
 * success the caller owns *ret. 0, -ENOMEM, -EIO (a conversion or the device failed), -ECANCELED
 * (the ring was aborted; err is empty), with err filled. */
int halo_gate_enter(struct halo_gate *gate, const struct halo_raw_picture *raw,
                    struct halo_pending **ret, struct halo_error *err);

/* Waits until the picture is filtered. epoch: of the configuration whose picture the caller
 * expects. Takes pending over, on failure too. On success the caller owns *ret; on failure there is
 * no output picture at all: -ENOMEM, -EIO, -ESTALE (it entered under another epoch), with err
 * filled. */
int halo_gate_leave(struct halo_pending *pending, int64_t epoch, struct halo_output_picture **ret,
                    struct halo_error *err);

/* Waits for its lane and drops it; any thread, when no other uses it; NULL is nothing to do. */
void halo_pending_destroy(struct halo_pending *pending);

/* A picture of the gate's shape that shows nothing at all: gray, or black. 0 or -ENOMEM; the caller
 * owns *ret. While no device has the output pictures. */
int halo_gate_blank(struct halo_gate *gate, bool black, struct halo_output_picture **ret);

/* A picture of like's format, size and colours that shows the card: no sample of like, nor anything
 * else of it, and no other memory of pictures is touched. 0, -ENOMEM, or -ENOTSUP (like is on a
 * device); the caller owns *ret. Any thread; like may be in use. */
int halo_gate_card(const struct halo_output_picture *like, const struct halo_card *card,
                   int64_t pts, struct halo_output_picture **ret);

/* The filtered picture, for encoders: read-only, valid until destroyed (its buffers are counted, so
 * an encoder may keep a reference). */
const AVFrame *halo_output_picture_frame(const struct halo_output_picture *picture);
/* Under which it was filtered; 0 of blank ones and cards, which are of none. */
int64_t halo_output_picture_epoch(const struct halo_output_picture *picture);
/* The same picture, for another owner; NULL: out of memory. */
struct halo_output_picture *halo_output_picture_ref(const struct halo_output_picture *picture);
void halo_output_picture_destroy(
    struct halo_output_picture *picture); /* any thread; NULL: nothing */

#endif
