/* SPDX-License-Identifier: BSD-2-Clause
 * Mask images (mask_image.h): reads files, decodes them with FFmpeg and converts them to gray. */
#include "pipeline/region/mask_image.h"

#include <errno.h>
#include <fcntl.h>
#include <libavcodec/avcodec.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/thread.h"
#include "pipeline/base/av.h"
#include "pipeline/base/display.h"

static const struct {
    const char *begin;
    size_t length;
    enum AVCodecID codec;
} kinds[] = {
    {"\x89PNG\r\n\x1a\n", 8, AV_CODEC_ID_PNG},
    {"\xff\xd8\xff", 3, AV_CODEC_ID_MJPEG},
    {"P5", 2, AV_CODEC_ID_PGM},
    {"P6", 2, AV_CODEC_ID_PPM},
};

enum { BEGINNING = 8, MAX_TAIL = 512 /* bytes that are searched for a JPEG's end */ };

static int no_image(const char *path, const char *why, struct halo_error *err)
{
    return halo_fail(err, -EINVAL, "the mask image %.200s cannot be used: %s", path, why);
}

static int no_file(const char *path, int code, struct halo_error *err)
{
    return halo_fail(err, code, "the mask image %.200s cannot be read: %s", path, strerror(-code));
}

static enum AVCodecID find_codec(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (length >= kinds[i].length && !memcmp(bytes, kinds[i].begin, kinds[i].length))
            return kinds[i].codec;
    return AV_CODEC_ID_NONE;
}

/* Called before opening, too, because opening some devices has an effect. */
static const char *why_not(const struct stat *is)
{
    return !S_ISREG(is->st_mode)               ? "this is not a regular file"
           : is->st_size > HALO_MAX_MASK_BYTES ? "the file is larger than 32 MiB"
                                               : NULL;
}

/* ---- descriptors given for paths ---- */

static struct given {
    struct given *next;
    int fd;
    char path[];
} * all_given;
static struct halo_mutex giving;

/* Under the lock. */
static struct given *find_given(const char *path)
{
    struct given *given = all_given;
    while (given && strcmp(given->path, path) != 0)
        given = given->next;
    return given;
}

void halo_mask_image_give(const char *path, int fd)
{
    const size_t size = strlen(path) + 1;
    halo_lock(&giving);
    struct given *given = find_given(path);
    if (given) {
        close(given->fd);
        given->fd = fd;
    } else if ((given = malloc(sizeof *given + size))) {
        *given = (struct given){.next = all_given, .fd = fd};
        memcpy(given->path, path, size);
        all_given = given;
    } else {
        close(fd);
    }
    halo_unlock(&giving);
}

/* Returns a new descriptor, or -1 with errno. */
static int open_given(const char *path)
{
    halo_lock(&giving);
    const struct given *given = find_given(path);
    const int fd = given ? fcntl(given->fd, F_DUPFD_CLOEXEC, 0)
                         : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    halo_unlock(&giving);
    return fd;
}

/* ---- files ---- */

static int open_file(const char *path, size_t *ret_size, struct halo_error *err)
{
    struct stat is;
    if (stat(path, &is) < 0)
        return no_file(path, -errno, err);
    if (why_not(&is))
        return no_image(path, why_not(&is), err);
    const int fd = open_given(path);
    if (fd < 0)
        return no_file(path, -errno, err);
    const int code = fstat(fd, &is) < 0 ? no_file(path, -errno, err)
                     : why_not(&is)     ? no_image(path, why_not(&is), err)
                                        : 0;
    if (code) {
        close(fd);
        return code;
    }
    *ret_size = (size_t)is.st_size;
    return fd;
}

/* Reads up to size bytes, fewer at the end of the file. */
static ssize_t read_bytes(int fd, uint8_t *to, size_t size)
{
    size_t have = 0;
    while (have < size) {
        const ssize_t n = pread(fd, to + have, size - have, (off_t)have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* Chooses the decoder by the file's first bytes. */
static int check(const char *path, const uint8_t *bytes, ssize_t length, enum AVCodecID *ret,
                 struct halo_error *err)
{
    if (length < 0)
        return no_file(path, (int)length, err);
    *ret = find_codec(bytes, (size_t)length);
    if (*ret == AV_CODEC_ID_NONE)
        return no_image(
            path, length ? "the file is not PNG, JPEG, PGM or PPM" : "the file is empty", err);
    return 0;
}

int halo_mask_image_find(struct halo_mask_image **ret, const char *path, struct halo_error *err)
{
    uint8_t bytes[BEGINNING];
    enum AVCodecID codec;
    size_t size;
    const int fd = open_file(path, &size, err);
    if (fd < 0)
        return fd;
    const int code = check(path, bytes, read_bytes(fd, bytes, sizeof bytes), &codec, err);
    close(fd);
    if (code < 0)
        return code;
    struct halo_mask_image *image = calloc(1, sizeof *image);
    if (!image || !(image->path = strdup(path))) {
        halo_mask_image_destroy(image);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    *ret = image;
    return 0;
}

void halo_mask_image_destroy(struct halo_mask_image *image)
{
    if (!image)
        return;
    free(image->path);
    free(image->weight);
    free(image);
}

/* Reads the file into a packet, with the padding that decoders need. */
static int read_packet(const char *path, AVPacket *packet, enum AVCodecID *ret,
                       struct halo_error *err)
{
    size_t size;
    const int fd = open_file(path, &size, err);
    if (fd < 0)
        return fd;
    int code = av_new_packet(packet, (int)size) < 0 ? halo_fail(err, -ENOMEM, "out of memory") : 0;
    if (code == 0) {
        const ssize_t length = read_bytes(fd, packet->data, size);
        code = check(path, packet->data, length, ret, err);
        if (code == 0)
            av_shrink_packet(packet, (int)length);
    }
    close(fd);
    return code;
}

/* False for a JPEG without its end marker: the decoder would return an incomplete image. */
static bool is_whole(enum AVCodecID id, const AVPacket *packet)
{
    const int first = packet->size > MAX_TAIL ? packet->size - MAX_TAIL : 0;
    bool end = id != AV_CODEC_ID_MJPEG;
    for (int i = first; i + 1 < packet->size && !end; i++)
        end = packet->data[i] == 0xff && packet->data[i + 1] == 0xd9;
    return end;
}

static int decode(const char *path, enum AVCodecID id, const AVPacket *packet, AVFrame *frame,
                  struct halo_error *err)
{
    const AVCodec *codec = avcodec_find_decoder(id);
    AVCodecContext *context = codec ? avcodec_alloc_context3(codec) : NULL;
    struct halo_complaints complaints = {0}; /* of missing rows: they would not be hidden */
    struct halo_av_packet whole = {&complaints, 0};
    int code = context ? 0 : codec ? AVERROR(ENOMEM) : AVERROR_DECODER_NOT_FOUND;
    if (code >= 0) {
        context->thread_count = 1;
        context->max_pixels = (int64_t)HALO_MAX_MASK_SIDE * HALO_MAX_MASK_SIDE;
        context->err_recognition = AV_EF_CRCCHECK | AV_EF_EXPLODE;
        context->discard_damaged_percentage = 0;
        context->opaque = &whole;
        code = avcodec_open2(context, codec, NULL);
    }
    if (code >= 0)
        code = avcodec_send_packet(context, packet);
    if (code >= 0)
        code = avcodec_send_packet(context, NULL);
    if (code >= 0)
        code = avcodec_receive_frame(context, frame);
    avcodec_free_context(&context);
    if (code == AVERROR(ENOMEM))
        return halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0 && (frame->flags & AV_FRAME_FLAG_CORRUPT || frame->decode_error_flags ||
                      atomic_load(&complaints.lines) || !is_whole(id, packet)))
        code = AVERROR_INVALIDDATA;
    if (code >= 0 && frame->width <= HALO_MAX_MASK_SIDE && frame->height <= HALO_MAX_MASK_SIDE)
        return 0;
    return no_image(path,
                    code < 0 ? "the image is damaged or larger than 8192x8192"
                             : "the image is larger than 8192 pixels on a side",
                    err);
}

static uint8_t gray_of(const uint8_t rgba[4])
{
    const unsigned gray = (77u * rgba[0] + 150u * rgba[1] + 29u * rgba[2] + 128u) >> 8;
    return (uint8_t)((gray * rgba[3] + 254u) / 255u);
}

/* Whether plane 0 is gray already, from 0 to 255. */
static bool is_gray(const AVFrame *frame)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frame->format);
    const uint64_t other = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_ALPHA |
                           AV_PIX_FMT_FLAG_BITSTREAM;
    const bool full = d->nb_components == 1 || frame->color_range == AVCOL_RANGE_JPEG ||
                      frame->format == AV_PIX_FMT_YUVJ420P ||
                      frame->format == AV_PIX_FMT_YUVJ422P || frame->format == AV_PIX_FMT_YUVJ444P;
    return !(d->flags & other) && d->comp[0].depth == 8 && d->comp[0].step == 1 && full;
}

/* Converts to weights, through RGBA, which can represent colours and transparency. */
static int convert(const AVFrame *frame, uint8_t *weight)
{
    const int width = frame->width, height = frame->height;
    const int linesize = (4 * width + 63) / 64 * 64;
    uint8_t *rgba = av_malloc((size_t)linesize * (size_t)height + 64);
    struct SwsContext *sws =
        sws_getContext(width, height, frame->format, width, height, AV_PIX_FMT_RGBA,
                       SWS_POINT | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
    int code = rgba ? 0 : -ENOMEM;
    if (code == 0 && (!sws || sws_scale(sws, (const uint8_t *const *)frame->data, frame->linesize,
                                        0, height, &rgba, &linesize) != height))
        code = -EINVAL;
    for (int y = 0; code == 0 && y < height; y++)
        for (int x = 0; x < width; x++)
            weight[(size_t)y * (size_t)width + (size_t)x] =
                gray_of(rgba + (size_t)y * (size_t)linesize + 4 * (size_t)x);
    sws_freeContext(sws);
    av_free(rgba);
    return code;
}

/* The number of zeros at the beginning of a row. */
static int zeros_before(const uint8_t *row, int count)
{
    uint64_t eight;
    int x = 0;
    for (; x + 8 <= count; x += 8) {
        memcpy(&eight, row + x, 8);
        if (eight)
            break;
    }
    while (x < count && !row[x])
        x++;
    return x;
}

static int zeros_after(const uint8_t *row, int count)
{
    uint64_t eight;
    int x = count;
    for (; x >= 8; x -= 8) {
        memcpy(&eight, row + x - 8, 8);
        if (eight)
            break;
    }
    while (x > 0 && !row[x - 1])
        x--;
    return count - x;
}

void halo_mask_image_measure(struct halo_mask_image *image)
{
    struct halo_rect in = {image->width, image->height, 0, 0};
    for (int y = 0; y < image->height; y++) {
        const uint8_t *row = image->weight + (size_t)y * (size_t)image->width;
        const int x0 = zeros_before(row, image->width);
        const int x1 = image->width - zeros_after(row, image->width);
        if (x0 >= x1)
            continue;
        in.x0 = x0 < in.x0 ? x0 : in.x0;
        in.x1 = x1 > in.x1 ? x1 : in.x1;
        in.y0 = y < in.y0 ? y : in.y0;
        in.y1 = y + 1;
    }
    image->inside = in.x0 < in.x1 ? in : (struct halo_rect){0};
}

struct halo_mask_image *halo_mask_image_create(int width, int height)
{
    struct halo_mask_image *image = calloc(1, sizeof *image);
    if (image)
        image->weight = malloc((size_t)width * (size_t)height);
    if (!image || !image->weight) {
        halo_mask_image_destroy(image);
        return NULL;
    }
    image->width = width;
    image->height = height;
    return image;
}

/* Converts weights from displayed to stored orientation; width x height is the size as displayed.
 * NULL: out of memory. */
static uint8_t *turn_weights(const uint8_t *shown, int width, int height, int turn)
{
    const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
    const int across = sideways ? height : width, down = sideways ? width : height;
    uint8_t *stored = malloc((size_t)width * (size_t)height), *to = stored;
    for (int y = 0; stored && y < down; y++)
        for (int x = 0; x < across; x++) {
            const int i = turn & HALO_DISPLAY_X ? across - 1 - x : x;
            const int k = turn & HALO_DISPLAY_Y ? down - 1 - y : y;
            *to++ = shown[(size_t)(sideways ? i : k) * (size_t)width + (size_t)(sideways ? k : i)];
        }
    return stored;
}

int halo_mask_image_store(struct halo_mask_image **ret, const struct halo_mask_image *shown,
                          int turn)
{
    const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
    struct halo_mask_image *image = calloc(1, sizeof *image);
    if (image)
        image->weight = turn_weights(shown->weight, shown->width, shown->height, turn);
    if (!image || !image->weight) {
        halo_mask_image_destroy(image);
        return -ENOMEM;
    }
    image->width = sideways ? shown->height : shown->width;
    image->height = sideways ? shown->width : shown->height;
    halo_mask_image_measure(image);
    *ret = image;
    return 0;
}

static int take_weights(struct halo_mask_image *image, const AVFrame *frame, struct halo_error *err)
{
    const size_t width = (size_t)frame->width, height = (size_t)frame->height;
    const int turn = halo_display_back(FFMAX(halo_display_of_frame(frame), 0));
    const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
    uint8_t *weight = malloc(width * height);
    int code = weight ? 0 : -ENOMEM;
    if (code == 0 && is_gray(frame))
        for (size_t y = 0; y < height; y++)
            memcpy(weight + y * width, frame->data[0] + (ptrdiff_t)y * frame->linesize[0], width);
    else if (code == 0)
        code = convert(frame, weight);
    if (code == 0 && turn) { /* its author saw it displayed like this */
        uint8_t *stored = weight;
        weight = turn_weights(stored, frame->width, frame->height, turn);
        code = weight ? 0 : -ENOMEM;
        free(stored);
    }
    if (code < 0) {
        free(weight);
        return code == -ENOMEM
                   ? halo_fail(err, code, "out of memory")
                   : no_image(image->path, "the image has an unknown pixel format", err);
    }
    free(image->weight);
    image->weight = weight;
    image->width = sideways ? frame->height : frame->width;
    image->height = sideways ? frame->width : frame->height;
    halo_mask_image_measure(image);
    return 0;
}

int halo_mask_image_load(struct halo_mask_image *image, struct halo_error *err)
{
    AVPacket *packet = av_packet_alloc();
    AVFrame *frame = av_frame_alloc();
    enum AVCodecID codec;
    int code = packet && frame ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (code == 0)
        code = read_packet(image->path, packet, &codec, err);
    if (code == 0)
        code = decode(image->path, codec, packet, frame, err);
    if (code == 0)
        code = take_weights(image, frame, err);
    av_packet_free(&packet);
    av_frame_free(&frame);
    return code;
}
