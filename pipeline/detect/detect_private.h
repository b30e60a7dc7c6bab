/* SPDX-License-Identifier: BSD-2-Clause
 * Declarations that only detect.c (frames, in order) shares with detector client.c (one detector)
 * and detect_record.c (what is kept for a file). */
#ifndef HALO_DETECT_PRIVATE_H
#define HALO_DETECT_PRIVATE_H

#include <libavutil/buffer.h>

#include "config/base/thread.h"
#include "pipeline/detect/cuts.h"
#include "pipeline/detect/detect.h"
#include "pipeline/detect/detect_frame.h"
#include "pipeline/detect/detect_link.h"
#include "pipeline/detect/detections.h"
#include "pipeline/detect/judge.h"
#include "pipeline/detect/matte.h"

enum { HALO_DETECT_WHY = 200 }; /* bytes of a reason in an error */

/* A mask for the frame as stored, as a detector answered. */
struct halo_held_mask {
    AVBufferRef *weight; /* NULL: none */
    int width, height;
};

/* What the finds in `answered` found in a frame as stored. */
struct halo_held_boxes {
    halo_find_set answered;
    int count[HALO_FINDS];
    struct halo_detect_box box[HALO_FINDS][HALO_DETECT_MAX_BOXES];
};

/* An item that has not been returned yet. */
struct halo_held {
    struct halo_held *next;
    struct halo_item item;
    int64_t n;       /* of a frame: its number; 0: not a frame */
    bool passes;     /* it may be returned as soon as it is the first; always set unless a frame */
    bool dropped;    /* it passes, but is not returned */
    int64_t time_us; /* of a frame */
    bool looked;     /* `cut` is known */
    bool cut;        /* it shows another scene than the frame before */
    struct halo_held_mask mask[HALO_FINDS];
    struct halo_held_boxes *boxes; /* NULL: none, or they are not recorded */
};

/* A frame that was sent, and not answered yet. */
struct halo_asked {
    int64_t n;     /* 0: none */
    int turn;      /* display orientation (display.h) */
    int64_t since; /* ns */
};

/* One find of a stream, and its detector. Only the getting thread uses it, except `inbox`. */
struct halo_detect_client {
    bool wanted; /* ops->want was called, and no connection has come yet */
    int fd;      /* a connection whose hello waits for the first frame; negative: none */
    struct halo_detect_link *link; /* NULL: none */
    bool ready;                    /* the judge believes that the detector is ready */
    int said_width, said_height;   /* the size in the last hello */
    int64_t answered;              /* files: the newest frame that was answered; 0: none */
    int lost;                      /* files: detectors that were lost since */
    struct halo_asked asked[HALO_DETECT_UNANSWERED];
    struct halo_detect_frame *maker; /* created with the first link */
    struct halo_matte *matte;        /* created with the first mask */
    bool cut;                        /* a frame without a matte was a cut */
    bool said;                       /* that frames could not be sent */
    struct halo_held_mask newest;
    int64_t free_since; /* ns: when it answered last */

    /* guarded by halo_detect.lock */
    struct {
        bool came; /* halo_detect_connect() was called */
        int fd;
        char why[HALO_DETECT_WHY];
    } inbox;
    struct halo_detect_stats stats;
    double spent;    /* seconds, of all verdicts */
    double most_now; /* of the current ten seconds, which began at `window` (ns) */
    int64_t window;
};

struct halo_detect {
    const struct halo_detect_settings *settings;
    struct halo_memory *memory;
    struct halo_hw_download *download;
    struct halo_chain_needs needs;
    halo_find_set finds; /* needs.hidden | needs.shown */
    struct halo_judge *judge;
    struct halo_detect_client client[HALO_FINDS];
    struct halo_cuts cuts;
    struct halo_queue *from; /* the queue that wakes `wake`; NULL: none yet */
    int wake;                /* eventfd */
    bool ending;             /* HALO_ITEM_END has come */
    int track;               /* of the frames; negative: none yet */
    int width, height;       /* of the newest frame as displayed */
    int64_t numbers;         /* the newest frame's number */
    struct halo_held *first, **last;
    struct halo_error error;     /* code not 0: the stream cannot go on */
    struct halo_judge_step step; /* large, so not on the stack */

    struct halo_mutex lock;
    struct halo_detect_counts counts; /* guarded by lock */
};

/* ---- detector client.c ---- */

/* Begins, or ends, to need a find. */
void halo_detect_client_begin(struct halo_detect *d, enum halo_find find);
void halo_detect_client_end(struct halo_detect *d, enum halo_find find);
/* Takes a connection that came, says hello, and reads what the detector has answered. */
void halo_detect_client_run(struct halo_detect *d, enum halo_find find, int64_t now);
/* Sends a frame. If that is impossible, the judge hears that the detector is gone. */
void halo_detect_client_send(struct halo_detect *d, enum halo_find find, struct halo_held *held,
                             int64_t now);
/* Returns when halo_detect_client_run() must be called next, in ns. */
int64_t halo_detect_client_deadline(const struct halo_detect_client *client);
/* The frame with this number; NULL: it has passed. */
static inline struct halo_held *halo_held_find(struct halo_detect *d, int64_t n)
{
    struct halo_held *held = d->first;
    while (held && held->n != n)
        held = held->next;
    return held;
}
void halo_held_mask_clear(struct halo_held_mask *mask);

/* ---- detect_record.c ---- */

/* Keeps what a find answered about a frame, until the frame passes. */
void halo_detect_keep(struct halo_detect *d, enum halo_find find,
                      const struct halo_detect_answer *answer);
/* The thumbnail of a frame that was compared with the one before. */
void halo_detect_keep_thumbnail(struct halo_detect *d, const uint8_t thumbnail[HALO_CUT_BYTES]);
/* Adds a frame that passes, in order, to what is recorded. */
void halo_detect_record(struct halo_detect *d, const struct halo_held *held);

#endif
