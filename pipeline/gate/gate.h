/* SPDX-License-Identifier: BSD-2-Clause
 * The gate: the only place where an unfiltered frame becomes an output frame.
 *
 *   raw --enter--> pending (in a lane of the ring: upload, filters, download) --leave--> output
 *
 * The three are different types. Encoders accept only struct halo_output_picture, which only
 * halo_gate_leave() can make, and it makes one only after every filter of the chain has run on
 * every plane, the result has come back completely, and the frame belongs to the configuration
 * (epoch) that the caller expects. (Blank frames and cards, from halo_gate_blank() and
 * halo_gate_card(), show nothing of any input.) Unfiltered, scratch and output memory are from
 * different pools and never trade places, except for a passthrough that was requested explicitly
 * (README.md). Output planes are gray before the filters run, so a cell that no filter wrote does
 * not show an older frame.
 *
 * A gate serves one video stream. One thread lets frames enter and one lets them leave, in the same
 * order. */
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

/* The frames that the decoder will deliver, and what is required of the chain. */
struct halo_gate_input {
    int stream; /* number of the input stream, for messages */
    enum AVPixelFormat format;
    int width, height;
    enum AVColorSpace space;
    enum AVColorRange range;
    enum halo_privacy privacy; /* what the chain may leave of frames; off: all (privacy.h) */
    double min_coverage;       /* least part of each plane that it must hide (coverage.h) */
    bool unsure;   /* settings request another size, to which regions in pixels may refer */
    int turn;      /* display orientation of most frames (display.h) */
    int spill;     /* chroma spill of all frames (format.h) */
    int64_t epoch; /* number of the chain's configuration; 0: there is only one */
};

/* Plans the chain for every plane. chain and ring must outlive the gate. 0 or -errno with err
 * filled (-EINVAL: the chain does not fit these frames, or privacy or min_coverage refuse it;
 * -ENOTSUP: the pixel format is not supported). The caller owns *ret. */
int halo_gate_create(struct halo_gate **ret, const struct halo_chain *chain, struct halo_ring *ring,
                     const struct halo_gate_input *input, struct halo_error *err);
void halo_gate_destroy(struct halo_gate *gate); /* NULL is ignored */

/* How much the gate's chain hides; valid as long as the gate. Any thread. */
const struct halo_coverage *halo_gate_coverage(const struct halo_gate *gate);

/* The native format of the gate's output frames. */
enum AVPixelFormat halo_gate_format(const struct halo_gate *gate);

/* Places output frames in the memory of a device, for an encoder there, in a pool that has only
 * output frames; they are never on the host. Call this before the first frame; the lanes must be on
 * the same GPU. *ret_frames is the pool (AVHWFramesContext), owned by the gate. Such a stream
 * cannot continue on the CPU. 0; -ENOTSUP: the lanes are not on a GPU, or the device does not
 * support the format; -ENOMEM. After an error, and after a call with device NULL, output frames are
 * in host memory. */
int halo_gate_set_device(struct halo_gate *gate, AVBufferRef *device, AVBufferRef **ret_frames);

/* Sets the feed for filters with region=feed, from the next frame on. The feed must outlive the
 * gate, and the frames' times must then be microseconds on the feed's clock. NULL, as at first: no
 * feed, and such filters apply everywhere. Call this on the thread that lets frames enter, or
 * before it starts. */
void halo_gate_set_feed(struct halo_gate *gate, struct halo_region_feed *feed);

/* Starts filtering a frame in the next lane of the ring; blocks while the lane is busy. The caller
 * keeps raw. A frame of another size or format than the first is converted to the first one's. On
 * success the caller owns *ret. 0; or, with err filled, -ENOMEM, -EIO (a conversion or the device
 * failed); or -ECANCELED (the ring was aborted) with err empty. */
int halo_gate_enter(struct halo_gate *gate, const struct halo_raw_picture *raw,
                    struct halo_pending **ret, struct halo_error *err);

/* Waits until the frame is filtered. epoch: the configuration of which the caller expects a frame.
 * Takes over pending, on failure, too. On success the caller owns *ret; on failure no output frame
 * exists: -ENOMEM, -EIO, -ESTALE (it entered under another epoch), with err filled. */
int halo_gate_leave(struct halo_pending *pending, int64_t epoch, struct halo_output_picture **ret,
                    struct halo_error *err);

/* Waits for the frame's lane and drops the frame. Any thread, if no other thread uses the frame;
 * NULL is ignored. */
void halo_pending_destroy(struct halo_pending *pending);

/* Makes a frame of the gate's format and size that shows nothing: gray or black. Only while output
 * frames are in host memory. 0 or -ENOMEM; the caller owns *ret. */
int halo_gate_blank(struct halo_gate *gate, bool black, struct halo_output_picture **ret);

/* Makes a frame of like's format, size and colour description that shows the card: no sample of
 * like and nothing else of it, and no other memory of frames is touched. 0, -ENOMEM, or -ENOTSUP
 * (like is on a device); the caller owns *ret. Any thread; like may be in use. */
int halo_gate_card(const struct halo_output_picture *like, const struct halo_card *card,
                   int64_t pts, struct halo_output_picture **ret);

/* The filtered frame, for encoders: read-only, valid until picture is destroyed (its buffers are
 * reference-counted, so an encoder may keep a reference). */
const AVFrame *halo_output_picture_frame(const struct halo_output_picture *picture);
/* The epoch under which the frame was filtered; 0 for blank frames and cards, which have none. */
int64_t halo_output_picture_epoch(const struct halo_output_picture *picture);
/* Another reference to the same frame; NULL: out of memory. */
struct halo_output_picture *halo_output_picture_ref(const struct halo_output_picture *picture);
void halo_output_picture_destroy(
    struct halo_output_picture *picture); /* any thread; NULL is ignored */

#endif
