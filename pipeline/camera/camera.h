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

#include "config/daemon.h"
#include "config/error.h"
#include "pipeline/camera/camera_find.h"
#include "pipeline/camera/v4l2.h"

struct halo_capture_settings;
struct halo_memory;
struct halo_raw_picture;
struct halo_camera;

/* The negotiated mode. */
struct halo_camera_mode {
    const struct halo_v4l2_format *format;
    int width, height; /* as the camera delivers it, before it is turned */
    double rate;       /* frames per second; 0: unknown */
    int step;          /* number of fallback steps because of bandwidth; 0: the mode is as
                          requested */
    bool smaller;      /* the fallback reduced the size */
    bool interlaced;   /* frames are woven from two fields */
    enum AVColorRange range;
    enum AVColorSpace space;
};

struct halo_camera_counts {
    int64_t frames;  /* returned by halo_camera_read() */
    int64_t late;    /* skipped, because a newer frame was ready as well */
    int64_t missed;  /* missing, according to the driver's sequence numbers */
    int64_t damaged; /* dropped because of the error flag, a wrong size or a torn JPEG */
};

/* How a call reports its failure: with a message, and as one of the known troubles. */
struct halo_camera_fault {
    enum halo_v4l2_trouble *trouble;
    struct halo_error *err;
};

/* Opens the camera that halo_camera_find() identified as id. Frames are unpacked into memory, which
 * must outlive them. wake is a descriptor that becomes readable when waiting has to end; it is only
 * polled here. Returns 0, or -errno with fault filled. The caller owns *ret. */
int halo_camera_open(struct halo_camera **ret, const struct halo_camera_id *id,
                     const struct halo_capture_settings *settings, struct halo_memory *memory,
                     int wake, const struct halo_camera_fault *fault);
void halo_camera_close(struct halo_camera *camera); /* accepts NULL */

/* Returns the size and rate to request: those of the settings, or HALO_DEFAULT_WIDTH and so on if
 * the settings leave them open. */
void halo_camera_wishes(const struct halo_capture_settings *settings, int *ret_width,
                        int *ret_height, double *ret_rate);

const struct halo_camera_mode *halo_camera_mode(const struct halo_camera *camera);
void halo_camera_counts(const struct halo_camera *camera, struct halo_camera_counts *ret);

/* Waits for the next frame and returns it in *ret_raw (times in ns of CLOCK_MONOTONIC) or, if the
 * format is coded, in *ret_pkt (allocated by the caller; same clock). Returns 1; 0 if the wait was
 * ended by the wake descriptor; or -errno with fault filled, after which the camera must be closed.
 * Each frame has to arrive within settings->stall seconds, no matter how often the wait for it is
 * interrupted; otherwise the trouble is HALO_V4L2_STALLED. */
int halo_camera_read(struct halo_camera *camera, struct halo_raw_picture **ret_raw,
                     AVPacket *ret_pkt, const struct halo_camera_fault *fault);

/* Sets a control, which is identified by its v4l2-ctl name ("brightness", "exposure_auto"). Returns
 * 0; -EINVAL if the control does not exist (err contains the nearest name); -ERANGE if the value is
 * out of bounds (err contains them); or another -errno. Any thread, while the camera is open. */
int halo_camera_control(struct halo_camera *camera, const char *name, int64_t value,
                        struct halo_error *err);

/* The formats, sizes, rates and controls of a node, for `halod devices`. The node is opened briefly
 * to obtain them. */
struct halo_camera_offer {
    struct halo_camera_id id;
    bool capture, output, loopback;
    enum halo_v4l2_trouble trouble; /* the reason if the fields below are empty */
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
