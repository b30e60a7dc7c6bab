/* SPDX-License-Identifier: BSD-2-Clause
 * The ring of packets: what goes in comes out, in two processes too; what finds no room is dropped
 * up to a key frame; and whatever a writer does to the memory, the reader neither crashes nor
 * blocks nor reads beyond it. */
#include <errno.h>
#include <fcntl.h>
#include <libavutil/channel_layout.h>
#include <libavutil/mem.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/output/packet_ring.h"
#include "tests/cmocka_all.h"

enum { RING = 65536, PAGE = 4096, MANY = 4000, IN_VAIN = 20 };

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((seed >> 33) % below);
}

static AVPacket *make_packet(int size, int64_t time, int stream, bool key)
{
    AVPacket *pkt = av_packet_alloc();
    assert_int_equal(av_new_packet(pkt, size), 0);
    for (int i = 0; i < size; i++)
        pkt->data[i] = (uint8_t)(time * 31 + i * 7 + (i >> 8));
    pkt->pts = time + 2;
    pkt->dts = time;
    pkt->duration = 1;
    pkt->stream_index = stream;
    pkt->flags = key ? AV_PKT_FLAG_KEY : 0;
    return pkt;
}

static void assert_packet(const AVPacket *pkt, int size, int64_t time)
{
    assert_int_equal(pkt->size, size);
    assert_int_equal(pkt->dts, time);
    assert_int_equal(pkt->pts, time + 2);
    for (int i = 0; i < size; i++)
        if (pkt->data[i] != (uint8_t)(time * 31 + i * 7 + (i >> 8)))
            fail_msg("packet %d differs at %d", (int)time, i);
}

static int write_packet(struct halo_packet_writer *writer, int size, int64_t time, int stream,
                        bool key)
{
    AVPacket *pkt = make_packet(size, time, stream, key);
    const int code = halo_packet_write(writer, pkt);
    av_packet_free(&pkt);
    return code;
}

struct what {
    AVCodecParameters *video, *audio;
    AVPacket *card, *solid;
    struct halo_encoding_parameters begin;
};

static void set_extradata(AVCodecParameters *par, int size)
{
    av_freep(&par->extradata);
    par->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
    memset(par->extradata, 0x5a, size);
    par->extradata_size = size;
}

static void make_what(struct what *w)
{
    *w = (struct what){avcodec_parameters_alloc(), avcodec_parameters_alloc()};
    w->video->codec_type = AVMEDIA_TYPE_VIDEO;
    w->video->codec_id = AV_CODEC_ID_H264;
    w->video->width = 1920;
    w->video->height = 1080;
    w->video->format = AV_PIX_FMT_YUV420P;
    w->video->profile = 100;
    w->video->level = 40;
    w->video->bit_rate = 4000000;
    w->video->sample_aspect_ratio = (AVRational){4, 3};
    w->video->color_space = AVCOL_SPC_BT709;
    w->video->color_range = AVCOL_RANGE_MPEG;
    w->video->video_delay = 2;
    set_extradata(w->video, 45);
    w->audio->codec_type = AVMEDIA_TYPE_AUDIO;
    w->audio->codec_id = AV_CODEC_ID_AAC;
    w->audio->format = AV_SAMPLE_FMT_FLTP;
    w->audio->sample_rate = 48000;
    w->audio->frame_size = 1024;
    w->audio->initial_padding = 1024;
    av_channel_layout_default(&w->audio->ch_layout, 6);
    set_extradata(w->audio, 5);
    w->card = make_packet(3000, 0, 0, true);
    w->solid = make_packet(500, 9, 0, true);
    w->begin =
        (struct halo_encoding_parameters){w->video, w->audio, {30000, 1001}, w->card, w->solid};
}

static void free_what(struct what *w)
{
    avcodec_parameters_free(&w->video);
    avcodec_parameters_free(&w->audio);
    av_packet_free(&w->card);
    av_packet_free(&w->solid);
}

struct ring {
    struct halo_packet_writer *writer;
    struct halo_packet_reader *reader;
    AVPacket *pkt;
    struct halo_encoding_parameters begin;
};

static void open_ring(struct ring *r, size_t size)
{
    struct halo_error err = {0};
    assert_int_equal(halo_packet_writer_create(&r->writer, size, &err), 0);
    const int memory = dup(halo_packet_writer_memory(r->writer));
    const int event = dup(halo_packet_writer_event(r->writer));
    assert_int_equal(halo_packet_reader_create(&r->reader, memory, event, &err), 0);
    r->pkt = av_packet_alloc();
}

static void close_ring(struct ring *r)
{
    halo_packet_writer_destroy(r->writer);
    halo_packet_reader_destroy(r->reader);
    av_packet_free(&r->pkt);
}

static int read_one(struct ring *r)
{
    av_packet_unref(r->pkt);
    return halo_packet_read(r->reader, r->pkt, &r->begin);
}

static void write_begin(struct ring *r, bool sound)
{
    struct what w;
    make_what(&w);
    if (!sound)
        w.begin.audio = NULL;
    assert_int_equal(halo_packet_write_begin(r->writer, &w.begin), 0);
    free_what(&w);
}

static void begin_ring(struct ring *r, size_t size)
{
    open_ring(r, size);
    write_begin(r, true);
    assert_int_equal(read_one(r), HALO_PACKET_BEGIN);
}

/* ---- in and out ---- */

static void test_begin(void **state)
{
    (void)state;
    struct ring r;
    struct what w;
    make_what(&w);
    begin_ring(&r, RING);
    const AVCodecParameters *v = r.begin.video, *a = r.begin.audio;
    assert_int_equal(v->codec_type, AVMEDIA_TYPE_VIDEO);
    assert_int_equal(v->codec_id, AV_CODEC_ID_H264);
    assert_int_equal(v->width, 1920);
    assert_int_equal(v->height, 1080);
    assert_int_equal(v->format, AV_PIX_FMT_YUV420P);
    assert_int_equal(v->profile, 100);
    assert_int_equal(v->level, 40);
    assert_int_equal(v->bit_rate, 4000000);
    assert_int_equal(v->sample_aspect_ratio.num, 4);
    assert_int_equal(v->color_space, AVCOL_SPC_BT709);
    assert_int_equal(v->color_range, AVCOL_RANGE_MPEG);
    assert_int_equal(v->video_delay, 2);
    assert_int_equal(v->extradata_size, 45);
    assert_memory_equal(v->extradata, w.video->extradata, 45);
    assert_int_equal(a->codec_id, AV_CODEC_ID_AAC);
    assert_int_equal(a->sample_rate, 48000);
    assert_int_equal(a->frame_size, 1024);
    assert_int_equal(a->initial_padding, 1024);
    assert_int_equal(av_channel_layout_compare(&a->ch_layout, &w.audio->ch_layout), 0);
    assert_int_equal(a->extradata_size, 5);
    assert_int_equal(r.begin.framerate.num, 30000);
    assert_int_equal(r.begin.framerate.den, 1001);
    assert_packet(r.begin.card, 3000, 0);
    assert_packet(r.begin.solid, 500, 9);
    assert_int_equal(r.begin.card->flags, AV_PKT_FLAG_KEY);
    w.begin.audio = NULL;
    w.begin.card = w.begin.solid = NULL;
    assert_int_equal(halo_packet_write_begin(r.writer, &w.begin), 0);
    assert_int_equal(read_one(&r), HALO_PACKET_BEGIN);
    assert_null(r.begin.audio);
    assert_null(r.begin.card);
    assert_int_equal(read_one(&r), HALO_PACKET_NONE);
    free_what(&w);
    close_ring(&r);
}

static void test_begins_refused(void **state)
{
    (void)state;
    struct ring r;
    struct what w;
    make_what(&w);
    open_ring(&r, RING);
    assert_int_equal(write_packet(r.writer, 10, 0, 0, true), -EINVAL);
    AVPacket *large = make_packet(RING / 4 + 1, 0, 0, true);
    w.begin.card = large;
    assert_int_equal(halo_packet_write_begin(r.writer, &w.begin), -EMSGSIZE);
    assert_int_equal(write_packet(r.writer, 10, 0, 0, true), -EINVAL);
    w.begin.card = w.card;
    set_extradata(w.video, 65537);
    assert_int_equal(halo_packet_write_begin(r.writer, &w.begin), -EMSGSIZE);
    set_extradata(w.video, 65536); /* allowed, but not in this ring */
    assert_int_equal(halo_packet_write_begin(r.writer, &w.begin), -EMSGSIZE);
    set_extradata(w.video, 10);
    w.video->width = 0;
    assert_int_equal(halo_packet_write_begin(r.writer, &w.begin), -EINVAL);
    w.video->width = 16;
    w.video->codec_id = AV_CODEC_ID_WRAPPED_AVFRAME;
    assert_int_equal(halo_packet_write_begin(r.writer, &w.begin), -EINVAL);
    assert_int_equal(read_one(&r), HALO_PACKET_NONE);
    av_packet_free(&large);
    free_what(&w);
    close_ring(&r);
}

static void test_packets_in_order(void **state)
{
    (void)state;
    struct ring r;
    begin_ring(&r, RING + 24);
    int sizes[64];
    int64_t in = 0, out = 0;
    while (out < MANY) {
        while (in < MANY && in - out < 64 && draw(4)) {
            sizes[in % 64] = 1 + draw(900);
            assert_int_equal(write_packet(r.writer, sizes[in % 64], in, in & 1, in % 30 == 0), 0);
            in++;
        }
        if (in == out)
            continue;
        assert_int_equal(read_one(&r), HALO_PACKET_DATA);
        assert_packet(r.pkt, sizes[out % 64], out);
        assert_int_equal(r.pkt->stream_index, out & 1);
        assert_int_equal(r.pkt->flags, out % 30 ? 0 : AV_PKT_FLAG_KEY);
        out++;
    }
    assert_int_equal(read_one(&r), HALO_PACKET_NONE);
    assert_int_equal(halo_packet_writer_dropped(r.writer), 0);
    close_ring(&r);
}

static void test_full_goes_on_at_a_key_frame(void **state)
{
    (void)state;
    struct ring r;
    begin_ring(&r, RING);
    int fit = 0;
    while (write_packet(r.writer, 10000, fit, 0, fit == 0) == 0)
        fit++;
    assert_int_equal(fit, 6);
    assert_int_equal(write_packet(r.writer, 100, 50, 0, false), -ENOSPC); /* room, but no key */
    assert_int_equal(write_packet(r.writer, 100, 51, 1, true), 0);        /* sound goes on */
    assert_int_equal(write_packet(r.writer, RING, 52, 0, true), -ENOSPC); /* never fits */
    assert_int_equal(read_one(&r), HALO_PACKET_DATA);
    assert_int_equal(write_packet(r.writer, 100, 53, 0, false), -ENOSPC);
    assert_int_equal(write_packet(r.writer, 100, 54, 0, true), 0);
    assert_int_equal(write_packet(r.writer, 100, 55, 0, false), 0);
    for (int i = 1; i < fit; i++) {
        assert_int_equal(read_one(&r), HALO_PACKET_DATA);
        assert_packet(r.pkt, 10000, i);
    }
    static const int after[] = {51, 54, 55};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_one(&r), HALO_PACKET_DATA);
        assert_packet(r.pkt, 100, after[i]);
    }
    assert_int_equal(read_one(&r), HALO_PACKET_NONE);
    assert_int_equal(halo_packet_writer_dropped(r.writer), 4);
    close_ring(&r);
}

static void test_begin_waits_for_room(void **state)
{
    (void)state;
    struct ring r;
    begin_ring(&r, RING);
    int fit = 0;
    while (write_packet(r.writer, 10000, fit, 0, fit == 0) == 0)
        fit++;
    while (write_packet(r.writer, 500, fit, 1, true) == 0)
        fit++;
    write_begin(&r, false);
    assert_int_equal(write_packet(r.writer, 100, 90, 0, true), -ENOSPC);
    while (fit-- > 0)
        assert_int_equal(read_one(&r), HALO_PACKET_DATA);
    assert_int_equal(read_one(&r), HALO_PACKET_NONE);
    assert_int_equal(write_packet(r.writer, 100, 91, 1, true), -EINVAL); /* no sound any more */
    assert_int_equal(write_packet(r.writer, 100, 92, 0, true), 0);
    assert_int_equal(read_one(&r), HALO_PACKET_BEGIN);
    assert_null(r.begin.audio);
    assert_int_equal(read_one(&r), HALO_PACKET_DATA);
    assert_packet(r.pkt, 100, 92);
    close_ring(&r);
}

static void test_large_frames(void **state)
{
    (void)state;
    enum { FRAME = 3840 * 2160 * 3 / 2 };
    struct ring r;
    begin_ring(&r, 3 * (size_t)FRAME);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(write_packet(r.writer, FRAME, i, 0, true), 0);
        assert_int_equal(read_one(&r), HALO_PACKET_DATA);
        assert_packet(r.pkt, FRAME, i);
    }
    close_ring(&r);
}

static bool is_readable(const struct ring *r)
{
    struct pollfd p = {halo_packet_reader_event(r->reader), POLLIN, 0};
    return poll(&p, 1, 0) == 1;
}

static void test_event(void **state)
{
    (void)state;
    struct ring r;
    open_ring(&r, RING);
    assert_false(is_readable(&r));
    write_begin(&r, true);
    assert_int_equal(write_packet(r.writer, 100, 1, 0, true), 0);
    assert_true(is_readable(&r));
    assert_int_equal(read_one(&r), HALO_PACKET_BEGIN);
    assert_true(is_readable(&r));
    assert_int_equal(read_one(&r), HALO_PACKET_DATA);
    assert_int_equal(read_one(&r), HALO_PACKET_NONE);
    assert_false(is_readable(&r));
    const int event = halo_packet_writer_event(r.writer); /* one that would block */
    assert_int_equal(fcntl(event, F_SETFL, fcntl(event, F_GETFL) & ~O_NONBLOCK), 0);
    alarm(900);
    assert_int_equal(read_one(&r), HALO_PACKET_NONE);
    alarm(0);
    close_ring(&r);
}

/* ---- two processes ---- */

/* After some packets that were dropped, it waits for a reader that stands still. */
static int write_child(struct halo_packet_writer *writer)
{
    struct what w;
    make_what(&w);
    int code = halo_packet_write_begin(writer, &w.begin), in_vain = 0;
    for (int64_t i = 0; i < MANY && (code >= 0 || code == -ENOSPC); i++) {
        code = write_packet(writer, 1 + i * 37 % 4000, i, 0, i % 10 == 0);
        in_vain = code == -ENOSPC ? in_vain + 1 : 0;
        if (in_vain)
            usleep(100);
        if (in_vain > IN_VAIN && i % 10 == 0)
            i--;
    }
    code = write_packet(writer, 1, MANY, 0, true);
    while (code == -ENOSPC)
        code = write_packet(writer, 1, MANY, 0, true);
    free_what(&w);
    return code < 0;
}

static void test_two_processes(void **state)
{
    (void)state;
    struct ring r;
    open_ring(&r, RING);
    const pid_t child = fork();
    if (!child)
        _exit(write_child(r.writer));
    int64_t last = -1;
    int count = 0, gaps = 0;
    while (last < MANY) {
        const int kind = read_one(&r);
        struct pollfd p = {halo_packet_reader_event(r.reader), POLLIN, 0};
        if (kind == HALO_PACKET_NONE)
            assert_int_equal(poll(&p, 1, 900000), 1);
        if (kind != HALO_PACKET_DATA) {
            assert_in_range(kind, HALO_PACKET_NONE, HALO_PACKET_BEGIN);
            continue;
        }
        const int64_t now = r.pkt->dts;
        assert_true(now > last);
        assert_packet(r.pkt, now == MANY ? 1 : 1 + now * 37 % 4000, now);
        if (now != last + 1) {
            assert_int_equal(now % 10, 0);
            gaps++;
        }
        last = now;
        count++;
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(count > MANY / 50);
    print_message("two processes: %d of %d packets, %d gaps\n", count, MANY + 1, gaps);
    close_ring(&r);
}

/* ---- what is not a ring ---- */

static int open_reader(int memory, int event)
{
    struct halo_packet_reader *reader = NULL;
    struct halo_error err = {0};
    const int r = halo_packet_reader_create(&reader, memory, event, &err);
    if (r < 0)
        assert_int_not_equal(err.code, 0);
    halo_packet_reader_destroy(reader);
    errno = 0;
    assert_int_equal(fcntl(memory, F_GETFD), -1); /* taken over, on failure too */
    return r;
}

static int make_memory(off_t size, int seals)
{
    const int fd = memfd_create("test", MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static void test_refused(void **state)
{
    (void)state;
    const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    assert_int_equal(open_reader(make_memory(PAGE + RING, all), eventfd(0, 0)), 0);
    assert_int_equal(
        open_reader(make_memory(PAGE + RING, F_SEAL_GROW | F_SEAL_SEAL), eventfd(0, 0)), -EPROTO);
    assert_int_equal(open_reader(make_memory(PAGE + RING, F_SEAL_SHRINK), eventfd(0, 0)), -EPROTO);
    assert_int_equal(open_reader(make_memory(PAGE, all), eventfd(0, 0)), -EPROTO);
    assert_int_equal(open_reader(make_memory(0, all), eventfd(0, 0)), -EPROTO);
    assert_int_equal(open_reader(make_memory(PAGE + RING + 1, all), eventfd(0, 0)), -EPROTO);
    assert_int_equal(open_reader(make_memory(INT64_C(1) << 40, all), eventfd(0, 0)), -EPROTO);
    assert_int_equal(open_reader(open("/dev/zero", O_RDWR), eventfd(0, 0)), -EPROTO);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(open_reader(make_memory(PAGE + RING, all), ends[0]), -EPROTO);
    close(ends[1]);
    struct halo_packet_writer *writer = NULL;
    assert_int_equal(halo_packet_writer_create(&writer, RING - 1, NULL), -EINVAL);
    assert_int_equal(halo_packet_writer_create(&writer, (size_t)2 << 30, NULL), -EINVAL);
    assert_int_equal(halo_packet_writer_create(&writer, RING, NULL), 0);
    assert_int_equal(ftruncate(halo_packet_writer_memory(writer), PAGE), -1);
    assert_int_equal(ftruncate(halo_packet_writer_memory(writer), 1 << 20), -1);
    halo_packet_writer_destroy(writer);
    halo_packet_writer_destroy(NULL);
    halo_packet_reader_destroy(NULL);
}

/* ---- hostile writers ---- */

static uint8_t *map_ring(const struct ring *r)
{
    uint8_t *at = mmap(NULL, PAGE + RING, PROT_READ | PROT_WRITE, MAP_SHARED,
                       halo_packet_writer_memory(r->writer), 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

/* Reads until it is over, and checks what any caller relies on. */
static int read_all(struct ring *r, int most)
{
    int kind = HALO_PACKET_DATA;
    while (kind > 0 && most-- > 0) {
        kind = read_one(r);
        if (kind == HALO_PACKET_DATA) {
            assert_in_range(r->pkt->size, 1, RING);
            assert_in_range(r->pkt->stream_index, 0, 1);
            assert_true(r->pkt->dts != AV_NOPTS_VALUE && !(r->pkt->flags & AV_PKT_FLAG_TRUSTED));
        } else if (kind == HALO_PACKET_BEGIN) {
            assert_non_null(r->begin.video);
            assert_in_range(r->begin.video->width, 1, 16384);
            assert_true(r->begin.framerate.den > 0);
        }
    }
    if (kind < 0) {
        assert_int_equal(kind, -EPROTO);
        assert_int_equal(read_one(r), -EPROTO); /* for good */
    }
    return kind;
}

static void test_random_memory(void **state)
{
    (void)state;
    int refused = 0;
    for (int round = 0; round < 300; round++) {
        struct ring r;
        open_ring(&r, RING);
        uint8_t *at = map_ring(&r);
        for (int i = 0; i < PAGE + RING; i++)
            at[i] = draw(round % 3 ? 256 : 3);
        *(uint64_t *)at = round % 2 ? RING - 8 * draw(100) : seed;
        refused += read_all(&r, 1000) == -EPROTO;
        munmap(at, PAGE + RING);
        close_ring(&r);
    }
    assert_int_equal(refused, 300);
}

/* One byte, or one word, of good records is another. */
static void test_changed_memory(void **state)
{
    (void)state;
    int refused = 0;
    for (int round = 0; round < 3000; round++) {
        struct ring r;
        open_ring(&r, RING);
        write_begin(&r, true);
        for (int i = 0; i < 3; i++)
            assert_int_equal(write_packet(r.writer, 200, i, i == 1, i == 0), 0);
        uint8_t *at = map_ring(&r);
        const int where = round % 3 == 2 ? draw(2) * 3600 + draw(700) : draw(700);
        if (round % 2)
            at[PAGE + where] ^= 1 << draw(8);
        else
            memset(at + PAGE + where / 8 * 8, draw(2) ? 0xff : draw(256), 8);
        refused += read_all(&r, 1000) == -EPROTO;
        munmap(at, PAGE + RING);
        close_ring(&r);
    }
    print_message("changed memory: %d of 3000 refused\n", refused);
    assert_true(refused > 500);
}

struct scribbler {
    uint8_t *at;
    atomic_bool stop;
};

static void *scribble(void *arg)
{
    struct scribbler *s = arg;
    uint64_t own = 77;
    while (!atomic_load(&s->stop)) {
        own = own * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint32_t where = (uint32_t)(own >> 33) % (PAGE + RING - 8);
        *(volatile uint8_t *)(s->at + (own & 7 ? PAGE + where % RING : where % 128)) = own >> 24;
    }
    return NULL;
}

static void test_scribbler(void **state)
{
    (void)state;
    int refused = 0, round = 0;
    for (; refused < 50; round++) {
        struct ring r;
        open_ring(&r, RING);
        struct scribbler s = {map_ring(&r), false};
        write_begin(&r, true);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, scribble, &s), 0);
        int kind = 0;
        for (int i = 0; i < 200 && kind >= 0; i++) {
            write_packet(r.writer, 1 + draw(3000), i, i & 1, i % 5 == 0);
            kind = read_all(&r, 10);
        }
        refused += kind < 0;
        atomic_store(&s.stop, true);
        pthread_join(thread, NULL);
        munmap(s.at, PAGE + RING);
        close_ring(&r);
    }
    print_message("scribbler: %d of %d rings given up\n", refused, round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begin),
        cmocka_unit_test(test_begins_refused),
        cmocka_unit_test(test_packets_in_order),
        cmocka_unit_test(test_full_goes_on_at_a_key_frame),
        cmocka_unit_test(test_begin_waits_for_room),
        cmocka_unit_test(test_large_frames),
        cmocka_unit_test(test_event),
        cmocka_unit_test(test_two_processes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_random_memory),
        cmocka_unit_test(test_changed_memory),
        cmocka_unit_test(test_scribbler),
    };
    return cmocka_run_group_tests_name("packet ring", tests, NULL, NULL);
}
