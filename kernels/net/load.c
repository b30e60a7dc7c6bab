/* SPDX-License-Identifier: BSD-2-Clause
 * Reads networks from files (README.md describes them). The sizes of all that follows are computed
 * from the layers; the file has no offsets. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/net/net.h"

enum {
    MAX_LINE = 256,
    MAX_LINES = 4096,
    MAX_WORDS = 48,
    MAX_DIGITS = 15, /* so many are exact in a double, as are powers of ten up to them */
    MAX_MULTIPLE = 1024,
    MAX_SIDE_PAD = 64, /* of PAD */
    MAX_FACTOR = 16,   /* of RESIZE */
    MAX_BLOCK = 8,
};

#define FIRST_LINE "halonet 1"

struct reader {
    const char *start, *at, *end;
    int line; /* the number of the line in `words` */
    char copy[MAX_LINE + 1];
    char *words[MAX_WORDS];
    int count, next; /* words, and the next one to read */
    struct halo_net_fault *fault;
    struct halo_net *net;
    size_t weight_count;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reader *r, const char *format, ...)
{
    char what[sizeof r->fault->text - 20];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(r->fault->text, sizeof r->fault->text, "line %d: %s", r->line, what);
    return -EINVAL;
}

/* ---- lines and words ---- */

/* Reads a line, and cuts it into words at single blanks. */
static int read_line(struct reader *r)
{
    const char *line = r->at;
    const char *stop = line < r->end ? memchr(line, '\n', (size_t)(r->end - line)) : NULL;
    r->line++;
    if (r->line > MAX_LINES)
        return refuse(r, "more than %d lines", MAX_LINES);
    if (!stop)
        return refuse(r, "the file ends before the empty line after \"weights\"");
    if (stop - line > MAX_LINE)
        return refuse(r, "longer than %d bytes", MAX_LINE);
    const size_t length = (size_t)(stop - line);
    memcpy(r->copy, line, length);
    r->copy[length] = '\0';
    r->at = stop + 1;
    r->count = r->next = 0;
    for (size_t i = 0; i < length; i++)
        if (r->copy[i] < ' ' || r->copy[i] > '~')
            return refuse(r, "a byte that is not printable ASCII");
    for (char *word = r->copy; word && length > 0;) {
        if (r->count == MAX_WORDS)
            return refuse(r, "more than %d words", MAX_WORDS);
        r->words[r->count++] = word;
        word = strchr(word, ' ');
        if (word)
            *word++ = '\0';
    }
    for (int i = 0; i < r->count; i++)
        if (!r->words[i][0])
            return refuse(r, "words must be separated by single blanks");
    return 0;
}

static const char *next_word(struct reader *r)
{
    return r->next < r->count ? r->words[r->next++] : "";
}

static bool is_next(const struct reader *r, const char *word)
{
    return r->next < r->count && !strcmp(r->words[r->next], word);
}

/* Decimal digits up to the end or a byte of `stop`. Advances *at. */
static bool integer(const char **at, const char *stop, int least, int most, int *ret)
{
    int value = 0, digits = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        if (++digits > 8)
            return false;
        value = value * 10 + (**at - '0');
    }
    if (digits == 0 || value < least || value > most || !strchr(stop, **at))
        return false;
    *ret = value;
    *at += **at != '\0';
    return true;
}

static int read_integer(struct reader *r, const char *what, int least, int most, int *ret)
{
    const char *word = next_word(r), *at = word;
    if (!integer(&at, "", least, most, ret))
        return refuse(r, "%s must be %d to %d, not \"%s\"", what, least, most, word);
    return 0;
}

/* Two integers, such as 3x3. */
static int read_size(struct reader *r, const char *what, int most, int *ret_x, int *ret_y)
{
    const char *word = next_word(r), *at = word;
    int x, y;
    if (!integer(&at, "x", 1, most, &x) || at[-1] != 'x' || !integer(&at, "", 1, most, &y))
        return refuse(r, "%s must be WIDTHxHEIGHT of 1 to %d, not \"%s\"", what, most, word);
    *ret_x = x;
    *ret_y = y;
    return 0;
}

static int read_pads(struct reader *r, struct halo_net_layer *l)
{
    const char *word = next_word(r), *at = word;
    int *const sides[] = {&l->top, &l->left, &l->bottom, &l->right};
    for (int i = 0; i < 4; i++)
        if (!integer(&at, i < 3 ? "," : "", 0, MAX_SIDE_PAD, sides[i]) || (i < 3 && at[-1] != ','))
            return refuse(r, "pad must be TOP,LEFT,BOTTOM,RIGHT of 0 to %d, not \"%s\"",
                          MAX_SIDE_PAD, word);
    return 0;
}

/* A number such as -12.5, rounded to the nearest float; never -0. */
static int read_number(struct reader *r, const char *what, float *ret)
{
    const char *word = next_word(r), *at = word + (*word == '-');
    double digits = 0, divisor = 1;
    int count = 0;
    bool point = false;
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && count > 0 && !point); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        digits = digits * 10 + (*at - '0');
        divisor *= point ? 10 : 1;
        count++;
    }
    if (*at || count == 0 || count > MAX_DIGITS || at[-1] == '.')
        return refuse(r, "%s must be a number such as -12.5, not \"%s\"", what, word);
    *ret = (float)((*word == '-' ? -digits : digits) / divisor) + 0.0f;
    return 0;
}

static bool is_name(const char *word)
{
    const size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length <= HALO_NET_MAX_NAME && !word[length];
}

static int end_line(struct reader *r)
{
    return r->next < r->count ? refuse(r, "unexpected: \"%s\"", r->words[r->next]) : 0;
}

/* ---- the head ---- */

/* A line of text, such as "licence MIT". */
static int read_text(struct reader *r, const char *key, char *ret)
{
    int rc = read_line(r);
    if (rc)
        return rc;
    if (r->count < 2 || strcmp(r->words[0], key) != 0)
        return refuse(r, "must be \"%s\" and its value", key);
    *ret = '\0';
    for (int i = 1; i < r->count; i++) {
        strcat(ret, r->words[i]);
        if (i + 1 < r->count)
            strcat(ret, " ");
    }
    return 0;
}

static int read_input(struct reader *r)
{
    static const char *const orders[] = {"rgb", "bgr", "gray", "other"};
    struct halo_net *net = r->net;
    struct halo_net_layer *l = &net->layers[0];
    int rc = read_line(r);
    if (rc)
        return rc;
    if (strcmp(next_word(r), "input") != 0)
        return refuse(r, "must be \"input\" and its values");
    rc = read_integer(r, "planes of the input", 1, HALO_NET_MAX_PLANES, &l->planes);
    if (rc)
        return rc;
    if (strcmp(next_word(r), "planes") != 0)
        return refuse(r, "\"planes\" must follow their number");
    const char *order = next_word(r);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (!strcmp(orders[i], order))
            strcpy(net->order, order);
    if (!net->order[0])
        return refuse(r, "planes must be rgb, bgr, gray or other, not \"%s\"", order);
    const int want = !strcmp(order, "gray") ? 1 : !strcmp(order, "other") ? l->planes : 3;
    if (l->planes != want)
        return refuse(r, "%s needs %d planes", order, want);
    if (strcmp(next_word(r), "range") != 0)
        return refuse(r, "\"range\" must follow the order of the planes");
    rc = read_number(r, "range", &net->low);
    rc = rc ? rc : read_number(r, "range", &net->high);
    if (rc)
        return rc;
    if (net->low > net->high)
        return refuse(r, "the range ends before it begins");
    if (is_next(r, "size")) {
        r->next++;
        rc = read_size(r, "size", HALO_NET_MAX_SIDE, &net->width, &net->height);
    } else if (is_next(r, "multiple")) {
        r->next++;
        rc = read_integer(r, "multiple", 1, MAX_MULTIPLE, &net->multiple);
    } else {
        return refuse(r, "\"size\" or \"multiple\" must follow the range");
    }
    return rc ? rc : end_line(r);
}

/* ---- layers ---- */

enum {
    PLANES = 1 << 0,
    KERNEL = 1 << 1,
    STRIDE = 1 << 2,
    PAD = 1 << 3,
    MODE = 1 << 4,
    BY = 1 << 5,
    TO = 1 << 6,
    BLOCK = 1 << 7,
    ACT = 1 << 8,
};

static const char *const key_names[] = {
    "planes", "kernel", "stride", "pad", "mode", "by", "to", "block", "act",
};
enum { KEYS = sizeof key_names / sizeof *key_names };

static const struct kind {
    const char *name;
    int least, most; /* tensors that it reads */
    unsigned keys, needed;
} kinds[HALO_NET_KINDS] = {
    [HALO_NET_INPUT] = {"", 0, 0, 0, 0},
    [HALO_NET_CONV] = {"conv", 1, 1, PLANES | KERNEL | STRIDE | PAD | ACT, PLANES | KERNEL},
    [HALO_NET_DEPTHWISE] = {"depthwise", 1, 1, KERNEL | STRIDE | PAD | ACT, KERNEL},
    [HALO_NET_TRANSPOSED] = {"transposed", 1, 1, PLANES | KERNEL | STRIDE | PAD | ACT,
                             PLANES | KERNEL},
    [HALO_NET_ADD] = {"add", 2, 2, ACT, 0},
    [HALO_NET_MUL] = {"mul", 2, 2, ACT, 0},
    [HALO_NET_CONCAT] = {"concat", 2, HALO_NET_MAX_INPUTS, ACT, 0},
    [HALO_NET_PAD] = {"pad", 1, 1, PLANES | PAD | ACT, 0},
    [HALO_NET_MAXPOOL] = {"maxpool", 1, 1, KERNEL | STRIDE | PAD | ACT, KERNEL},
    [HALO_NET_MEAN] = {"mean", 1, 1, ACT, 0},
    [HALO_NET_RESIZE] = {"resize", 1, 1, MODE | BY | TO | ACT, MODE},
    [HALO_NET_DEPTH_TO_SPACE] = {"depth_to_space", 1, 1, BLOCK | ACT, BLOCK},
    [HALO_NET_ACT] = {"act", 1, 1, ACT, ACT},
};

static int read_act(struct reader *r, struct halo_net_act *act)
{
    static const char *const names[HALO_NET_ACTS] = {
        "none", "relu", "clamp", "leaky", "hswish", "sigmoid", "softmax2",
    };
    const char *word = next_word(r);
    if (!strcmp(word, "relu6")) {
        *act = (struct halo_net_act){HALO_NET_CLAMP, 0.0f, 6.0f, 0.0f};
        return 0;
    }
    int kind = 0;
    while (kind < HALO_NET_ACTS && strcmp(names[kind], word) != 0)
        kind++;
    if (kind == HALO_NET_ACTS)
        return refuse(r, "unknown activation \"%s\"", word);
    act->kind = (enum halo_net_act_kind)kind;
    if (kind == HALO_NET_LEAKY)
        return read_number(r, "leaky", &act->slope);
    if (kind != HALO_NET_CLAMP)
        return 0;
    int rc = read_number(r, "clamp", &act->low);
    rc = rc ? rc : read_number(r, "clamp", &act->high);
    if (!rc && act->low > act->high)
        return refuse(r, "clamp ends before it begins");
    return rc;
}

static int read_key(struct reader *r, struct halo_net_layer *l, unsigned key)
{
    switch (key) {
    case PLANES:
        return read_integer(r, "planes", 1, HALO_NET_MAX_PLANES, &l->planes);
    case KERNEL:
        return read_size(r, "kernel", HALO_NET_MAX_KERNEL, &l->kernel_x, &l->kernel_y);
    case STRIDE:
        return read_size(r, "stride", HALO_NET_MAX_STRIDE, &l->stride_x, &l->stride_y);
    case PAD:
        return read_pads(r, l);
    case MODE: {
        const char *word = next_word(r);
        l->nearest = !strcmp(word, "nearest");
        if (!l->nearest && strcmp(word, "bilinear") != 0)
            return refuse(r, "mode must be bilinear or nearest, not \"%s\"", word);
        return 0;
    }
    case BY:
        return read_size(r, "by", MAX_FACTOR, &l->by_x, &l->by_y);
    case TO:
        l->to = true;
        return read_integer(r, "to", 0, r->net->tensors - 1, &l->to_tensor);
    case BLOCK:
        return read_integer(r, "block", 2, MAX_BLOCK, &l->block);
    case ACT:
        return read_act(r, &l->act);
    }
    return -EINVAL;
}

static int read_keys(struct reader *r, struct halo_net_layer *l, const struct kind *kind)
{
    unsigned seen = 0;
    if (l->kind == HALO_NET_ACT) { /* "act 3 relu": the key is the kind */
        seen = ACT;
        const int rc = read_act(r, &l->act);
        if (rc)
            return rc;
    }
    while (r->next < r->count) {
        const char *word = next_word(r);
        int key = 0;
        while (key < KEYS && strcmp(key_names[key], word) != 0)
            key++;
        if (key == KEYS || !(kind->keys & 1u << key))
            return refuse(r, "%s has no \"%s\"", kind->name, word);
        if (seen & 1u << key)
            return refuse(r, "%s is given twice", word);
        seen |= 1u << key;
        const int rc = read_key(r, l, 1u << key);
        if (rc)
            return rc;
    }
    for (int key = 0; key < KEYS; key++)
        if (kind->needed & ~seen & 1u << key)
            return refuse(r, "%s needs \"%s\"", kind->name, key_names[key]);
    if (l->kind == HALO_NET_RESIZE && !(seen & BY) == !(seen & TO))
        return refuse(r, "resize needs either \"by\" or \"to\"");
    if (l->kind == HALO_NET_PAD && !(seen & (PLANES | PAD)))
        return refuse(r, "pad needs \"planes\" or \"pad\"");
    return 0;
}

/* What the keys say must fit each other and the planes of the tensors that the layer reads. */
static int check_layer(struct reader *r, struct halo_net_layer *l)
{
    const struct halo_net_layer *layers = r->net->layers;
    const int planes = layers[l->inputs[0]].planes;
    int sum = 0;
    for (int i = 0; i < l->input_count; i++)
        sum += layers[l->inputs[i]].planes;
    switch (l->kind) {
    case HALO_NET_TRANSPOSED:
        if (l->kernel_x < l->stride_x || l->kernel_y < l->stride_y)
            return refuse(r, "the kernel is smaller than the stride");
        break;
    case HALO_NET_ADD:
    case HALO_NET_MUL:
        if (layers[l->inputs[1]].planes != planes)
            return refuse(r, "tensors of %d and %d planes", planes, layers[l->inputs[1]].planes);
        break;
    case HALO_NET_CONCAT:
        l->planes = sum;
        break;
    case HALO_NET_PAD:
        if (l->planes && l->planes < planes)
            return refuse(r, "fewer planes than the %d of the tensor", planes);
        break;
    case HALO_NET_DEPTH_TO_SPACE:
        if (planes % (l->block * l->block))
            return refuse(r, "%d planes are no multiple of %d", planes, l->block * l->block);
        l->planes = planes / (l->block * l->block);
        break;
    default:
        break;
    }
    l->planes = l->planes ? l->planes : planes;
    if (l->planes > HALO_NET_MAX_PLANES)
        return refuse(r, "more than %d planes", HALO_NET_MAX_PLANES);
    if (l->kernel_x && (l->top >= l->kernel_y || l->bottom >= l->kernel_y ||
                        l->left >= l->kernel_x || l->right >= l->kernel_x))
        return refuse(r, "a pad must be smaller than the kernel");
    if (l->act.kind == HALO_NET_SOFTMAX2 && l->planes % 2)
        return refuse(r, "softmax2 of an odd number of planes");
    return 0;
}

static size_t weights_of(const struct halo_net *net, const struct halo_net_layer *l)
{
    const size_t planes = (size_t)l->planes, size = (size_t)(l->kernel_x * l->kernel_y);
    switch (l->kind) {
    case HALO_NET_CONV:
    case HALO_NET_TRANSPOSED:
        return planes * (size_t)net->layers[l->inputs[0]].planes * size;
    case HALO_NET_DEPTHWISE:
        return planes * size;
    default:
        return 0;
    }
}

static int read_layer(struct reader *r)
{
    struct halo_net *net = r->net;
    struct halo_net_layer l = {0};
    const char *name = next_word(r);
    int kind = HALO_NET_CONV;
    while (kind < HALO_NET_KINDS && strcmp(kinds[kind].name, name) != 0)
        kind++;
    if (kind == HALO_NET_KINDS)
        return refuse(r, "unknown layer \"%s\"", name);
    if (net->tensors > HALO_NET_MAX_LAYERS)
        return refuse(r, "more than %d layers", HALO_NET_MAX_LAYERS);
    l.kind = (enum halo_net_kind)kind;
    while (l.input_count < kinds[kind].most && r->next < r->count &&
           strchr("0123456789", r->words[r->next][0])) {
        const int rc = read_integer(r, "a tensor that a layer reads", 0, net->tensors - 1,
                                    &l.inputs[l.input_count++]);
        if (rc)
            return rc;
    }
    if (l.input_count < kinds[kind].least)
        return refuse(r, "%s needs %d tensor%s", name, kinds[kind].least,
                      kinds[kind].least > 1 ? "s" : "");
    int rc = read_keys(r, &l, &kinds[kind]);
    if (l.kernel_x && !l.stride_x)
        l.stride_x = l.stride_y = 1;
    rc = rc ? rc : check_layer(r, &l);
    if (rc)
        return rc;
    const size_t weights = weights_of(net, &l);
    r->weight_count += weights + (weights ? (size_t)l.planes : 0);
    if (r->weight_count > HALO_NET_MAX_WEIGHTS)
        return refuse(r, "more than %d weights", HALO_NET_MAX_WEIGHTS);
    net->layers[net->tensors++] = l;
    return 0;
}

static int read_output(struct reader *r)
{
    struct halo_net *net = r->net;
    struct halo_net_output *output = &net->output[net->outputs];
    const char *name = next_word(r);
    if (net->outputs == HALO_NET_MAX_OUTPUTS)
        return refuse(r, "more than %d outputs", HALO_NET_MAX_OUTPUTS);
    if (!is_name(name))
        return refuse(r, "an output's name must be of a-z, 0-9 and _, not \"%s\"", name);
    for (int i = 0; i < net->outputs; i++)
        if (!strcmp(net->output[i].name, name))
            return refuse(r, "two outputs are named %s", name);
    strcpy(output->name, name);
    net->outputs++;
    const int rc = read_integer(r, "an output's tensor", 1, net->tensors - 1, &output->tensor);
    return rc ? rc : end_line(r);
}

/* ---- weights ---- */

/* The CRC-32 of zlib and PNG. */
static uint32_t crc32(uint32_t crc, const char *bytes, size_t size)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0xedb88320) : 0);
    }
    crc = ~crc;
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ (uint8_t)bytes[i]) & 0xff];
    return ~crc;
}

static void set_weights(struct halo_net *net, const char *bytes)
{
    for (size_t i = 0; i < net->weight_count; i++) {
        uint32_t bits = 0;
        for (int b = 0; b < 4; b++)
            bits |= (uint32_t)(uint8_t)bytes[4 * i + (size_t)b] << 8 * b;
        memcpy(&net->weights[i], &bits, sizeof bits);
    }
    const float *at = net->weights;
    for (int i = 1; i < net->tensors; i++) {
        struct halo_net_layer *l = &net->layers[i];
        const size_t count = weights_of(net, l);
        if (count == 0)
            continue;
        l->bias = at;
        l->weights = at + l->planes;
        at = l->weights + count;
    }
}

/* Reads "weights BYTES CRC32", which begins at `line` and is in r->words, and all that follows. */
static int read_weights(struct reader *r, const char *line)
{
    struct halo_net *net = r->net;
    char want[24], crc[24];
    snprintf(want, sizeof want, "%zu", r->weight_count * sizeof(float));
    const char *bytes = next_word(r);
    if (strcmp(bytes, want) != 0)
        return refuse(r, "the layers need %s bytes of weights, not \"%s\"", want, bytes);
    snprintf(crc, sizeof crc, "%s", next_word(r));
    int rc = end_line(r);
    if (rc)
        return rc;
    const char *after = r->at;
    rc = read_line(r);
    if (rc)
        return rc;
    if (r->count > 0)
        return refuse(r, "an empty line must follow \"weights\"");
    const size_t size = (size_t)(r->end - r->at);
    if (size != r->weight_count * sizeof(float))
        return refuse(r, "%zu bytes of weights follow, not %s", size, want);
    uint32_t sum = crc32(0, r->start, (size_t)(line - r->start));
    sum = crc32(sum, after, (size_t)(r->end - after));
    snprintf(want, sizeof want, "%08x", (unsigned)sum);
    if (strcmp(crc, want) != 0)
        return refuse(r, "the file is damaged: its CRC is %s, not %s", want, crc);
    net->weight_count = r->weight_count;
    net->weights = malloc(size + 1);
    if (!net->weights)
        return -ENOMEM;
    set_weights(net, r->at);
    return 0;
}

/* ---- the file ---- */

static int read_file(struct reader *r)
{
    struct halo_net *net = r->net;
    int rc = read_line(r);
    if (rc)
        return rc;
    if (r->count != 2 || strcmp(r->words[0], "halonet") != 0 || strcmp(r->words[1], "1") != 0)
        return refuse(r, "must be \"%s\"", FIRST_LINE);
    rc = read_text(r, "name", net->name);
    if (!rc && !is_name(net->name))
        rc = refuse(r, "the name must be of a-z, 0-9 and _");
    rc = rc ? rc : read_text(r, "licence", net->licence);
    rc = rc ? rc : read_text(r, "source", net->source);
    rc = rc ? rc : read_input(r);
    while (!rc) {
        const char *line = r->at;
        rc = read_line(r);
        if (rc)
            return rc;
        if (is_next(r, "output")) {
            r->next++;
            rc = read_output(r);
        } else if (is_next(r, "weights")) {
            r->next++;
            if (net->outputs == 0)
                return refuse(r, "no output before \"weights\"");
            rc = read_weights(r, line);
            return rc ? rc : halo_net_prove(net, r->fault);
        } else if (net->outputs > 0) {
            return refuse(r, "\"output\" or \"weights\" must follow an output");
        } else {
            rc = read_layer(r);
        }
    }
    return rc;
}

int halo_net_load(struct halo_net **ret, const void *bytes, size_t size,
                  struct halo_net_fault *fault)
{
    struct halo_net *net = calloc(1, sizeof *net);
    struct reader r = {.start = bytes, .fault = fault, .net = net};
    int rc = -ENOMEM;
    snprintf(fault->text, sizeof fault->text, "out of memory");
    if (!net)
        return rc;
    r.at = bytes;
    r.end = r.at + size;
    net->layers = calloc(HALO_NET_MAX_LAYERS + 1, sizeof *net->layers);
    net->tensors = 1;
    if (net->layers)
        rc = read_file(&r);
    if (rc) {
        halo_net_destroy(net);
        return rc;
    }
    *ret = net;
    return 0;
}

void halo_net_destroy(struct halo_net *net)
{
    if (!net)
        return;
    free(net->layers);
    free(net->weights);
    free(net);
}
