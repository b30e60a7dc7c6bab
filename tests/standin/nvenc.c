/* SPDX-License-Identifier: BSD-2-Clause
 * A stand-in for NVENC's library: an H.264 encoder whose frames are all gray, with the functions
 * that FFmpeg calls. It takes frames from host memory, and from a GPU's by the libcuda.so.1 that
 * it finds, which may be a real driver's. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

#include "tests/standin/h264.h"
#include "tests/standin/standin.h"

/* ---- the interface's structs, as far as they are used, and room for what newer ones add ---- */

struct guid {
    uint32_t a;
    uint16_t b, c;
    uint8_t d[8];
};

static const struct guid h264_guid = {
    0x6bc82762, 0x4e63, 0x4ca4, {0xaa, 0x85, 0x1e, 0x50, 0xf3, 0x21, 0xf6, 0xbf}};

enum {
    NO_MORE_NEEDED = 0,
    OUT_OF_MEMORY = 10,
    NEED_MORE_INPUT = 17,
    GENERIC = 20,
    FLAG_END = 8,
    TYPE_KEY = 3,
    CAP_MAX_B = 0,
    CAP_WIDTH = 16,
    CAP_HEIGHT = 17,
    FORMAT_NV12 = 1,
    FORMAT_YV12 = 0x10,
    FORMAT_YUV444 = 0x1000,
    FORMAT_P010 = 0x10000,
    LIMIT = 64, /* frames held back */
};

struct caps {
    uint32_t version, which;
};

struct preset_config {
    uint32_t version, padding;
    uint32_t config_version;
    struct guid profile;
    uint32_t gop_length;
    int32_t interval; /* between frames that are no B-frames */
};

struct initialize {
    uint32_t version;
    struct guid codec, preset;
    uint32_t width, height;
};

struct create_input {
    uint32_t version, width, height, heap, format, reserved;
    void *buffer;
};

struct create_output {
    uint32_t version, size, heap, reserved;
    void *buffer;
};

struct lock_input {
    uint32_t version, bits;
    void *buffer, *data;
    uint32_t pitch;
};

struct register_resource {
    uint32_t version, type, width, height, pitch, index;
    void *resource, *registered;
    uint32_t format;
};

struct map_resource {
    uint32_t version, index;
    void *resource, *registered, *mapped;
    uint32_t format;
};

struct frame {
    uint32_t version, width, height, pitch, flags, number;
    uint64_t time, duration;
    void *input, *output;
};

struct lock_output {
    uint32_t version, bits;
    void *buffer;
    uint32_t *offsets;
    uint32_t number, status, slices, size;
    uint64_t time, duration;
    void *data;
    uint32_t type;
};

struct headers {
    uint32_t version, size, sps, pps;
    void *buffer;
    uint32_t *ret_size;
};

/* ---- the encoder ---- */

struct input {
    uint32_t width, height, pitch, format;
    unsigned char *data; /* NULL: on the device, at: */
    uint64_t device;
};

struct output {
    unsigned char *data;
    size_t size;
    uint64_t time;
};

struct encoder {
    int width, height, interval, coded;
    struct output *output[LIMIT]; /* to be filled, in order */
    uint64_t time[LIMIT];         /* of the frames held back */
    int held, taken;
    FILE *dump;
};

static int number_of(const char *name, int other)
{
    const char *value = getenv(name);
    return value ? (int)strtol(value, NULL, 0) : other;
}

static atomic_int sessions; /* that are open */

static int open_session(const void *parameters, void **ret)
{
    (void)parameters;
    int code = number_of("HALO_STANDIN_NVENC_OPEN", 0);
    if (!code && atomic_fetch_add(&sessions, 1) >= number_of("HALO_STANDIN_NVENC_SESSIONS", 1000)) {
        atomic_fetch_sub(&sessions, 1);
        code = OUT_OF_MEMORY;
    }
    struct encoder *e = code ? NULL : calloc(1, sizeof *e);
    const char *dump = getenv("HALO_STANDIN_NVENC_DUMP");
    if (e && dump)
        e->dump = fopen(dump, "wb");
    *ret = e;
    return code;
}

static int close_session(struct encoder *e)
{
    if (e->dump)
        fclose(e->dump);
    free(e);
    atomic_fetch_sub(&sessions, 1);
    return 0;
}

static int count_codecs(void *e, uint32_t *ret)
{
    (void)e;
    *ret = 1;
    return 0;
}

static int list_codecs(void *e, struct guid *to, uint32_t room, uint32_t *ret)
{
    (void)e;
    (void)room;
    *to = h264_guid;
    *ret = 1;
    return 0;
}

static int get_cap(void *e, struct guid codec, const struct caps *caps, int *ret)
{
    (void)e;
    (void)codec;
    *ret = caps->which == CAP_MAX_B                                ? 4
           : caps->which == CAP_WIDTH || caps->which == CAP_HEIGHT ? 4096
                                                                   : 1;
    return 0;
}

static int get_preset(void *e, struct guid codec, struct guid preset, int tuning,
                      struct preset_config *ret)
{
    (void)e;
    (void)codec;
    (void)preset;
    (void)tuning;
    ret->interval = number_of("HALO_STANDIN_NVENC_B", 0) + 1;
    return 0;
}

static int initialize(struct encoder *e, const struct initialize *wish)
{
    e->width = (int)wish->width;
    e->height = (int)wish->height;
    e->interval = number_of("HALO_STANDIN_NVENC_B", 0) + 1;
    return number_of("HALO_STANDIN_NVENC_INIT", 0);
}

static int set_streams(void *e, void *in, void *out)
{
    (void)e;
    (void)in;
    (void)out;
    return 0;
}

static int sample_bytes(uint32_t format)
{
    return format == FORMAT_P010 ? 2 : 1;
}

/* Of a frame whose planes lie one after the other, those of half the width with half the
 * pitch. */
static size_t frame_bytes(const struct input *in)
{
    return (size_t)in->pitch * in->height * (in->format == FORMAT_YUV444 ? 6 : 3) / 2;
}

static int create_input(void *e, struct create_input *wish)
{
    (void)e;
    struct input *in = calloc(1, sizeof *in);
    in->width = wish->width;
    in->height = wish->height;
    in->format = wish->format;
    in->pitch = (wish->width + 127) / 128 * 128 * (uint32_t)sample_bytes(wish->format);
    in->data = calloc(1, frame_bytes(in) + in->pitch);
    wish->buffer = in;
    return 0;
}

static int destroy_input(void *e, struct input *in)
{
    (void)e;
    free(in->data);
    free(in);
    return 0;
}

static int lock_input(void *e, struct lock_input *lock)
{
    (void)e;
    const struct input *in = lock->buffer;
    lock->data = in->data;
    lock->pitch = in->pitch;
    return 0;
}

static int register_resource(void *e, struct register_resource *wish)
{
    (void)e;
    struct input *in = calloc(1, sizeof *in);
    in->width = wish->width;
    in->height = wish->height;
    in->pitch = wish->pitch;
    in->format = wish->format;
    in->device = (uint64_t)(uintptr_t)wish->resource;
    wish->registered = in;
    return 0;
}

static int map_resource(void *e, struct map_resource *wish)
{
    (void)e;
    wish->mapped = wish->registered;
    wish->format = ((const struct input *)wish->registered)->format;
    return 0;
}

static int do_nothing(void *e, void *what)
{
    (void)e;
    (void)what;
    return 0;
}

static int create_output(struct encoder *e, struct create_output *wish)
{
    struct output *out = calloc(1, sizeof *out);
    out->data = malloc(2 * halo_standin_room(e->width, e->height));
    wish->buffer = out;
    return 0;
}

static int destroy_output(void *e, struct output *out)
{
    (void)e;
    free(out->data);
    free(out);
    return 0;
}

static void dump_plane(FILE *to, const unsigned char *from, size_t row, size_t pitch, size_t rows)
{
    for (size_t y = 0; y < rows; y++)
        fwrite(from + y * pitch, 1, row, to);
}

/* Y, U and V, or Y and both of them by turns. */
static void dump_planes(FILE *to, const struct input *in, const unsigned char *y)
{
    const size_t row = in->width * (size_t)sample_bytes(in->format), pitch = in->pitch;
    const size_t rows = in->height, whole = pitch * rows;
    dump_plane(to, y, row, pitch, rows);
    if (in->format == FORMAT_YV12) { /* V lies before U */
        dump_plane(to, y + whole + whole / 4, row / 2, pitch / 2, rows / 2);
        dump_plane(to, y + whole, row / 2, pitch / 2, rows / 2);
    } else if (in->format == FORMAT_YUV444) {
        dump_plane(to, y + whole, row, pitch, 2 * rows);
    } else {
        dump_plane(to, y + whole, row, pitch, rows / 2);
    }
}

static int dump(const struct encoder *e, const struct input *in)
{
    if (in->data) {
        dump_planes(e->dump, in, in->data);
        return 0;
    }
    int (*fetch)(void *to, uint64_t from, size_t bytes);
    void *library = dlopen("libcuda.so.1", RTLD_LAZY);
    *(void **)&fetch = library ? dlsym(library, "cuMemcpyDtoH_v2") : NULL;
    unsigned char *copy = malloc(frame_bytes(in));
    const int code = fetch ? fetch(copy, in->device, frame_bytes(in)) : 1;
    if (!code)
        dump_planes(e->dump, in, copy);
    free(copy);
    if (library)
        dlclose(library);
    return code ? GENERIC : 0;
}

/* Fills the next output with the frame that was held back at this place. */
static void code(struct encoder *e, int held)
{
    struct output *out = e->output[e->coded % LIMIT];
    out->size = halo_standin_headers(out->data, e->width, e->height);
    out->size += halo_standin_frame(out->data + out->size, e->width, e->height, e->coded);
    out->time = e->time[held];
    e->coded++;
}

/* The last one before the B-frames between. */
static void code_group(struct encoder *e)
{
    if (e->held)
        code(e, e->held - 1);
    for (int i = 0; i < e->held - 1; i++)
        code(e, i);
    e->held = 0;
}

static int encode(struct encoder *e, const struct frame *p)
{
    if (p->flags & FLAG_END) {
        code_group(e);
        return 0;
    }
    if (e->taken + 1 == number_of("HALO_STANDIN_NVENC_FAIL", 0))
        return GENERIC;
    if (e->dump && dump(e, p->input))
        return GENERIC;
    e->output[e->taken % LIMIT] = p->output;
    e->time[e->held++] = p->time;
    const bool first = e->taken++ == 0;
    if (!first && e->held < e->interval)
        return NEED_MORE_INPUT;
    code_group(e);
    return NO_MORE_NEEDED;
}

static int lock_output(void *e, struct lock_output *lock)
{
    (void)e;
    const struct output *out = lock->buffer;
    lock->data = out->data;
    lock->size = (uint32_t)out->size;
    lock->time = out->time;
    lock->type = TYPE_KEY;
    return 0;
}

static int get_headers(const struct encoder *e, struct headers *ret)
{
    *ret->ret_size = (uint32_t)halo_standin_headers(ret->buffer, e->width, e->height);
    return 0;
}

static const char *last_error(void *e)
{
    (void)e;
    return "the stand-in says so";
}

/* ---- what is looked up ---- */

struct functions {
    uint32_t version, reserved;
    void *function[318];
};

/* Places in the table. */
enum {
    COUNT_CODECS = 1,
    LIST_CODECS = 4,
    GET_CAP = 7,
    INITIALIZE = 11,
    CREATE_INPUT = 12,
    DESTROY_INPUT = 13,
    CREATE_OUTPUT = 14,
    DESTROY_OUTPUT = 15,
    ENCODE = 16,
    LOCK_OUTPUT = 17,
    UNLOCK_OUTPUT = 18,
    LOCK_INPUT = 19,
    UNLOCK_INPUT = 20,
    GET_HEADERS = 22,
    MAP = 25,
    UNMAP = 26,
    CLOSE = 27,
    OPEN = 29,
    REGISTER = 30,
    UNREGISTER = 31,
    LAST_ERROR = 37,
    SET_STREAMS = 38,
    GET_PRESET = 39,
};

int NvEncodeAPIGetMaxSupportedVersion(uint32_t *ret)
{
    *ret = (uint32_t)number_of("HALO_STANDIN_NVENC_VERSION", 0xff0);
    return 0;
}

int NvEncodeAPICreateInstance(struct functions *ret)
{
    void **f = ret->function;
    f[COUNT_CODECS] = (void *)count_codecs;
    f[LIST_CODECS] = (void *)list_codecs;
    f[GET_CAP] = (void *)get_cap;
    f[INITIALIZE] = (void *)initialize;
    f[CREATE_INPUT] = (void *)create_input;
    f[DESTROY_INPUT] = (void *)destroy_input;
    f[CREATE_OUTPUT] = (void *)create_output;
    f[DESTROY_OUTPUT] = (void *)destroy_output;
    f[ENCODE] = (void *)encode;
    f[LOCK_OUTPUT] = (void *)lock_output;
    f[UNLOCK_OUTPUT] = (void *)do_nothing;
    f[LOCK_INPUT] = (void *)lock_input;
    f[UNLOCK_INPUT] = (void *)do_nothing;
    f[GET_HEADERS] = (void *)get_headers;
    f[MAP] = (void *)map_resource;
    f[UNMAP] = (void *)do_nothing;
    f[CLOSE] = (void *)close_session;
    f[OPEN] = (void *)open_session;
    f[REGISTER] = (void *)register_resource;
    f[UNREGISTER] = (void *)do_nothing;
    f[LAST_ERROR] = (void *)last_error;
    f[SET_STREAMS] = (void *)set_streams;
    f[GET_PRESET] = (void *)get_preset;
    return 0;
}
