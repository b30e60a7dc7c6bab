/* SPDX-License-Identifier: BSD-2-Clause test_strict [CHAINS]: what strict allows cannot be undone.
 * Chains are drawn by lot and filter a frame of noise, and an attacker who knows each of them,
 * its borders too, solves for the frame: the least squares of what came out and of contrast, by
 * conjugate gradients. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "pipeline/filter/privacy.h"
#include "tests/cmocka_all.h"

enum {
    SIDE = 20,
    SAMPLES = SIDE * SIDE,
    STEPS = 12,
    ROUNDS = 80,
    FEW = 30,
    FRAMES = 16,
    LARGE = 4096
};

static const double documented = 0.8; /* what may come back of luma (docs/filters.md) */
static int chains = FEW;

/* ---- by lot ---- */

static unsigned below(unsigned n)
{
    static unsigned long long state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static double between(double least, double most)
{
    return least + (most - least) * below(10001) / 10000;
}

__attribute__((format(printf, 2, 3))) static void say(char *text, const char *format, ...)
{
    const size_t at = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + at, HALO_MAX_CHAIN - at, format, args);
    va_end(args);
}

/* A part of each sample, and a part of the mean around it; or any weights. */
static void draw_mask(char *text)
{
    const int side = 2 * (int)below(below(2) ? 5 : 16) + 3, count = side * side;
    const double own = between(-1, 1) * (below(4) ? 1 : 0.01);
    const double rest = between(-1, 1) * (below(4) ? 1 : 0.01) / count;
    const bool any = below(3) == 0;
    say(text, "convolution=0rdiv=1:0bias=%g:0m='", (1 - own - rest * count) * 128);
    for (int i = 0; i < count; i++)
        say(text, "%.6g ", any ? between(-0.3, 1.3) / count : rest + (i == count / 2 ? own : 0));
    say(text, "'");
}

static void draw_filter(char *text)
{
    static const char *const borders[] = {"replicate", "reflect", "reflect101", "wrap", "constant"};
    const int kind = (int)below(8);
    if (kind == 0)
        say(text, "gblur=sigma=%g", between(0.3, 8));
    else if (kind == 1)
        say(text, "avgblur=sizeX=%u:sizeY=%u", below(15) + 1, below(15) + 1);
    else if (kind == 2)
        say(text, "boxblur=lr=%u:lp=%u", below(9) + 1, below(3) + 1);
    else if (kind == 3)
        say(text, "discblur=radius=%g", between(0.6, 14));
    else if (kind == 4)
        say(text, "pixelize=w=%u:h=%u", below(4) + 1, below(4) + 1);
    else if (kind == 5)
        say(text, "unsharp=la=%g:lx=%u:ly=%u", between(-1.5, 1.5), 2 * below(11) + 3,
            2 * below(11) + 3);
    else
        draw_mask(text);
    say(text, ":border=%s", borders[below(5)]);
}

static void draw_chain(char *text)
{
    const int count = 1 + (int)below(3);
    *text = '\0';
    for (int i = 0; i < count; i++) {
        say(text, "%s", i ? "," : "");
        draw_filter(text);
    }
}

/* ---- the chain, as its filters are defined and without rounding ---- */

struct step {
    float weight[SAMPLES][SAMPLES]; /* of each sample in each result */
    float plus[SAMPLES];
};

static struct step *step[STEPS];
static int steps;

/* What a sample outside counts for lies on the border, or is the border's value. */
static void add(struct step *s, const struct halo_conv *c, int to, int x, int y, double weight)
{
    const int u = halo_border_index(x, SIDE, c->border), v = halo_border_index(y, SIDE, c->border);
    if (u < 0 || v < 0)
        s->plus[to] += (float)(weight * c->border_value);
    else
        s->weight[to][v * SIDE + u] += (float)weight;
}

static double tap(const struct halo_conv *c, int i, int j)
{
    const int across = 2 * c->radius_x + 1, down = 2 * c->radius_y + 1;
    switch (c->kind) {
    case HALO_CONV_SEPARABLE:
        return ldexp(c->row[i], -c->row_bits) * ldexp(c->col[j], -c->col_bits);
    case HALO_CONV_BOX:
        return 1.0 / (across * down);
    default:
        return ldexp(c->mask[j * across + i], -c->mask_bits);
    }
}

static void add_step(const struct halo_conv *c)
{
    struct step *s = step[steps++];
    memset(s, 0, sizeof *s);
    for (int at = 0; at < SAMPLES; at++) {
        const int x = at % SIDE, y = at / SIDE;
        if (c->kind == HALO_CONV_PIXELIZE) {
            const int x0 = x / c->block_w * c->block_w, y0 = y / c->block_h * c->block_h;
            const int x1 = x0 + c->block_w < SIDE ? x0 + c->block_w : SIDE;
            const int y1 = y0 + c->block_h < SIDE ? y0 + c->block_h : SIDE;
            for (int v = y0; v < y1; v++)
                for (int u = x0; u < x1; u++)
                    s->weight[at][v * SIDE + u] = 1 / (float)((x1 - x0) * (y1 - y0));
            continue;
        }
        if (c->kind == HALO_CONV_DENSE)
            s->plus[at] = (float)(ldexp((double)c->bias, -c->mask_bits) - 0.5);
        for (int j = 0; j <= 2 * c->radius_y; j++)
            for (int i = 0; i <= 2 * c->radius_x; i++)
                add(s, c, at, x + i - c->radius_x, y + j - c->radius_y, tap(c, i, j));
    }
}

static void forward(float *v, bool plus)
{
    float next[SAMPLES];
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < SAMPLES; i++) {
            const float *restrict w = step[s]->weight[i];
            float sum = plus ? step[s]->plus[i] : 0;
            for (int k = 0; k < SAMPLES; k++)
                sum += w[k] * v[k];
            next[i] = sum;
        }
        memcpy(v, next, sizeof next);
    }
}

static void backward(float *v)
{
    float next[SAMPLES];
    for (int s = steps - 1; s >= 0; s--) {
        memset(next, 0, sizeof next);
        for (int i = 0; i < SAMPLES; i++) {
            const float *restrict w = step[s]->weight[i];
            for (int k = 0; k < SAMPLES; k++)
                next[k] += w[k] * v[i];
        }
        memcpy(v, next, sizeof next);
    }
}

/* ---- the attack ---- */

static double dot(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* x: the frame less its mean; y: what came out less what its mean would have been. The best that
 * is on the way, which is more than an attacker knows. */
static double recover(const float *x, const float *y, double penalty)
{
    float guess[SAMPLES] = {0}, rest[SAMPLES], way[SAMPLES], image[SAMPLES];
    double best = 0;
    memcpy(rest, y, sizeof rest);
    backward(rest);
    memcpy(way, rest, sizeof way);
    double now = dot(rest, rest);
    for (int round = 0; round < ROUNDS && now > 0; round++) {
        memcpy(image, way, sizeof image);
        forward(image, false);
        const double length = now / (dot(image, image) + penalty * dot(way, way));
        backward(image);
        double wrong = 0;
        for (int i = 0; i < SAMPLES; i++) {
            guess[i] += (float)length * way[i];
            rest[i] -= (float)(length * (image[i] + penalty * way[i]));
            wrong += (double)(guess[i] - x[i]) * (guess[i] - x[i]);
        }
        best = fmax(best, 1 - wrong / dot(x, x));
        const double next = dot(rest, rest);
        for (int i = 0; i < SAMPLES; i++)
            way[i] = rest[i] + (float)(next / now) * way[i];
        now = next;
    }
    return best;
}

/* ---- what halod does ---- */

static struct halo_backend *cpu;

static struct halo_plane plane_of(uint8_t *data)
{
    return (struct halo_plane){
        .data = data, .stride = SIDE, .width = SIDE, .height = SIDE, .channels = 1, .depth = 8};
}

/* Filters, and learns the steps. False: there are too many, or some are no convolution. */
static bool filter(const struct halo_planned_chain *planned, uint8_t *frame)
{
    static struct halo_plane_plan plan;
    uint8_t next[SAMPLES];
    steps = 0;
    for (int f = 0; f < planned->chain->count; f++) {
        plan = *planned->plan(planned->arg, f, 0);
        if (plan.conv.kind == HALO_CONV_COPY)
            continue;
        if (steps + plan.passes > STEPS || plan.conv.kind == HALO_CONV_DECIMATED)
            return false;
        for (int pass = 0; pass < plan.passes; pass++) {
            struct halo_job job = {.conv = &plan.conv,
                                   .strategy = halo_strategy_find(cpu->ops, "reference"),
                                   .src = plane_of(frame),
                                   .dst = plane_of(next)};
            assert_int_equal(halo_backend_convolve(cpu, &job, 1), 0);
            memcpy(frame, next, sizeof next);
            add_step(&plan.conv);
        }
    }
    return true;
}

static double attack(const struct halo_planned_chain *planned)
{
    static const double penalties[] = {0, 1e-5, 1e-3};
    uint8_t frame[SAMPLES];
    float x[SAMPLES], y[SAMPLES], flat[SAMPLES];
    double best = 0;
    for (int i = 0; i < SAMPLES; i++) {
        frame[i] = (uint8_t)below(256);
        x[i] = frame[i] - 127.5f;
        flat[i] = 127.5f;
    }
    if (!filter(planned, frame))
        return NAN;
    forward(flat, true);
    for (int i = 0; i < SAMPLES; i++)
        y[i] = frame[i] - flat[i];
    for (size_t i = 0; i < sizeof penalties / sizeof *penalties; i++)
        best = fmax(best, recover(x, y, penalties[i]));
    return best;
}

/* In one small frame, chance may add to what comes back. */
static double attack_on_average(const struct halo_planned_chain *planned)
{
    double sum = 0;
    for (int i = 0; i < FRAMES; i++)
        sum += attack(planned);
    return sum / FRAMES;
}

static void what_strict_allows_cannot_be_undone(void **state)
{
    static char text[HALO_MAX_CHAIN];
    int allowed = 0, refused = 0;
    double most = 0, least = 1;
    (void)state;
    for (int i = 0; i < chains; i++) {
        struct halo_planned_chain planned;
        struct halo_chain *chain;
        struct halo_error err = {0};
        bool hides, regions[HALO_MAX_FILTERS];
        draw_chain(text);
        if (halo_chain_parse(&chain, text, &err) < 0)
            fail_msg("%s: %s", text, err.text);
        assert_int_equal(halo_chain_plan_assumed(&planned, chain, LARGE, LARGE, false), 0);
        assert_int_equal(halo_privacy_hides(&planned, 0, &hides, regions, &err), 0);
        double found = attack(&planned);
        if (hides && found > documented)
            found = attack_on_average(&planned);
        allowed += hides;
        refused += !hides;
        if (hides && found > documented)
            fail_msg("allowed, and %.0f %% come back: %.300s", 100 * found, text);
        most = hides ? fmax(most, found) : most;
        least = hides ? least : fmin(least, found);
        free(planned.arg);
        halo_chain_destroy(chain);
    }
    printf("%d chains allowed, of which at most %.0f %% came back; of %d refused ones, at least "
           "%.0f %%\n",
           allowed, 100 * most, refused, 100 * least);
    assert_true(allowed > chains / 10 && refused > chains / 10);
}

static int setup(void **state)
{
    const struct halo_backend_settings settings = {.threads = 1};
    (void)state;
    for (int i = 0; i < STEPS; i++)
        if (!(step[i] = malloc(sizeof *step[i])))
            return -1;
    return halo_backend_open(halo_backend_find("cpu"), &settings, &cpu);
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < STEPS; i++)
        free(step[i]);
    halo_backend_close(cpu);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_strict_allows_cannot_be_undone)};
    if (argc > 1)
        chains = atoi(argv[1]);
    return cmocka_run_group_tests(tests, setup, teardown);
}
