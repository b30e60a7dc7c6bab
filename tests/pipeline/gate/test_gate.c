/* SPDX-License-Identifier: BSD-2-Clause
 * The gate: what comes out when filters write nothing, fail, or are another configuration's; what
 * an output frame has of the raw one. */
#include <errno.h>
#include <libavutil/dict.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/frame.h"
#include "pipeline/gate/gate.h"
#include "pipeline/frame/raw_frame_private.h"
#include "tests/cmocka_all.h"

enum { WIDTH = 70, HEIGHT = 50, GRAY = 0x80 };

/* What the lanes do. */
static enum { FILTER, WRITE_NOTHING, FAIL_SUBMIT, FAIL_FINISH } lanes;

int __real_halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame);
int __wrap_halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame);
int __real_halo_frame_finish(struct halo_backend *b);
int __wrap_halo_frame_finish(struct halo_backend *b);

int __wrap_halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame)
{
    if (lanes == FAIL_SUBMIT)
        return -EIO;
    return lanes == WRITE_NOTHING ? 0 : __real_halo_frame_submit(b, frame);
}

int __wrap_halo_frame_finish(struct halo_backend *b)
{
    if (lanes == WRITE_NOTHING)
        return 0;
    const int code = __real_halo_frame_finish(b);
    return lanes == FAIL_FINISH ? -EIO : code;
}

struct fixture {
    struct halo_ring *ring;
    struct halo_chain *chain;
    struct halo_gate *gate;
    struct halo_raw_frame raw;
};

static void begin(struct fixture *f, const char *chain, enum AVPixelFormat format, int64_t epoch)
{
    const struct halo_ring_settings settings = {.backend = "cpu", .depth = 1, .locked = -1};
    const struct halo_gate_input input = {.format = format,
                                          .width = WIDTH,
                                          .height = HEIGHT,
                                          .privacy = HALO_PRIVACY_OFF,
                                          .epoch = epoch};
    struct halo_error err = {0};
    lanes = FILTER;
    assert_int_equal(halo_ring_create(&f->ring, &settings, &err), 0);
    assert_int_equal(halo_chain_parse(&f->chain, chain, &err), 0);
    assert_int_equal(halo_gate_create(&f->gate, f->chain, f->ring, &input, &err), 0);
    AVFrame *frame = f->raw.frame = av_frame_alloc();
    f->raw.format = frame->format = format;
    frame->width = WIDTH;
    frame->height = HEIGHT;
    assert_int_equal(av_frame_get_buffer(frame, 0), 0);
    for (int b = 0; b < AV_NUM_DATA_POINTERS && frame->buf[b]; b++)
        for (size_t i = 0; i < (size_t)frame->buf[b]->size; i++)
            frame->buf[b]->data[i] = i % 3 ? 1 : 3; /* also where samples have 10 bits */
}

static void end(struct fixture *f)
{
    av_frame_free(&f->raw.frame);
    halo_gate_destroy(f->gate);
    halo_chain_destroy(f->chain);
    halo_ring_destroy(f->ring);
}

static int pass(struct fixture *f, int64_t epoch, struct halo_output_frame **ret,
                struct halo_error *err)
{
    struct halo_pending *pending;
    const int code = halo_gate_enter(f->gate, &f->raw, &pending, err);
    return code < 0 ? code : halo_gate_leave(pending, epoch, ret, err);
}

static bool is_all(const AVFrame *frame, uint8_t value)
{
    const AVBufferRef *buf = frame->buf[0];
    for (size_t i = 0; i < (size_t)buf->size; i++)
        if (buf->data[i] != value)
            return false;
    return true;
}

/* In memory where a filtered frame was before. */
static void unwritten(void **state)
{
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12,
                                                 AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV444P10};
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct fixture f = {0};
        struct halo_output_frame *picture;
        begin(&f, "gblur=sigma=2", formats[i], 0);
        assert_int_equal(pass(&f, 0, &picture, NULL), 0);
        const uint8_t *memory = halo_output_frame_frame(picture)->buf[0]->data;
        assert_int_not_equal(*memory, GRAY);
        halo_output_frame_destroy(picture);

        lanes = WRITE_NOTHING;
        assert_int_equal(pass(&f, 0, &picture, NULL), 0);
        const AVFrame *frame = halo_output_frame_frame(picture);
        assert_ptr_equal(frame->buf[0]->data, memory);
        assert_true(is_all(frame, GRAY));
        halo_output_frame_destroy(picture);
        end(&f);
    }
}

static void failures(void **state)
{
    struct fixture f = {0};
    (void)state;
    begin(&f, "gblur=sigma=2", AV_PIX_FMT_YUV420P, 0);
    for (int i = 0; i < 2; i++) {
        struct halo_output_frame *none = (void *)&f, *frame = none;
        struct halo_error err = {0};
        lanes = i ? FAIL_FINISH : FAIL_SUBMIT;
        assert_int_equal(pass(&f, 0, &frame, &err), -EIO);
        assert_ptr_equal(frame, none);
        assert_int_not_equal(*err.text, 0);
        lanes = FILTER;
        assert_int_equal(pass(&f, 0, &frame, NULL), 0);
        halo_output_frame_destroy(frame);
    }
    end(&f);
}

/* Whatever the chain: one that lets frames through has epochs, too. */
static void epochs(void **state)
{
    static const char *const chains[] = {"gblur=sigma=2", "null"};
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct fixture f = {0};
        begin(&f, chains[i], AV_PIX_FMT_YUV420P, 7);
        for (int64_t epoch = 6; epoch <= 8; epoch++) {
            struct halo_output_frame *frame = NULL;
            struct halo_error err = {0};
            assert_int_equal(pass(&f, epoch, &frame, &err), epoch == 7 ? 0 : -ESTALE);
            assert_true((frame != NULL) == (epoch == 7));
            assert_true((strstr(err.text, "configuration 7") != NULL) == (epoch != 7));
            if (!frame)
                continue;
            struct halo_output_frame *ref = halo_output_frame_ref(frame);
            assert_int_equal(halo_output_frame_epoch(ref), 7);
            halo_output_frame_destroy(ref);
            halo_output_frame_destroy(frame);
        }
        end(&f);
    }
}

/* No memory of the raw frame, and nothing that hangs on it. */
static void nothing_else(void **state)
{
    struct fixture f = {0};
    struct halo_output_frame *frame;
    (void)state;
    begin(&f, "gblur=sigma=2", AV_PIX_FMT_YUV420P, 0);
    AVFrame *raw = f.raw.frame;
    raw->pts = 5;
    assert_int_equal(av_dict_set(&raw->metadata, "face", "here", 0), 0);
    static const enum AVFrameSideDataType hidden[] = {
        AV_FRAME_DATA_MOTION_VECTORS, AV_FRAME_DATA_SEI_UNREGISTERED, AV_FRAME_DATA_ICC_PROFILE,
        AV_FRAME_DATA_REGIONS_OF_INTEREST, AV_FRAME_DATA_DETECTION_BBOXES};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        assert_non_null(av_frame_new_side_data(raw, hidden[i], 8));
    assert_non_null(av_frame_new_side_data(raw, AV_FRAME_DATA_A53_CC, 8));
    raw->opaque_ref = av_buffer_alloc(8);
    assert_int_equal(pass(&f, 0, &frame, NULL), 0);
    const AVFrame *out = halo_output_frame_frame(frame);
    for (int b = 0; b < AV_NUM_DATA_POINTERS && raw->buf[b]; b++)
        assert_ptr_not_equal(out->buf[0]->buffer, raw->buf[b]->buffer);
    assert_int_equal(out->pts, 5);
    assert_null(out->metadata);
    assert_null(out->opaque_ref);
    assert_int_equal(out->nb_side_data, 1);
    assert_int_equal(out->side_data[0]->type, AV_FRAME_DATA_A53_CC);
    halo_output_frame_destroy(frame);
    end(&f);
}

/* The raw samples themselves: only where null is all, and that may be. */
static void passed(void **state)
{
    static const struct {
        const char *chain;
        bool passes;
    } cases[] = {{"null", true}, {"null,null", true}, {"gblur=sigma=0", false}, {"sobel", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = {0};
        struct halo_output_frame *frame;
        begin(&f, cases[i].chain, AV_PIX_FMT_YUV420P, 0);
        lanes = WRITE_NOTHING;
        assert_int_equal(pass(&f, 0, &frame, NULL), 0);
        assert_true(is_all(halo_output_frame_frame(frame), GRAY) != cases[i].passes);
        halo_output_frame_destroy(frame);
        end(&f);
    }
}

/* What nobody filtered has nothing of what was filtered before it. */
static void made_up(void **state)
{
    struct fixture f = {0};
    struct halo_output_frame *picture, *card;
    (void)state;
    begin(&f, "gblur=sigma=2", AV_PIX_FMT_YUV420P, 0);
    assert_int_equal(pass(&f, 0, &picture, NULL), 0);
    const uint8_t *memory = halo_output_frame_frame(picture)->buf[0]->data;
    halo_output_frame_destroy(picture);
    assert_int_equal(halo_gate_blank(f.gate, false, &picture), 0);
    assert_ptr_equal(halo_output_frame_frame(picture)->buf[0]->data, memory);
    assert_true(is_all(halo_output_frame_frame(picture), GRAY));

    /* Between the rows of a card, too; memory comes with another value for this. */
    mallopt(M_PERTURB, 1);
    assert_int_equal(halo_gate_card(picture, &(struct halo_card){.black = true}, 0, &card), 0);
    mallopt(M_PERTURB, 0);
    const AVFrame *frame = halo_output_frame_frame(card);
    assert_true(frame->linesize[0] > WIDTH);
    for (int y = 0; y < HEIGHT; y++)
        assert_int_equal(frame->data[0][y * frame->linesize[0] + WIDTH], GRAY);
    halo_output_frame_destroy(card);
    halo_output_frame_destroy(picture);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unwritten),    cmocka_unit_test(failures), cmocka_unit_test(epochs),
        cmocka_unit_test(nothing_else), cmocka_unit_test(passed),   cmocka_unit_test(made_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
