/* SPDX-License-Identifier: BSD-2-Clause
 * The gate: the only place where an unfiltered frame becomes an output frame.
 *
 *   raw --enter--> pending (in a lane of the ring: upload, filters, download) --leave--> output
 *
 * The three stages are different types. Encoders accept only struct halo_output_frame. Only
 * halo_gate_leave() can make one, and it does so only after every filter of the chain has run on
 * every plane, the result has come back completely, and the frame belongs to the configuration
 * (epoch) that the caller expects. (Blank frames and cards, from halo_gate_blank() and
 * halo_gate_card(), show nothing of any input.) Unfiltered, scratch and output frames use memory
 * from different pools and never exchange it, except for a passthrough that was requested
 * explicitly (README.md). Output planes are filled with gray before the filters run, so a cell that
 * no filter wrote does not show an older frame.
 *
 * A gate serves one video stream. One thread calls halo_gate_enter() and one thread calls
 * halo_gate_leave(); both handle the frames in the same order. */
#ifndef HALO_GATE_H
#define HALO_GATE_H

#include <libavutil/frame.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "pipeline/filter/filter.h"
#include "pipeline/gate/ring.h"
#include "pipeline/frame/card.h"

struct halo_coverage;
struct halo_raw_frame;
struct halo_region_feed;
struct halo_pending;
struct halo_output_frame;
struct halo_gate;
struct halo_hidden; /* hidden.h */
struct halo_frozen; /* frozen.h */

/* Properties of the frames that the decoder will deliver, and requirements for the chain. */
struct halo_gate_input {
    int stream; /* number of the input stream, for messages */
    enum AVPixelFormat format;
    int width, height;
    enum AVColorSpace space;
    enum AVColorRange range;
    enum halo_privacy privacy; /* what the chain may leave visible (privacy.h); off: everything */
    double min_coverage; /* minimum fraction of each plane that the chain must hide (coverage.h) */
    /* The frames' size may differ from the size in the settings, to which regions in pixels may
     * refer. */
    bool unsure;
    int turn;      /* display orientation of most frames (display.h) */
    int spill;     /* chroma spill of all frames (format.h) */
    int64_t epoch; /* serial number of the chain's configuration; 0 if it never changes */
    struct halo_hidden *hidden; /* counts what hide leaves; NULL: nobody asks. Outlives the gate. */
    struct halo_frozen *frozen; /* kept values of hide=cells and noise (frozen.h), which outlive the
                                   gate; NULL: the gate has its own */
};

/* Creates a gate and plans the chain for every plane. chain and ring must outlive the gate. Returns
 * 0, or -errno with err filled (-EINVAL: the chain does not fit these frames, is not allowed by
 * privacy, or hides less than min_coverage; -ENOTSUP: the pixel format is not supported). The
 * caller owns *ret. */
int halo_gate_create(struct halo_gate **ret, const struct halo_chain *chain, struct halo_ring *ring,
                     const struct halo_gate_input *input, struct halo_error *err);
void halo_gate_destroy(struct halo_gate *gate); /* NULL is ignored */

/* Returns how much the gate's chain hides. The result is valid as long as the gate exists. Any
 * thread. */
const struct halo_coverage *halo_gate_coverage(const struct halo_gate *gate);

/* Returns the native format of the gate's output frames. */
enum AVPixelFormat halo_gate_format(const struct halo_gate *gate);

/* Places output frames in a device's memory, for an encoder on that device. Such output frames come
 * from a pool that contains only output frames, and they are never on the host. Call this before
 * the first frame. The lanes must be on the same GPU as the encoder. Sets *ret_frames to the pool
 * (an AVHWFramesContext), which the gate owns. If the GPU fails, a stream with output frames on the
 * GPU cannot continue on the CPU. Returns 0, -ENOTSUP (the lanes are not on a GPU, or the device
 * does not support the format) or -ENOMEM. After an error, and after a call with device NULL,
 * output frames are in host memory. */
int halo_gate_set_device(struct halo_gate *gate, AVBufferRef *device, AVBufferRef **ret_frames);

/* Sets the region feed for filters with region=feed, from the next frame on. The feed must outlive
 * the gate. If a feed is set, the timestamps of frames must be in microseconds on the feed's clock.
 * If feed is NULL (the initial state), filters with region=feed apply to the whole frame. Call this
 * on the thread that calls halo_gate_enter(), or before that thread starts. */
void halo_gate_set_feed(struct halo_gate *gate, struct halo_region_feed *feed);

/* Starts filtering a frame in the next lane of the ring; blocks while the lane is busy. The caller
 * keeps ownership of raw. If a frame's size or format differs from the first frame's, the frame is
 * converted to match. On success the caller owns *ret. Returns 0; -ENOMEM or -EIO (a conversion or
 * the device failed) with err filled; or -ECANCELED (the ring was aborted) with err empty. */
int halo_gate_enter(struct halo_gate *gate, const struct halo_raw_frame *raw,
                    struct halo_pending **ret, struct halo_error *err);

/* Waits until the frame is filtered. epoch is the number of the configuration to which the caller
 * expects the frame to belong. Takes ownership of pending, even on failure. On success the caller
 * owns *ret. On failure no output frame exists, err is filled, and the function returns -ENOMEM,
 * -EIO or -ESTALE (the epoch of the frame or of the gate is not the expected one). */
int halo_gate_leave(struct halo_pending *pending, int64_t epoch, struct halo_output_frame **ret,
                    struct halo_error *err);

/* Waits until the frame's lane has finished, and drops the frame. Any thread may call this function
 * if no other thread uses the frame. NULL is ignored. */
void halo_pending_destroy(struct halo_pending *pending);

/* Makes a gray or black frame that shows nothing, in the gate's format and size. Call this only if
 * output frames are in host memory. Returns 0 or -ENOMEM; the caller owns *ret. */
int halo_gate_blank(struct halo_gate *gate, bool black, struct halo_output_frame **ret);

/* Makes a frame that shows the card. The new frame takes only its format, size, aspect ratio and
 * colour description from the frame `like`. No sample of `like` gets into the new frame, and no
 * other frame's memory is accessed. Returns 0, -ENOMEM, or -ENOTSUP (`like` is on a device); the
 * caller owns *ret. Any thread may call this, even while `like` is in use. */
int halo_gate_card(const struct halo_output_frame *like, const struct halo_card *card, int64_t pts,
                   struct halo_output_frame **ret);

/* Returns the filtered frame, for encoders. The frame is read-only and valid until `frame` is
 * destroyed. Because the frame's buffers are reference-counted, an encoder may keep a reference to
 * them. */
const AVFrame *halo_output_frame_frame(const struct halo_output_frame *frame);
/* Returns the epoch under which the frame was filtered, or 0 for blank frames and cards, which have
 * no epoch. */
int64_t halo_output_frame_epoch(const struct halo_output_frame *frame);
/* Returns another reference to the same frame, or NULL if memory runs out. */
struct halo_output_frame *halo_output_frame_ref(const struct halo_output_frame *frame);
void halo_output_frame_destroy(struct halo_output_frame *frame); /* any thread; NULL is ignored */

#endif
