/* SPDX-License-Identifier: BSD-2-Clause
 * Every strategy for networks against the reference: the same bits, or it fails. Also what the
 * loader refuses, and whether the reference computes what the layers are named after.
 *
 *     kernels-net [--seed N] [--count N]     so many networks of random layers */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/made_net.h"
#include "tests/kernels/picture.h"

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum { MAX_BATCH = 3, MAX_STRATEGIES = 16 };

/* What the reference makes of the first networks, on every machine. Another definition of a layer,
 * or other networks in made_net.c, change it. */
enum { KNOWN = 20 };
#define KNOWN_RESULTS 0x24a954dau

static long passed[MAX_STRATEGIES], failed;
static uint32_t results; /* a sum over all that the reference computed, to compare machines by */

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("FAIL ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    failed++;
}

static struct halo_net *load_made(const struct made_net *m)
{
    struct halo_net *net = NULL;
    struct halo_net_fault fault;
    size_t size;
    char *bytes = made_net_bytes(m, &size);
    if (halo_net_load(&net, bytes, size, &fault))
        fail("a made network: %s", fault.text);
    free(bytes);
    return net;
}

/* ---- strategies ---- */

/* Values in the declared range, and many at its ends. */
static void fill(struct halo_net_runner *r, int frame, uint64_t state)
{
    const struct halo_net_tensor *t = halo_net_input_shape(r);
    const float low = r->net->low, high = r->net->high;
    for (int p = 0; p < t->planes; p++) {
        float *plane = halo_net_input(r, frame) + (size_t)p * t->stride;
        for (int i = 0; i < t->width * t->height; i++) {
            const uint64_t random = next_random(&state);
            const float part = (float)(random >> 40) * 0x1p-24f;
            float value = low + (high - low) * part;
            if ((random & 15) == 0)
                value = low;
            else if ((random & 15) == 1)
                value = high;
            else if ((random & 15) == 2 && low <= 0)
                value = -0.0f;
            else if ((random & 15) == 3 && low <= 0)
                value = 1e-42f;
            plane[i] = value < low ? low : value > high ? high : value;
        }
    }
}

static struct halo_net_runner *open_and_run(const struct halo_net *net,
                                            const struct halo_net_settings *settings, uint64_t seed)
{
    struct halo_net_runner *r = NULL;
    struct halo_net_fault fault;
    if (halo_net_open(&r, net, settings, &fault)) {
        fail("open %s: %s", settings->strategy->name, fault.text);
        return NULL;
    }
    /* What an earlier frame left must not matter. */
    for (int round = 1; round >= 0; round--) {
        for (int f = 0; f < settings->batch; f++)
            fill(r, f, seed + (uint64_t)f + (uint64_t)round * 100 + 1);
        const int rc = halo_net_run(r, settings->batch);
        if (rc)
            fail("run %s: %s", settings->strategy->name, strerror(-rc));
    }
    return r;
}

/* Returns a text about the first difference, or NULL. */
static const char *compare(const struct halo_net_runner *a, const struct halo_net_runner *b,
                           char *text, size_t size)
{
    for (int f = 0; f < a->batch; f++)
        for (int o = 0; o < a->net->outputs; o++) {
            const struct halo_net_tensor *t = halo_net_output_shape(a, o);
            for (int p = 0; p < t->planes; p++) {
                const float *x = halo_net_output(a, f, o) + (size_t)p * t->stride;
                const float *y = halo_net_output(b, f, o) + (size_t)p * t->stride;
                const int n = t->width * t->height;
                if (!memcmp(x, y, (size_t)n * sizeof *x))
                    continue;
                int i = 0;
                while (!memcmp(&x[i], &y[i], sizeof *x))
                    i++;
                snprintf(text, size, "frame %d, output %s, plane %d of %d, %d,%d of %dx%d: %a %a",
                         f, a->net->output[o].name, p, t->planes, i % t->width, i / t->width,
                         t->width, t->height, (double)x[i], (double)y[i]);
                return text;
            }
        }
    return NULL;
}

static void check_values(const struct halo_net_runner *r, uint64_t seed)
{
    for (int f = 0; f < r->batch; f++)
        for (int o = 0; o < r->net->outputs; o++) {
            const struct halo_net_tensor *t = halo_net_output_shape(r, o);
            for (int p = 0; p < t->planes; p++)
                for (int i = 0; i < t->width * t->height; i++) {
                    const float v = halo_net_output(r, f, o)[(size_t)p * t->stride + (size_t)i];
                    uint32_t bits;
                    memcpy(&bits, &v, sizeof bits);
                    results = results * 69069 + bits;
                    if (!isfinite(v) || (v == 0 && signbit(v))) {
                        fail("seed %llu: the reference stored %a", (unsigned long long)seed,
                             (double)v);
                        return;
                    }
                }
        }
}

static void check_strategies(const struct made_net *m, uint64_t seed, int width, int height)
{
    static const size_t fuse[] = {1, SIZE_MAX, 0, 1};
    struct halo_net *net = load_made(m);
    if (!net)
        return;
    struct halo_net_settings settings = {halo_net_strategy_find("reference"), width, height,
                                         1 + (int)(seed % MAX_BATCH),         1,     0};
    struct halo_net_runner *want = open_and_run(net, &settings, seed);
    if (want)
        check_values(want, seed);
    for (int s = 0; want && halo_net_strategies[s]; s++) {
        settings.strategy = halo_net_strategies[s];
        if (!settings.strategy->can())
            continue;
        for (int way = 0; way < 4; way++) {
            char text[200];
            settings.threads = way % 2 ? 3 : 1;
            settings.fuse_from = fuse[way];
            struct halo_net_runner *got = open_and_run(net, &settings, seed);
            const char *difference = got ? compare(want, got, text, sizeof text) : "not opened";
            if (difference)
                fail("%s, %d threads, fuse_from %zu: --seed %llu --count 1 (%dx%d): %s",
                     settings.strategy->name, settings.threads, settings.fuse_from,
                     (unsigned long long)seed, width, height, difference);
            else
                passed[s]++;
            halo_net_close(got);
        }
    }
    halo_net_close(want);
    halo_net_destroy(net);
}

/* ---- what the reference computes ---- */

static int draw(uint64_t *state, int least, int most)
{
    return least + (int)(next_random(state) >> 33) % (most - least + 1);
}

/* A convolution of small integers, which are exact: where each input adds to. */
static void scatter(const struct halo_net_runner *r, long *sums)
{
    const struct halo_net_layer *l = &r->net->layers[1];
    const struct halo_net_tensor *in = &r->plan->tensors[0], *out = &r->plan->tensors[1];
    const bool each = l->kind == HALO_NET_DEPTHWISE, up = l->kind == HALO_NET_TRANSPOSED;
    const struct halo_net_tensor *few = up ? in : out, *many = up ? out : in;
    const int channels = each ? 1 : in->planes;
    for (int p = 0; p < out->planes; p++)
        for (int i = 0; i < out->width * out->height; i++)
            sums[p * out->width * out->height + i] = (long)l->bias[p];
    for (int p = 0; p < out->planes; p++)
        for (int c = 0; c < channels; c++)
            for (int at = 0; at < few->width * few->height * l->kernel_x * l->kernel_y; at++) {
                const int tap = at % (l->kernel_x * l->kernel_y);
                const int pixel = at / (l->kernel_x * l->kernel_y);
                const int fx = pixel % few->width, fy = pixel / few->width;
                const int mx = fx * l->stride_x - l->left + tap % l->kernel_x;
                const int my = fy * l->stride_y - l->top + tap / l->kernel_x;
                if (mx < 0 || my < 0 || mx >= many->width || my >= many->height)
                    continue;
                const int from = up ? fy * in->width + fx : my * in->width + mx;
                const int to = up ? my * out->width + mx : fy * out->width + fx;
                const float *plane = halo_net_input((struct halo_net_runner *)r, 0) +
                                     (size_t)(each ? p : c) * in->stride;
                const float w = l->weights[(p * channels + c) * l->kernel_x * l->kernel_y + tap];
                sums[p * out->width * out->height + to] += (long)(w * plane[from]);
            }
}

static void check_sums(uint64_t seed)
{
    static const char *const kinds[] = {"conv 0 planes 3", "depthwise 0", "transposed 0 planes 3"};
    uint64_t state = seed * 77 + 1;
    struct made_net m;
    const int kind = draw(&state, 0, 2), side_x = draw(&state, 1, 7), side_y = draw(&state, 1, 7);
    const int top = draw(&state, 0, side_y - 1), left = draw(&state, 0, side_x - 1);
    made_net_init(&m, seed, "input 2 planes other range -9 9 multiple 1");
    made_net_line(&m, "%s kernel %dx%d stride %dx%d pad %d,%d,%d,%d", kinds[kind], side_x, side_y,
                  draw(&state, 1, side_x < 4 ? side_x : 4),
                  draw(&state, 1, side_y < 4 ? side_y : 4), top, left, draw(&state, 0, side_y - 1),
                  draw(&state, 0, side_x - 1));
    made_net_line(&m, "output out 1");
    made_net_weights(&m, kind == 1 ? 2 : 3, side_x * side_y * (kind == 1 ? 1 : 2));
    for (size_t i = 0; i < m.weight_count; i++)
        m.weights[i] = (float)draw(&state, -9, 9);
    struct halo_net *net = load_made(&m);
    const struct halo_net_settings settings = {
        halo_net_strategy_find("reference"), draw(&state, 8, 12), draw(&state, 8, 12), 1, 1, 0};
    struct halo_net_runner *r = NULL;
    struct halo_net_fault fault;
    if (net && halo_net_open(&r, net, &settings, &fault) == 0) {
        const struct halo_net_tensor *in = &r->plan->tensors[0], *out = &r->plan->tensors[1];
        for (int p = 0; p < in->planes; p++)
            for (int i = 0; i < in->width * in->height; i++)
                halo_net_input(r, 0)[(size_t)p * in->stride + (size_t)i] =
                    (float)draw(&state, -9, 9);
        const int pixels = out->width * out->height;
        long *sums = calloc((size_t)(out->planes * pixels), sizeof *sums);
        if (!sums || halo_net_run(r, 1))
            abort();
        scatter(r, sums);
        for (int p = 0; p < out->planes; p++)
            for (int i = 0; i < pixels; i++)
                if (halo_net_output(r, 0, 0)[(size_t)p * out->stride + (size_t)i] !=
                    (float)sums[p * pixels + i]) {
                    fail("%s: sum %d of plane %d (seed %llu)", kinds[kind], i, p,
                         (unsigned long long)seed);
                    p = out->planes - 1;
                    break;
                }
        free(sums);
    }
    halo_net_close(r);
    halo_net_destroy(net);
    made_net_finish(&m);
}

/* sigmoid and hard-swish of many numbers, in units of the result's last place. */
static void check_functions(void)
{
    static const char *const acts[] = {"sigmoid", "hswish"};
    enum { SIDE = 512 };
    for (int a = 0; a < 2; a++) {
        struct made_net m;
        struct halo_net_runner *r = NULL;
        struct halo_net_fault fault;
        made_net_init(&m, 1, "input 1 planes gray range -80 80 multiple 1");
        made_net_line(&m, "act 0 %s", acts[a]);
        made_net_line(&m, "output out 1");
        struct halo_net *net = load_made(&m);
        const struct halo_net_settings settings = {NULL, SIDE, SIDE, 1, 1, 0};
        if (!net || halo_net_open(&r, net, &settings, &fault))
            abort();
        double worst = 0;
        for (int i = 0; i < SIDE * SIDE; i++)
            halo_net_input(r, 0)[i] = (float)(i - SIDE * SIDE / 2) * (79.0f / (SIDE * SIDE / 2));
        if (halo_net_run(r, 1))
            fail("run");
        for (int i = 0; i < SIDE * SIDE; i++) {
            const double x = (double)halo_net_input(r, 0)[i];
            const double want = a == 0 ? 1 / (1 + exp(-x)) : x * fmin(fmax(x + 3, 0), 6) / 6;
            const double error = fabs((double)halo_net_output(r, 0, 0)[i] - want) /
                                 fmax(fabs(want), 1e-6 * (a == 1));
            worst = error > worst ? error : worst;
        }
        if (!(worst < 4e-7))
            fail("%s: relative error %g", acts[a], worst);
        halo_net_close(r);
        halo_net_destroy(net);
        made_net_finish(&m);
    }
}

/* The processor's rounding and its treatment of denormal numbers, as the caller left them, change
 * nothing, and stay as they are. */
static void check_state(void)
{
#ifdef __x86_64__
    struct made_net m;
    made_net_init(&m, 1, "input 1 planes gray range 0 1 multiple 1");
    made_net_line(&m, "conv 0 planes 9 kernel 3x3 pad 1,1,1,1 act sigmoid");
    made_net_weights(&m, 9, 9);
    made_net_line(&m, "output out 1");
    for (size_t i = 0; i < m.weight_count; i++)
        m.weights[i] *= i % 3 ? 1 : 1e-38f;
    struct halo_net *net = load_made(&m);
    for (int s = 0; net && halo_net_strategies[s]; s++) {
        const struct halo_net_settings settings = {halo_net_strategies[s], 33, 9, 1, 2, 0};
        const unsigned strange = 0x1f80 | _MM_FLUSH_ZERO_ON | 0x40 | _MM_ROUND_UP;
        char text[200];
        if (!settings.strategy->can())
            continue;
        struct halo_net_runner *want = open_and_run(net, &settings, 1);
        struct halo_net_runner *got = open_and_run(net, &settings, 1);
        const unsigned before = _mm_getcsr();
        _mm_setcsr(strange);
        const int rc = halo_net_run(got, 1);
        const unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        if (rc || (after & ~0x3fu) != strange)
            fail("%s: the processor's state is %x, not %x", settings.strategy->name, after,
                 strange);
        if (compare(want, got, text, sizeof text))
            fail("%s with a strange state: %s", settings.strategy->name, text);
        halo_net_close(want);
        halo_net_close(got);
    }
    halo_net_destroy(net);
    made_net_finish(&m);
#endif
}

/* ---- what is refused ---- */

static void make_small(struct made_net *m)
{
    made_net_init(m, 1, "input 3 planes rgb range 0 255 multiple 1");
    made_net_line(m, "conv 0 planes 4 kernel 3x3 pad 1,1,1,1 act relu");
    made_net_weights(m, 4, 27);
    made_net_line(m, "depthwise 1 kernel 3x3 pad 1,1,1,1");
    made_net_weights(m, 4, 9);
    made_net_line(m, "add 1 2");
    made_net_line(m, "output out 3");
}

/* Loads bytes, which must be refused with a text that contains `want`. */
static void refused(const char *bytes, size_t size, const char *want, const char *what)
{
    struct halo_net *net = NULL;
    struct halo_net_fault fault = {""};
    char *copy = malloc(size ? size : 1); /* so that sanitizers see its end */
    if (!copy)
        abort();
    memcpy(copy, bytes, size);
    const int rc = halo_net_load(&net, copy, size, &fault);
    free(copy);
    if (rc != -EINVAL || net)
        fail("loaded: %s", what);
    else if (!strstr(fault.text, want) || strpbrk(fault.text, "\n\r"))
        fail("%s: \"%s\" does not contain \"%s\"", what, fault.text, want);
    halo_net_destroy(net);
}

static void check_edits(void)
{
    static const struct {
        const char *from, *to, *want;
    } edits[] = {
        {"halonet 1", "halonet 2", "line 1: must be \"halonet 1\""},
        {"name made", "name Made", "line 2: the name"},
        {"licence none\n", "", "must be \"licence\""},
        {"none", "no\tne", "not printable"},
        {"none", "no  ne", "single blanks"},
        {"input 3 planes rgb", "input 2 planes rgb", "rgb needs 3 planes"},
        {"rgb", "xyz", "not \"xyz\""},
        {"range 0 255", "range 255 0", "ends before it begins"},
        {"range 0 255", "range 0 1e3", "not \"1e3\""},
        {"range 0 255", "range 0 nan", "not \"nan\""},
        {"range 0 255", "range 0 1234567890123456", "must be a number"},
        {"multiple 1", "size 0x5", "WIDTHxHEIGHT"},
        {"multiple 1", "multiple 1 1", "unexpected: \"1\""},
        {"conv 0", "conv 1", "must be 0 to 0, not \"1\""},
        {"conv 0", "conv 99999999999", "must be 0 to 0"},
        {"conv 0", "conv", "conv needs 1 tensor"},
        {"add 1 2", "add 1 3", "must be 0 to 2"},
        {"add 1 2", "add 1", "add needs 2 tensors"},
        {"add 1 2", "add 0 1", "tensors of 3 and 4 planes"},
        {"add 1 2", "add 1 2 pad 1,1,1,1", "add has no \"pad\""},
        {"add 1 2", "resize 1 mode bilinear", "either \"by\" or \"to\""},
        {"add 1 2", "resize 1 mode bilinear by 2x2 to 1", "either \"by\" or \"to\""},
        {"add 1 2", "depth_to_space 1 block 3", "no multiple of 9"},
        {"add 1 2", "pad 1", "needs \"planes\" or \"pad\""},
        {"add 1 2", "pad 1 planes 3", "fewer planes"},
        {"add 1 2", "act 1", "unknown activation"},
        {"add 1 2", "concat 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "concat has no \"1\""},
        {"conv 0", "dense 0", "unknown layer \"dense\""},
        {"planes 4 ", "planes 4097 ", "planes must be 1 to 4096"},
        {"planes 4 ", "planes 4 planes 4 ", "planes is given twice"},
        {"planes 4 ", "planes 3 ", "the layers need"},
        {"planes 4 ", "", "conv needs \"planes\""},
        {"kernel 3x3 pad 1,1,1,1 act", "kernel 9x9 act", "1 to 7"},
        {"kernel 3x3 pad 1,1,1,1 act", "kernel 3 act", "WIDTHxHEIGHT"},
        {"depthwise 1 kernel 3x3 ", "depthwise 1 ", "needs \"kernel\""},
        {"pad 1,1,1,1 act", "pad 1,1,1 act", "TOP,LEFT,BOTTOM,RIGHT"},
        {"pad 1,1,1,1 act", "pad 3,1,1,1 act", "smaller than the kernel"},
        {"act relu", "act relux", "unknown activation"},
        {"act relu", "act clamp 3 2", "ends before it begins"},
        {"act relu", "stride 5x1", "1 to 4"},
        {"output out 3", "output out 4", "must be 1 to 3"},
        {"output out 3", "output out 0", "must be 1 to 3"},
        {"output out 3", "output Out 3", "not \"Out\""},
        {"output out 3", "output out 3\noutput out 3", "two outputs"},
        {"output out 3", "output out 3\nadd 1 2", "must follow an output"},
        {"output out 3\n", "", "no output"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct made_net m;
        make_small(&m);
        char *head = calloc(1, m.head_size + 1);
        if (!head)
            abort();
        memcpy(head, m.head, m.head_size);
        const char *at = strstr(head, edits[i].from);
        if (!at)
            abort();
        char *edited = NULL;
        if (asprintf(&edited, "%.*s%s%s", (int)(at - head), head, edits[i].to,
                     at + strlen(edits[i].from)) < 0)
            abort();
        free(m.head);
        m.head = edited;
        m.head_size = strlen(edited);
        size_t size;
        char *bytes = made_net_bytes(&m, &size);
        refused(bytes, size, edits[i].want, edits[i].to);
        free(bytes);
        free(head);
        made_net_finish(&m);
    }
}

static void check_damage(void)
{
    struct made_net m;
    size_t size;
    make_small(&m);
    char *bytes = made_net_bytes(&m, &size);
    for (size_t length = 0; length < size; length++)
        refused(bytes, length, "", "a part of the file");
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 1 << i % 8;
        refused(bytes, size, "", "a damaged file");
        bytes[i] ^= 1 << i % 8;
    }
    free(bytes);
    static const struct {
        float weight;
        const char *want;
    } weights[] = {{NAN, "not a number"},
                   {INFINITY, "infinite"},
                   {3e38f, "layer 1: plane 0 could overflow"},
                   {-3e38f, "layer 1: plane 0 could overflow"}};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        m.weights[4] = weights[i].weight;
        bytes = made_net_bytes(&m, &size);
        refused(bytes, size, weights[i].want, "a weight");
        free(bytes);
    }
    made_net_finish(&m);
}

static void check_plans(void)
{
    static const struct {
        const char *input, *line;
        int width, height;
        const char *want; /* NULL: it is taken */
    } plans[] = {
        {"multiple 8", "act 0 relu", 16, 8, NULL},
        {"multiple 8", "act 0 relu", 16, 9, "no multiples of 8"},
        {"multiple 1", "act 0 relu", 0, 9, "sides must be"},
        {"multiple 1", "act 0 relu", 9, 20000, "sides must be"},
        {"size 9x8", "act 0 relu", 8, 9, "frames of 9x8"},
        {"multiple 1", "maxpool 0 kernel 3x3", 2, 9, "its result is empty"},
        {"multiple 1", "resize 0 mode nearest by 16x16", 1100, 1, "its result is too large"},
        {"multiple 1", "pad 0 planes 4096", 16384, 16384, "its result is too large"},
        {"multiple 1", "act 0 relu", 16384, 16384, "floats of memory"},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct made_net m;
        struct halo_net_fault fault = {""};
        struct halo_net_plan *plan = NULL;
        char input[80];
        snprintf(input, sizeof input, "input 1 planes gray range 0 1 %s", plans[i].input);
        made_net_init(&m, 1, input);
        made_net_line(&m, "%s", plans[i].line);
        made_net_line(&m, "output out 1");
        struct halo_net *net = load_made(&m);
        const int rc = halo_net_plan_create(&plan, net, plans[i].width, plans[i].height, 1, &fault);
        if (plans[i].want ? rc != -EINVAL || !strstr(fault.text, plans[i].want) : rc)
            fail("%s of %dx%d: %d, %s", plans[i].line, plans[i].width, plans[i].height, rc,
                 fault.text);
        halo_net_plan_destroy(plan);
        halo_net_destroy(net);
        made_net_finish(&m);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    int count = 200;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed"))
            seed = strtoull(argv[i + 1], NULL, 0);
        else if (!strcmp(argv[i], "--count"))
            count = atoi(argv[i + 1]);
    }
    check_edits();
    check_damage();
    check_plans();
    check_functions();
    check_state();
    for (int i = 0; i < 100; i++)
        check_sums((uint64_t)i);
    for (int i = 0; i < count; i++) {
        struct made_net m;
        int width, height;
        made_net_random(&m, seed + (uint64_t)i, &width, &height);
        check_strategies(&m, seed + (uint64_t)i, width, height);
        made_net_finish(&m);
        if (seed == 1 && i + 1 == KNOWN && results != KNOWN_RESULTS)
            fail("the reference computed %08x, and %08x on other machines", (unsigned)results,
                 KNOWN_RESULTS);
    }
    for (int s = 0; halo_net_strategies[s]; s++)
        printf("%s: %ld passed\n", halo_net_strategies[s]->name, passed[s]);
    printf("the reference's results: %08x\n", (unsigned)results);
    printf("%ld failed\n", failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
