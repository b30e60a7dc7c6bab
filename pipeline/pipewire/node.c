/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/pipewire/node.h"

#include <errno.h>
#include <math.h>
#include <spa/param/video/format-utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/pipewire.h"
#include "kernels/clock.h"
#include "pipeline/pipewire/session.h"

enum {
    STUCK_S = HALO_PIPEWIRE_STUCK_S,
    BUFFERS = 8, /* as many as consumers usually hold, and some */
    POD_BYTES = 2048,
    /* above those of WirePlumber for devices (1000 and less): a program that does not choose a
     * camera gets this one */
    PRIORITY = 2000,
};

/* In the order of halo_desktop_formats. */
static const struct {
    enum spa_video_format format;
    int bits;   /* per pixel */
    int stride; /* bytes per pixel in the first plane */
} formats[HALO_DESKTOP_FORMATS] = {
    {SPA_VIDEO_FORMAT_I420, 12, 1},
    {SPA_VIDEO_FORMAT_NV12, 12, 1},
    {SPA_VIDEO_FORMAT_YUY2, 16, 2},
    {SPA_VIDEO_FORMAT_RGB, 24, 3},
};

struct halo_pipewire_node {
    struct halo_pipewire_session session;
    struct halo_pipewire_mode mode;
    char name[HALO_PIPEWIRE_NAME], label[HALO_PIPEWIRE_NAME]; /* node.name, node.description */
    struct pw_stream *stream;                                 /* NULL: not open */
    struct spa_hook listener;
    struct spa_io_position *position; /* the graph's clock; NULL: none yet */
    struct halo_pipewire_wish wish;
    bool agreed, streaming;
    uint64_t frames;
    int refused;  /* frames in a row for which no buffer was free */
    int64_t time; /* of the last frame */
};

/* ---- formats ---- */

static struct spa_fraction fraction_of(double rate)
{
    const double whole = round(rate);
    return fabs(rate - whole) < 1e-3
               ? SPA_FRACTION((uint32_t)whole, 1)
               : SPA_FRACTION((uint32_t)round(rate * 1001), 1001); /* 29.97 and its like */
}

/* The mode's rate, and common ones below it: browsers do not read a range. */
static void add_rates(double most, struct spa_pod_builder *b)
{
    static const uint32_t lower[] = {60, 50, 30, 25, 24, 20, 15, 10, 5, 1};
    const struct spa_fraction rate = fraction_of(most);
    struct spa_pod_frame frame;
    spa_pod_builder_prop(b, SPA_FORMAT_VIDEO_framerate, 0);
    spa_pod_builder_push_choice(b, &frame, SPA_CHOICE_Enum, 0);
    spa_pod_builder_fraction(b, rate.num, rate.denom); /* the default, then all */
    spa_pod_builder_fraction(b, rate.num, rate.denom);
    for (size_t i = 0; i < sizeof lower / sizeof *lower; i++)
        if (lower[i] < most - 1e-3)
            spa_pod_builder_fraction(b, lower[i], 1);
    spa_pod_builder_pop(b, &frame);
}

/* One object for each format, like nodes of devices: browsers do not read a choice of formats. */
static const struct spa_pod *offer(const struct halo_pipewire_node *node, int format,
                                   struct spa_pod_builder *b)
{
    const struct spa_rectangle size = {(uint32_t)node->mode.width, (uint32_t)node->mode.height};
    struct spa_pod_frame frame;
    spa_pod_builder_push_object(b, &frame, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(b, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video),
                        SPA_FORMAT_mediaSubtype, SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw),
                        SPA_FORMAT_VIDEO_format, SPA_POD_Id(formats[format].format),
                        SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&size), 0);
    add_rates(node->mode.rate, b);
    return spa_pod_builder_pop(b, &frame);
}

size_t halo_pipewire_node_size(const struct halo_pipewire_node *node, int format)
{
    return (size_t)node->mode.width * (size_t)node->mode.height * (size_t)formats[format].bits / 8;
}

static void send_buffers(struct halo_pipewire_node *node)
{
    uint8_t memory[POD_BYTES];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const int at = node->wish.format;
    const struct spa_pod *params[] = {
        spa_pod_builder_add_object(
            &b, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
            SPA_POD_CHOICE_RANGE_Int(BUFFERS, 2, 2 * BUFFERS), SPA_PARAM_BUFFERS_blocks,
            SPA_POD_Int(1), SPA_PARAM_BUFFERS_size,
            SPA_POD_Int((int)halo_pipewire_node_size(node, at)), SPA_PARAM_BUFFERS_stride,
            SPA_POD_Int(node->mode.width * formats[at].stride), SPA_PARAM_BUFFERS_dataType,
            SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemFd)),
        spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta,
                                   SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
                                   SPA_PARAM_META_size,
                                   SPA_POD_Int(sizeof(struct spa_meta_header))),
        spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta,
                                   SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Busy),
                                   SPA_PARAM_META_size, SPA_POD_Int(sizeof(struct spa_meta_busy))),
    };
    node->session.pw->stream_update_params(node->stream, params, 3);
}

/* ---- events ---- */

static void on_format(struct halo_pipewire_node *node, const struct spa_pod *param)
{
    struct spa_video_info_raw info = {0};
    node->agreed = false;
    if (!param || spa_format_video_raw_parse(param, &info) < 0)
        return;
    for (int i = 0; i < HALO_DESKTOP_FORMATS; i++)
        if (formats[i].format == info.format) {
            node->agreed = true;
            node->wish.format = i;
        }
    const double rate =
        info.framerate.denom ? (double)info.framerate.num / info.framerate.denom : 0;
    node->wish.rate = rate > 0 && rate < node->mode.rate ? rate : node->mode.rate;
    if (node->agreed)
        send_buffers(node);
}

static void on_param(void *data, uint32_t id, const struct spa_pod *param)
{
    if (id == SPA_PARAM_Format)
        on_format(data, param);
}

static void on_state(void *data, enum pw_stream_state old, enum pw_stream_state state,
                     const char *error)
{
    struct halo_pipewire_node *node = data;
    (void)old;
    node->streaming = state == PW_STREAM_STATE_STREAMING;
    node->refused = 0;
    if (state == PW_STREAM_STATE_ERROR)
        halo_pipewire_session_lose(&node->session, error ? error : "PipeWire refused the node");
    else if (state == PW_STREAM_STATE_UNCONNECTED)
        halo_pipewire_session_lose(&node->session, "PipeWire has closed the connection");
}

static void on_io(void *data, uint32_t id, void *area, uint32_t size)
{
    struct halo_pipewire_node *node = data;
    if (id == SPA_IO_Position)
        node->position = size >= sizeof *node->position ? area : NULL;
}

static const struct pw_stream_events events = {
    .version = PW_VERSION_STREAM_EVENTS,
    .state_changed = on_state,
    .param_changed = on_param,
    .io_changed = on_io,
};

/* ---- frames ---- */

/* Tells the graph when this frame is due, and when the next one will be. */
static void set_clock(struct halo_pipewire_node *node)
{
    if (!node->position || !node->session.pw->stream_is_driving(node->stream))
        return;
    struct spa_io_clock *clock = &node->position->clock;
    const struct spa_fraction rate = fraction_of(node->wish.rate);
    const int64_t now = halo_now_ns();
    clock->nsec = (uint64_t)now;
    clock->rate = SPA_FRACTION(rate.denom, rate.num);
    clock->position = node->frames;
    clock->duration = 1;
    clock->delay = 0;
    clock->rate_diff = 1;
    clock->next_nsec = (uint64_t)(now + (int64_t)(1e9 / node->wish.rate));
}

int halo_pipewire_node_write(struct halo_pipewire_node *node, const void *data, size_t size,
                             int64_t time)
{
    const struct halo_pipewire *pw = node->session.pw;
    if (!node->stream || !node->agreed || !node->streaming ||
        size != halo_pipewire_node_size(node, node->wish.format))
        return -EAGAIN;
    struct pw_buffer *buffer = pw->stream_dequeue_buffer(node->stream);
    if (!buffer) /* frames are counted, because on a busy machine time says nothing */
        return ++node->refused > STUCK_S * node->wish.rate ? -ETIMEDOUT : -EAGAIN;
    node->refused = 0;
    struct spa_data *to = &buffer->buffer->datas[0];
    const bool fits = to->data && to->maxsize >= size;
    if (fits)
        memcpy(to->data, data, size);
    *to->chunk = (struct spa_chunk){
        .size = fits ? (uint32_t)size : 0,
        .stride = node->mode.width * formats[node->wish.format].stride,
    };
    struct spa_meta_header *header =
        spa_buffer_find_meta_data(buffer->buffer, SPA_META_Header, sizeof *header);
    node->time = time > node->time ? time : node->time + 1; /* after a repeat, which is later */
    if (header)
        *header = (struct spa_meta_header){.pts = node->time, .seq = node->frames};
    buffer->size = 1;
    node->frames++;
    set_clock(node);
    pw->stream_queue_buffer(node->stream, buffer);
    pw->stream_trigger_process(node->stream);
    return fits ? 0 : -EAGAIN;
}

/* ---- life ---- */

int halo_pipewire_node_create(struct halo_pipewire_node **ret,
                              const struct halo_pipewire_mode *mode)
{
    struct halo_pipewire_node *node = calloc(1, sizeof *node);
    if (!node)
        return -ENOMEM;
    snprintf(node->label, sizeof node->label, "%s", mode->name);
    halo_sanitise(node->label);
    halo_pipewire_node_name(mode->name, node->name);
    node->mode = *mode;
    node->mode.name = node->label;
    node->wish.rate = mode->rate;
    *ret = node;
    return 0;
}

void halo_pipewire_node_close(struct halo_pipewire_node *node)
{
    if (node->stream)
        node->session.pw->stream_destroy(node->stream);
    node->stream = NULL;
    node->position = NULL;
    node->agreed = node->streaming = false;
    node->refused = 0;
    halo_pipewire_session_close(&node->session);
}

void halo_pipewire_node_destroy(struct halo_pipewire_node *node)
{
    if (!node)
        return;
    halo_pipewire_node_close(node);
    halo_pipewire_session_finish(&node->session);
    free(node);
}

static int add_node(struct halo_pipewire_node *node)
{
    const struct halo_pipewire *pw = node->session.pw;
    uint8_t memory[POD_BYTES];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[HALO_DESKTOP_FORMATS];
    for (int i = 0; i < HALO_DESKTOP_FORMATS; i++)
        params[i] = offer(node, i, &b);
    char priority[12], serial[HALO_PIPEWIRE_NAME + 8];
    snprintf(priority, sizeof priority, "%d", PRIORITY);
    snprintf(serial, sizeof serial, "halod-%s", node->name);
    node->stream = pw->stream_new(
        node->session.core, node->label,
        pw->properties_new(PW_KEY_MEDIA_CLASS, "Video/Source", PW_KEY_MEDIA_TYPE, "Video",
                           PW_KEY_MEDIA_ROLE, "Camera", PW_KEY_NODE_NAME, node->name,
                           PW_KEY_NODE_DESCRIPTION, node->label, PW_KEY_NODE_NICK, node->label,
                           PW_KEY_DEVICE_SERIAL, serial, PW_KEY_DEVICE_ICON_NAME, "camera-web",
                           PW_KEY_PRIORITY_SESSION, priority, HALO_PIPEWIRE_OURS, "true", NULL));
    if (!node->stream)
        return -errno;
    pw->stream_add_listener(node->stream, &node->listener, &events, node);
    return pw->stream_connect(node->stream, PW_DIRECTION_OUTPUT, PW_ID_ANY,
                              PW_STREAM_FLAG_DRIVER | PW_STREAM_FLAG_MAP_BUFFERS, params,
                              HALO_DESKTOP_FORMATS);
}

int halo_pipewire_node_open(struct halo_pipewire_node *node, struct halo_error *err)
{
    int code = halo_pipewire_session_open(&node->session, err);
    if (code >= 0 && (code = add_node(node)) < 0)
        halo_fail(err, code, "PipeWire refused the node: %s", strerror(-code));
    if (code < 0)
        halo_pipewire_node_close(node);
    return code;
}

int halo_pipewire_node_poll(const struct halo_pipewire_node *node)
{
    return halo_pipewire_session_poll(&node->session);
}

int halo_pipewire_node_turn(struct halo_pipewire_node *node, struct halo_error *err)
{
    return halo_pipewire_session_turn(&node->session, 0, err);
}

void halo_pipewire_node_wish(const struct halo_pipewire_node *node, struct halo_pipewire_wish *ret)
{
    *ret = node->wish;
    ret->linked = node->agreed && node->streaming;
}
