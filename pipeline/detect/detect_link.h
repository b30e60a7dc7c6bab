/* SPDX-License-Identifier: BSD-2-Clause
 * One connection with a detector, about one stream and one find (docs/detectors.md).
 *
 * A link has no thread and never blocks. Its owner polls the link's descriptor for POLLIN until the
 * link's deadline, and then calls halo_detect_link_read() until it returns 0. Only one thread at a
 * time may use a link. `now` is the time of CLOCK_MONOTONIC in nanoseconds (kernels/clock.h).
 *
 * The detector is not trusted. Anything that the contract does not allow ends the link, and
 * halo_detect_link_read() then returns the reason. How much one call does is limited by what was
 * sent: a detector can only answer one hello and HALO_DETECT_UNANSWERED frames before it breaks the
 * contract. */
#ifndef HALO_DETECT_LINK_H
#define HALO_DETECT_LINK_H

#include <stdint.h>

#include "pipeline/detect/detect_wire.h"

enum { HALO_DETECT_UNANSWERED = 2 /* frames that may wait for their verdict */ };

/* Nanoseconds that a detector may take to be ready, and to judge a frame. */
#define HALO_DETECT_READY_LIMIT   INT64_C(30000000000)
#define HALO_DETECT_VERDICT_LIMIT INT64_C(10000000000)
#define HALO_DETECT_PATIENCE      INT64_C(300000000000) /* both, if the stream is not live */

struct halo_detect_link;

/* A verdict about frame n. Boxes and masks refer to the frame as displayed; halo_detect_box_store()
 * and halo_detect_mask_store() (detect_frame.h) convert them to the frame as stored. */
struct halo_detect_answer {
    int64_t n;
    int count; /* of boxes; 0 for masks */
    struct halo_detect_box box[HALO_DETECT_MAX_BOXES];
    const uint8_t *mask; /* rows without gaps; NULL: the detector answers with boxes. Valid until
                          * the next call of a function for this link */
    int mask_width, mask_height;
};

/* Opens a link and sends the first hello. Takes ownership of fd, a SOCK_SEQPACKET socket, even on
 * failure. Returns 0 or -errno. */
int halo_detect_link_create(struct halo_detect_link **ret, int fd,
                            const struct halo_detect_hello *hello, int64_t now);
void halo_detect_link_destroy(struct halo_detect_link *link); /* NULL is ignored */

/* Says hello again because the size of the stream's frames has changed. Until the detector has
 * answered, halo_detect_link_ready() returns NULL and no frame can be sent; verdicts about earlier
 * frames still arrive. If a hello is still unanswered, this one is sent after the answer, which is
 * then ignored. Returns 0; or -ENOMEM or -EPIPE, and the link must be destroyed. */
int halo_detect_link_hello(struct halo_detect_link *link, const struct halo_detect_hello *hello,
                           int64_t now);

int halo_detect_link_fd(const struct halo_detect_link *link);
/* Returns the time at which halo_detect_link_read() must be called even if nothing arrives, or
 * INT64_MAX if nothing is unanswered. If it is called more than two seconds later, this process was
 * stopped or had no processor, and the detector probably neither: it gets the same time again. */
int64_t halo_detect_link_deadline(const struct halo_detect_link *link);
/* Returns what the detector asked for, or NULL if it is not ready. Valid until the next call of
 * halo_detect_link_read() or halo_detect_link_hello(). */
const struct halo_detect_ready *halo_detect_link_ready(const struct halo_detect_link *link);
/* Returns how many frames wait for their verdict. */
int halo_detect_link_unanswered(const struct halo_detect_link *link);

/* Sends a frame that halo_detect_frame_make() made as halo_detect_link_ready() demands. The caller
 * keeps memfd and may close it at once. Returns 0; -EAGAIN if the detector is not ready; -EBUSY if
 * HALO_DETECT_UNANSWERED frames wait for their verdict; -EINVAL if n is not greater than the n of
 * the frame before; -ENOMEM; or -EPIPE if nothing can be sent any more: halo_detect_link_read()
 * then says why. */
int halo_detect_link_send(struct halo_detect_link *link, const struct halo_detect_sent *sent,
                          int memfd, int64_t now);

/* Returns 1 with *ret filled if a verdict has arrived, or 0 if nothing more can be read now.
 * Otherwise the link has ended and must be destroyed: returns -EPROTO if the detector broke the
 * contract, -EPIPE if it closed the connection, -ETIMEDOUT if it was silent for too long, or
 * -ENOMEM or another -errno if this process failed. err->text then says why, as in "the detector
 * sent a verdict about frame 7, which was not sent". */
int halo_detect_link_read(struct halo_detect_link *link, int64_t now,
                          struct halo_detect_answer *ret, struct halo_error *err);

#endif
