/* SPDX-License-Identifier: BSD-2-Clause
 * The description of an encoding (struct halo_encoding_parameters): as a copy with its own memory,
 * and as bytes that are sent between two processes of the same binary, field by field, each field
 * with its limits. Any thread; no call blocks. */
#ifndef HALO_PARAMETERS_WIRE_H
#define HALO_PARAMETERS_WIRE_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HALO_MAX_EXTRADATA = 65536,                          /* bytes */
    HALO_MAX_PARAMETERS = 2 * HALO_MAX_EXTRADATA + 4096, /* largest description without cards, in
                                                       bytes */
};

/* The information that viewers need before they can use packets. This information is sent each time
 * an encoder is opened, and may also be sent earlier. */
struct halo_encoding_parameters {
    const AVCodecParameters *video, *audio; /* audio is NULL if there is no audio */
    AVRational framerate;                   /* frame rate of the source; 0/1: unknown */
    /* Two closed keyframes, from an encoder with the same settings, that can be shown while no
     * packets arrive. `card` is gray and shows the stream's name; `solid` is black. */
    const AVPacket *card, *solid;
};

/* A copy that owns the memory to which its fields point. If all fields are zero, the copy is
 * empty. */
struct halo_parameters_copy {
    AVCodecParameters *video, *audio;
    AVPacket *card, *solid;
    AVRational framerate;
};

/* Copies begin. Returns 0, or -ENOMEM with *ret empty. If possible, the data of packets is
 * referenced instead of copied. */
int halo_parameters_copy_init(struct halo_parameters_copy *ret,
                              const struct halo_encoding_parameters *begin);
void halo_parameters_copy_finish(struct halo_parameters_copy *copy);
struct halo_encoding_parameters halo_parameters_view(const struct halo_parameters_copy *copy);

/* Adds a stream with the parameters par, which are begin->video or begin->audio, to a muxer. It has
 * no codec tag, since the encoder's container may have another one. NULL: memory runs out. */
AVStream *halo_parameters_add_stream(AVFormatContext *to,
                                     const struct halo_encoding_parameters *begin,
                                     const AVCodecParameters *par);

/* Returns whether packets with the parameters `b` can follow packets with the parameters `a` in the
 * same decoder and the same file. `a`, `b` or both may be NULL. */
bool halo_parameters_are_same(const AVCodecParameters *a, const AVCodecParameters *b);

/* The fields of a packet that are sent with its data. Side data is not sent. */
struct halo_packet_fields {
    int64_t pts, dts, duration; /* us */
    uint32_t size;              /* bytes */
    uint16_t stream;
    uint16_t flags; /* only AV_PKT_FLAG_KEY and AV_PKT_FLAG_DISPOSABLE */
};
/* Returns 0, or -EINVAL if the packet has no timestamp, no data, or a stream index other than 0 and
 * 1. */
int halo_packet_fields_init(struct halo_packet_fields *ret, const AVPacket *pkt);
/* Checks fields that another process has sent. Returns whether halo_packet_fields_init() can
 * produce these values. */
bool halo_packet_fields_is_good(const struct halo_packet_fields *fields);
void halo_packet_fields_apply(const struct halo_packet_fields *fields,
                              AVPacket *pkt); /* sets all fields except size */

/* Serializes begin into bytes that are allocated with av_malloc and belong to the caller. The size
 * of a card is limited to `most_card` bytes. Returns 0, -ENOMEM, -EINVAL, or -EMSGSIZE if the
 * extradata or a card is too large. */
int halo_begin_write(const struct halo_encoding_parameters *begin, size_t most_card, uint8_t **ret,
                     size_t *ret_size);

/* Parses bytes in the format of halo_begin_write(). The bytes may come from an untrusted process,
 * but must not change during the call. Returns 0, -ENOMEM, or -EPROTO if the bytes are malformed or
 * contain values that no codec has. After a failure *ret is unchanged. */
int halo_begin_read(struct halo_parameters_copy *ret, const uint8_t *bytes, size_t size,
                    size_t most_card);

/* Returns a deep copy, which the caller owns, or NULL if out of memory; only packets share their
 * memory with the original. begin->video must not be NULL. */
struct halo_encoding_parameters *halo_parameters_copy(const struct halo_encoding_parameters *begin);
/* Destroys a copy. NULL is ignored. */
void halo_begin_destroy(struct halo_encoding_parameters *begin);

#endif
