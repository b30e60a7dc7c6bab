/* SPDX-License-Identifier: BSD-2-Clause
 * The smallest H.264 there is: gray key frames, a byte for each macroblock. */
#ifndef HALO_STANDIN_H264_H
#define HALO_STANDIN_H264_H

#include <stddef.h>

/* Parameter sets, and a frame in the form of a byte stream; the same number of bytes for the same
 * size and number. to has room for halo_standin_room() bytes. They return how many they wrote. */
size_t halo_standin_headers(unsigned char *to, int width, int height);
size_t halo_standin_frame(unsigned char *to, int width, int height, int number);
size_t halo_standin_room(int width, int height);

#endif
