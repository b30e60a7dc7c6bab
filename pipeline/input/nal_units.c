/* SPDX-License-Identifier: BSD-2-Clause
 * NAL units of H.264 and HEVC (nal_units.h). */
#include "pipeline/input/nal_units.h"

#include <string.h>

enum {
    START = 3, /* bytes of a start code */
    /* Offsets in avcC and hvcC, the headers of MP4 and Matroska. */
    AVC_LENGTH = 4,
    AVC_SETS = 5,
    HEVC_LENGTH = 21,
    HEVC_SETS = 23,
    ARRAY = 3, /* HEVC: bytes of the header of an array of sets, which all have one type */
};

static bool has_header(const AVCodecParameters *par, int size)
{
    return par->extradata_size > size && par->extradata[0] == 1;
}

int halo_nal_length(const AVCodecParameters *par)
{
    const int at = par->codec_id == AV_CODEC_ID_HEVC ? HEVC_LENGTH : AVC_LENGTH;
    return has_header(par, at) ? (par->extradata[at] & 3) + 1 : 0;
}

/* The offset of the next start code, or size. */
static size_t find_start(const uint8_t *data, size_t size, size_t at)
{
    while (at + START <= size) {
        const uint8_t *one = memchr(data + at + 2, 1, size - at - 2);
        if (!one)
            break;
        at = (size_t)(one - data) - 2;
        if (data[at] == 0 && data[at + 1] == 0)
            return at;
        at++;
    }
    return size;
}

static bool next_after_start(struct halo_nals *n, struct halo_nal *ret)
{
    const size_t start = find_start(n->data, n->size, n->at);
    if (start == n->size)
        return false;
    const size_t first = start + START;
    size_t end = n->at = find_start(n->data, n->size, first);
    while (end > first && n->data[end - 1] == 0) /* a unit does not end with zeros */
        end--;
    *ret = (struct halo_nal){n->data + first, end - first};
    return true;
}

static bool take(const uint8_t *data, size_t size, size_t *at, int length, struct halo_nal *ret)
{
    size_t bytes = 0;
    if (size - *at < (size_t)length)
        return false;
    for (int i = 0; i < length; i++)
        bytes = bytes << 8 | data[(*at)++];
    if (bytes > size - *at)
        return false;
    *ret = (struct halo_nal){data + *at, bytes};
    *at += bytes;
    return true;
}

bool halo_nal_next(struct halo_nals *n, struct halo_nal *ret)
{
    while (n->length ? take(n->data, n->size, &n->at, n->length, ret) : next_after_start(n, ret))
        if (ret->size > 0)
            return true;
    return false;
}

/* Appends `count` units with lengths of 16 bits. */
static bool append(const AVCodecParameters *par, size_t *at, int count, struct halo_nal *ret,
                   int most, int *found)
{
    for (; count > 0; count--)
        if (*found >= most ||
            !take(par->extradata, (size_t)par->extradata_size, at, 2, &ret[(*found)++]))
            return false;
    return true;
}

/* Two lists: sequence and frame parameter sets. */
static int find_avc(const AVCodecParameters *par, struct halo_nal *ret, int most)
{
    const size_t size = (size_t)par->extradata_size;
    size_t at = AVC_SETS;
    int found = 0;
    for (int list = 0; list < 2 && at < size; list++) {
        const int count = par->extradata[at++] & (list == 0 ? 31 : 255);
        if (!append(par, &at, count, ret, most, &found))
            return -1;
    }
    return found;
}

static int find_hevc(const AVCodecParameters *par, struct halo_nal *ret, int most)
{
    const size_t size = (size_t)par->extradata_size;
    size_t at = HEVC_SETS;
    int found = 0;
    for (int arrays = par->extradata[HEVC_SETS - 1]; arrays > 0; arrays--) {
        if (at + ARRAY > size)
            return -1;
        const int count = par->extradata[at + 1] << 8 | par->extradata[at + 2];
        at += ARRAY;
        if (!append(par, &at, count, ret, most, &found))
            return -1;
    }
    return found;
}

int halo_nal_of_extradata(const AVCodecParameters *par, struct halo_nal *ret, int most)
{
    if (par->codec_id == AV_CODEC_ID_HEVC && has_header(par, HEVC_SETS - 1))
        return find_hevc(par, ret, most);
    if (par->codec_id == AV_CODEC_ID_H264 && has_header(par, AVC_SETS))
        return find_avc(par, ret, most);
    struct halo_nals nals = {par->extradata, (size_t)par->extradata_size, 0, 0};
    struct halo_nal nal;
    int found = 0;
    while (halo_nal_next(&nals, &nal)) {
        if (found >= most)
            return -1;
        ret[found++] = nal;
    }
    return found;
}
