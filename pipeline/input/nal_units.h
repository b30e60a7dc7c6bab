/* SPDX-License-Identifier: BSD-2-Clause
 * NAL units of H.264 and HEVC, in packets and in extradata (ITU-T H.264 and H.265, annex B;
 * ISO/IEC 14496-15). Any thread. */
#ifndef HALO_NAL_UNITS_H
#define HALO_NAL_UNITS_H

#include <libavcodec/codec_par.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A unit without its start code or length. */
struct halo_nal {
    const uint8_t *data;
    size_t size;
};

/* The units that have not been read yet. */
struct halo_nals {
    const uint8_t *data;
    size_t size, at;
    int length; /* bytes of the length before each unit; 0: units begin with start codes */
};

/* Returns the number of bytes of the length before each unit in the stream's packets; 0 if units
 * begin with start codes. */
int halo_nal_length(const AVCodecParameters *par);

/* Reads the next unit. Returns false at the end, or if the rest is damaged. */
bool halo_nal_next(struct halo_nals *nals, struct halo_nal *ret);

/* Finds all units of the stream's extradata, whatever its form. Returns their number, at most
 * `most`; or -1 if there are more, or if the extradata is damaged. */
int halo_nal_of_extradata(const AVCodecParameters *par, struct halo_nal *ret, int most);

#endif
