/* SPDX-License-Identifier: BSD-2-Clause
 * A raw picture: not filtered yet. Only what makes it (decode.c, source_test.c, camera_read.c),
 * what turns it (orient.c) and the gate (gate.c) include this header; tests/style/frames.py
 * has the list. */
#ifndef HALO_RAW_PICTURE_PRIVATE_H
#define HALO_RAW_PICTURE_PRIVATE_H

#include <libavutil/frame.h>

#include "pipeline/picture/raw_picture.h"

/* Heap, zeroed; one owner at a time. */
struct halo_raw_picture {
    AVFrame *frame; /* pts in the input stream's time base; it may be on a device (hw_frame.h) */
    enum AVPixelFormat format; /* in which software decoding delivers it: the frame's on the host */
    int turn;                  /* how it is to be shown (display.h) */
    int spill; /* of its chroma (format.h), but for what the frame says: that it is interlaced */
};

#endif
