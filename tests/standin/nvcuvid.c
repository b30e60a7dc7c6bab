/* SPDX-License-Identifier: BSD-2-Clause
 * A stand-in for NVDEC's library: frame n, counted in the order of decoding, is
 *
 *     Y(x, y) = 3n + x + 2y,  U(x, y) = n + x + y,  V(x, y) = 5n + 2x + y,  modulo 256,
 *
 * and four times that, plus 1, at 10 bits. */
#include "tests/standin/standin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_SUPPORTED = 801,
    MAX_SURFACES = 64,
    PITCH = 512,
    TROUBLE_AT = 9, /* counted from 0 */
    SMALL = 64,
};

/* The driver's structs, as far as they are looked at. */
struct caps {
    int codec, chroma;
    unsigned depth_minus_8, reserved[3];
    unsigned char supported, engines;
    unsigned short formats;
    unsigned max_width, max_height, max_blocks;
    unsigned short min_width, min_height;
};

struct create_info {
    unsigned long width, height, surfaces;
    int codec, chroma;
    unsigned long flags, depth_minus_8, intra_only, max_width, max_height, reserved;
    short left, top, right, bottom;
    int format, deinterlace;
    unsigned long target_width, target_height, output_surfaces;
};

struct frame_info {
    int width_in_blocks, height_in_blocks, index;
};

struct decoder {
    struct create_info info;
    int number[MAX_SURFACES]; /* of the frame in each surface */
    atomic_bool mapped[MAX_SURFACES];
    atomic_ulong outputs;
    int next;
};

struct surface { /* in front of what is mapped */
    struct decoder *decoder;
    int index;
};

static void __attribute__((constructor)) loaded(void)
{
    standin_log("libnvcuvid");
}

int cuvidGetDecoderCaps(struct caps *caps)
{
    caps->supported = !standin_is("codec");
    caps->engines = 1;
    caps->formats = 0xf;
    caps->min_width = caps->min_height = 16;
    caps->max_width = caps->max_height = standin_is("size") ? SMALL : 8192;
    caps->max_blocks = 1 << 18;
    return 0;
}

/* As the driver does: nobody else's begins meanwhile. */
static void take_time(void)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    const char *text = getenv("HALO_STANDIN_OPENING");
    const long ms = text ? atol(text) : 0;
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    pthread_mutex_lock(&one);
    nanosleep(&time, NULL);
    pthread_mutex_unlock(&one);
}

int cuvidCreateDecoder(struct decoder **ret, const struct create_info *info)
{
    if (standin_is("surfaces") || info->surfaces > MAX_SURFACES)
        return OUT_OF_MEMORY;
    standin_log("decoder");
    take_time();
    *ret = calloc(1, sizeof **ret);
    (*ret)->info = *info;
    (*ret)->info.target_width += info->target_width % 2;
    (*ret)->info.target_height += info->target_height % 2;
    return 0;
}

int cuvidDestroyDecoder(struct decoder *d)
{
    free(d);
    return 0;
}

/* A surface that is still read must not be written. */
int cuvidDecodePicture(struct decoder *d, const struct frame_info *frame)
{
    if (d->next == TROUBLE_AT && standin_is("lost"))
        return standin_lose_device();
    if (d->next == TROUBLE_AT && standin_is("refuses")) {
        d->next++;
        return INVALID_VALUE;
    }
    if ((unsigned long)frame->index >= d->info.surfaces || d->mapped[frame->index])
        return INVALID_VALUE;
    d->number[frame->index] = d->next++;
    return 0;
}

static void put(uint8_t *row, int at, int value, bool deep)
{
    if (deep)
        ((uint16_t *)row)[at] = (uint16_t)(((value & 255) * 4 + 1) << 6);
    else
        row[at] = (uint8_t)value;
}

static void paint(uint8_t *to, int n, const struct create_info *info)
{
    const int width = (int)info->target_width, height = (int)info->target_height;
    const bool deep = info->depth_minus_8 > 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            put(to + y * PITCH, x, 3 * n + x + 2 * y, deep);
    to += height * PITCH;
    for (int y = 0; y < height / 2; y++) {
        for (int x = 0; x < width / 2; x++) {
            put(to + y * PITCH, 2 * x, n + x + y, deep);
            put(to + y * PITCH, 2 * x + 1, 5 * n + 2 * x + y, deep);
        }
    }
}

int cuvidMapVideoFrame64(struct decoder *d, int index, uint64_t *ret, unsigned *pitch, void *params)
{
    (void)params;
    const struct create_info *info = &d->info;
    if (d->mapped[index] || d->outputs >= info->output_surfaces ||
        info->target_width * (info->depth_minus_8 ? 2 : 1) > PITCH)
        return INVALID_VALUE;
    struct surface *s = calloc(1, sizeof *s + PITCH * (info->target_height * 3 / 2));
    *s = (struct surface){d, index};
    paint((uint8_t *)(s + 1), d->number[index], info);
    d->mapped[index] = true;
    d->outputs++;
    *ret = (uintptr_t)(s + 1);
    *pitch = PITCH;
    return 0;
}

int cuvidUnmapVideoFrame64(struct decoder *d, uint64_t mapped)
{
    struct surface *s = (struct surface *)(uintptr_t)mapped - 1;
    d->mapped[s->index] = false;
    d->outputs--;
    free(s);
    return 0;
}

/* Looked for, and not called here. */
#define ABSENT(name)                                                                               \
    int name(void)                                                                                 \
    {                                                                                              \
        return NOT_SUPPORTED;                                                                      \
    }
ABSENT(cuvidCreateVideoParser)
ABSENT(cuvidCreateVideoSource)
ABSENT(cuvidCreateVideoSourceW)
ABSENT(cuvidCtxLock)
ABSENT(cuvidCtxLockCreate)
ABSENT(cuvidCtxLockDestroy)
ABSENT(cuvidCtxUnlock)
ABSENT(cuvidDestroyVideoParser)
ABSENT(cuvidDestroyVideoSource)
ABSENT(cuvidGetDecodeStatus)
ABSENT(cuvidGetSourceAudioFormat)
ABSENT(cuvidGetSourceVideoFormat)
ABSENT(cuvidGetVideoSourceState)
ABSENT(cuvidParseVideoData)
ABSENT(cuvidReconfigureDecoder)
ABSENT(cuvidSetVideoSourceState)
