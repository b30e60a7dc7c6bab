/* SPDX-License-Identifier: BSD-2-Clause
 * A camera while it is open: agreed with on format, size and rate, streaming through mapped
 * buffers.
 *
 *   open: QUERYCAP, input, controls, S_FMT, S_PARM, REQBUFS, mmap, QBUF ..., STREAMON
 *   read: poll -> DQBUF -> look at it -> copied or unpacked into pinned memory -> QBUF
 *   close: STREAMOFF (ENODEV is no news), munmap, close: after any error, always all of it
 *
 * Negotiation. Wanted are format, size and rate of the settings, each optional; the driver gives
 * what it has, and halo_camera_mode() is that: never a surprise. Without a format the one is taken
 * that reaches the wanted size and rate, raw before MJPEG; without a size 1280x720 or what lies
 * nearest. Where the bus has no room (STREAMON: ENOSPC) open goes down a ladder and says so: MJPEG,
 * then smaller sizes, then lower rates.
 *
 * Newest wins: read() takes all buffers that are ready and gives the last; the ones before it are
 * counted. Buffers with V4L2_BUF_FLAG_ERROR, of a wrong size, JPEGs without SOI or EOI and ones the
 * decoder finds damaged are dropped and counted, never shown.
 *
 * Times are the driver's where they are of CLOCK_MONOTONIC, else of DQBUF's return. Sequence and
 * time may wrap or jump: what is told always grows.
 *
 * One thread (the source's); waits end with the wake descriptor or the limit. */
#ifndef HALO_CAMERA_H
#define HALO_CAMERA_H

#include <libavcodec/avcodec.h>
#include <stdint.h>

#include "config/daemon.h"
#include "config/error.h"
#include "pipeline/camera/camera_find.h"
#include "pipeline/camera/v4l2.h"

struct halo_capture_settings;
struct halo_memory;
struct halo_raw_picture;
struct halo_camera;

/* What was agreed on. */
struct halo_camera_mode {
    const struct halo_v4l2_format *format;
    int width, height; /* as the camera gives it, before it is turned */
    double rate;       /* pictures a second; 0: it does not say */
    int step;          /* down the ladder for want of bandwidth; 0: as wished */
    bool smaller;      /* by that */
    bool interlaced;   /* pictures are woven of two fields */
    enum AVColorRange range;
    enum AVColorSpace space;
};

struct halo_camera_counts {
    int64_t frames;  /* given */
    int64_t late;    /* ready, but a newer one was too */
    int64_t missed;  /* gaps in the driver's sequence */
    int64_t damaged; /* error flag, wrong size, torn JPEG */
};

/* Where a call says why it failed: in words, and which of the known troubles that is. */
struct halo_camera_fault {
    enum halo_v4l2_trouble *trouble;
    struct halo_error *err;
};

/* id: from halo_camera_find(). memory: what pictures are unpacked into; it must outlive them.
 * wake: a descriptor that becomes readable when waiting is to end, not read here. 0; or -errno with
 * fault filled. The caller owns *ret. */
int halo_camera_open(struct halo_camera **ret, const struct halo_camera_id *id,
                     const struct halo_capture_settings *settings, struct halo_memory *memory,
                     int wake, const struct halo_camera_fault *fault);
void halo_camera_close(struct halo_camera *camera); /* NULL is nothing to do */

/* What is asked for: HALO_DEFAULT_WIDTH and so on where the settings do not say. */
void halo_camera_wishes(const struct halo_capture_settings *settings, int *ret_width,
                        int *ret_height, double *ret_rate);

const struct halo_camera_mode *halo_camera_mode(const struct halo_camera *camera);
void halo_camera_counts(const struct halo_camera *camera, struct halo_camera_counts *ret);

/* The next picture: either *ret_raw (times in ns of CLOCK_MONOTONIC) or, of coded formats, *ret_pkt
 * (references into pkt, pts likewise) is filled. 1; 0: woken; -errno with fault filled:
 * the camera is to be closed. A picture has settings->stall seconds to come, however often
 * the wait for it is woken: else HALO_V4L2_STALLED. */
int halo_camera_read(struct halo_camera *camera, struct halo_raw_picture **ret_raw,
                     AVPacket *ret_pkt, const struct halo_camera_fault *fault);

/* Controls by the names of v4l2-ctl ("brightness", "exposure_auto"). -EINVAL: no such control, err
 * with the nearest; -ERANGE with the bounds; -errno. While it is open, any thread. */
int halo_camera_control(struct halo_camera *camera, const char *name, int64_t value,
                        struct halo_error *err);

/* Formats, sizes, rates and controls of a node, for `halod devices`; opens it for a moment. */
struct halo_camera_offer {
    struct halo_camera_id id;
    bool capture, output, loopback;
    enum halo_v4l2_trouble trouble; /* why the rest is empty */
    struct halo_camera_offered_mode {
        const struct halo_v4l2_format *format;
        int width, height;
        double rate; /* the highest */
    } * mode;
    int modes;
    struct halo_camera_control_offer {
        char name[HALO_DEVICE_TEXT];
        int64_t least, most, step, value;
    } * control;
    int controls;
};
int halo_camera_ask(struct halo_camera_offer *ret, const struct halo_camera_id *id,
                    struct halo_error *err);
void halo_camera_offer_finish(struct halo_camera_offer *offer);

#endif
