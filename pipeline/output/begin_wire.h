/* SPDX-License-Identifier: BSD-2-Clause
 * What an encoding is (struct halo_live_begin) in memory of its own, and as bytes between two
 * processes of one binary: field by field, each with its limit. Any thread; nothing blocks. */
#ifndef HALO_BEGIN_WIRE_H
#define HALO_BEGIN_WIRE_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HALO_MAX_EXTRADATA = 65536,                     /* bytes */
    HALO_MAX_BEGIN = 2 * HALO_MAX_EXTRADATA + 4096, /* bytes of the form, without cards */
};

/* What viewers need before they can use packets, told each time that an encoder is opened, and in
 * advance. */
struct halo_live_begin {
    const AVCodecParameters *video, *audio; /* audio NULL: none */
    AVRational framerate;                   /* of the source; 0/1 unknown */
    /* Closed key frames of one encoder with the same settings, for while nothing comes from here:
     * gray with the stream's name, and black. */
    const AVPacket *card, *solid;
};

/* Owns what it points to; zeroed is empty. */
struct halo_begin_copy {
    AVCodecParameters *video, *audio;
    AVPacket *card, *solid;
    AVRational framerate;
};

/* 0, or -ENOMEM with nothing in *ret. Packets are referred to, where they can be. */
int halo_begin_copy_init(struct halo_begin_copy *ret, const struct halo_live_begin *begin);
void halo_begin_copy_finish(struct halo_begin_copy *copy);
struct halo_live_begin halo_begin_view(const struct halo_begin_copy *copy);

/* Whether what follows the one can be the other: a decoder, and a file, go on with it. Both may be
 * NULL. */
bool halo_begin_is_same(const AVCodecParameters *a, const AVCodecParameters *b);

/* What of a packet travels: its time, its size and that it is a key frame. Side data does not. */
struct halo_packet_fields {
    int64_t pts, dts, duration; /* us */
    uint32_t size;              /* bytes */
    uint16_t stream;
    uint16_t flags; /* AV_PKT_FLAG_KEY, AV_PKT_FLAG_DISPOSABLE; no other */
};
/* 0, or -EINVAL: no time, no data, or another stream than 0 and 1. */
int halo_packet_fields_init(struct halo_packet_fields *ret, const AVPacket *pkt);
/* Whether a form that came from elsewhere keeps to the rules above. */
bool halo_packet_fields_is_good(const struct halo_packet_fields *fields);
void halo_packet_fields_apply(const struct halo_packet_fields *fields,
                              AVPacket *pkt); /* but size */

/* Bytes of begin; av_malloc'ed, the caller's. 0, -ENOMEM, -EINVAL, or -EMSGSIZE where extradata or
 * a card, of at most most_card bytes, is too large. */
int halo_begin_write(const struct halo_live_begin *begin, size_t most_card, uint8_t **ret,
                     size_t *ret_size);

/* The same back. The bytes may be anybody's, but must not change. -EPROTO: not as halo_begin_write
 * makes them, or values that no codec has. -ENOMEM. *ret is untouched on failure. */
int halo_begin_read(struct halo_begin_copy *ret, const uint8_t *bytes, size_t size,
                    size_t most_card);

#endif
