/* SPDX-License-Identifier: BSD-2-Clause
 * The messages between halod and a detector (docs/detectors.md), without their transport.
 *
 * A detector is not trusted. A message from it is either accepted completely or refused; nothing in
 * it is repaired, except that its name is made safe for a terminal. All functions are free of state
 * and may be called by any thread. */
#ifndef HALO_DETECT_WIRE_H
#define HALO_DETECT_WIRE_H

#include <libavutil/pixfmt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/detectors.h"

enum {
    HALO_DETECT_VERSION = 1,
    HALO_DETECT_MESSAGE_MAX = 65536, /* bytes */
    HALO_DETECT_MAX_BOXES = 64,
    HALO_DETECT_NAME = 64, /* bytes of a detector's name, with the final NUL */
    /* width and height of the frames that a detector receives, in pixels */
    HALO_DETECT_MIN_SIDE = 16,
    HALO_DETECT_MAX_SIDE = 2048,
    HALO_DETECT_MAX_MASK_SIDE = 1024, /* pixels */
};

/* ---- from halod ---- */

struct halo_detect_hello {
    const char *stream; /* its name; valid UTF-8, shorter than 1024 bytes */
    enum halo_find find;
    int width, height; /* of the stream's frames as displayed */
    double rate;       /* frames per second, finite; 0: unknown */
    bool live;         /* frames that are judged late are dropped; otherwise the stream waits */
};

struct halo_detect_sent {
    int64_t n;       /* 1 or more */
    int64_t time_us; /* the frame's time */
    int inside[4];   /* x, y, width and height of the frame within what is sent, in pixels */
};

/* Return the text of a message, which the caller frees with free(), or NULL if memory runs out or a
 * text is not UTF-8. */
char *halo_detect_hello_write(const struct halo_detect_hello *hello);
char *halo_detect_sent_write(const struct halo_detect_sent *sent);

/* ---- from a detector ---- */

/* What a detector asks for. */
struct halo_detect_ready {
    char name[HALO_DETECT_NAME]; /* safe for a terminal; longer names are cut */
    int width, height;           /* of the frames that it is sent */
    enum AVPixelFormat format;   /* RGB24, BGR24 or GRAY8 */
    bool mask;                   /* whether it answers with masks, otherwise with boxes */
    int mask_width, mask_height; /* 0 if it answers with boxes */
};

/* A box relative to the frame as displayed and without its padding; it may extend beyond the frame.
 * x and y are from -4 to 5, width and height from 0 to 5, and the score is from 0 to 1. */
struct halo_detect_box {
    float x, y, width, height, score;
};

struct halo_detect_verdict {
    int64_t n;  /* 1 or more; whether such a frame was sent is not checked */
    bool boxed; /* whether it has boxes; otherwise its mask must be attached */
    int count;  /* of boxes */
    struct halo_detect_box box[HALO_DETECT_MAX_BOXES];
};

enum halo_detect_kind { HALO_DETECT_READY, HALO_DETECT_VERDICT };

struct halo_detect_message {
    enum halo_detect_kind kind;
    union {
        struct halo_detect_ready ready;
        struct halo_detect_verdict verdict;
    };
};

/* Reads a message of `size` bytes. Fields that the contract does not name are ignored. Returns 0;
 * or -EPROTO if the message breaks the contract, or -ENOMEM, with err filled: err->text continues
 * the words "the detector", as in "sent a verdict with 65 boxes (at most 64 are allowed)". */
int halo_detect_message_read(struct halo_detect_message *ret, const char *text, size_t size,
                             struct halo_error *err);

/* Returns the bytes of a frame that is sent to this detector. */
size_t halo_detect_ready_bytes(const struct halo_detect_ready *ready);

#endif
