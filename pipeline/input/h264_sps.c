/* SPDX-License-Identifier: BSD-2-Clause
 * The beginning of H.264's sequence parameter sets (h264_sps.h; ITU-T H.264, 7.3.2.1.1). */
#include "pipeline/input/h264_sps.h"

#include "pipeline/input/nal_units.h"

enum {
    TYPE_SLICE = 1, /* of a frame that is not IDR; types 1 to 4 are parts of one */
    TYPE_IDR = 5,
    TYPE_SPS = 7,
    MP4_HEAD = 8,  /* bytes before the first set: the avcC header and the set's length */
    HEAD = 4,      /* of the set: type, profile, constraints, level */
    MAX_BITS = 32, /* no number that is read here is longer */
};

struct bits {
    const uint8_t *data;
    size_t count, at;
};

static int next(struct bits *b)
{
    if (b->at >= b->count)
        return -1;
    const int bit = b->data[b->at / 8] >> (7 - b->at % 8) & 1;
    b->at++;
    return bit;
}

/* An Exp-Golomb number; -1 at the end of the bits. */
static long long next_number(struct bits *b)
{
    int zeros = 0, bit;
    while ((bit = next(b)) == 0 && zeros < MAX_BITS)
        zeros++;
    if (bit != 1)
        return -1;
    long long value = 1;
    for (int i = 0; i < zeros && value >= 0; i++)
        value = (bit = next(b)) < 0 ? -1 : value * 2 + bit;
    return value < 0 ? -1 : value - 1;
}

/* Profiles whose sets contain the chroma format; all others are 4:2:0. */
static bool says_chroma(int profile)
{
    static const uint8_t profiles[] = {44,  83,  86,  100, 110, 118, 122,
                                       128, 134, 135, 138, 139, 244};
    for (size_t i = 0; i < sizeof profiles; i++)
        if (profiles[i] == profile)
            return true;
    return false;
}

static const uint8_t *find_set(const uint8_t *data, size_t size, size_t *ret_size)
{
    size_t at = 0;
    if (size > MP4_HEAD && data[0] == 1) {
        at = MP4_HEAD;
    } else {
        while (at + 3 < size && !(data[at] == 0 && data[at + 1] == 0 && data[at + 2] == 1 &&
                                  (data[at + 3] & 31) == TYPE_SPS))
            at++;
        at += 3;
    }
    if (at >= size || (data[at] & 31) != TYPE_SPS)
        return NULL;
    *ret_size = size - at;
    return data + at;
}

bool halo_h264_is_monochrome(const uint8_t *extradata, size_t size)
{
    size_t left = 0;
    const uint8_t *set = extradata ? find_set(extradata, size, &left) : NULL;
    if (!set || left <= HEAD || !says_chroma(set[1]))
        return false;
    struct bits bits = {set + HEAD, (left - HEAD) * 8, 0};
    return next_number(&bits) >= 0 && next_number(&bits) == 0;
}

bool halo_h264_is_idr(const AVCodecParameters *par, const uint8_t *packet, size_t size)
{
    struct halo_nals nals = {packet, size, 0, halo_nal_length(par)};
    struct halo_nal nal;
    while (halo_nal_next(&nals, &nal)) {
        const int type = nal.data[0] & 31;
        if (type >= TYPE_SLICE && type <= TYPE_IDR)
            return type == TYPE_IDR;
    }
    return false;
}
