/* SPDX-License-Identifier: BSD-2-Clause
 * How players turn or mirror stored pictures to show them: FFmpeg's display matrix, of a stream
 * (MP4, MOV) or of single pictures (SEI of H.264 and HEVC, EXIF of JPEG). Pictures are filtered and
 * written as they are stored; it is the places that people name in shown pictures which are turned.
 */
#ifndef HALO_DISPLAY_H
#define HALO_DISPLAY_H

#include <libavformat/avformat.h>
#include <stddef.h>

/* A turn by right angles and a mirroring are flags; 0: shown as stored. */
enum {
    HALO_DISPLAY_X = 1,     /* the stored x axis runs against the axis that shows it */
    HALO_DISPLAY_Y = 2,     /* so does the y axis */
    HALO_DISPLAY_ASIDE = 4, /* the stored x axis is shown as y, and y as x */
    HALO_DISPLAYS = 8,
    HALO_DISPLAY_UNKNOWN = HALO_DISPLAYS /* none of these, or players differ */
};

/* matrix: 9 numbers as in libavutil/display.h; NULL: there is none, 0. UNKNOWN: another angle, a
 * scale, a shear, or size is not theirs. */
int halo_display_of(const void *matrix, size_t size);

/* As the stream says of all of its pictures. */
int halo_display_of_stream(const AVStream *stream);

/* As the picture says itself; negative: it says nothing. */
int halo_display_of_frame(const AVFrame *frame);

/* From shown back to stored. */
int halo_display_back(int turn);

/* What a player does: "turned by 90 degrees clockwise". */
const char *halo_display_words(int turn);

#endif
