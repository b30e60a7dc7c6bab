/* SPDX-License-Identifier: BSD-2-Clause
 * How many decoders work on a track, and how much memory they may use. */
#ifndef HALO_TRACK_DECODERS_H
#define HALO_TRACK_DECODERS_H

#include "pipeline/run/tracks.h"

/* Opens the decoders of a filtered track: as many as -decoders asks for, or as pay here; one if the
 * input cannot be read ahead. Returns 0, or -errno with err filled. */
int halo_track_open_decoders(struct halo_track *t, const struct halo_route *route,
                             struct halo_error *err);

#endif
