/* SPDX-License-Identifier: BSD-2-Clause
 * How players rotate or mirror stored frames to display them. FFmpeg's display matrix specifies
 * this for a stream (MP4, MOV) or for a single frame (SEI in H.264 and HEVC, EXIF in JPEG). Frames
 * are filtered and written as stored; regions, which users give for frames as displayed, are
 * converted instead. */
#ifndef HALO_DISPLAY_H
#define HALO_DISPLAY_H

#include <libavformat/avformat.h>
#include <stddef.h>

/* A display orientation is a combination of these flags; 0: displayed as stored. */
enum {
    HALO_DISPLAY_X = 1,        /* the stored x axis is displayed in the opposite direction */
    HALO_DISPLAY_Y = 2,        /* the stored y axis is displayed in the opposite direction */
    HALO_DISPLAY_SIDEWAYS = 4, /* the stored x axis is displayed as y, and y as x */
    HALO_DISPLAYS = 8,
    HALO_DISPLAY_UNKNOWN = HALO_DISPLAYS /* the orientation is not a combination of these flags, or
                                            players disagree about it */
};

/* Returns the orientation that the stream specifies for all of its frames. */
int halo_display_of_stream(const AVStream *stream);

/* Returns the orientation that the frame itself specifies, or a negative number if it specifies
 * none. */
int halo_display_of_frame(const AVFrame *frame);

/* Returns the inverse orientation, which converts displayed frames back to stored ones. */
int halo_display_back(int turn);

/* Returns a text that describes how players display the frame, such as "rotated by 90 degrees
 * clockwise". */
const char *halo_display_words(int turn);

#endif
