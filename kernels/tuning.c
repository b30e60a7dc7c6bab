/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of measured times. */
#include "kernels/tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/version.h"

enum { MAX_LINE = 400, MAX_NUMBER = 1 << 24 };

#define FIRST_LINE "halod-tuning 1"
#define LAST_LINE  "end"

static const char *const kind_names[] = {
    [HALO_CONV_SEPARABLE] = "separable",
    [HALO_CONV_DENSE] = "dense",
    [HALO_CONV_BOX] = "box",
    [HALO_CONV_GRADIENT] = "gradient",
};

enum { KINDS = sizeof kind_names / sizeof *kind_names };

static const int accum_bits[] = {
    [HALO_ACCUM_F24] = 24,
    [HALO_ACCUM_I32] = 32,
    [HALO_ACCUM_I64] = 64,
};

/* A row, and the logarithms of its sizes: twice the size is as far away as half the size. */
struct entry {
    int class; /* rows of different classes run different kernels */
    float taps_x, taps_y, samples;
    struct halo_tuning_row row;
};

struct halo_tuning {
    int count;
    struct entry entries[HALO_TUNING_MAX_ROWS];
};

struct halo_tuning_key halo_tuning_key_of(const struct halo_conv *conv,
                                          const struct halo_plane *like)
{
    return (struct halo_tuning_key){
        .kind = conv->kind,
        .accum = conv->accum,
        .depth = conv->depth,
        .channels = like->channels,
        .taps_x = 2 * conv->radius_x + 1,
        .taps_y = 2 * conv->radius_y + 1,
        .width = like->width,
        .height = like->height,
    };
}

void halo_tuning_print_head(FILE *to, const char *device)
{
    fprintf(to,
            FIRST_LINE "\nversion " HALO_VERSION "\ndevice %s\n"
                       "# %-8s %4s %4s %8s %9s %11s  %-18s %10s\n",
            device, "kind", "bits", "sums", "channels", "mask", "plane", "strategy", "us");
}

void halo_tuning_print_row(FILE *to, const struct halo_tuning_row *row)
{
    const struct halo_tuning_key *k = &row->key;
    char mask[32], plane[32];
    snprintf(mask, sizeof mask, "%dx%d", k->taps_x, k->taps_y);
    snprintf(plane, sizeof plane, "%dx%d", k->width, k->height);
    fprintf(to, "%-10s %4d %4d %8d %9s %11s  %-18s %10.2f\n", kind_names[k->kind], k->depth,
            accum_bits[k->accum], k->channels, mask, plane, row->strategy->name, row->us);
}

void halo_tuning_print_end(FILE *to)
{
    fputs(LAST_LINE "\n", to);
}

static struct entry entry_of(const struct halo_tuning_row *row)
{
    const struct halo_tuning_key *k = &row->key;
    return (struct entry){
        .class = (int)k->kind * 4 + (k->depth > 8) * 2 + (k->accum == HALO_ACCUM_I64),
        .row = *row,
        .taps_x = log2f((float)k->taps_x),
        .taps_y = log2f((float)k->taps_y),
        .samples = log2f((float)k->width * (float)k->height * (float)k->channels),
    };
}

/* Parses a row. Returns NULL, or why the line is not a valid row. */
static const char *parse_row(struct halo_tuning_row *ret, const char *line,
                             const struct halo_backend_ops *ops)
{
    struct halo_tuning_key k = {0};
    char kind[16], strategy[40], rest;
    int sums;
    double us;
    if (sscanf(line, "%15s %5d %5d %5d %8dx%8d %8dx%8d %39s %lf %c", kind, &k.depth, &sums,
               &k.channels, &k.taps_x, &k.taps_y, &k.width, &k.height, strategy, &us, &rest) != 10)
        return "the row does not consist of ten values";
    for (int i = 0;; i++) {
        if (i == KINDS)
            return "unknown kind";
        if (kind_names[i] && !strcmp(kind_names[i], kind)) {
            k.kind = (enum halo_conv_kind)i;
            break;
        }
    }
    for (size_t i = 0; accum_bits[i] != sums;)
        if (++i == sizeof accum_bits / sizeof *accum_bits)
            return "\"sums\" must be 24, 32 or 64";
        else
            k.accum = (enum halo_accum)i;
    if (k.depth < 8 || k.depth > 16 || k.channels < 1 || k.channels > 2)
        return "\"bits\" must be 8 to 16, and \"channels\" must be 1 or 2";
    if (k.taps_x < 1 || k.taps_x > MAX_NUMBER || k.taps_y < 1 || k.taps_y > MAX_NUMBER ||
        k.width < 1 || k.width > MAX_NUMBER || k.height < 1 || k.height > MAX_NUMBER)
        return "a size is out of range";
    if (!isfinite(us) || us < 0)
        return "the time is out of range";
    const struct halo_strategy *found = halo_strategy_find(ops, strategy);
    if (!found)
        return "unknown strategy";
    *ret = (struct halo_tuning_row){k, found, us};
    return NULL;
}

/* Checks line `number` of the header. Returns 0, or -errno with *ret_what. */
static int check_head(const char *line, int number, const char *device, const char **ret_what)
{
    static const char version[] = "version ", of[] = "device ";
    if (number == 1 && strcmp(line, FIRST_LINE) != 0) {
        *ret_what = "the table is not in the format \"" FIRST_LINE "\"";
        return strncmp(line, FIRST_LINE, strlen(FIRST_LINE) - 1) ? -EINVAL : -ESTALE;
    }
    if ((number == 2 && strncmp(line, version, strlen(version)) != 0) ||
        (number == 3 && strncmp(line, of, strlen(of)) != 0)) {
        *ret_what = number == 2 ? "the version is missing" : "the device is missing";
        return -EINVAL;
    }
    if (number == 2 && strcmp(line + strlen(version), HALO_VERSION) != 0) {
        *ret_what = "the table was measured with another version";
        return -ESTALE;
    }
    if (number == 3 && strcmp(line + strlen(of), device) != 0) {
        *ret_what = "the table was measured on another device";
        return -ESTALE;
    }
    return 0;
}

/* Parses line `number`, from 1. Returns 1 after the last line. */
static int parse_line(struct halo_tuning *t, const char *line, int number,
                      const struct halo_backend_ops *ops, const char *device, const char **ret_what)
{
    struct halo_tuning_row row;
    if (number <= 3)
        return check_head(line, number, device, ret_what);
    if (!strcmp(line, LAST_LINE))
        return 1;
    if (line[0] == '#')
        return 0;
    *ret_what = parse_row(&row, line, ops);
    if (!*ret_what && t->count == HALO_TUNING_MAX_ROWS)
        *ret_what = "the table has too many rows";
    if (*ret_what)
        return -EINVAL;
    t->entries[t->count++] = entry_of(&row);
    return 0;
}

/* Copies the line at *at, and advances *at to the next one. */
static int take_line(char line[MAX_LINE], const char *text, size_t size, size_t *at,
                     const char **ret_what)
{
    const char *from = text + *at, *end = *at < size ? memchr(from, '\n', size - *at) : NULL;
    const size_t length = end ? (size_t)(end - from) : 0;
    *ret_what = !end ? "the line \"end\" is missing"
                : length >= MAX_LINE || memchr(from, '\0', length)
                    ? "this line is too long or contains a NUL byte"
                    : NULL;
    if (*ret_what)
        return -EINVAL;
    memcpy(line, from, length);
    line[length] = '\0';
    *at += length + 1;
    return 0;
}

int halo_tuning_parse(struct halo_tuning **ret, const char *text, size_t size,
                      const struct halo_backend_ops *ops, const char *device,
                      struct halo_tuning_fault *ret_fault)
{
    struct halo_tuning *t = malloc(sizeof *t);
    if (!t)
        return -ENOMEM;
    t->count = 0;
    char line[MAX_LINE];
    int number = 0, code = 0;
    size_t at = 0;
    while (code == 0) {
        number++;
        code = take_line(line, text, size, &at, &ret_fault->what);
        if (code == 0)
            code = parse_line(t, line, number, ops, device, &ret_fault->what);
    }
    if (code > 0 && at < size) {
        ret_fault->what = "there is text after the line \"end\"";
        code = -EINVAL;
    }
    if (code > 0) {
        *ret = t;
        return 0;
    }
    ret_fault->line = number;
    free(t);
    return code;
}

/* Reads the whole file into *ret, which the caller frees. Refuses pipes and devices, which could
 * block. */
static int read_all(char **ret, size_t *ret_size, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) /* a home such as /dev/null cannot contain files */
        return errno == ENOTDIR ? -ENOENT : -errno;
    struct stat st;
    char *text = NULL;
    int code = fstat(fd, &st) < 0 ? -errno : 0;
    if (code == 0 && (!S_ISREG(st.st_mode) || st.st_size > HALO_TUNING_MAX_BYTES))
        code = -EFBIG;
    if (code == 0 && !(text = malloc((size_t)st.st_size + 1)))
        code = -ENOMEM;
    size_t size = 0;
    for (ssize_t got = 1; code == 0 && got > 0 && size < (size_t)st.st_size; size += (size_t)got) {
        got = read(fd, text + size, (size_t)st.st_size - size);
        if (got < 0) {
            code = -errno;
            break;
        }
    }
    close(fd);
    if (code < 0) {
        free(text);
        return code;
    }
    *ret = text;
    *ret_size = size;
    return 0;
}

int halo_tuning_read(struct halo_tuning **ret, const char *path, const struct halo_backend_ops *ops,
                     const char *device, char *text, size_t size)
{
    char *table = NULL;
    size_t length = 0;
    int code = read_all(&table, &length, path);
    struct halo_tuning_fault fault = {0};
    if (code == -EFBIG) {
        snprintf(text, size, "%s: not a table of measured times", path);
        return -EINVAL;
    }
    if (code == 0) {
        code = halo_tuning_parse(ret, table, length, ops, device, &fault);
        free(table);
    }
    if (code < 0 && fault.what)
        snprintf(text, size, "%s:%d: %s", path, fault.line, fault.what);
    else if (code < 0)
        snprintf(text, size, "%s: %s", path, strerror(-code));
    return code;
}

void halo_tuning_destroy(struct halo_tuning *tuning)
{
    free(tuning);
}

/* The distance in doublings of the mask's sides and of the plane, plus other differences that
 * matter. */
static float distance(const struct entry *a, const struct entry *b)
{
    const struct halo_tuning_key *x = &a->row.key, *y = &b->row.key;
    return fabsf(a->taps_x - b->taps_x) + fabsf(a->taps_y - b->taps_y) +
           fabsf(a->samples - b->samples) / 2 + (x->channels != y->channels) / 2.0f +
           (x->accum != y->accum) + (float)abs(x->depth - y->depth) / 4;
}

const struct halo_strategy *halo_tuning_find(const struct halo_tuning *tuning,
                                             const struct halo_tuning_key *key)
{
    static const float far = 6; /* measured times beyond it are meaningless */
    const struct halo_tuning_row asked = {.key = *key};
    const struct entry wanted = entry_of(&asked);
    const struct entry *nearest = NULL;
    float least = far;
    for (int i = 0; i < tuning->count; i++) {
        const struct entry *e = &tuning->entries[i];
        const float d = e->class == wanted.class ? distance(e, &wanted) : far;
        if (d < least) {
            least = d;
            nearest = e;
        }
    }
    return nearest ? nearest->row.strategy : NULL;
}
