/* SPDX-License-Identifier: BSD-2-Clause
 * A live stream with eyes on it (player.h). */
#include "tests/proof/player.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/daemon_tables.h"
#include "pipeline/live.h"
#include "tests/proof/eye.h"

const char *const proof_chains[] = {
    "gblur=sigma=3",       "gblur=sigma=12",    "boxblur=lr=4:lp=2",
    "pixelize=w=16:h=16",  "avgblur=sizeX=5",   "gblur=sigma=2.5,pixelize=w=8:h=8",
    "gblur=sigma=4,sobel", "discblur=radius=6", NULL};
#define REGION ":region=rect 16 16 64 32"
const char *const proof_region_chains[] = {"gblur=sigma=3" REGION,
                                           "gblur=sigma=12" REGION,
                                           "boxblur=lr=4:lp=2" REGION,
                                           "pixelize=w=16:h=16" REGION,
                                           "discblur=radius=6" REGION,
                                           "gblur=sigma=4" REGION ",avgblur=sizeX=3" REGION,
                                           NULL};
const struct halo_canary_area proof_region = {24, 24, 48, 16, false};
enum {
    CHAINS = sizeof proof_chains / sizeof *proof_chains - 1,
    REGION_CHAINS = sizeof proof_region_chains / sizeof *proof_region_chains - 1,
};

struct proof_player {
    struct halo_live *live;
    struct proof_tally *tally;
    struct halo_stream_settings settings;
    struct halo_encoding encoding[HALO_MOST_ENCODINGS];
    int encodings;
    char input[200], name[40];
    struct {
        pthread_mutex_t lock; /* the encoding's thread, and the one that makes snapshots */
        struct proof_eye *eye;
    } eye[HALO_MOST_ENCODINGS + 1];
    uint64_t asked;
    bool region;
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

static void on_begin(void *arg, int encoding, const struct halo_live_begin *begin)
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
        pthread_mutex_lock(&p->eye[HALO_MOST_ENCODINGS].lock);
        proof_eye_take_alone(p->eye[HALO_MOST_ENCODINGS].eye, par, image, PROOF_SNAPSHOT);
        pthread_mutex_unlock(&p->eye[HALO_MOST_ENCODINGS].lock);
    }
    avcodec_parameters_free(&par);
}

static const struct halo_live_events events = {
    .begin = on_begin,
    .packet = on_packet,
    .card = on_card,
    .snapshot = on_snapshot,
};

/* ---- */

static const char *choose_chain(const struct proof_player *p, struct proof_chance *chance)
{
    return p->region ? proof_region_chains[proof_chance(chance, REGION_CHAINS)]
                     : proof_chains[proof_chance(chance, CHAINS)];
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

static void choose_outputs(struct proof_player *p, bool sparing, struct proof_chance *chance)
{
    static const char *const codecs[] = {"libx264", "mpeg4", "mpeg2video", "ffv1"};
    add(p, HALO_OUTPUT_FILE, "raw");
    if (proof_chance(chance, 2)) {
        struct halo_rendition_settings *r = &p->settings.rendition[p->settings.renditions++];
        *r = (struct halo_rendition_settings){word("other"), word(choose_chain(p, chance))};
        add(p, HALO_OUTPUT_FILE, "raw")->rendition = r->name;
    }
    if (sparing)
        return;
    const char *codec = codecs[proof_chance(chance, 4)];
    struct halo_output_settings *o = add(p, HALO_OUTPUT_FILE, codec);
    o->video.fps = 100;
    o->video.gop = 0.2;
    o->video.bitrate = word("8M"); /* so that a leak is still one after it */
    if (!strcmp(codec, "libx264")) {
        o->video.bitrate = NULL;
        o->video.preset = word("ultrafast");
        o->video.crf = word("12");
    }
    if (proof_chance(chance, 3) == 0) { /* as a virtual camera takes it */
        o = add(p, HALO_OUTPUT_V4L2, "raw");
        o->format = word(halo_camera_formats[0]);
        o->video.size = word("96x64");
        o->video.fps = 50;
    }
}

static void choose(struct proof_player *p, const struct proof_player_settings *set,
                   struct proof_chance *chance)
{
    static const int errors[] = {HALO_ON_ERROR_CARD, HALO_ON_ERROR_SOLID, HALO_ON_ERROR_LAST,
                                 HALO_ON_ERROR_STOP};
    if (set->clip)
        snprintf(p->input, sizeof p->input, "%s", set->clip);
    else
        snprintf(p->input, sizeof p->input, "test:size=96x64:rate=1000:canary=%d", set->number);
    snprintf(p->name, sizeof p->name, "proof%d", set->number);
    p->settings = (struct halo_stream_settings){
        .name = p->name,
        .input = p->input,
        .filters = word(choose_chain(p, chance)),
        .loop = set->clip != NULL,
        .backend = set->backend,
        .depth = 1 + (int)proof_chance(chance, 4),
        .threads = 1,
        .gpu_timeout = set->gpu_timeout,
        .input_timeout = 10,
        .on_error = errors[proof_chance(chance, 4)],
        .last_for = 0.5,
    };
    halo_options_init(halo_capture_options, &p->settings.capture);
    choose_outputs(p, set->sparing, chance);
}

struct proof_player *proof_player_open(const struct proof_player_settings *settings,
                                       struct proof_tally *tally, struct proof_chance *chance)
{
    struct halo_error err = {0};
    int of[HALO_MOST_OUTPUTS];
    struct proof_player *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->tally = tally;
    p->region = settings->region;
    choose(p, settings, chance);
    p->encodings = halo_encodings(&p->settings, p->encoding, of);
    for (int i = 0; i <= HALO_MOST_ENCODINGS; i++) {
        pthread_mutex_init(&p->eye[i].lock, NULL);
        if (i < p->encodings || i == HALO_MOST_ENCODINGS)
            p->eye[i].eye =
                proof_eye_open(tally, i < p->encodings ? kind_of(p, i) : PROOF_SNAPSHOT);
        if (p->region && p->eye[i].eye)
            proof_eye_limit(p->eye[i].eye, &proof_region);
    }
    int ret = halo_live_create(&p->live, &p->settings, &events, p, &err);
    if (ret >= 0)
        ret = halo_live_start(p->live, &err);
    if (ret < 0 && err.usage && !strstr(err.text, "privacy: off")) {
        fprintf(stderr, "proof: %s\n", err.text);
        abort();
    }
    if (ret < 0) {
        proof_player_close(p);
        return NULL;
    }
    for (int i = 0; i < p->encodings; i++)
        if (p->encoding[i].kind != HALO_ENCODING_JPEG)
            halo_live_watch(p->live, i, true);
    atomic_fetch_add(&tally->streams, 1);
    return p;
}

void proof_player_act(struct proof_player *p, struct proof_chance *chance)
{
    struct halo_error err = {0};
    const char *chains[HALO_MOST_RENDITIONS + 1];
    const int encoding = (int)proof_chance(chance, (unsigned)p->encodings);
    switch (proof_chance(chance, 6)) {
    case 0:
    case 1:
        for (int i = 0; i <= p->settings.renditions; i++)
            chains[i] = choose_chain(p, chance);
        if (halo_live_set(p->live, ++p->asked, chains, &err) >= 0)
            proof_tally_fault(p->tally, "set other filters, a new epoch");
        break;
    case 2:
        (void)halo_live_snapshot(p->live, ++p->asked, proof_chance(chance, 2) ? "png" : "jpg",
                                 &err);
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

void proof_player_close(struct proof_player *p)
{
    if (!p)
        return;
    halo_live_destroy(p->live);
    for (int i = 0; i <= HALO_MOST_ENCODINGS; i++) {
        proof_eye_close(p->eye[i].eye);
        pthread_mutex_destroy(&p->eye[i].lock);
    }
    free(p);
}
