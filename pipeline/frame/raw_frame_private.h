/* SPDX-License-Identifier: BSD-2-Clause
 * An unfiltered frame. Only its makers (decode.c, source_test.c, camera_read.c), the code that
 * rotates it (orient.c) and the gate (gate.c) include this header; tests/style/frames.py has the
 * list. */
#ifndef HALO_RAW_FRAME_PRIVATE_H
#define HALO_RAW_FRAME_PRIVATE_H

#include <libavutil/frame.h>

#include "pipeline/frame/raw_frame.h"

/* An unfiltered frame. The struct is allocated on the heap, initialised with zeros, and has one
 * owner at a time. */
struct halo_raw_frame {
    AVFrame *frame; /* its pts is in the input stream's time base; its samples may be on a device
                       (hw_frame.h) */
    enum AVPixelFormat format; /* the format that software decoding produces; equal to frame->format
                                  if the frame is on the host */
    int turn;                  /* its display orientation (display.h) */
    int spill;                 /* the frame's chroma spill (format.h); the gate adds vertical spill
                                  if `frame` is marked as interlaced */
    struct halo_verdict *verdict; /* what detectors found in it; NULL: not judged; owned */
};

#endif
