/* SPDX-License-Identifier: BSD-2-Clause
 * Frames in sealed memory. */
#include "daemon/view/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE /* Linux 5.1; the C library may be older */
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum {
    SLOTS = 16,
    PLANES = 4,
    MAX_SIDE = 16384,
};

struct slot {
    uint8_t *memory; /* NULL: not allocated yet */
    int fd;
    int users;
    uint64_t id;
};

/* Where a plane is in the packet and in memory. */
struct plane {
    size_t from, to, from_stride, to_stride;
    int rows;
};

struct halo_frames {
    struct slot slot[SLOTS];
    struct plane plane[PLANES];
    int planes;
    size_t size, packed; /* bytes: of a slot, of a packet */
    uint64_t next_id;
    struct slot *present; /* the newest frame; NULL: none */
    int64_t present_dts;
    char caps[400];
};

/* GStreamer's format names; samples of more than 8 bits are little-endian in both. */
static const struct {
    enum AVPixelFormat format;
    const char *name;
} formats[] = {
    {AV_PIX_FMT_GRAY8, "GRAY8"},
    {AV_PIX_FMT_NV12, "NV12"},
    {AV_PIX_FMT_YUV420P, "I420"},
    {AV_PIX_FMT_YUVJ420P, "I420"},
    {AV_PIX_FMT_YUV422P, "Y42B"},
    {AV_PIX_FMT_YUVJ422P, "Y42B"},
    {AV_PIX_FMT_YUV444P, "Y444"},
    {AV_PIX_FMT_YUVJ444P, "Y444"},
    {AV_PIX_FMT_GBRP, "GBR"},
    {AV_PIX_FMT_P010LE, "P010_10LE"},
    {AV_PIX_FMT_YUV420P10LE, "I420_10LE"},
    {AV_PIX_FMT_YUV420P12LE, "I420_12LE"},
    {AV_PIX_FMT_YUV422P10LE, "I422_10LE"},
    {AV_PIX_FMT_YUV422P12LE, "I422_12LE"},
    {AV_PIX_FMT_YUV444P10LE, "Y444_10LE"},
    {AV_PIX_FMT_YUV444P12LE, "Y444_12LE"},
    {AV_PIX_FMT_GBRP10LE, "GBR_10LE"},
    {AV_PIX_FMT_GBRP12LE, "GBR_12LE"},
    {AV_PIX_FMT_NONE, NULL},
};

static const char *format_name(enum AVPixelFormat format)
{
    int i = 0;
    while (formats[i].name && formats[i].format != format)
        i++;
    return formats[i].name;
}

/* Numbers of GStreamer's colour matrices; 0: unknown. */
static int matrix_of(const AVCodecParameters *par)
{
    switch (par->color_space) {
    case AVCOL_SPC_BT709:
        return 3;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
        return 4;
    case AVCOL_SPC_SMPTE240M:
        return 5;
    case AVCOL_SPC_BT2020_NCL:
        return 6;
    default:
        return 0;
    }
}

static void write_caps(struct halo_frames *frames, const struct halo_encoding_parameters *begin,
                       const char *name)
{
    const AVCodecParameters *par = begin->video;
    const bool rgb = av_pix_fmt_desc_get(par->format)->flags & AV_PIX_FMT_FLAG_RGB;
    const bool full = rgb || par->color_range == AVCOL_RANGE_JPEG ||
                      strchr(av_get_pix_fmt_name(par->format), 'j');
    const bool timed = begin->framerate.num > 0 && begin->framerate.den > 0;
    const AVRational square = {1, 1}, shape = par->sample_aspect_ratio;
    const AVRational pixel = shape.num > 0 && shape.den > 0 ? shape : square;
    snprintf(frames->caps, sizeof frames->caps,
             "video/x-raw, format=(string)%s, width=(int)%d, height=(int)%d, "
             "interlace-mode=(string)progressive, pixel-aspect-ratio=(fraction)%d/%d, "
             "colorimetry=(string)%d:%d:0:0, framerate=(fraction)%d/%d",
             name, par->width, par->height, pixel.num, pixel.den, full ? 1 : 2,
             rgb ? 1 : matrix_of(par), timed ? begin->framerate.num : 0,
             timed ? begin->framerate.den : 1);
}

static size_t round_up(size_t value, size_t to)
{
    return (value + to - 1) / to * to;
}

/* Strides are multiples of 4 bytes. The luma plane of 4:2:0, and every plane of 4:2:2 with more
 * than 8 bits, has space for an even number of rows. */
static int lay_out(struct halo_frames *frames, const AVCodecParameters *par)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(par->format);
    const bool deep422 = d->log2_chroma_w == 1 && d->log2_chroma_h == 0 && d->comp[0].depth > 8;
    size_t from = 0, to = 0;
    frames->planes = av_pix_fmt_count_planes(par->format);
    for (int i = 0; i < frames->planes; i++) {
        const bool chroma = i > 0 && !(d->flags & AV_PIX_FMT_FLAG_RGB);
        const int line = av_image_get_linesize(par->format, par->width, i);
        const int rows = chroma ? AV_CEIL_RSHIFT(par->height, d->log2_chroma_h) : par->height;
        const bool even = deep422 || (i == 0 && d->log2_chroma_h == 1);
        if (line <= 0)
            return -EINVAL;
        frames->plane[i] = (struct plane){
            .from = from,
            .to = to,
            .from_stride = (size_t)line,
            .to_stride = round_up((size_t)line, 4),
            .rows = rows,
        };
        from += (size_t)line * (size_t)rows;
        to += frames->plane[i].to_stride * round_up((size_t)rows, even ? 2 : 1);
    }
    frames->packed = from;
    frames->size = to;
    return 0;
}

static void drop_slot(struct halo_frames *frames, struct slot *slot)
{
    if (frames->present == slot)
        frames->present = NULL;
    if (!slot->memory)
        return;
    munmap(slot->memory, frames->size);
    close(slot->fd);
    *slot = (struct slot){.fd = -1};
}

void halo_frames_trim(struct halo_frames *frames)
{
    for (int i = 0; frames && i < SLOTS; i++)
        drop_slot(frames, &frames->slot[i]);
}

int halo_frames_begin(struct halo_frames *frames, const struct halo_encoding_parameters *begin,
                      struct halo_error *err)
{
    const AVCodecParameters *par = begin->video;
    if (par->codec_id != AV_CODEC_ID_RAWVIDEO)
        return halo_fail(err, -EINVAL,
                         "only raw frames can be passed by descriptor, but the codec is %s",
                         avcodec_get_name(par->codec_id));
    const char *name = format_name(par->format);
    if (!name)
        return halo_fail(err, -ENOTSUP, "GStreamer has no format that matches %s",
                         av_get_pix_fmt_name(par->format) ? av_get_pix_fmt_name(par->format)
                                                          : "this one");
    if (par->width < 1 || par->height < 1 || par->width > MAX_SIDE || par->height > MAX_SIDE)
        return halo_fail(err, -EINVAL, "invalid frame size: %d x %d", par->width, par->height);
    char caps[sizeof frames->caps];
    memcpy(caps, frames->caps, sizeof caps);
    write_caps(frames, begin, name);
    if (!strcmp(caps, frames->caps))
        return 0;
    halo_frames_trim(frames);
    if (lay_out(frames, par) < 0)
        return halo_fail(err, -EINVAL, "unknown layout of %s frames", name);
    return 0;
}

const char *halo_frames_caps(const struct halo_frames *frames)
{
    return frames->caps;
}

size_t halo_frames_size(const struct halo_frames *frames)
{
    return frames->size;
}

/* The mapping of this process is made before the seal, so it is the only one that can write. */
static int fill_slot(struct halo_frames *frames, struct slot *slot)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    void *memory = MAP_FAILED;
    const int fd = memfd_create("halod-frame", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)frames->size) == 0)
        memory = mmap(NULL, frames->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED || fcntl(fd, F_ADD_SEALS, seals) < 0) {
        const int status = -errno;
        if (memory != MAP_FAILED)
            munmap(memory, frames->size);
        close(fd);
        return status;
    }
    *slot = (struct slot){.memory = memory, .fd = fd};
    return 0;
}

/* Chooses a slot: preferably a free one with memory, then a free one without, then the oldest in
 * use. */
static struct slot *choose_slot(struct halo_frames *frames)
{
    struct slot *empty = NULL, *oldest = &frames->slot[0];
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &frames->slot[i];
        if (slot->memory && slot->users == 0)
            return slot;
        if (!slot->memory)
            empty = slot;
        if (slot->id < oldest->id)
            oldest = slot;
    }
    if (!empty)
        drop_slot(frames, oldest);
    return empty ? empty : oldest;
}

static int copy_frame(struct halo_frames *frames, const AVPacket *pkt)
{
    frames->present = NULL;
    struct slot *slot = choose_slot(frames);
    if (!slot->memory) {
        const int code = fill_slot(frames, slot);
        if (code < 0)
            return code;
    }
    for (int i = 0; i < frames->planes; i++) {
        const struct plane *plane = &frames->plane[i];
        av_image_copy_plane(slot->memory + plane->to, (int)plane->to_stride,
                            pkt->data + plane->from, (int)plane->from_stride,
                            (int)plane->from_stride, plane->rows);
    }
    slot->id = ++frames->next_id;
    frames->present = slot;
    frames->present_dts = pkt->dts;
    return 0;
}

int halo_frames_take(struct halo_frames *frames, const AVPacket *pkt, uint64_t *ret_id)
{
    if (!frames->size || (size_t)pkt->size != frames->packed)
        return -EINVAL;
    if (!frames->present || frames->present_dts != pkt->dts) {
        const int code = copy_frame(frames, pkt);
        if (code < 0)
            return code;
    }
    frames->present->users++;
    *ret_id = frames->present->id;
    return frames->present->fd;
}

void halo_frames_release(struct halo_frames *frames, uint64_t id)
{
    for (int i = 0; i < SLOTS; i++)
        if (frames->slot[i].id == id && frames->slot[i].users > 0)
            frames->slot[i].users--;
}

struct halo_frames *halo_frames_create(void)
{
    struct halo_frames *frames = calloc(1, sizeof *frames);
    for (int i = 0; frames && i < SLOTS; i++)
        frames->slot[i].fd = -1;
    return frames;
}

void halo_frames_destroy(struct halo_frames *frames)
{
    halo_frames_trim(frames);
    free(frames);
}
