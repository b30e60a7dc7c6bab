/* SPDX-License-Identifier: BSD-2-Clause
 * Whether each frame hides its own spot (spots.h). */
#include "tests/proof/spots.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/base/error.h"
#include "pipeline/base/canary.h"
#include "tests/standin/spot.h"

enum {
    COLUMNS_MAX = 64,
    ROWS_MAX = 64,
    SAID = 5,      /* leaks that are printed */
    PROGRESS = 50, /* frames */
    STEP = 3,      /* of the samples that are compared, in both directions */
    ENOUGH = 40,   /* samples that must be open */
    SAMPLES = 400, /* that are compared at most */
};

struct spots {
    unsigned stay;
    long frames;
    long shown, hidden; /* shown: the number can be told; hidden: nothing is open */
    long unread;        /* too little is open to tell the number */
    long leaks;
    unsigned last; /* number of the frame before */
    long others;   /* shown frames in which the spot of another frame is open, as it should be */
};

/* Whether anything of the canary is left in the cells of the spot, without those at its edge,
 * because shapes of faces are ellipses. */
static bool is_open(const AVFrame *f, const struct spot *spot)
{
    uint8_t meant[ROWS_MAX * COLUMNS_MAX] = {0};
    const int columns = (f->width + HALO_CANARY_CELL - 1) / HALO_CANARY_CELL;
    const int rows = (f->height + HALO_CANARY_CELL - 1) / HALO_CANARY_CELL;
    const struct halo_canary_area area = {meant, columns, rows};
    struct halo_canary_finding finding;
    for (int row = spot->row + 1; row < spot->row + spot->rows - 1; row++)
        memset(meant + (size_t)row * (size_t)columns + spot->column + 1, 1,
               (size_t)(spot->columns - 2));
    halo_canary_check(f, &area, &finding);
    return finding.leaks;
}

struct sample {
    int x, y;
    unsigned value;
};

/* Finds open samples of the frame. Painted samples are odd, black is even. */
static int find_open(const AVFrame *f, struct sample ret[SAMPLES])
{
    int count = 0;
    for (int y = 1; y < f->height; y += STEP)
        for (int x = y % STEP; x < f->width && count < SAMPLES; x += STEP) {
            const uint8_t value = f->data[0][(ptrdiff_t)y * f->linesize[0] + x];
            if (value & 1)
                ret[count++] = (struct sample){x, y, value};
        }
    return count;
}

static bool is_number(const struct sample *open, int count, unsigned number)
{
    for (int i = 0; i < count; i++)
        if (halo_canary_sample(AV_PIX_FMT_YUV420P, 0, open[i].x, open[i].y, number) !=
            open[i].value)
            return false;
    return true;
}

/* Returns the number of the frame to which everything open belongs, or -1. Words of the canary that
 * are partly hidden could be read as another number. */
static long read_number(struct spots *s, const AVFrame *f)
{
    struct sample open[SAMPLES];
    const int count = find_open(f, open);
    for (unsigned i = 1; count >= ENOUGH && i <= 65536; i++)
        if (is_number(open, count, (s->last + i) & 0xffff))
            return (s->last + i) & 0xffff;
    return -1;
}

/* Returns the part of the spot's luma that is open. */
static double open_part(const AVFrame *f, const struct spot *spot)
{
    const int width = spot->columns * HALO_CANARY_CELL, height = spot->rows * HALO_CANARY_CELL;
    long open = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            open += f->data[0][(ptrdiff_t)(spot->row * HALO_CANARY_CELL + y) * f->linesize[0] +
                               spot->column * HALO_CANARY_CELL + x] &
                    1;
    return (double)open / width / height;
}

static void look(struct spots *s, const AVFrame *f)
{
    struct halo_canary_finding finding;
    s->frames++;
    halo_canary_check(f, NULL, &finding);
    if (finding.cell < HALO_CANARY_LEAK) {
        s->hidden++;
        return;
    }
    const long read = read_number(s, f);
    if (read < 0) {
        s->unread++;
        return;
    }
    const unsigned number = s->last = (unsigned)read;
    const struct spot own = spot_of(number, f->width, f->height, s->stay);
    const struct spot other = spot_of(number + 7 * s->stay, f->width, f->height, s->stay);
    s->shown++;
    s->others += is_open(f, &other);
    if (is_open(f, &own) && ++s->leaks <= SAID)
        printf("LEAK: frame %u shows %.0f %% of its spot (%d, %d, %d x %d cells)\n", number,
               100 * open_part(f, &own), own.column, own.row, own.columns, own.rows);
    if (s->shown % PROGRESS == 0) {
        printf("so far: %ld judged\n", s->shown);
        fflush(stdout);
    }
}

static AVCodecContext *open_decoder(const AVCodecParameters *par)
{
    const AVCodec *codec = avcodec_find_decoder(par->codec_id);
    AVCodecContext *ret = codec ? avcodec_alloc_context3(codec) : NULL;
    if (ret && (avcodec_parameters_to_context(ret, par) < 0 || avcodec_open2(ret, codec, NULL) < 0))
        avcodec_free_context(&ret);
    return ret;
}

static void look_at_stream(struct spots *s, AVFormatContext *format, AVCodecContext *decoder,
                           int stream)
{
    AVPacket *pkt = av_packet_alloc();
    AVFrame *frame = av_frame_alloc();
    while (pkt && frame && av_read_frame(format, pkt) >= 0) {
        if (pkt->stream_index == stream && avcodec_send_packet(decoder, pkt) >= 0)
            while (avcodec_receive_frame(decoder, frame) >= 0) {
                if (frame->width <= COLUMNS_MAX * HALO_CANARY_CELL &&
                    frame->height <= ROWS_MAX * HALO_CANARY_CELL)
                    look(s, frame);
                av_frame_unref(frame);
            }
        av_packet_unref(pkt);
    }
    av_frame_free(&frame);
    av_packet_free(&pkt);
}

static void look_at(struct spots *s, const char *name)
{
    AVFormatContext *format = NULL;
    AVDictionary *options = NULL;
    av_dict_set(&options, "probesize", "65536", 0);
    av_dict_set(&options, "analyzeduration", "0", 0);
    if (avformat_open_input(&format, name, NULL, &options) < 0 ||
        avformat_find_stream_info(format, NULL) < 0) {
        printf("%s: cannot be opened\n", name);
    } else {
        const int stream = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
        AVCodecContext *decoder =
            stream < 0 ? NULL : open_decoder(format->streams[stream]->codecpar);
        if (decoder)
            look_at_stream(s, format, decoder, stream);
        avcodec_free_context(&decoder);
    }
    av_dict_free(&options);
    avformat_close_input(&format);
}

int proof_spots(int count, char **names, unsigned stay)
{
    struct spots s = {.stay = stay ? stay : 1};
    for (int i = 0; i < count; i++)
        look_at(&s, names[i]);
    printf("spots: frames=%ld shown=%ld hidden=%ld unread=%ld others=%ld leaks=%ld\n", s.frames,
           s.shown, s.hidden, s.unread, s.others, s.leaks);
    return s.leaks ? HALO_EXIT_FAILED : 0;
}
