/* SPDX-License-Identifier: BSD-2-Clause
 * Gray H.264 (h264.h): intra macroblocks of 16x16, predicted from nothing, with no coefficients. */
#include "tests/standin/h264.h"

#include <stdint.h>
#include <string.h>

struct writer {
    unsigned char *to;
    size_t bytes;
    unsigned bits; /* pending, the last `count` of them */
    int count, zeros;
};

/* No start code may appear inside: after two zero bytes a 3 breaks it. */
static void put_byte(struct writer *w, unsigned byte)
{
    if (w->zeros >= 2 && byte <= 3) {
        w->to[w->bytes++] = 3;
        w->zeros = 0;
    }
    w->to[w->bytes++] = (unsigned char)byte;
    w->zeros = byte ? 0 : w->zeros + 1;
}

static void put(struct writer *w, unsigned value, int bits)
{
    while (bits-- > 0) {
        w->bits = w->bits << 1 | (value >> bits & 1);
        if (++w->count == 8) {
            put_byte(w, w->bits & 0xff);
            w->bits = 0;
            w->count = 0;
        }
    }
}

/* Exp-Golomb; signed 0 is the same. */
static void put_golomb(struct writer *w, unsigned value)
{
    int length = 0;
    while ((value + 1) >> (length + 1))
        length++;
    put(w, 0, length);
    put(w, value + 1, length + 1);
}

static struct writer begin(unsigned char *to, unsigned char type)
{
    static const unsigned char start[4] = {0, 0, 0, 1};
    memcpy(to, start, sizeof start);
    to[4] = type;
    return (struct writer){.to = to, .bytes = 5};
}

static size_t end(struct writer *w)
{
    put(w, 1, 1);
    while (w->count)
        put(w, 0, 1);
    return w->bytes;
}

static unsigned blocks(int samples)
{
    return (unsigned)(samples + 15) / 16;
}

size_t halo_standin_room(int width, int height)
{
    return 256 + 2 * (size_t)blocks(width) * blocks(height);
}

size_t halo_standin_headers(unsigned char *to, int width, int height)
{
    struct writer w = begin(to, 0x67);
    put(&w, 66, 8);    /* Baseline */
    put(&w, 0xc0, 8);  /* and what it is a part of */
    put(&w, 51, 8);    /* level */
    put_golomb(&w, 0); /* number of this set */
    put_golomb(&w, 0); /* frame numbers have 4 bits */
    put_golomb(&w, 2); /* shown as they are decoded */
    put_golomb(&w, 1); /* one reference */
    put(&w, 0, 1);
    put_golomb(&w, blocks(width) - 1);
    put_golomb(&w, blocks(height) - 1);
    put(&w, 3, 2); /* frames; direct prediction of 8x8 */
    put(&w, 1, 1); /* cropped: */
    put_golomb(&w, 0);
    put_golomb(&w, (blocks(width) * 16 - (unsigned)width) / 2);
    put_golomb(&w, 0);
    put_golomb(&w, (blocks(height) * 16 - (unsigned)height) / 2);
    put(&w, 0, 1);
    const size_t first = end(&w);
    w = begin(to + first, 0x68);
    put_golomb(&w, 0);
    put_golomb(&w, 0);
    put(&w, 0, 2); /* variable-length codes */
    put_golomb(&w, 0);
    put_golomb(&w, 0);
    put_golomb(&w, 0);
    put(&w, 0, 3);     /* no weights */
    put_golomb(&w, 0); /* quantiser 26 */
    put_golomb(&w, 0);
    put_golomb(&w, 0);
    put(&w, 4, 3); /* frames say whether they are deblocked */
    return first + end(&w);
}

size_t halo_standin_frame(unsigned char *to, int width, int height, int number)
{
    struct writer w = begin(to, 0x65);
    put_golomb(&w, 0); /* from the first macroblock on */
    put_golomb(&w, 7); /* all intra */
    put_golomb(&w, 0);
    put(&w, 0, 4);
    put_golomb(&w, (unsigned)number & 1); /* neighbours differ */
    put(&w, 0, 2);
    put_golomb(&w, 0); /* quantiser as it is */
    put_golomb(&w, 1); /* not deblocked */
    for (unsigned i = 0; i < blocks(width) * blocks(height); i++)
        put(&w, 0x27, 8); /* 16x16, mean, mean of chroma, quantiser as it is, no coefficients */
    return end(&w);
}
