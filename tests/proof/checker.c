/* SPDX-License-Identifier: BSD-2-Clause
 * Whether the checker can be trusted (checker.h). */
#include "tests/proof/checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/fault.h"
#include "pipeline/gate/gate.h"
#include "pipeline/gate/leak.h"
#include "pipeline/input/source_test.h"
#include "pipeline/frame/raw_frame.h"
#include "tests/proof/chains.h"
#include "tests/proof/eye.h"

enum { WIDTH = 96, HEIGHT = 64 };

/* Takes what comes out of the gate; false: that is enough. */
typedef bool subscriber(void *arg, const AVFrame *frame);

static void must(int ret, const struct halo_error *err)
{
    if (ret >= 0)
        return;
    fprintf(stderr, "proof: %s\n", err->text);
    exit(HALO_EXIT_FAILED);
}

static void filter_one(struct halo_gate *gate, struct halo_test_source *source,
                       struct halo_output_frame **ret)
{
    struct halo_error err = {0};
    struct halo_raw_frame *raw;
    struct halo_pending *pending;
    must(halo_test_source_read(source, &raw) == 1 ? 0 : -1, &err);
    must(halo_gate_enter(gate, raw, &pending, &err), &err);
    must(halo_gate_leave(pending, 0, ret, &err), &err);
    halo_raw_frame_destroy(raw);
}

/* Painted frames through the gate with that chain, until take has enough. */
static void filter(const char *backend, const char *text, subscriber *take, void *arg)
{
    struct halo_error err = {0};
    struct halo_ring *ring;
    struct halo_gate *gate;
    struct halo_chain *chain;
    struct halo_test_source *source;
    struct halo_output_frame *frame = NULL;
    const struct halo_ring_settings set = {
        .backend = backend, .depth = 1, .threads = 1, .locked = -1, .deadline = 10};
    const struct halo_gate_input input = {.format = AV_PIX_FMT_YUV420P,
                                          .width = WIDTH,
                                          .height = HEIGHT,
                                          .privacy = HALO_PRIVACY_CHANGED,
                                          .space = AVCOL_SPC_SMPTE170M,
                                          .range = AVCOL_RANGE_MPEG};
    must(halo_chain_parse(&chain, text, &err), &err);
    must(halo_ring_create(&ring, &set, &err), &err);
    must(halo_gate_create(&gate, chain, ring, &input, &err), &err);
    must(halo_test_source_create(&source, "test:size=96x64:canary=0", halo_ring_memory(ring), &err),
         &err);
    bool more = true;
    while (more) {
        filter_one(gate, source, &frame);
        more = take(arg, halo_output_frame_frame(frame));
        halo_output_frame_destroy(frame);
    }
    halo_test_source_destroy(source);
    halo_gate_destroy(gate);
    halo_ring_destroy(ring);
    halo_chain_destroy(chain);
}

/* ---- an encoder, and who looks at what it makes ---- */

struct codec {
    AVCodecContext *encoder;
    AVPacket *pkt;
    struct proof_eye *eye;
    int64_t pts;
};

static void open_codec(struct codec *c, const char *name, struct proof_tally *tally)
{
    const AVCodec *codec = avcodec_find_encoder_by_name(name);
    AVCodecParameters *par = avcodec_parameters_alloc();
    c->encoder = codec ? avcodec_alloc_context3(codec) : NULL;
    c->pkt = av_packet_alloc();
    c->eye = proof_eye_open(tally, PROOF_ENCODED);
    c->pts = 0;
    if (!c->encoder) {
        fprintf(stderr, "proof: this FFmpeg has no %s\n", name);
        exit(HALO_EXIT_FAILED);
    }
    c->encoder->width = WIDTH;
    c->encoder->height = HEIGHT;
    c->encoder->pix_fmt = !strcmp(name, "mjpeg") ? AV_PIX_FMT_YUVJ420P : AV_PIX_FMT_YUV420P;
    c->encoder->time_base = (AVRational){1, 25};
    c->encoder->thread_count = 1;
    AVDictionary *options = NULL;
    av_dict_set(&options, "preset", "ultrafast", 0);
    av_dict_set(&options, "tune", "zerolatency", 0);
    av_dict_set(&options, "qmin", "2", 0);
    av_dict_set(&options, "qmax", "4", 0);
    if (!strcmp(name, "libx264"))
        av_dict_set(&options, "qmax", "-1", 0), av_dict_set(&options, "qmin", "-1", 0);
    if (avcodec_open2(c->encoder, codec, &options) < 0)
        exit(HALO_EXIT_FAILED);
    av_dict_free(&options);
    avcodec_parameters_from_context(par, c->encoder);
    proof_eye_begin(c->eye, par);
    avcodec_parameters_free(&par);
}

static void drain_codec(struct codec *c)
{
    while (avcodec_receive_packet(c->encoder, c->pkt) >= 0) {
        proof_eye_take(c->eye, c->pkt, PROOF_ENCODED);
        av_packet_unref(c->pkt);
    }
}

static void code(struct codec *c, const AVFrame *frame)
{
    AVFrame *f = av_frame_clone(frame);
    f->format = c->encoder->pix_fmt;
    f->pts = c->pts++;
    f->pict_type = AV_PICTURE_TYPE_NONE;
    if (avcodec_send_frame(c->encoder, f) < 0)
        exit(HALO_EXIT_FAILED);
    av_frame_free(&f);
    drain_codec(c);
}

static void close_codec(struct codec *c)
{
    avcodec_send_frame(c->encoder, NULL);
    drain_codec(c);
    proof_eye_close(c->eye);
    avcodec_free_context(&c->encoder);
    av_packet_free(&c->pkt);
}

/* ---- no false alarm ---- */

static const char *const codecs[] = {"libx264", "mjpeg", "mpeg4", NULL};
enum { CODECS = 3, CODED_EVERY = 10 };

struct alarms {
    long left, seen;
    struct proof_eye *eye;
    struct codec codec[CODECS];
};

static bool check(void *arg, const AVFrame *frame)
{
    struct alarms *a = arg;
    proof_eye_see(a->eye, frame, PROOF_RAW);
    if (a->seen++ % CODED_EVERY == 0)
        for (int i = 0; i < CODECS; i++)
            code(&a->codec[i], frame);
    return --a->left > 0;
}

static bool find_alarms(const char *backend, long frames)
{
    int chains;
    const char *const *chain = proof_chains(&chains);
    struct proof_tally *tally = proof_tally_create(NULL);
    for (int c = 0; c < chains; c++) {
        struct alarms a = {.left = (frames + chains - 1) / chains};
        a.eye = proof_eye_open(tally, PROOF_RAW);
        for (int i = 0; i < CODECS; i++)
            open_codec(&a.codec[i], codecs[i], tally);
        filter(backend, chain[c], check, &a);
        for (int i = 0; i < CODECS; i++)
            close_codec(&a.codec[i]);
        proof_eye_close(a.eye);
    }
    printf("filtered pictures, %d chains:\n", chains);
    proof_tally_print(tally, false);
    return atomic_load(&tally->leaks) == 0;
}

/* ---- regions: nothing inside, and what is outside is seen ---- */

#define REGION ":region=rect 16 16 64 32"
static const char *const region_chains[] = {"gblur=sigma=3" REGION,
                                            "gblur=sigma=12" REGION,
                                            "boxblur=lr=4:lp=2" REGION,
                                            "pixelize=w=16:h=16" REGION,
                                            "discblur=radius=6" REGION,
                                            "gblur=sigma=4" REGION ",avgblur=sizeX=3" REGION,
                                            NULL};
/* Its cells but for those at its edges. */
static const uint8_t inner[HEIGHT / HALO_CANARY_CELL][WIDTH / HALO_CANARY_CELL] = {
    [3] = {[3] = 1, 1, 1, 1, 1, 1}, [4] = {[3] = 1, 1, 1, 1, 1, 1}};
static const struct halo_canary_area region = {&inner[0][0], WIDTH / HALO_CANARY_CELL,
                                               HEIGHT / HALO_CANARY_CELL};

struct regions {
    long left;
    struct proof_eye *inside, *all;
};

static bool check_both(void *arg, const AVFrame *frame)
{
    struct regions *r = arg;
    proof_eye_see(r->inside, frame, PROOF_RAW);
    proof_eye_see(r->all, frame, PROOF_RAW);
    return --r->left > 0;
}

static bool check_regions(const char *backend, long frames)
{
    long wanted = 0;
    struct proof_tally *inside = proof_tally_create(NULL), *all = proof_tally_create(NULL);
    for (int c = 0; region_chains[c]; c++) {
        struct regions r = {frames, proof_eye_open(inside, PROOF_RAW),
                            proof_eye_open(all, PROOF_RAW)};
        proof_eye_limit(r.inside, &region);
        filter(backend, region_chains[c], check_both, &r);
        proof_eye_close(r.inside);
        proof_eye_close(r.all);
        wanted += frames;
    }
    printf("regions: %ld pictures, of which %ld leak inside and %ld outside; strongest cell inside "
           "%.3f\n",
           wanted, atomic_load(&inside->leaks), atomic_load(&all->leaks),
           atomic_load(&inside->cell) / 1000.0);
    return atomic_load(&inside->leaks) == 0 && atomic_load(&all->leaks) == wanted;
}

/* ---- every leak ---- */

/* Frames that leak in one way, from filtered ones of the gate. */
struct leaks {
    int way;
    long left, made;
    struct proof_tally *plain, *coded;
    struct proof_eye *eye;
    struct codec codec;
    AVFrame *raw, *old;
};

static AVFrame *new_frame(void)
{
    AVFrame *f = av_frame_alloc();
    f->format = AV_PIX_FMT_YUV420P;
    f->width = WIDTH;
    f->height = HEIGHT;
    if (av_frame_get_buffer(f, 0) < 0)
        exit(HALO_EXIT_FAILED);
    return f;
}

static bool leak_one(void *arg, const AVFrame *frame)
{
    struct leaks *l = arg;
    AVFrame *f = av_frame_alloc();
    if (!f || av_frame_ref(f, frame) < 0 || av_frame_make_writable(f) < 0)
        exit(HALO_EXIT_FAILED);
    halo_canary_paint(l->raw, (unsigned)l->made);
    halo_canary_paint(l->old, (unsigned)l->made + 65000);
    halo_leak_make(l->way, f, l->raw, l->old);
    proof_eye_see(l->eye, f, PROOF_RAW);
    code(&l->codec, f);
    av_frame_free(&f);
    l->made++;
    return --l->left > 0;
}

static bool find_leaks(const char *backend, const char *codec, long wanted)
{
    bool ret = true;
    int chains;
    const char *const *chain = proof_chains(&chains);
    for (int way = 0; way < HALO_LEAKS; way++) {
        struct leaks l = {.way = way, .left = wanted, .raw = new_frame(), .old = new_frame()};
        l.plain = proof_tally_create(NULL);
        l.coded = proof_tally_create(NULL);
        l.eye = proof_eye_open(l.plain, PROOF_RAW);
        open_codec(&l.codec, codec, l.coded);
        filter(backend, chain[way % 2], leak_one, &l);
        close_codec(&l.codec);
        proof_eye_close(l.eye);
        av_frame_free(&l.raw);
        av_frame_free(&l.old);
        const long as_is = atomic_load(&l.plain->leaks), after = atomic_load(&l.coded->leaks);
        printf("    %5ld of %ld found, %5ld after %s: %s\n", as_is, wanted, after, codec,
               halo_leak_names[way]);
        ret &= as_is == wanted && after == wanted;
    }
    return ret;
}

/* ---- a gate that leaks ---- */

struct gate_leaks {
    long left;
    struct proof_eye *eye;
};

static bool check_leak(void *arg, const AVFrame *frame)
{
    struct gate_leaks *l = arg;
    proof_eye_see(l->eye, frame, PROOF_RAW);
    return --l->left > 0;
}

/* In a process of its own, for the fault lasts. */
static bool find_in_gate(const char *backend, long wanted)
{
    struct proof_tally *tally = proof_tally_create(NULL);
    int status;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        halo_fault_begin("leak:1+", NULL);
        struct gate_leaks l = {.left = wanted, .eye = proof_eye_open(tally, PROOF_RAW)};
        filter(backend, "gblur=sigma=12", check_leak, &l);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return false;
    printf("a gate that leaks on purpose, in %d ways by turns: %ld of %ld found\n", HALO_LEAKS,
           atomic_load(&tally->leaks), wanted);
    return atomic_load(&tally->leaks) == wanted;
}

bool proof_checker_run(const char *backend, long frames, long leaks)
{
    bool ret = find_in_gate(
        backend, leaks < 1000 ? 1000 : leaks); /* first: it forks, which no GPU likes later */
    const bool quiet = find_alarms(backend, frames);
    ret &= quiet;
    ret &= check_regions(backend, leaks);
    for (int c = 0; codecs[c]; c++) {
        printf("leaks on purpose:\n");
        ret &= find_leaks(backend, codecs[c], leaks);
    }
    return ret;
}
