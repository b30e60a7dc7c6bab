/* SPDX-License-Identifier: BSD-2-Clause
 * Pixel formats of PipeWire's cameras, by the names that `capture: {format:}` uses. */
#ifndef HALO_PIPEWIRE_FORMATS_H
#define HALO_PIPEWIRE_FORMATS_H

#include <spa/param/video/raw.h>
#include <spa/pod/pod.h>
#include <stdbool.h>
#include <stdint.h>

struct halo_pipewire_format {
    const char *name; /* "yu12", "mjpeg" ... */
    uint32_t subtype; /* SPA_MEDIA_SUBTYPE_raw or _mjpg */
    enum spa_video_format format;
    int row; /* bytes per pixel in the first plane; 0: compressed */
};
extern const struct halo_pipewire_format halo_pipewire_formats[]; /* ends with the name NULL */

/* A mode that a node offers, from one of the objects that list its formats. */
struct halo_pipewire_mode_offer {
    const struct halo_pipewire_format *format;
    int width, height;
    double rate; /* the highest one; 0: unknown */
};

/* Reads the modes in a format object (SPA_PARAM_EnumFormat), one for each pixel format that is
 * known; of a range of sizes, the default. Returns their number, at most `most`. */
int halo_pipewire_modes_read(const struct spa_pod *param, struct halo_pipewire_mode_offer *ret,
                             int most);

#endif
