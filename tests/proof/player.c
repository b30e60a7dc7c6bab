/* SPDX-License-Identifier: BSD-2-Clause
 * A live stream with eyes on it (player.h). */
#include "tests/proof/player.h"

#include <libavutil/pixdesc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/daemon_tables.h"
#include "kernels/clock.h"
#include "pipeline/stream/live.h"
#include "pipeline/output/parameters_wire.h"
#include "tests/proof/chains.h"
#include "tests/proof/example.h"
#include "tests/proof/eye.h"
#include "tests/proof/heard.h"
#include "tests/proof/mover.h"

enum {
    MOVERS = 2,         /* beside the shapes that a feed's chain has, which stay */
    TELL_EVERY = 60000, /* us, at least; heard.c knows so many */
};

struct proof_player {
    struct halo_live *live;
    struct proof_tally *tally;
    struct halo_stream_settings settings;
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int encodings;
    char input[200], name[40], size[24];
    struct {
        pthread_mutex_t lock; /* the encoding's thread, and the one that makes snapshots */
        struct proof_eye *eye;
    } eye[HALO_MAX_ENCODINGS + 1];
    uint64_t asked;
    /* What the source is; exam: of each chain, NULL: they are of proof_chains(). */
    enum AVPixelFormat format;
    int width, height;
    struct proof_exam *exam[HALO_MAX_RENDITIONS + 1];
    bool feed;
    bool previews; /* not if gates leak on purpose: the second one's leak may cover the first's */
    struct halo_region_feed_settings region_feed;
    struct proof_heard *heard;  /* NULL: there is no feed */
    struct proof_chance chance; /* of what is told */
    struct proof_mover mover[MOVERS];
    int movers;
    int64_t updated; /* us: when the feed was told last, and of which frame */
    int64_t updated_frame;
    atomic_llong newest; /* us: of the frames that came out */
};

/* ---- events ---- */

static enum proof_seen kind_of(const struct proof_player *p, int encoding)
{
    switch (p->encoding[encoding].kind) {
    case HALO_ENCODING_RAW:
        return PROOF_RAW;
    case HALO_ENCODING_JPEG:
        return PROOF_JPEG;
    default:
        return PROOF_ENCODED;
    }
}

static void on_begin(void *arg, int encoding, const struct halo_encoding_parameters *begin)
{
    struct proof_player *p = arg;
    pthread_mutex_lock(&p->eye[encoding].lock);
    struct proof_eye *eye = p->eye[encoding].eye;
    proof_eye_begin(eye, begin->video);
    proof_eye_take_alone(eye, begin->video, begin->card, PROOF_CARD);
    proof_eye_take_alone(eye, begin->video, begin->solid, PROOF_CARD);
    pthread_mutex_unlock(&p->eye[encoding].lock);
}

static void on_packet(void *arg, int encoding, const AVPacket *pkt)
{
    struct proof_player *p = arg;
    atomic_store(&p->newest, pkt->pts);
    pthread_mutex_lock(&p->eye[encoding].lock);
    proof_eye_take(p->eye[encoding].eye, pkt, kind_of(p, encoding));
    pthread_mutex_unlock(&p->eye[encoding].lock);
}

static void on_card(void *arg, int encoding, const AVPacket *pkt)
{
    struct proof_player *p = arg;
    pthread_mutex_lock(&p->eye[encoding].lock);
    proof_eye_take(p->eye[encoding].eye, pkt, PROOF_CARD);
    pthread_mutex_unlock(&p->eye[encoding].lock);
}

static void on_snapshot(void *arg, uint64_t id, const AVPacket *image, const struct halo_error *err)
{
    struct proof_player *p = arg;
    (void)id;
    (void)err;
    AVCodecParameters *par = avcodec_parameters_alloc();
    if (image && par) {
        par->codec_type = AVMEDIA_TYPE_VIDEO;
        par->codec_id = image->data[0] == 0x89 ? AV_CODEC_ID_PNG : AV_CODEC_ID_MJPEG;
        pthread_mutex_lock(&p->eye[HALO_MAX_ENCODINGS].lock);
        proof_eye_take_alone(p->eye[HALO_MAX_ENCODINGS].eye, par, image, PROOF_SNAPSHOT);
        pthread_mutex_unlock(&p->eye[HALO_MAX_ENCODINGS].lock);
    }
    avcodec_parameters_free(&par);
}

static void on_set(void *arg, uint64_t id, const struct halo_error *err)
{
    struct proof_player *p = arg;
    for (int i = 0; !err && i <= p->settings.renditions; i++)
        if (p->exam[i])
            proof_exam_confirm(p->exam[i], id);
}

/* Goes through a second gate and comes out as it went in. */
static const char preview[] = "convolution='0 0 0 0 1 0 0 0 0'";

static const struct halo_live_events events = {
    .set = on_set,
    .begin = on_begin,
    .packet = on_packet,
    .card = on_card,
    .snapshot = on_snapshot,
};

/* ---- */

static const char *choose_whole(struct proof_chance *chance)
{
    int count;
    const char *const *chains = proof_chains(&count);
    return chains[proof_chance(chance, (unsigned)count)];
}

/* For chain i, 0: the stream's own. id: it is asked for under that; 0: it begins with it. */
static const char *choose_chain(struct proof_player *p, int i, uint64_t id,
                                struct proof_chance *chance)
{
    if (!p->exam[i])
        return choose_whole(chance);
    const int which = id && !p->feed ? (int)proof_chance(chance, PROOF_POOL) : 0;
    if (id)
        proof_exam_ask(p->exam[i], id, which);
    return proof_exam_spec(p->exam[i], which)->text;
}

static char *word(const char *text)
{
    return (char *)text; /* settings are only read, and copied by the stream */
}

static struct halo_output_settings *add(struct proof_player *p, int kind, const char *codec)
{
    struct halo_output_settings *o = &p->settings.output[p->settings.outputs++];
    *o = (struct halo_output_settings){.kind = kind, .target = word("x.mkv")};
    o->video.codec = word(codec);
    return o;
}

static void add_encoded(struct proof_player *p, const char *codec)
{
    struct halo_output_settings *o = add(p, HALO_OUTPUT_FILE, codec);
    o->video.fps = 100;
    o->video.gop = 0.2;
    o->video.bitrate = word("8M"); /* so that a leak is still one after it */
    if (!strcmp(codec, "libx264")) {
        o->video.bitrate = NULL;
        o->video.preset = word("ultrafast");
        o->video.crf = word("12");
    }
}

static void choose_outputs(struct proof_player *p, bool sparing, struct proof_chance *chance)
{
    static const char *const codecs[] = {"libx264", "mpeg4", "mpeg2video", "ffv1"};
    const bool odd = (p->width | p->height) % 2; /* which one codec takes */
    add(p, HALO_OUTPUT_FILE, "raw");
    if (p->settings.renditions)
        add(p, HALO_OUTPUT_FILE, "raw")->rendition = p->settings.rendition[0].name;
    if (sparing)
        return;
    add_encoded(p, odd ? "ffv1" : codecs[proof_chance(chance, 4)]);
    if (!odd && proof_chance(chance, 3) == 0) { /* as a virtual camera takes it */
        struct halo_output_settings *o = add(p, HALO_OUTPUT_V4L2, "raw");
        o->format = word(halo_camera_formats[proof_chance(chance, 3)]);
        o->video.size = p->size;
        o->video.fps = 50;
    }
}

static void choose_source(struct proof_player *p, const struct proof_player_settings *set,
                          bool *ret_resized, struct proof_chance *chance)
{
    static const int sizes[][2] = {{96, 64}, {97, 65}, {130, 72}, {63, 81}};
    const bool plain = set->clip || set->plain;
    const int *size = sizes[plain ? 0 : proof_chance(chance, 4)];
    p->width = size[0];
    p->height = size[1];
    p->format = plain ? AV_PIX_FMT_YUV420P : proof_format(proof_chance(chance, 1000));
    *ret_resized = !plain && proof_chance(chance, 4) == 0;
    snprintf(p->name, sizeof p->name, "proof%d", set->number);
    snprintf(p->size, sizeof p->size, "%dx%d", p->width, p->height);
    if (set->clip)
        snprintf(p->input, sizeof p->input, "%s", set->clip);
    else
        snprintf(p->input, sizeof p->input, "test:size=%s:rate=1000:canary=%d:format=%s%s", p->size,
                 set->number, av_get_pix_fmt_name(p->format),
                 *ret_resized ? ":other=80x48:every=60" : "");
}

/* Beside the chain's own shapes, which stay, so that they are the least that it hides in any frame,
 * something moves; not where a chain shows what it is told. */
static void open_feed(struct proof_player *p, bool invert, struct proof_chance *chance)
{
    const int side[2] = {p->width, p->height};
    const int margin = invert ? 0 : proof_from_to(chance, 0, 1), hold = proof_from_to(chance, 0, 2);
    p->movers = invert ? 0 : MOVERS;
    for (int i = 0; i < p->movers; i++)
        proof_mover_choose(&p->mover[i], (char)('a' + i), side, chance);
    p->region_feed = (struct halo_region_feed_settings){
        .on = true, .margin = margin / 8.0, .hold = hold * 0.05, .limit = 0.5};
    p->heard = proof_heard_open(&(struct proof_expected_settings){margin, hold * 50000, 500000});
}

static void open_exams(struct proof_player *p, const struct proof_player_settings *settings,
                       bool resized, int chains, struct proof_chance *chance)
{
    p->feed = settings->feed || proof_chance(chance, 4) == 0;
    if (settings->clip) /* its times are not the clock's */
        p->feed = false;
    struct proof_exam_settings set = {
        .format = p->format,
        .range = proof_range(p->format),
        .width = p->width,
        .height = p->height,
        .resized = resized,
        .feed = p->feed,
        .first = proof_chance(chance, 1000000),
        .folder = settings->folder,
        .number = settings->clip ? PROOF_CLIP : (unsigned)settings->number,
    };
    for (int i = 0; i < chains; i++) {
        if (!(p->exam[i] = proof_exam_open(&set)))
            abort();
        set.first += p->feed ? 0 : PROOF_POOL; /* the shapes of a feed are all the stream's */
    }
    if (p->feed)
        open_feed(p, proof_exam_spec(p->exam[0], 0)->step[0].invert, chance);
    for (int i = 0; i < chains && !resized; i++)
        proof_exam_hear(p->exam[i], p->heard);
}

static void choose(struct proof_player *p, const struct proof_player_settings *set,
                   struct proof_chance *chance)
{
    static const int errors[] = {HALO_ON_ERROR_CARD, HALO_ON_ERROR_SOLID, HALO_ON_ERROR_LAST,
                                 HALO_ON_ERROR_STOP};
    bool resized;
    const int renditions = (int)proof_chance(chance, 2);
    choose_source(p, set, &resized, chance);
    if (set->region)
        open_exams(p, set, resized, 1 + renditions, chance);
    p->settings = (struct halo_stream_settings){
        .name = p->name,
        .source.input = p->input,
        .filters = word(choose_chain(p, 0, 0, chance)),
        .privacy = HALO_PRIVACY_CHANGED,
        .loop = set->clip != NULL,
        .device.backend = set->backend,
        .device.depth = 1 + (int)proof_chance(chance, 4),
        .device.threads = 1,
        .device.gpu_timeout = set->gpu_timeout,
        .input_timeout = 10,
        .on_error = errors[proof_chance(chance, 4)],
        .last_for = 0.5,
        .region_feed = p->region_feed,
        .renditions = renditions,
    };
    for (int i = 0; i < renditions; i++)
        p->settings.rendition[i] = (struct halo_rendition_settings){
            word("other"), word(choose_chain(p, 1 + i, 0, chance))};
    halo_options_init(halo_capture_options, &p->settings.capture);
    choose_outputs(p, set->sparing, chance);
}

/* Encoding -1: snapshots. */
static void open_eye(struct proof_player *p, int i, int encoding)
{
    const struct halo_encoding *e = encoding < 0 ? NULL : &p->encoding[encoding];
    struct proof_exam *exam = p->exam[e ? e->rendition : 0];
    p->eye[i].eye = proof_eye_open(p->tally, e ? kind_of(p, encoding) : PROOF_SNAPSHOT);
    const bool lossless = e && (e->kind == HALO_ENCODING_RAW ||
                                (e->video && !strcmp(halo_video_codec(e->video), "ffv1")));
    if (exam)
        proof_eye_examine(p->eye[i].eye, exam, lossless && !e->format);
}

struct proof_player *proof_player_open(const struct proof_player_settings *settings,
                                       struct proof_tally *tally, struct proof_chance *chance)
{
    struct halo_error err = {0};
    int of[HALO_MAX_OUTPUTS];
    struct proof_player *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->tally = tally;
    p->chance.state = proof_chance(chance, 1000000);
    choose(p, settings, chance);
    p->previews = !settings->plain;
    p->encodings = halo_encodings(&p->settings, p->encoding, of);
    for (int i = 0; i <= HALO_MAX_ENCODINGS; i++) {
        pthread_mutex_init(&p->eye[i].lock, NULL);
        if (i < p->encodings || i == HALO_MAX_ENCODINGS)
            open_eye(p, i, i < p->encodings ? i : -1);
    }
    int code = halo_live_create(&p->live, &p->settings, &events, p, &err);
    if (code >= 0)
        code = halo_live_start(p->live, &err);
    /* Faults may spoil the reading of a mask. */
    if (code < 0 && err.usage && !strstr(err.text, "privacy: off") &&
        !strstr(err.text, "cannot be used")) {
        fprintf(stderr, "proof: %s\n", err.text);
        abort();
    }
    if (code < 0) {
        proof_player_close(p);
        return NULL;
    }
    for (int i = 0; i < p->encodings; i++)
        if (p->encoding[i].kind != HALO_ENCODING_JPEG)
            halo_live_watch(p->live, i, true);
    atomic_fetch_add(&tally->streams, 1);
    return p;
}

/* In pixels all of it: a shape that is told has one unit. */
static struct proof_length in_pixels(struct proof_length length, int side)
{
    const int eighth = PROOF_UNIT / PROOF_EIGHTHS;
    return (struct proof_length){length.relative ? length.value * side * eighth : length.value,
                                 false};
}

static struct proof_shape to_pixels(const struct proof_shape *s, const int side[2])
{
    struct proof_shape ret = *s;
    for (int d = 0; d < 2; d++) {
        ret.at[d] = in_pixels(s->at[d], side[d]);
        ret.size[d] = in_pixels(s->size[d], side[d]);
        for (int i = 0; i < s->corners; i++)
            ret.corner[i][d] = in_pixels(s->corner[i][d], side[d]);
    }
    return ret;
}

static void choose_update(struct proof_player *p, int64_t frame, struct proof_update *ret)
{
    const int side[2] = {p->width, p->height};
    const struct proof_step *step = &proof_exam_spec(p->exam[0], 0)->step[0];
    *ret = (struct proof_update){.frame = frame, .came = halo_now_ns(), .count = step->count};
    for (int i = 0; i < step->count; i++) {
        ret->thing[i].id[0] = (char)('0' + i);
        ret->thing[i].shape = to_pixels(&step->shape[i], side);
    }
    for (int i = 0; i < p->movers; i++) {
        if (proof_chance(&p->chance, 3) == 0)
            continue;
        proof_mover_move(&p->mover[i], side, &p->chance);
        memcpy(ret->thing[ret->count].id, p->mover[i].id, sizeof p->mover[i].id);
        ret->thing[ret->count].shape = p->mover[i].shape;
        ret->thing[ret->count++].ttl = proof_from_to(&p->chance, 0, 3) * INT64_C(50000);
    }
}

void proof_player_update(struct proof_player *p)
{
    const int64_t newest = atomic_load(&p->newest), now = halo_now_ns() / 1000;
    struct proof_update update;
    struct halo_region_update updated[PROOF_THINGS];
    struct halo_length corners[PROOF_THINGS][PROOF_CORNERS][2];
    struct halo_error err = {0};
    if (!p->feed || !newest || newest == p->updated_frame || now < p->updated + TELL_EVERY)
        return;
    p->updated = now;
    p->updated_frame = newest;
    choose_update(p, newest, &update);
    proof_update_say(&update, updated, corners);
    proof_heard_begin(p->heard, &update);
    const int code = halo_live_regions(p->live, newest, updated, update.count, &err);
    proof_heard_end(p->heard, code >= 0); /* late ones are refused */
}

void proof_player_act(struct proof_player *p, struct proof_chance *chance)
{
    struct halo_error err = {0};
    const char *chains[HALO_MAX_RENDITIONS + 1];
    const int encoding = (int)proof_chance(chance, (unsigned)p->encodings);
    switch (proof_chance(chance, 6)) {
    case 0:
    case 1:
        p->asked++;
        for (int i = 0; i <= p->settings.renditions; i++)
            chains[i] = choose_chain(p, i, p->asked, chance);
        if (halo_live_set(p->live, p->asked, chains, &err) >= 0)
            proof_tally_fault(p->tally, "set other filters, a new epoch");
        break;
    case 2:
        (void)halo_live_snapshot(p->live, ++p->asked, proof_chance(chance, 2) ? "png" : "jpg",
                                 p->previews && proof_chance(chance, 2) ? preview : NULL, &err);
        break;
    case 3:
        halo_live_watch(p->live, encoding, true);
        break;
    case 4:
        halo_live_key_frame(p->live, encoding);
        break;
    default:
        if (p->encoding[encoding].kind != HALO_ENCODING_RAW)
            halo_live_watch(p->live, encoding, false);
    }
}

bool proof_player_done(struct proof_player *p)
{
    return halo_live_done(p->live);
}

bool proof_player_is_stuck(struct proof_player *p)
{
    struct halo_error err = {0};
    return halo_live_is_stuck(p->live, &err);
}

void proof_player_stop(struct proof_player *p)
{
    halo_live_stop(p->live);
}

/* Whether the source was opened but once, so that no feed may have forgotten anything. */
static bool is_first_session(struct proof_player *p)
{
    struct halo_live_stats stats;
    if (!p->live)
        return true;
    halo_live_stats(p->live, &stats);
    return stats.opened <= 1;
}

void proof_player_close(struct proof_player *p)
{
    if (!p)
        return;
    const bool once = is_first_session(p);
    halo_live_destroy(p->live);
    if (once && p->heard && proof_heard_forgotten(p->heard))
        proof_tally_forgotten(p->tally, proof_heard_forgotten(p->heard));
    for (int i = 0; i <= HALO_MAX_ENCODINGS; i++) {
        proof_eye_close(p->eye[i].eye);
        pthread_mutex_destroy(&p->eye[i].lock);
    }
    for (int i = 0; i <= HALO_MAX_RENDITIONS; i++)
        proof_exam_close(p->exam[i]);
    proof_heard_close(p->heard);
    free(p);
}
