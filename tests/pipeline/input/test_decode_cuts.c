/* SPDX-License-Identifier: BSD-2-Clause
 * NAL units, and where a stream may be cut: packets made by hand. */
#include <libavutil/mem.h>

#include "pipeline/input/decode_cuts.h"
#include "pipeline/input/nal_units.h"
#include "tests/cmocka_all.h"

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

/* Parameter sets as in avcC: one byte each after the header, and as with start codes. */
#define AVCC    1, 100, 0, 30, 0xff, 0xe1, 0, 2, 0x67, 1, 1, 0, 2, 0x68, 2
#define ANNEX_B 0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 2

enum { IDR = 0x65, SLICE = 0x41, PADDING = AV_INPUT_BUFFER_PADDING_SIZE };

struct stream {
    AVFormatContext *format;
    AVStream *stream;
    struct halo_cuts cuts;
};

static struct stream make_stream(enum AVCodecID codec, const uint8_t *extradata, size_t size)
{
    struct stream s = {.format = avformat_alloc_context()};
    s.stream = avformat_new_stream(s.format, NULL);
    AVCodecParameters *par = s.stream->codecpar;
    par->codec_type = AVMEDIA_TYPE_VIDEO;
    par->codec_id = codec;
    par->extradata = av_mallocz(size + PADDING);
    par->extradata_size = (int)size;
    if (size)
        memcpy(par->extradata, extradata, size);
    return s;
}

static void free_stream(struct stream *s)
{
    avformat_free_context(s->format);
}

static enum halo_cut next(struct stream *s, int64_t pts, const uint8_t *data, size_t size)
{
    AVPacket *pkt = av_packet_alloc();
    assert_int_equal(av_new_packet(pkt, (int)size), 0);
    memcpy(pkt->data, data, size);
    pkt->pts = pts;
    pkt->flags = AV_PKT_FLAG_KEY; /* whatever it holds: only the content counts */
    const enum halo_cut cut = halo_cuts_next(&s->cuts, pkt);
    av_packet_free(&pkt);
    return cut;
}

static void test_units_after_start_codes(void **state)
{
    (void)state;
    const uint8_t data[] = {0, 0, 0, 1, 9, 16, 0, 0, 1, 0x65, 0, 0, 3, 1, 0, 0, 0, 0, 1, 0x41, 7};
    struct halo_nals nals = {data, sizeof data, 0, 0};
    struct halo_nal nal;
    assert_true(halo_nal_next(&nals, &nal));
    assert_int_equal(nal.size, 2);
    assert_true(halo_nal_next(&nals, &nal));
    assert_int_equal(nal.data[0], 0x65);
    assert_int_equal(nal.size, 5); /* with the escaped bytes, without the zeros after it */
    assert_true(halo_nal_next(&nals, &nal));
    assert_ptr_equal(nal.data, data + sizeof data - 2);
    assert_int_equal(nal.size, 2);
    assert_false(halo_nal_next(&nals, &nal));
    for (size_t size = 0; size < sizeof data; size++) { /* the rest is missing */
        uint8_t *part = av_memdup(data, size ? size : 1);
        nals = (struct halo_nals){part, size, 0, 0};
        while (halo_nal_next(&nals, &nal))
            assert_true(nal.size > 0 && nal.data + nal.size <= part + size);
        av_free(part);
    }
}

static void test_units_with_lengths(void **state)
{
    (void)state;
    const uint8_t data[] = {0, 0, 0, 2, 6, 5, 0, 0, 0, 0, 0, 0, 0, 1, 0x65};
    struct halo_nals nals = {data, sizeof data, 0, 4};
    struct halo_nal nal;
    assert_true(halo_nal_next(&nals, &nal));
    assert_int_equal(nal.data[0], 6);
    assert_true(halo_nal_next(&nals, &nal)); /* the empty one is skipped */
    assert_int_equal(nal.data[0], 0x65);
    assert_false(halo_nal_next(&nals, &nal));
    assert_int_equal(nals.at, sizeof data);
    nals = (struct halo_nals){data, sizeof data - 1, 10, 4};
    assert_false(halo_nal_next(&nals, &nal)); /* longer than what is left */
    nals = (struct halo_nals){BYTES(0xff, 0xff, 0xff, 0xff, 1), 0, 4};
    assert_false(halo_nal_next(&nals, &nal));
}

static void test_units_of_extradata(void **state)
{
    (void)state;
    const uint8_t hevc[] = {1,    0, 0, 0, 0, 0,    0, 0, 0, 0, 0, 0,
                            0,    0, 0, 0, 0, 0,    0, 0, 0, 3, 2, /* two arrays */
                            0x20, 0, 1, 0, 1, 0x40,                /* one set */
                            0x22, 0, 2, 0, 2, 0x44, 1, 0, 1, 9};   /* two */
    struct stream s = make_stream(AV_CODEC_ID_HEVC, hevc, sizeof hevc);
    struct halo_nal nal[8];
    assert_int_equal(halo_nal_length(s.stream->codecpar), 4);
    assert_int_equal(halo_nal_of_extradata(s.stream->codecpar, nal, 8), 3);
    assert_int_equal(nal[1].size, 2);
    assert_int_equal(nal[2].data[0], 9);
    assert_int_equal(halo_nal_of_extradata(s.stream->codecpar, nal, 2), -1);
    for (int size = 23; size < (int)sizeof hevc; size++) {
        s.stream->codecpar->extradata_size = size;
        assert_true(halo_nal_of_extradata(s.stream->codecpar, nal, 8) <= 0);
    }
    free_stream(&s);
    s = make_stream(AV_CODEC_ID_H264, BYTES(AVCC));
    assert_int_equal(halo_nal_length(s.stream->codecpar), 4);
    assert_int_equal(halo_nal_of_extradata(s.stream->codecpar, nal, 8), 2);
    free_stream(&s);
    s = make_stream(AV_CODEC_ID_H264, BYTES(ANNEX_B));
    assert_int_equal(halo_nal_length(s.stream->codecpar), 0);
    assert_int_equal(halo_nal_of_extradata(s.stream->codecpar, nal, 8), 2);
    free_stream(&s);
}

/* The sets may be repeated in another form, but not changed. */
static void test_cuts_at_idr(void **state)
{
    (void)state;
    struct stream s = make_stream(AV_CODEC_ID_H264, BYTES(AVCC));
    assert_true(halo_cuts_init(&s.cuts, s.stream));
    assert_int_equal(next(&s, 0, BYTES(0, 0, 0, 2, IDR, 1)), HALO_CUT_HERE);
    assert_int_equal(next(&s, 2, BYTES(0, 0, 0, 2, SLICE, 1)), HALO_CUT_NONE);
    assert_int_equal(next(&s, 1, BYTES(0, 0, 0, 2, 0x01, 1)), HALO_CUT_NONE);
    assert_int_equal(next(&s, 3, BYTES(0, 0, 0, 2, 0x67, 1, 0, 0, 0, 2, 0x68, 2, 0, 0, 0, 1, IDR)),
                     HALO_CUT_HERE);
    assert_int_equal(next(&s, 4, BYTES(0, 0, 0, 2, 0x67, 3, 0, 0, 0, 1, IDR)), HALO_CUT_NEVER);
    assert_non_null(s.cuts.reason);
    free_stream(&s);
}

static void test_needs_order(void **state)
{
    (void)state;
    const struct {
        int64_t first, second, third; /* times: IDR, slice, IDR */
    } bad[] = {{0, 3, 3}, {0, 3, 2}, {5, 6, 1}, {0, AV_NOPTS_VALUE, 4}, {AV_NOPTS_VALUE, 1, 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct stream s = make_stream(AV_CODEC_ID_H264, BYTES(AVCC));
        assert_true(halo_cuts_init(&s.cuts, s.stream));
        if (next(&s, bad[i].first, BYTES(0, 0, 0, 1, IDR)) != HALO_CUT_NEVER &&
            next(&s, bad[i].second, BYTES(0, 0, 0, 1, SLICE)) != HALO_CUT_NEVER)
            assert_int_equal(next(&s, bad[i].third, BYTES(0, 0, 0, 1, IDR)), HALO_CUT_NEVER);
        assert_non_null(s.cuts.reason);
        free_stream(&s);
    }
}

/* A frame that is shown before the IDR frame but sent after it belongs to the group before. */
static void test_refuses_a_frame_before_the_cut(void **state)
{
    (void)state;
    struct stream s = make_stream(AV_CODEC_ID_H264, BYTES(AVCC));
    assert_true(halo_cuts_init(&s.cuts, s.stream));
    assert_int_equal(next(&s, 0, BYTES(0, 0, 0, 1, IDR)), HALO_CUT_HERE);
    assert_int_equal(next(&s, 4, BYTES(0, 0, 0, 1, SLICE)), HALO_CUT_NONE);
    assert_int_equal(next(&s, 8, BYTES(0, 0, 0, 1, IDR)), HALO_CUT_HERE);
    assert_int_equal(next(&s, 4, BYTES(0, 0, 0, 1, SLICE)), HALO_CUT_NEVER);
    free_stream(&s);
}

static void test_refuses_what_begins_within(void **state)
{
    (void)state;
    struct stream s = make_stream(AV_CODEC_ID_H264, BYTES(AVCC));
    assert_true(halo_cuts_init(&s.cuts, s.stream));
    assert_int_equal(next(&s, 0, BYTES(0, 0, 0, 1, SLICE)), HALO_CUT_NEVER);
    assert_true(halo_cuts_init(&s.cuts, s.stream));
    assert_int_equal(next(&s, 0, BYTES(0, 0, 0, 9, IDR)), HALO_CUT_NEVER); /* cut off */
    s.stream->codecpar->field_order = AV_FIELD_TT;
    assert_false(halo_cuts_init(&s.cuts, s.stream));
    s.stream->codecpar->field_order = AV_FIELD_UNKNOWN;
    s.stream->codecpar->extradata_size = 0;
    assert_false(halo_cuts_init(&s.cuts, s.stream)); /* no parameter sets */
    free_stream(&s);
}

static void test_old_x264(void **state)
{
    (void)state;
    static const char old[] = "\0\0\0\x1e\x06\x05 sixteen bytes id x264 - core 150\0\0\0\1\x65";
    struct stream s = make_stream(AV_CODEC_ID_H264, BYTES(AVCC));
    uint8_t data[sizeof old - 1];
    memcpy(data, old, sizeof data);
    data[3] = (uint8_t)(sizeof data - 4 - 5);
    assert_true(halo_cuts_init(&s.cuts, s.stream));
    assert_int_equal(next(&s, 0, data, sizeof data), HALO_CUT_NEVER);
    assert_non_null(strstr(s.cuts.reason, "x264"));
    *(uint8_t *)memmem(data, sizeof data, "150", 3) = '2';
    assert_true(halo_cuts_init(&s.cuts, s.stream));
    assert_int_equal(next(&s, 0, data, sizeof data), HALO_CUT_HERE);
    free_stream(&s);
}

static void test_vp9(void **state)
{
    (void)state;
    struct stream s = make_stream(AV_CODEC_ID_VP9, NULL, 0);
    assert_true(halo_cuts_init(&s.cuts, s.stream));
    assert_int_equal(next(&s, 0, BYTES(0x82, 0)), HALO_CUT_HERE);
    assert_int_equal(next(&s, 1, BYTES(0x86, 0)), HALO_CUT_NONE); /* not a key frame */
    assert_int_equal(next(&s, 2, BYTES(0x88, 0)), HALO_CUT_NONE); /* shows an earlier frame */
    assert_int_equal(next(&s, 3, BYTES(0x02, 0)), HALO_CUT_NONE); /* not VP9 */
    assert_int_equal(next(&s, 4, BYTES(0xb0, 0)), HALO_CUT_HERE); /* profile 3 */
    assert_int_equal(next(&s, 5, BYTES(0xb2, 0)), HALO_CUT_NONE);
    assert_int_equal(next(&s, 6, BYTES(0x82, 0)), HALO_CUT_HERE);
    free_stream(&s);
    s = make_stream(AV_CODEC_ID_VP8, NULL, 0);
    assert_true(halo_cuts_init(&s.cuts, s.stream));
    /* After ten bytes: color_space, clamping_type, segmentation_enabled,
     * update_mb_segmentation_map. */
    assert_int_equal(next(&s, 0, BYTES(0x10, 0, 0, 0x9d, 1, 0x2a, 64, 0, 48, 0, 0, 0, 0)),
                     HALO_CUT_HERE);
    assert_int_equal(next(&s, 1, BYTES(0x11, 0, 0, 0x9d, 1, 0x2a, 64, 0, 48, 0, 0, 0, 0)),
                     HALO_CUT_NONE);
    assert_int_equal(next(&s, 2, BYTES(0x10, 0, 0, 0x9d, 1, 0x2a, 64, 0, 48, 0, 0x20, 0, 0)),
                     HALO_CUT_NONE); /* the segments of the frame before */
    assert_int_equal(next(&s, 3, BYTES(0x10, 0, 0, 0x9d, 1, 0x2a, 64, 0, 48, 0, 0x38, 0, 0)),
                     HALO_CUT_HERE);                              /* its own */
    assert_int_equal(next(&s, 4, BYTES(0x10, 0)), HALO_CUT_NONE); /* too short to know */
    free_stream(&s);
}

/* What a decoder that begins would skip, and what it would drop. */
static void test_not_at_every_idr(void **state)
{
    (void)state;
    struct stream s = make_stream(AV_CODEC_ID_HEVC, BYTES(0, 0, 1, 0x42, 1, 7));
    assert_true(halo_cuts_init(&s.cuts, s.stream));
    assert_int_equal(next(&s, 0, BYTES(0, 0, 1, 0x26, 1, 0x80)), HALO_CUT_HERE);
    assert_int_equal(next(&s, 1, BYTES(0, 0, 1, 0x26, 1, 0xc0)), HALO_CUT_NONE);
    assert_int_equal(next(&s, 2, BYTES(0, 0, 1, 0x28, 1, 0x80)), HALO_CUT_HERE);
    AVPacket *pkt = av_packet_alloc();
    assert_int_equal(av_new_packet(pkt, 6), 0);
    memcpy(pkt->data, ((const uint8_t[]){0, 0, 1, 0x26, 1, 0x80}), 6);
    pkt->pts = 3;
    assert_int_equal(halo_cuts_next(&s.cuts, pkt), HALO_CUT_NONE); /* not marked */
    av_packet_free(&pkt);
    free_stream(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_after_start_codes),
        cmocka_unit_test(test_units_with_lengths),
        cmocka_unit_test(test_units_of_extradata),
        cmocka_unit_test(test_cuts_at_idr),
        cmocka_unit_test(test_needs_order),
        cmocka_unit_test(test_refuses_a_frame_before_the_cut),
        cmocka_unit_test(test_refuses_what_begins_within),
        cmocka_unit_test(test_old_x264),
        cmocka_unit_test(test_vp9),
        cmocka_unit_test(test_not_at_every_idr),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
