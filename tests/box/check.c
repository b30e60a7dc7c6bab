/* SPDX-License-Identifier: BSD-2-Clause
 * What must always hold (box.h): the events of the stream, judged by live.h and not by its code. */
#include <errno.h>
#include <libavcodec/avcodec.h>
#include <stdlib.h>
#include <string.h>

#include "config/encoding.h"
#include "kernels/clock.h"
#include "pipeline/output/parameters_wire.h"
#include "tests/box/box.h"

enum {
    ASKED = 64,     /* answers that may be waited for */
    SLACK_MS = 300, /* what drawn delays of several threads may add to a limit */
    FIRST_LUMA = 24,
    LUMA_STEP = 9,
};

struct encoding {
    int begun, failed;
    int64_t begun_at;
    enum AVCodecID codec;
    int width, height;
    bool watched;
    int64_t watched_at;      /* ns: since when it is, or is not */
    int64_t ts[2];           /* us: of the last packet or card */
    int64_t number, unknown; /* of the last frame that showed one, and frames since */
    int chain;
    int64_t packet_at, card_at; /* ns */
    int64_t row_at;             /* ns: since when its cards come in a row; and how many came */
    int row;
};

struct asked {
    uint64_t id;
    int64_t at; /* ns; 0: none */
    int chain;
    bool bad, plain;
};

static struct {
    struct box_stream stream;
    struct halo_live *live;
    bool exists, muted, done;
    enum halo_live_state state;
    int64_t since, given; /* of the state: ns, and frames until then */
    bool source_lost;     /* why it waits */
    struct encoding encoding[HALO_MAX_ENCODINGS];
    struct asked set[ASKED], shot[ASKED];
    int64_t packets, cards, given_first;
    int64_t stopped;         /* ns; 0: not */
    int64_t stuck;           /* ns: when an encoder hung last; 0: never */
    int64_t began;           /* ns */
    int64_t ending;          /* ns: it has said that it ends; 0: not */
    int confirmed;           /* no chain before this one may be seen */
    int64_t slow, slow_stop; /* ms: the most that delays were since the last quiet time */
    int64_t troubled;        /* ns: when an encoder or a filter was in trouble last */
    bool may_lose;
} check;

static struct {
    int newest; /* the chain that was made last */
    bool faces[BOX_CHAINS], bad[BOX_CHAINS];
    AVCodecContext *decoder;
} chains;

static double seconds_since(int64_t ns)
{
    return (double)(box_now() - ns) / (double)BOX_S;
}

/* ms for which what is played may delay a frame on its whole way. */
static int64_t slow_ms(void)
{
    int64_t ms = 2 * box_trouble.building + box_trouble.filter_slow + box_trouble.detector_late +
                 box_trouble.encoder_opening;
    for (int i = 0; i < 4; i++)
        ms += box_trouble.encoder_slow[i];
    return ms;
}

static bool is_in_trouble(void)
{
    bool ret = box_trouble.filter_fails || box_trouble.detector_mute || slow_ms();
    for (int i = 0; i < 4; i++)
        ret |= box_trouble.encoder_fails[i] || box_trouble.encoder_stuck[i] ||
               box_trouble.encoder_holds[i];
    return ret;
}

/* ---- chains ---- */

static int luma_of(int chain)
{
    return FIRST_LUMA + LUMA_STEP * (chain % BOX_CHAINS);
}

int check_chain(const char *what, char *ret, size_t size)
{
    const int chain = ++chains.newest;
    const int v = ((luma_of(chain) - 16) * 255 + 109) / 219;
    const bool faces = !strcmp(what, "faces"), bad = !strcmp(what, "bad");
    int n = snprintf(ret, size, "solid=color=#%02x%02x%02x:region=rect 0 0 50%% 100%%", v, v, v);
    if (faces)
        n +=
            snprintf(ret + n, size - (size_t)n, ",solid=color=#%02x%02x%02x:region=faces", v, v, v);
    if (bad)
        snprintf(ret + n, size - (size_t)n, ",solid=black:region=mask /nowhere.png");
    chains.faces[chain % BOX_CHAINS] = faces;
    chains.bad[chain % BOX_CHAINS] = bad;
    return chain;
}

/* ---- what a frame shows ---- */

struct luma {
    const uint8_t *data;
    int linesize, width, height;
    bool full;
};

/* In the middle of a cell of box.h's sketch, as limited range. */
static int sample(const struct luma *p, int x, int y)
{
    const int at = p->data[(ptrdiff_t)(p->height * (2 * y + 1) / 6) * p->linesize +
                           p->width * (2 * x + 1) / 8];
    return p->full ? 16 + at * 219 / 255 : at;
}

static bool is_about(int a, int b, int by)
{
    return a - b <= by && b - a <= by;
}

/* The number that a frame shows, or -1: none, or `paint`, the luma of a filter, may have hidden
 * some of it. */
static int64_t read_number(const struct luma *p, int paint)
{
    int digit[4];
    for (int i = 0; i < 4; i++) {
        const int at = sample(p, 2 + i % 2, i / 2);
        digit[i] = (at - 32 + 12) / 24;
        if (at < 20 || digit[i] > 7 || is_about(at, paint, 9) ||
            !is_about(at, 32 + 24 * digit[i], 9))
            return -1;
    }
    if ((digit[0] + digit[1] + digit[2] + 5) % 8 != digit[3])
        return -1;
    const int64_t n = digit[0] | digit[1] << 3 | digit[2] << 6;
    return box_given - ((box_given - n) % BOX_NUMBERS + BOX_NUMBERS) % BOX_NUMBERS;
}

/* The chain that filtered a frame. */
static int read_chain(const struct luma *p, const char *who)
{
    const int at = (sample(p, 0, 1) + sample(p, 1, 1)) / 2;
    const int mark = (at - FIRST_LUMA + LUMA_STEP / 2) / LUMA_STEP;
    if (at > BOX_UNFILTERED - 5)
        world_fail("%s shows an unfiltered frame", who);
    if (mark >= BOX_CHAINS || !is_about(at, luma_of(mark), 3))
        world_fail("%s shows a frame that no chain has painted", who);
    return chains.newest - ((chains.newest - mark) % BOX_CHAINS + BOX_CHAINS) % BOX_CHAINS;
}

static int judge_frame(const struct luma *p, const char *who, int64_t *ret_number)
{
    const int chain = read_chain(p, who);
    const bool faces = chains.faces[chain % BOX_CHAINS];
    *ret_number = read_number(p, faces ? luma_of(chain) : 0);
    if (chain < check.confirmed)
        world_fail("%s shows a frame of a chain older than the one that was confirmed", who);
    if (chains.bad[chain % BOX_CHAINS])
        world_fail("%s shows a frame of a chain that was refused", who);
    if (*ret_number < 0 && !faces)
        world_say("its cells are %d %d %d %d", sample(p, 2, 0), sample(p, 3, 0), sample(p, 2, 1),
                  sample(p, 3, 1));
    if (*ret_number < 0 && !faces)
        world_fail("%s shows a frame without its number", who);
    if (*ret_number >= 0 && *ret_number <= check.given_first)
        world_fail("%s shows a frame of another stream", who);
    if (faces && *ret_number >= 0 &&
        !is_about(sample(p, *ret_number / 8 % 2 ? 3 : 2, 2), luma_of(chain), 12))
        world_fail("%s shows a face", who);
    return chain;
}

/* Decodes an image; the caller frees it. */
static AVFrame *decode(const AVPacket *pkt, enum AVCodecID codec, const char *who)
{
    AVCodecContext *c = avcodec_alloc_context3(avcodec_find_decoder(codec));
    AVFrame *f = av_frame_alloc();
    c->thread_count = 1;
    if (avcodec_open2(c, NULL, NULL) < 0 || avcodec_send_packet(c, pkt) < 0 ||
        avcodec_receive_frame(c, f) < 0)
        world_fail("%s is not an image", who);
    avcodec_free_context(&c);
    return f;
}

/* Only JPEG and raw frames are looked at; small images are too coarse. */
static bool can_read(const struct encoding *e)
{
    if (e == &check.encoding[check.stream.encodings - HALO_VIEWS + HALO_VIEW_TILE])
        return false;
    return e->codec == AV_CODEC_ID_RAWVIDEO || e->codec == AV_CODEC_ID_MJPEG;
}

static struct luma luma_of_image(const AVFrame *f)
{
    return (struct luma){f->data[0], f->linesize[0], f->width, f->height,
                         f->color_range != AVCOL_RANGE_MPEG};
}

static AVFrame *luma_in(const struct encoding *e, const AVPacket *pkt, struct luma *ret)
{
    *ret = (struct luma){pkt->data, e->width, e->width, e->height, false};
    if (e->codec == AV_CODEC_ID_RAWVIDEO)
        return NULL;
    AVFrame *f = decode(pkt, e->codec, "a packet");
    *ret = luma_of_image(f);
    return f;
}

/* ---- events ---- */

static void say(const char *what)
{
    if (check.muted)
        world_fail("an event (%s) after the stream was abandoned", what);
    if (check.done)
        world_fail("an event (%s) after the stream's end", what);
    if (strcmp(what, "packet") != 0)
        box_react();
}

static void on_state(void *arg, enum halo_live_state state, const struct halo_error *err)
{
    (void)arg;
    say("state");
    world_say("state %s: %s", halo_live_state_names[state], err->text);
    if (check_ended())
        world_fail("a state after the last one");
    if ((err->code != 0) != (state == HALO_LIVE_WAITING || state == HALO_LIVE_FAILED))
        world_fail("a state whose error does not belong to it");
    if (state == HALO_LIVE_FAILED)
        world_fail("the stream has failed, and nothing was final");
    if (state == HALO_LIVE_RUNNING && check.source_lost && box_given <= check.given)
        world_fail("the stream runs again by a frame from before");
    for (int i = 0; state == HALO_LIVE_RUNNING && i < check.stream.encodings; i++)
        if (!check.encoding[i].begun && !check.encoding[i].failed && seconds_since(check.began) < 5)
            world_fail("a frame has passed the filters before all encodings have begun");
    box_lost = 0;
    if (state != check.state)
        check.since = box_now();
    check.state = state;
    check.given = box_given;
    check.source_lost =
        state == HALO_LIVE_WAITING && (strstr(err->text, "nobody") || strstr(err->text, "broke"));
}

static void on_begin(void *arg, int encoding, const struct halo_encoding_parameters *begin)
{
    struct encoding *e = &check.encoding[encoding];
    (void)arg;
    say("begin");
    world_say("begin %d: %s %dx%d", encoding, avcodec_get_name(begin->video->codec_id),
              begin->video->width, begin->video->height);
    if (begin->card->size == 0 || begin->solid->size == 0)
        world_fail("an encoding begins without its cards");
    e->codec = begin->video->codec_id;
    e->width = begin->video->width;
    e->height = begin->video->height;
    e->begun_at = e->begun++ ? e->begun_at : box_now();
}

/* What holds for packets and cards. */
static struct encoding *take(int encoding, const AVPacket *pkt, const char *what)
{
    struct encoding *e = &check.encoding[encoding];
    int64_t *last = &e->ts[pkt->stream_index];
    say(what);
    world_say("%s %d at %lld%s", what, encoding, (long long)pkt->dts,
              pkt->flags & AV_PKT_FLAG_KEY ? ", key" : "");
    if (check_ended())
        world_fail("a %s after the stream's last state", what);
    if (!e->begun)
        world_fail("a %s of an encoding that has not begun", what);
    if (pkt->dts <= *last)
        world_fail("the times of an encoding do not grow");
    *last = pkt->dts;
    if (!e->watched && !check.stream.writes[encoding < 4 ? encoding : 3] &&
        seconds_since(e->watched_at) * 1e3 > (double)(1000 + 5 * slow_ms()) &&
        seconds_since(check.troubled) > 5)
        world_fail("a %s of an encoding that nobody watches", what);
    return e;
}

static void on_packet(void *arg, int encoding, const AVPacket *pkt)
{
    struct encoding *e = take(encoding, pkt, "packet");
    struct luma luma;
    int64_t number;
    (void)arg;
    check.packets++;
    e->packet_at = box_now();
    if (!can_read(e))
        return;
    AVFrame *f = luma_in(e, pkt, &luma);
    const int chain = judge_frame(&luma, "a packet", &number);
    av_frame_free(&f);
    world_say("it shows frame %lld of chain %d", (long long)number, chain);
    if (chain < e->chain)
        world_fail("a packet shows an older chain than the one before");
    if (number >= 0 && number <= e->number)
        world_fail("a packet shows an older frame than the one before");
    if (!check.stream.bounded && encoding < 4 && check.stream.writes[encoding] && number >= 0 &&
        e->number && !check.may_lose && number != e->number + e->unknown + 1)
        world_fail("a frame of a file is missing");
    e->chain = chain;
    e->unknown = number < 0 ? e->unknown + 1 : 0;
    e->number = number < 0 ? e->number : number;
}

/* Cards come twice a second; one at once after a change of state or of viewers, and those that an
 * encoder held (events.c) from before. */
static void check_row(struct encoding *e)
{
    int64_t from = check.since > e->begun_at ? check.since : e->begun_at;
    for (int i = 0; i < check.stream.encodings; i++)
        from = check.encoding[i].watched_at > from ? check.encoding[i].watched_at : from;
    if (e->row_at != from)
        e->row = 0;
    e->row_at = from;
    if (++e->row > seconds_since(from) / 0.5 + 2 + 3)
        world_fail("cards come more often than twice a second");
}

static void on_card(void *arg, int encoding, const AVPacket *pkt)
{
    struct encoding *e = take(encoding, pkt, "card");
    struct luma luma;
    (void)arg;
    check.cards++;
    e->card_at = box_now();
    check_row(e);
    if (!(pkt->flags & AV_PKT_FLAG_KEY))
        world_fail("a card is not a keyframe");
    if (check.stream.on_error == HALO_ON_ERROR_STOP || !check.stream.bounded)
        world_fail("a card where there should be none");
    if (check.state == HALO_LIVE_RUNNING &&
        seconds_since(check.since) * 1e3 > (double)(500 + 6 * slow_ms()) &&
        seconds_since(check.troubled) > 5)
        world_fail("a card while the stream runs");
    if (check.state == HALO_LIVE_WAITING && check.stream.on_error == HALO_ON_ERROR_LAST &&
        check.packets > 0 && seconds_since(check.since) < check.stream.last_for - SLACK_MS / 1e3)
        world_fail("a card comes before the last frame was shown for its time");
    if (!can_read(e))
        return;
    AVFrame *f = luma_in(e, pkt, &luma);
    /* Words look like a number now and then, but no chain has painted the left half. */
    bool painted = true;
    for (int i = 0; i < 6; i++)
        painted &= is_about(sample(&luma, i % 2, i / 2), sample(&luma, 0, 0), 6);
    if (painted && read_number(&luma, 0) >= 0)
        world_fail("a card shows a frame");
    const int corner = sample(&luma, 0, 0);
    if (check.stream.on_error == HALO_ON_ERROR_SOLID ? corner > 32 : corner < 100 || corner > 156)
        world_fail("a card does not look as on_error says");
    av_frame_free(&f);
}

static void on_failed(void *arg, int encoding, const struct halo_error *err)
{
    (void)arg;
    say("failed");
    world_say("encoding %d has failed: %s", encoding, err->text);
    check.encoding[encoding].failed++;
    if (seconds_since(check.troubled) > 10 && !is_in_trouble())
        world_fail("an encoding fails for no reason");
}

static struct asked *answered(struct asked *list, uint64_t id, const char *what)
{
    for (int i = 0; i < ASKED; i++)
        if (list[i].at && list[i].id == id)
            return &list[i];
    world_fail("an answer to a %s that was not asked for, or has been answered", what);
}

static void on_set(void *arg, uint64_t id, const struct halo_error *err)
{
    (void)arg;
    say("set");
    struct asked *a = answered(check.set, id, "set");
    world_say("set %d of chain %d: %s", (int)id, a->chain, err ? err->text : "in force");
    if (!err && a->bad)
        world_fail("a chain that cannot be loaded is said to be in force");
    if (err && !a->bad && err->code == -ECANCELED)
        check.ending = check.ending ? check.ending : box_now();
    else if (err && !a->bad)
        world_fail("good filters were refused: %s", err->text);
    if (!err && a->chain > check.confirmed)
        check.confirmed = a->chain;
    a->at = 0;
}

static void on_camera(void *arg, const char *id)
{
    (void)arg, (void)id;
    world_fail("there is no camera");
}

static void on_snapshot(void *arg, uint64_t id, const AVPacket *image, const struct halo_error *err)
{
    (void)arg;
    say("snapshot");
    struct asked *a = answered(check.shot, id, "snapshot");
    world_say("snapshot %d: %s", (int)id, err ? err->text : "an image");
    if (!image == !err)
        world_fail("a snapshot is an image and an error, or neither");
    a->at = 0;
    if (!image)
        return;
    const bool png = image->size > 4 && !memcmp(image->data + 1, "PNG", 3);
    AVFrame *f = decode(image, png ? AV_CODEC_ID_PNG : AV_CODEC_ID_MJPEG, "a snapshot");
    int64_t number;
    if (!png && a->plain) {
        const struct luma luma = luma_of_image(f);
        const int chain = judge_frame(&luma, "a snapshot", &number);
        world_say("it shows frame %lld of chain %d", (long long)number, chain);
    }
    av_frame_free(&f);
}

static void on_want(void *arg, enum halo_find find)
{
    (void)arg;
    say("want");
    box_want(find);
}

static void on_unwanted(void *arg, enum halo_find find)
{
    (void)arg;
    say("unwanted");
    box_unwanted(find);
}

static void on_broken(void *arg, enum halo_find find, const char *why)
{
    (void)arg;
    say("broken");
    box_broken(find, why);
}

const struct halo_live_events box_events = {
    .state = on_state,
    .begin = on_begin,
    .packet = on_packet,
    .card = on_card,
    .failed = on_failed,
    .set = on_set,
    .camera = on_camera,
    .snapshot = on_snapshot,
    .detector = {on_want, on_broken, on_unwanted},
};

/* ---- what the loop does ---- */

void check_begin(const struct box_stream *stream, struct halo_live *live)
{
    memset(&check, 0, sizeof check);
    box_lost = 0;
    check.stream = *stream;
    check.live = live;
    check.exists = true;
    check.since = check.began = box_now();
    check.given_first = box_given;
    check.confirmed = chains.newest;
    for (int i = 0; i < HALO_MAX_ENCODINGS; i++)
        check.encoding[i].watched_at = box_now();
}

static void ask(struct asked *list, struct asked what)
{
    int at = 0;
    while (list[at].at)
        at++;
    list[at] = what;
}

void check_set(uint64_t id, int chain, bool bad)
{
    ask(check.set, (struct asked){.id = id, .at = box_now(), .chain = chain, .bad = bad});
}

int check_sets(void)
{
    int count = 0;
    for (int i = 0; i < ASKED; i++)
        count += check.set[i].at != 0;
    return count;
}

void check_unset(uint64_t id)
{
    answered(check.set, id, "set")->at = 0;
}

void check_snapshot(uint64_t id, bool plain)
{
    ask(check.shot, (struct asked){.id = id, .at = box_now(), .plain = plain});
}

void check_unshot(uint64_t id)
{
    answered(check.shot, id, "snapshot")->at = 0;
}

void check_watch(int encoding, bool watched)
{
    struct encoding *e = &check.encoding[encoding];
    if (e->watched != watched)
        e->watched_at = box_now();
    e->watched = watched;
}

void check_stop(void)
{
    check.stopped = box_now();
}

void check_mute(void)
{
    check.muted = true;
}

bool check_ended(void)
{
    return check.state == HALO_LIVE_ENDED || check.state == HALO_LIVE_FAILED;
}

static bool is_stuck(void)
{
    bool ret = false;
    for (int i = 0; i < 4; i++)
        ret |= box_trouble.encoder_stuck[i];
    return ret;
}

/* What had to wait for a call that hung needs some time after it. */
static bool was_stuck(void)
{
    if (is_stuck())
        check.stuck = box_now();
    return check.stuck && seconds_since(check.stuck) < 6;
}

static void check_answers(void)
{
    for (int i = 0; i < ASKED; i++) {
        const int64_t set = check.set[i].at, shot = check.shot[i].at;
        /* of each stage, so many frames may be slow before it */
        if (set && !was_stuck() &&
            seconds_since(set) * 1e3 > (double)(3000 + SLACK_MS + 12 * check.slow))
            world_fail("other filters are neither in force nor refused");
        /* the thread aside is slow by as much, with this one and one before it */
        if (shot && check.shot[i].plain && seconds_since(shot) * 1e3 > 2000 + 2 * SLACK_MS) {
            box_say_waits();
            world_fail("a snapshot takes longer than two seconds");
        }
    }
}

/* While the stream waits, who watches sees a card at once, and then twice a second. */
static void check_cards(void)
{
    const bool starts = check.state == HALO_LIVE_STARTING;
    const double first = starts                                        ? 1
                         : check.stream.on_error == HALO_ON_ERROR_LAST ? check.stream.last_for
                                                                       : 0.1;
    if ((check.state != HALO_LIVE_WAITING && !starts) || !check.stream.bounded ||
        check.stream.on_error == HALO_ON_ERROR_STOP || check.stopped ||
        seconds_since(check.troubled) < 6)
        return;
    for (int i = 0; i < check.stream.encodings; i++) {
        const struct encoding *e = &check.encoding[i];
        const double slack = SLACK_MS / 1e3 + 0.3;
        if (!e->begun || !e->watched || seconds_since(e->watched_at) < slack + 0.5 ||
            seconds_since(check.since) < first + slack + 0.5 ||
            seconds_since(e->begun_at) < first + slack + 0.5)
            continue;
        if (seconds_since(e->card_at) > 0.5 + slack)
            world_fail("the stream waits, and an encoding shows no card");
    }
}

void check_trouble(void)
{
    if (is_in_trouble())
        check.troubled = box_now();
    check.may_lose |= is_in_trouble();
}

void check_tick(void)
{
    struct halo_error err = {0};
    struct halo_live_stats stats;
    if (!check.exists)
        return;
    check_trouble();
    halo_live_stats(check.live, &stats);
    if (halo_live_is_stuck(check.live, &err) && !is_stuck())
        world_fail("the stream is said to be stuck: %s", err.text);
    if (box_lost && check.state == HALO_LIVE_RUNNING && !check.stopped &&
        seconds_since(box_lost) > SLACK_MS / 1e3 + 0.3)
        world_fail("a source that was lost is not told");
    if (box_stuck_since && seconds_since(box_stuck_since) > 10)
        world_fail("a call that does not come back is not noticed");
    const int64_t slow = slow_ms() + box_trouble.closing;
    const int64_t judged = slow - box_trouble.detector_late; /* a stop does not wait for that */
    check.slow = slow > check.slow ? slow : check.slow;
    check.slow_stop = judged > check.slow_stop ? judged : check.slow_stop;
    check_answers();
    check_cards();
    for (int i = 0; i < 4 && i < check.stream.encodings; i++)
        if (box_encoders[i] && !check.encoding[i].watched && !check.stream.writes[i] &&
            seconds_since(check.encoding[i].watched_at) * 1e3 > (double)(2000 + 8 * check.slow) &&
            seconds_since(check.troubled) > 5)
            world_fail("an encoder stays open that nobody needs");
    if (check.ending && !was_stuck() &&
        seconds_since(check.ending) * 1e3 > (double)(2000 + 24 * check.slow_stop))
        world_fail("the stream says that it ends, and goes on");
    if (check.stopped && !was_stuck() &&
        seconds_since(check.stopped) * 1e3 > (double)(2000 + 24 * check.slow_stop)) {
        box_say_waits();
        world_fail("the stream does not stop");
    }
}

void check_quiet(void)
{
    check.may_lose = false;
    check.slow = check.slow_stop = 0;
    if (!check.exists || check_ended())
        return;
    if (check.state != HALO_LIVE_RUNNING)
        world_fail("everything works, but the stream does not run");
    for (int i = 0; i < check.stream.encodings; i++) {
        const struct encoding *e = &check.encoding[i];
        if (e->watched || (i < 4 && check.stream.writes[i])) {
            if (seconds_since(e->packet_at) > 2)
                world_fail("everything works, but an encoding has no packets");
        }
    }
    for (int i = 0; i < ASKED; i++)
        if (check.set[i].at || check.shot[i].at)
            world_fail("everything works, but something is not answered");
}

void check_done(void)
{
    struct halo_live_stats s;
    halo_live_stats(check.live, &s);
    for (int i = 0; i < ASKED && !check.muted; i++)
        if (check.set[i].at || check.shot[i].at)
            world_fail("the stream has ended without an answer");
    if (!check.muted && !check_ended())
        world_fail("the stream has ended without saying so");
    if (!check.muted && (s.encoded != check.packets || s.cards != check.cards))
        world_fail("not all packets or cards were counted");
    if (!check.muted && s.decoded != box_given - check.given_first)
        world_fail("not all decoded frames were counted");
    if (!check.muted && check.stream.chains == 0 &&
        s.filtered + s.dropped[HALO_DROP_LATE] + s.dropped[HALO_DROP_FILTER] != s.decoded)
        world_fail("frames were lost that were not counted");
    if (!check.stream.bounded && !check.stopped && s.dropped[HALO_DROP_LATE])
        world_fail("frames of a file were dropped");
    check.done = true;
}

void check_end(void)
{
    check.exists = false;
}
