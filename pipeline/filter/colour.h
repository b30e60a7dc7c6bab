/* SPDX-License-Identifier: BSD-2-Clause
 * Colours that users give to filters, and their sample values in a plane. Any thread. */
#ifndef HALO_COLOUR_H
#define HALO_COLOUR_H

#include "pipeline/filter/filter.h"

/* Checks that text is an opaque colour: one of FFmpeg's names (except random), or RRGGBB in
 * hexadecimal after # or 0x. Returns 0, or -EINVAL with err filled. */
int halo_colour_check(const char *text, struct halo_error *err);

/* Sets the values of the colour in the channels of a plane. The second one is used only if both
 * chroma channels are in one plane. Returns 0, or -EINVAL with err filled. */
int halo_colour_values(const char *text, const struct halo_plane_info *plane, int ret[2],
                       struct halo_error *err);

#endif
