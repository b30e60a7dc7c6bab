/* SPDX-License-Identifier: BSD-2-Clause
 * Networks for tests. */
#include "tests/kernels/made_net.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/picture.h"

static void *grown(void *memory, size_t size)
{
    memory = realloc(memory, size);
    if (!memory)
        abort();
    return memory;
}

void made_net_init(struct made_net *m, uint64_t seed, const char *input)
{
    *m = (struct made_net){.state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15)};
    made_net_line(m, "halonet 1");
    made_net_line(m, "name made");
    made_net_line(m, "licence none");
    made_net_line(m, "source seed %llu", (unsigned long long)seed);
    made_net_line(m, "%s", input);
}

void made_net_finish(struct made_net *m)
{
    free(m->head);
    free(m->weights);
}

void made_net_line(struct made_net *m, const char *format, ...)
{
    char line[300];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    m->head = grown(m->head, m->head_size + (size_t)length + 1);
    memcpy(m->head + m->head_size, line, (size_t)length);
    m->head_size += (size_t)length + 1;
    m->head[m->head_size - 1] = '\n';
}

static float random_weight(uint64_t *state, float scale)
{
    const uint64_t r = next_random(state);
    const float sign = r & 1 ? scale : -scale;
    switch (r >> 8 & 63) {
    case 0:
        return 0.0f;
    case 1:
        return -0.0f;
    case 2:
        return sign * 1e-41f; /* a denormal number */
    case 3:
        return sign * 8;
    default:
        return sign * (float)(r >> 40) * 0x1p-23f;
    }
}

void made_net_weights(struct made_net *m, int planes, int each)
{
    const size_t count = (size_t)planes * ((size_t)each + 1);
    const float scale = 1.2f / sqrtf((float)each);
    m->weights = grown(m->weights, (m->weight_count + count) * sizeof *m->weights);
    for (size_t i = 0; i < count; i++)
        m->weights[m->weight_count++] =
            m->tame ? scale * ((float)(next_random(&m->state) >> 40) * 0x1p-23f - 1.0f)
                    : random_weight(&m->state, scale);
    /* Planes of which nothing is left but -0. */
    float *const bias = m->weights + m->weight_count - count, *const w = bias + planes;
    for (int p = 0; p < planes && !m->tame; p++)
        if (next_random(&m->state) >> 61 == 0)
            for (int i = -1; i < each; i++)
                *(i < 0 ? &bias[p] : &w[p * each + i]) = -0.0f;
}

static uint32_t crc(uint32_t sum, const char *bytes, size_t size)
{
    sum = ~sum;
    for (size_t i = 0; i < size; i++) {
        sum ^= (uint8_t)bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 1 ? sum >> 1 ^ UINT32_C(0xedb88320) : sum >> 1;
    }
    return ~sum;
}

char *made_net_bytes(const struct made_net *m, size_t *ret_size)
{
    const size_t weights = m->weight_count * sizeof *m->weights;
    char line[60];
    char *bytes = grown(NULL, m->head_size + sizeof line + weights);
    memcpy(bytes, m->head, m->head_size);
    uint32_t sum = crc(crc(0, bytes, m->head_size), "\n", 1);
    sum = weights ? crc(sum, (const char *)m->weights, weights) : sum;
    const int length = snprintf(line, sizeof line, "weights %zu %08x\n\n", weights, (unsigned)sum);
    memcpy(bytes + m->head_size, line, (size_t)length);
    if (weights)
        memcpy(bytes + m->head_size + length, m->weights, weights);
    *ret_size = m->head_size + (size_t)length + weights;
    return bytes;
}

/* ---- at random ---- */

static int draw(struct made_net *m, int least, int most)
{
    return least + (int)(next_random(&m->state) >> 33) % (most - least + 1);
}

/* So that arguments are drawn in the same order by every compiler. */
struct draws {
    int a, b, c, d, e;
};

static struct draws draw_five(struct made_net *m, const int most[5])
{
    struct draws ret;
    ret.a = draw(m, 0, most[0]);
    ret.b = draw(m, 0, most[1]);
    ret.c = draw(m, 0, most[2]);
    ret.d = draw(m, 0, most[3]);
    ret.e = draw(m, 0, most[4]);
    return ret;
}

/* Loads what is there, with the last layer as output, and plans it. False: it is refused. */
static bool works(const struct made_net *m, int layers, int width, int height,
                  struct halo_net_plan **ret, struct halo_net **ret_net)
{
    struct made_net whole = *m;
    struct halo_net_fault fault;
    size_t size;
    whole.head = grown(NULL, m->head_size);
    memcpy(whole.head, m->head, m->head_size);
    made_net_line(&whole, "output last %d", layers);
    char *bytes = made_net_bytes(&whole, &size);
    bool ok = halo_net_load(ret_net, bytes, size, &fault) == 0;
    if (ok && halo_net_plan_create(ret, *ret_net, width, height, SIZE_MAX, &fault)) {
        halo_net_destroy(*ret_net);
        ok = false;
    }
    free(whole.head);
    free(bytes);
    return ok;
}

/* Another tensor of the same size and planes as tensor t; or 1x1, if there is one. */
static int partner(struct made_net *m, const struct halo_net_plan *plan, int t, bool planes)
{
    const struct halo_net_tensor *like = &plan->tensors[t];
    int found = t;
    for (int i = 0, seen = 0; i < plan->net->tensors; i++) {
        const struct halo_net_tensor *other = &plan->tensors[i];
        const bool same = other->width == like->width && other->height == like->height;
        const bool one = planes && other->width == 1 && other->height == 1;
        if ((same || one) && (!planes || other->planes == like->planes) && draw(m, 0, seen++) == 0)
            found = i;
    }
    return found;
}

static void random_act(struct made_net *m, char *to, size_t size, int planes)
{
    static const char *const acts[] = {
        "",          " act none",      " act relu",   " act relu6",   " act clamp -0.5 2.25",
        " act relu", " act leaky 0.1", " act hswish", " act sigmoid", " act leaky -2",
    };
    const bool softmax = planes % 2 == 0 && draw(m, 0, 9) == 0;
    snprintf(to, size, "%s",
             softmax ? " act softmax2" : acts[draw(m, 0, sizeof acts / sizeof *acts - 1)]);
}

/* Kernel, stride and pads; returns the number of taps. */
static int random_window(struct made_net *m, char *to, size_t size, bool pointwise)
{
    static const int sides[] = {1, 3, 3, 5, 2, 7, 4, 6};
    int x = sides[draw(m, 0, 7)], y = draw(m, 0, 3) ? x : sides[draw(m, 0, 7)];
    int sx = draw(m, 0, 5) ? draw(m, 1, 2) : draw(m, 1, 4);
    int sy = draw(m, 0, 5) ? sx : draw(m, 1, 4);
    if (pointwise)
        x = y = sx = sy = 1;
    const struct draws pads = draw_five(m, (int[]){y - 1, x - 1, y - 1, x - 1, 0});
    snprintf(to, size, " kernel %dx%d stride %dx%d pad %d,%d,%d,%d", x, y, sx, sy, pads.a, pads.b,
             pads.c, pads.d);
    return x * y;
}

static void random_layer(struct made_net *m, const struct halo_net_plan *plan)
{
    const int tensors = plan->net->tensors;
    const int t = draw(m, 0, 3) ? tensors - 1 : draw(m, 0, tensors - 1);
    const int planes = plan->tensors[t].planes;
    int more = draw(m, 1, draw(m, 0, 3) ? 12 : 70);
    char window[100], act[40];
    random_act(m, act, sizeof act, planes);
    switch (draw(m, 0, 15)) {
    case 0:
    case 1:
    case 2:
    case 3: {
        const int taps = random_window(m, window, sizeof window, draw(m, 0, 1));
        random_act(m, act, sizeof act, more);
        made_net_line(m, "conv %d planes %d%s%s", t, more, window, act);
        made_net_weights(m, more, planes * taps);
        break;
    }
    case 4:
    case 5:
    case 6: {
        const int taps = random_window(m, window, sizeof window, false);
        made_net_line(m, "depthwise %d%s%s", t, window, act);
        made_net_weights(m, planes, taps);
        break;
    }
    case 7: {
        const int taps = random_window(m, window, sizeof window, false);
        random_act(m, act, sizeof act, more);
        made_net_line(m, "transposed %d planes %d%s%s", t, more, window, act);
        made_net_weights(m, more, planes * taps);
        break;
    }
    case 8: {
        const char *kind = draw(m, 0, 3) ? "add" : "mul";
        made_net_line(m, "%s %d %d%s", kind, t, partner(m, plan, t, true), act);
        break;
    }
    case 9: {
        const int second = partner(m, plan, t, false);
        made_net_line(m, "concat %d %d %d", t, second, partner(m, plan, t, false));
        break;
    }
    case 10: {
        const struct draws pads = draw_five(m, (int[]){2, 2, 2, 2, 3});
        made_net_line(m, "pad %d planes %d pad %d,%d,%d,%d", t, planes + pads.e, pads.a, pads.b,
                      pads.c, pads.d);
        break;
    }
    case 11:
        random_window(m, window, sizeof window, false);
        made_net_line(m, "maxpool %d%s", t, window);
        break;
    case 12:
        made_net_line(m, "mean %d%s", t, act);
        break;
    case 13: {
        const struct draws how = draw_five(m, (int[]){2, 2, 2, 1, tensors - 1});
        const char *mode = how.a ? "bilinear" : "nearest";
        if (how.d)
            made_net_line(m, "resize %d mode %s by %dx%d%s", t, mode, how.b + 1, how.c + 1, act);
        else
            made_net_line(m, "resize %d mode %s to %d", t, mode, how.e);
        break;
    }
    case 14:
        made_net_line(m, "depth_to_space %d block %d", t, draw(m, 2, 3));
        break;
    case 15: /* what is run together */
        more = draw(m, 1, 40);
        made_net_line(m, "conv %d planes %d kernel 1x1 act relu", t, more);
        made_net_weights(m, more, planes);
        made_net_line(m, "depthwise %d kernel 3x3 pad 1,1,1,1 act relu6", tensors);
        made_net_weights(m, more, 9);
        made_net_line(m, "conv %d planes %d kernel 1x1", tensors + 1, planes);
        made_net_weights(m, planes, more);
        made_net_line(m, "add %d %d%s", draw(m, 0, 1) ? t : tensors + 2, tensors + 2, act);
        break;
    }
}

void made_net_random(struct made_net *m, uint64_t seed, int *ret_width, int *ret_height)
{
    static const char *const ranges[] = {"0 255", "-1 1", "0 1", "-100000000000 1000000000000"};
    struct halo_net_plan *plan;
    struct halo_net *net;
    char input[100];
    made_net_init(m, seed, "");
    m->head_size--; /* the input's line, at last */
    int planes = draw(m, 1, 5);
    snprintf(input, sizeof input, "input %d planes other range %s multiple 1", planes,
             ranges[draw(m, 0, 3)]);
    made_net_line(m, "%s", input);
    const int most = draw(m, 0, 3) ? 40 : 130;
    const int width = draw(m, 0, 9) ? draw(m, 1, most) : 1;
    const int height = draw(m, 0, 9) ? draw(m, 1, most / 2) : 1;
    made_net_line(m, "act 0 none"); /* so that there is an output */
    int tensors = 2, wanted = draw(m, 2, 14);
    if (!works(m, 1, width, height, &plan, &net))
        abort();
    for (int tries = 0; tensors < wanted && tries < 100; tries++) {
        const struct made_net before = *m;
        char *head = grown(NULL, m->head_size);
        memcpy(head, m->head, m->head_size);
        random_layer(m, plan);
        /* As many layers as there are lines. */
        int lines = -5;
        for (size_t i = 0; i < m->head_size; i++)
            lines += m->head[i] == '\n';
        struct halo_net_plan *next;
        struct halo_net *next_net;
        if (works(m, lines, width, height, &next, &next_net) && next->work < 2e7 &&
            next->floats < 3 << 20) {
            halo_net_plan_destroy(plan);
            halo_net_destroy(net);
            plan = next;
            net = next_net;
            tensors = lines + 1;
            free(head);
        } else { /* without this one */
            free(m->head);
            m->head = head;
            m->head_size = before.head_size;
            m->weight_count = before.weight_count;
        }
    }
    made_net_line(m, "output last %d", tensors - 1);
    for (int i = draw(m, 0, 2); i > 0; i--)
        made_net_line(m, "output other%d %d", i, draw(m, 1, tensors - 1));
    m->layers = tensors - 1;
    halo_net_plan_destroy(plan);
    halo_net_destroy(net);
    *ret_width = width;
    *ret_height = height;
}

/* ---- like CenterFace ---- */

static int add_conv(struct made_net *m, int from, int planes, int channels, const char *rest)
{
    made_net_line(m, "conv %d planes %d %s", from, planes, rest);
    made_net_weights(m, planes, channels * (strstr(rest, "3x3") ? 9 : 1));
    return ++m->layers;
}

static int add_depthwise(struct made_net *m, int from, int planes, int stride)
{
    made_net_line(m, "depthwise %d kernel 3x3 stride %dx%d pad %s act clamp 0 100000", from, stride,
                  stride, stride == 2 ? "0,0,1,1" : "1,1,1,1");
    made_net_weights(m, planes, 9);
    return ++m->layers;
}

/* An inverted residual block of MobileNetV2. */
static int add_block(struct made_net *m, int from, int in, int out, int expand, int stride)
{
    const int wide = in * expand;
    int t = from;
    if (expand > 1)
        t = add_conv(m, t, wide, in, "kernel 1x1 act clamp 0 100000");
    t = add_depthwise(m, t, wide, stride);
    t = add_conv(m, t, out, wide, "kernel 1x1 act clamp -100000 100000");
    return t;
}

void made_net_face(struct made_net *m, uint64_t seed)
{
    static const struct {
        int expand, planes, blocks, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    static const struct {
        const char *name, *act;
        int planes;
    } heads[] = {{"heat", "sigmoid", 1},
                 {"scale", "none", 2},
                 {"offset", "none", 2},
                 {"landmarks", "none", 10}};
    int stage_ends[8] = {0}, planes = 32;
    made_net_init(m, seed, "input 3 planes rgb range 0 255 multiple 32");
    m->tame = true;
    int t = add_conv(m, 0, 32, 3, "kernel 3x3 stride 2x2 pad 0,0,1,1 act clamp 0 100000");
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
        for (int b = 0; b < stages[s].blocks; b++) {
            const int from = t;
            t = add_block(m, from, planes, stages[s].planes, stages[s].expand,
                          b ? 1 : stages[s].stride);
            if (b > 0) {
                made_net_line(m, "add %d %d", from, t);
                t = ++m->layers;
            }
            planes = stages[s].planes;
        }
        stage_ends[s] = t;
    }
    t = add_conv(m, t, 24, 320, "kernel 1x1 act clamp 0 100000");
    for (int level = 0; level < 3; level++) {
        const int from = stage_ends[4 - level - (level > 0)];
        made_net_line(m, "transposed %d planes 24 kernel 2x2 stride 2x2 act clamp 0 100000", t);
        made_net_weights(m, 24, 24 * 4);
        const int up = ++m->layers;
        const int side = add_conv(m, from, 24,
                                  level == 0   ? 96
                                  : level == 1 ? 32
                                               : 24,
                                  "kernel 1x1 act clamp 0 100000");
        made_net_line(m, "add %d %d", up, side);
        t = ++m->layers;
    }
    t = add_conv(m, t, 24, 24, "kernel 3x3 pad 1,1,1,1 act clamp 0 100000");
    int outputs[4];
    for (int i = 0; i < 4; i++) {
        char rest[60];
        snprintf(rest, sizeof rest, "kernel 1x1 act %s", heads[i].act);
        outputs[i] = add_conv(m, t, heads[i].planes, 24, rest);
    }
    for (int i = 0; i < 4; i++)
        made_net_line(m, "output %s %d", heads[i].name, outputs[i]);
}
