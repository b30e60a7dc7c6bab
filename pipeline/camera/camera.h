/* SPDX-License-Identifier: BSD-2-Clause
 * An open camera. Its format, size and rate are negotiated, and frames arrive in mapped buffers.
 *
 *   open: QUERYCAP, input, controls, S_FMT, S_PARM, REQBUFS, mmap, QBUF ..., STREAMON
 *   read: poll -> DQBUF -> check -> copy or unpack into page-locked memory -> QBUF
 *   close: STREAMOFF (ENODEV is ignored), munmap, close; always all of these, even after an error
 *
 * Negotiation. The settings may request a format, a size and a rate, each of which is optional. The
 * driver decides, and halo_camera_mode() reports its decision. Without a requested format, the mode
 * nearest to the requested size, and then to the requested rate, is used; raw formats are preferred
 * to MJPEG. Without a requested size, the size nearest to 1280x720 is used. If the USB bus lacks
 * bandwidth (STREAMON: ENOSPC), open falls back step by step and logs this: first to MJPEG, then to
 * smaller sizes, then to lower rates.
 *
 * Only the newest frame counts: read() dequeues all buffers that are ready and returns the last
 * one; the earlier ones are only counted. A frame is dropped and counted, never shown, if its
 * buffer has V4L2_BUF_FLAG_ERROR or a wrong size, if it is a JPEG without SOI or EOI, or if the
 * decoder finds it damaged.
 *
 * Times are the driver's if they are based on CLOCK_MONOTONIC; otherwise the time at which DQBUF
 * returned is used. The driver's sequence numbers and times may wrap or jump, but the times
 * returned always increase.
 *
 * Used by one thread, the source's. A wait ends when the wake descriptor becomes readable or the
 * limit is reached. */
#ifndef HALO_CAMERA_H
#define HALO_CAMERA_H

#include <libavcodec/avcodec.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "pipeline/camera/camera_find.h"
#include "pipeline/camera/v4l2.h"

struct halo_capture_settings;
struct halo_memory;
struct halo_raw_frame;
struct halo_camera;

/* The negotiated mode. */
struct halo_camera_mode {
    const struct halo_v4l2_format *format;
    int width, height; /* size of the frames that the camera delivers, before they are rotated */
    double rate;       /* frames per second; 0: unknown */
    int step;          /* number of fallback steps that were necessary because the USB bus lacks
                          bandwidth; 0: no fallback */
    bool smaller;      /* the fallback reduced the size */
    bool interlaced;   /* frames are woven from two fields */
    enum AVColorRange range;
    enum AVColorSpace space;
};

struct halo_camera_counts {
    int64_t frames;  /* frames returned by halo_camera_read() */
    int64_t late;    /* frames skipped because a newer one was ready, too */
    int64_t missed;  /* frames missing, according to the driver's sequence numbers */
    int64_t damaged; /* frames dropped because of the error flag, a wrong size or a torn JPEG */
};

/* Where a function reports its failure: the kind of trouble, and a message. */
struct halo_camera_fault {
    enum halo_v4l2_trouble *trouble;
    struct halo_error *err;
};

/* Opens the camera that halo_camera_find() identified as id. Frames are unpacked into buffers from
 * `memory`, which must outlive the frames. `wake` is a descriptor that becomes readable when
 * halo_camera_read() has to stop waiting; it is polled, but never read. Returns 0, or -errno with
 * fault filled. The caller owns *ret. */
int halo_camera_open(struct halo_camera **ret, const struct halo_camera_id *id,
                     const struct halo_capture_settings *settings, struct halo_memory *memory,
                     int wake, const struct halo_camera_fault *fault);
void halo_camera_close(struct halo_camera *camera); /* accepts NULL */

/* Returns the size and rate to request from the camera: those in the settings or, if the settings
 * do not specify them, the defaults (HALO_DEFAULT_WIDTH and so on). */
void halo_camera_wishes(const struct halo_capture_settings *settings, int *ret_width,
                        int *ret_height, double *ret_rate);

const struct halo_camera_mode *halo_camera_mode(const struct halo_camera *camera);
void halo_camera_counts(const struct halo_camera *camera, struct halo_camera_counts *ret);

/* Waits for the next frame. A raw frame is returned in *ret_raw, an encoded one in *ret_pkt, which
 * the caller has allocated. Times are in ns of CLOCK_MONOTONIC. Returns 1 with a frame, 0 if the
 * wake descriptor ended the wait or damaged frames were dropped and counted, or -errno with fault
 * filled; after an error, the camera must be closed. If no frame arrives within settings->stall
 * seconds, the function fails with HALO_V4L2_STALLED; returning 0 does not extend this time. */
int halo_camera_read(struct halo_camera *camera, struct halo_raw_frame **ret_raw, AVPacket *ret_pkt,
                     const struct halo_camera_fault *fault);

/* Sets the control that has this name in v4l2-ctl ("brightness", "exposure_auto"). Returns 0;
 * -EINVAL if the control does not exist (err then contains the nearest name); -ERANGE if the value
 * is out of range (err then contains the limits); or another -errno. Any thread may call this
 * function while the camera is open. */
int halo_camera_control(struct halo_camera *camera, const char *name, int64_t value,
                        struct halo_error *err);

/* The formats, sizes, rates and controls of a video node, as `halod devices` lists them.
 * halo_camera_ask() opens the node briefly to fill this struct. */
struct halo_camera_offer {
    struct halo_camera_id id;
    bool capture, output, loopback;
    bool ours;   /* a node of PipeWire that halod made */
    bool hidden; /* a node that portals do not show to programs, because it is not a camera */
    enum halo_v4l2_trouble trouble; /* if the fields below are empty: the reason */
    struct halo_camera_offered_mode {
        const struct halo_v4l2_format *format;
        int width, height;
        double rate; /* the highest rate */
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
