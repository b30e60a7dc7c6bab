/* SPDX-License-Identifier: BSD-2-Clause
 * An open camera: format, size and rate are negotiated, and it streams through mapped buffers.
 *
 *   open: QUERYCAP, input, controls, S_FMT, S_PARM, REQBUFS, mmap, QBUF ..., STREAMON
 *   read: poll -> DQBUF -> check -> copy or unpack into page-locked memory -> QBUF
 *   close: STREAMOFF (ENODEV is ignored), munmap, close: after any error, always all of it
 *
 * Negotiation. The settings may request format, size and rate, each optionally. The driver decides,
 * and halo_camera_mode() reports what it decided. Without a requested format, the mode nearest to
 * the requested size and then rate is used, raw formats before MJPEG; without a requested size, the
 * one nearest to 1280x720. If the USB bus lacks bandwidth (STREAMON: ENOSPC), open falls back step
 * by step and logs it: MJPEG first, then smaller sizes, then lower rates.
 *
 * Only the newest frame counts: read() dequeues all buffers that are ready and returns the last
 * one; earlier ones are counted. Buffers with V4L2_BUF_FLAG_ERROR or of a wrong size, JPEGs without
 * SOI or EOI, and those that the decoder finds damaged are dropped and counted, never shown.
 *
 * Times are the driver's if they are of CLOCK_MONOTONIC, otherwise the time at which DQBUF
 * returned. The driver's sequence numbers and times may wrap or jump; the times returned always
 * increase.
 *
 * For one thread (the source's). Waiting ends with the wake descriptor or at the limit. */
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
    int step;          /* fallback steps because of bandwidth; 0: as requested */
    bool smaller;      /* the fallback reduced the size */
    bool interlaced;   /* frames are woven from two fields */
    enum AVColorRange range;
    enum AVColorSpace space;
};

struct halo_camera_counts {
    int64_t frames;  /* returned by halo_camera_read() */
    int64_t late;    /* ready, but a newer frame was, too */
    int64_t missed;  /* gaps in the driver's sequence numbers */
    int64_t damaged; /* error flag, wrong size, torn JPEG */
};

/* How a call reports its failure: as a message, and as one of the known troubles. */
struct halo_camera_fault {
    enum halo_v4l2_trouble *trouble;
    struct halo_error *err;
};

/* id is from halo_camera_find(). memory: frames are unpacked into it; it must outlive them. wake is
 * a descriptor that becomes readable when waiting has to end; it is not read here. 0; or -errno
 * with fault filled. The caller owns *ret. */
int halo_camera_open(struct halo_camera **ret, const struct halo_camera_id *id,
                     const struct halo_capture_settings *settings, struct halo_memory *memory,
                     int wake, const struct halo_camera_fault *fault);
void halo_camera_close(struct halo_camera *camera); /* accepts NULL */

/* The size and rate to request: HALO_DEFAULT_WIDTH and so on if the settings leave them open. */
void halo_camera_wishes(const struct halo_capture_settings *settings, int *ret_width,
                        int *ret_height, double *ret_rate);

const struct halo_camera_mode *halo_camera_mode(const struct halo_camera *camera);
void halo_camera_counts(const struct halo_camera *camera, struct halo_camera_counts *ret);

/* The next frame. It is in *ret_raw (times in ns of CLOCK_MONOTONIC) or, if the format is coded, in
 * *ret_pkt (allocated by the caller; same clock). 1; 0: woken; -errno with fault filled: close
 * the camera. Each frame has to arrive within settings->stall seconds, however often the wait for
 * it is woken; otherwise the trouble is HALO_V4L2_STALLED. */
int halo_camera_read(struct halo_camera *camera, struct halo_raw_picture **ret_raw,
                     AVPacket *ret_pkt, const struct halo_camera_fault *fault);

/* Sets a control, by its v4l2-ctl name ("brightness", "exposure_auto"). -EINVAL: no such control,
 * err names the nearest; -ERANGE: err names the bounds; or another -errno. Any thread, while the
 * camera is open. */
int halo_camera_control(struct halo_camera *camera, const char *name, int64_t value,
                        struct halo_error *err);

/* Formats, sizes, rates and controls of a node, for `halod devices`; the node is opened briefly. */
struct halo_camera_offer {
    struct halo_camera_id id;
    bool capture, output, loopback;
    enum halo_v4l2_trouble trouble; /* the reason if the following fields are empty */
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
