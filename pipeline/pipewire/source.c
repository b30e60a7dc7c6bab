/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/pipewire/source.h"

#include <errno.h>
#include <spa/param/video/format-utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/thread.h"
#include "kernels/clock.h"
#include "pipeline/pipewire/formats.h"
#include "pipeline/pipewire/session.h"

enum {
    MAX_BUFFERS = 32,
    MAX_SIDE = 16384,
    POD_BYTES = 2048,
};

static const int64_t PATIENCE = INT64_C(3000000000); /* ns, to agree on a format */

struct halo_pipewire_source {
    struct halo_pipewire_session session;
    struct pw_registry *registry;
    struct pw_proxy *link;
    struct pw_stream *stream;
    struct spa_hook registry_listener, link_listener, listener;
    struct halo_pipewire_wanted wanted;
    struct halo_pipewire_agreed agreed; /* format NULL: not agreed yet */
    bool gone, changed, refused;
    char why[200];                        /* if refused */
    struct pw_buffer *taken[MAX_BUFFERS]; /* NULL: free */
};

/* ---- formats ---- */

static const struct spa_pod *wish(const struct halo_pipewire_source *s,
                                  const struct halo_pipewire_format *f, struct spa_pod_builder *b)
{
    const struct spa_rectangle size = {(uint32_t)s->wanted.width, (uint32_t)s->wanted.height};
    const struct spa_fraction rate = {(uint32_t)(s->wanted.rate * 1000), 1000}, none = {0, 1};
    struct spa_pod_frame frame;
    spa_pod_builder_push_object(b, &frame, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(b, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video),
                        SPA_FORMAT_mediaSubtype, SPA_POD_Id(f->subtype), 0);
    if (f->row)
        spa_pod_builder_add(b, SPA_FORMAT_VIDEO_format, SPA_POD_Id(f->format), 0);
    spa_pod_builder_add(b, SPA_FORMAT_VIDEO_size,
                        SPA_POD_CHOICE_RANGE_Rectangle(&size, &SPA_RECTANGLE(1, 1),
                                                       &SPA_RECTANGLE(MAX_SIDE, MAX_SIDE)),
                        SPA_FORMAT_VIDEO_framerate,
                        SPA_POD_CHOICE_RANGE_Fraction(&rate, &none, &SPA_FRACTION(1000, 1)), 0);
    return spa_pod_builder_pop(b, &frame);
}

static const struct halo_pipewire_format *find(const struct spa_pod *param)
{
    uint32_t type = 0, subtype = 0;
    struct spa_video_info_raw raw = {0};
    if (spa_format_parse(param, &type, &subtype) < 0 || type != SPA_MEDIA_TYPE_video)
        return NULL;
    if (subtype == SPA_MEDIA_SUBTYPE_raw)
        spa_format_video_raw_parse(param, &raw);
    const struct halo_pipewire_format *f = halo_pipewire_formats;
    while (f->name && (f->subtype != subtype || (f->row && f->format != raw.format)))
        f++;
    return f->name ? f : NULL;
}

static bool read_format(struct halo_pipewire_agreed *ret, const struct spa_pod *param)
{
    const struct halo_pipewire_format *f = find(param);
    struct spa_video_info_raw raw = {0};
    struct spa_video_info_mjpg mjpg = {0};
    if (!f)
        return false;
    if (f->row)
        spa_format_video_raw_parse(param, &raw);
    else
        spa_format_video_mjpg_parse(param, &mjpg);
    const struct spa_rectangle size = f->row ? raw.size : mjpg.size;
    const struct spa_fraction rate = f->row ? raw.framerate : mjpg.framerate;
    *ret = (struct halo_pipewire_agreed){
        .format = f->name,
        .width = (int)size.width,
        .height = (int)size.height,
        .rate = rate.denom && rate.num / rate.denom <= 1000 ? (double)rate.num / rate.denom : 0,
        .full_range = raw.color_range == SPA_VIDEO_COLOR_RANGE_0_255,
        .bt709 = raw.color_matrix == SPA_VIDEO_COLOR_MATRIX_BT709,
    };
    return size.width >= 1 && size.width <= MAX_SIDE && size.height >= 1 && size.height <= MAX_SIDE;
}

static void refuse(struct halo_pipewire_source *s, const char *why)
{
    if (s->refused)
        return;
    s->refused = true;
    snprintf(s->why, sizeof s->why, "%s", why);
    halo_sanitise(s->why);
}

/* ---- events ---- */

static void on_param(void *data, uint32_t id, const struct spa_pod *param)
{
    struct halo_pipewire_source *s = data;
    struct halo_pipewire_agreed agreed = {0};
    uint8_t memory[POD_BYTES];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    if (id != SPA_PARAM_Format || !param)
        return;
    if (!read_format(&agreed, param)) {
        refuse(s, "its format is not supported by halod");
        return;
    }
    s->changed |= s->agreed.format != NULL; /* memory of the old size must not be read by the new */
    s->agreed = agreed;
    const struct spa_pod *params[] = {
        spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers,
                                   SPA_PARAM_BUFFERS_buffers, SPA_POD_CHOICE_RANGE_Int(4, 2, 16),
                                   SPA_PARAM_BUFFERS_dataType,
                                   SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemFd)),
        spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta,
                                   SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
                                   SPA_PARAM_META_size,
                                   SPA_POD_Int(sizeof(struct spa_meta_header))),
    };
    s->session.pw->stream_update_params(s->stream, params, 2);
}

static void on_state(void *data, enum pw_stream_state old, enum pw_stream_state state,
                     const char *error)
{
    struct halo_pipewire_source *s = data;
    (void)old;
    if (state == PW_STREAM_STATE_ERROR)
        refuse(s, error ? error : "PipeWire refused the stream");
    else if (state == PW_STREAM_STATE_UNCONNECTED)
        halo_pipewire_session_lose(&s->session, "PipeWire has closed the connection");
}

/* A buffer that is removed must not be given back. */
static void on_remove_buffer(void *data, struct pw_buffer *buffer)
{
    struct halo_pipewire_source *s = data;
    for (int i = 0; i < MAX_BUFFERS; i++)
        if (s->taken[i] == buffer)
            s->taken[i] = NULL;
}

static const struct pw_stream_events stream_events = {
    .version = PW_VERSION_STREAM_EVENTS,
    .state_changed = on_state,
    .param_changed = on_param,
    .remove_buffer = on_remove_buffer,
};

static void on_global_remove(void *data, uint32_t id)
{
    struct halo_pipewire_source *s = data;
    s->gone |= id == s->wanted.id;
}

static const struct pw_registry_events registry_events = {.version = PW_VERSION_REGISTRY_EVENTS,
                                                          .global_remove = on_global_remove};

static void on_link_error(void *data, int seq, int code, const char *message)
{
    (void)seq;
    (void)code;
    refuse(data, message);
}

static const struct pw_proxy_events link_events = {.version = PW_VERSION_PROXY_EVENTS,
                                                   .error = on_link_error};

/* ---- open ---- */

/* Why no frames can come, or 0. */
static int check(struct halo_pipewire_source *s, struct halo_error *err)
{
    if (s->gone)
        return halo_fail(err, -ENODEV, "the node is gone");
    if (s->session.lost)
        return halo_fail(err, -ENODEV, "%s", s->session.why);
    if (s->refused)
        return halo_fail(err, -EINVAL, "%s", s->why);
    return s->changed ? halo_fail(err, -ESTALE, "its format has changed") : 0;
}

static int add_stream(struct halo_pipewire_source *s, struct halo_error *err)
{
    const struct halo_pipewire *pw = s->session.pw;
    uint8_t memory[POD_BYTES];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[8];
    int count = 0;
    for (const struct halo_pipewire_format *f = halo_pipewire_formats; f->name; f++)
        if (!s->wanted.format || !strcmp(s->wanted.format, f->name))
            params[count++] = wish(s, f, &b);
    s->registry = pw_core_get_registry(s->session.core, PW_VERSION_REGISTRY, 0);
    s->stream = pw->stream_new(s->session.core, "halod",
                               pw->properties_new(PW_KEY_MEDIA_TYPE, "Video", PW_KEY_MEDIA_CATEGORY,
                                                  "Capture", PW_KEY_MEDIA_ROLE, "Camera",
                                                  PW_KEY_NODE_NAME, "halod.input", NULL));
    if (!s->registry || !s->stream)
        return halo_fail(err, -ENOMEM, "PipeWire: out of memory");
    pw_registry_add_listener(s->registry, &s->registry_listener, &registry_events, s);
    pw->stream_add_listener(s->stream, &s->listener, &stream_events, s);
    const int code = pw->stream_connect(s->stream, PW_DIRECTION_INPUT, PW_ID_ANY,
                                        PW_STREAM_FLAG_MAP_BUFFERS, params, (uint32_t)count);
    return code < 0 ? halo_fail(err, code, "PipeWire refused the stream: %s", strerror(-code)) : 0;
}

static int add_link(struct halo_pipewire_source *s, struct halo_error *err)
{
    char from[16], to[16];
    snprintf(from, sizeof from, "%u", s->wanted.id);
    snprintf(to, sizeof to, "%u", s->session.pw->stream_get_node_id(s->stream));
    const struct spa_dict_item items[] = {
        SPA_DICT_ITEM_INIT(PW_KEY_LINK_OUTPUT_NODE, from),
        SPA_DICT_ITEM_INIT(PW_KEY_LINK_INPUT_NODE, to),
    };
    s->link = pw_core_create_object(s->session.core, "link-factory", PW_TYPE_INTERFACE_Link,
                                    PW_VERSION_LINK, &SPA_DICT_INIT_ARRAY(items), 0);
    if (!s->link)
        return halo_fail(err, -errno, "PipeWire refused the link: %s", strerror(errno));
    s->session.pw->proxy_add_listener(s->link, &s->link_listener, &link_events, s);
    return 0;
}

/* Waits until a format is agreed on. */
static int agree(struct halo_pipewire_source *s, int wake, struct halo_error *err)
{
    const int64_t end = halo_now_ns() + PATIENCE;
    struct pollfd on[] = {{halo_pipewire_source_poll(s), POLLIN, 0}, {wake, POLLIN, 0}};
    int code = 0;
    while (code == 0 && !s->agreed.format) {
        if (!halo_poll(on, 2, end))
            return halo_fail(err, -ETIMEDOUT, "the node does not answer");
        if (on[1].revents)
            return halo_fail(err, -ECANCELED, "stopped");
        halo_pipewire_session_turn(&s->session, 0, err);
        code = check(s, err);
    }
    return code;
}

int halo_pipewire_source_open(struct halo_pipewire_source **ret,
                              struct halo_pipewire_agreed *ret_agreed,
                              const struct halo_pipewire_wanted *wanted, int wake,
                              struct halo_error *err)
{
    struct halo_pipewire_source *s = calloc(1, sizeof *s);
    if (!s)
        return halo_fail(err, -ENOMEM, "out of memory");
    s->wanted = *wanted;
    int code = halo_pipewire_session_open(&s->session, err);
    if (code >= 0)
        code = add_stream(s, err);
    for (int i = 0; i < 2 && code >= 0; i++) /* until the stream's node has a number */
        code = halo_pipewire_session_sync(&s->session, err);
    if (code >= 0)
        code = check(s, err);
    if (code >= 0)
        code = add_link(s, err);
    if (code >= 0)
        code = agree(s, wake, err);
    if (code < 0) {
        halo_pipewire_source_close(s);
        return code;
    }
    *ret_agreed = s->agreed;
    *ret = s;
    return 0;
}

void halo_pipewire_source_close(struct halo_pipewire_source *s)
{
    if (!s)
        return;
    if (s->link) {
        spa_hook_remove(&s->link_listener);
        s->session.pw->proxy_destroy(s->link);
    }
    if (s->stream)
        s->session.pw->stream_destroy(s->stream);
    if (s->registry) {
        spa_hook_remove(&s->registry_listener);
        s->session.pw->proxy_destroy((struct pw_proxy *)s->registry);
    }
    halo_pipewire_session_finish(&s->session);
    free(s);
}

/* ---- frames ---- */

int halo_pipewire_source_poll(const struct halo_pipewire_source *s)
{
    return halo_pipewire_session_poll(&s->session);
}

static void fill(struct halo_pipewire_taken *ret, const struct spa_buffer *buffer)
{
    const struct spa_meta_header *header =
        spa_buffer_find_meta_data(buffer, SPA_META_Header, sizeof *header);
    ret->memories =
        buffer->n_datas < HALO_PIPEWIRE_PLANES ? (int)buffer->n_datas : HALO_PIPEWIRE_PLANES;
    for (int i = 0; i < ret->memories; i++) {
        const struct spa_data *d = &buffer->datas[i];
        const struct spa_chunk chunk = *d->chunk; /* others may write to it */
        const bool fits = d->data && chunk.size > 0 && chunk.offset <= d->maxsize &&
                          chunk.size <= d->maxsize - chunk.offset && chunk.stride >= 0;
        ret->data[i] = fits ? (const uint8_t *)d->data + chunk.offset : NULL;
        ret->size[i] = fits ? chunk.size : 0;
        ret->stride[i] = (uint32_t)chunk.stride;
        ret->damaged |= !fits || (chunk.flags & SPA_CHUNK_FLAG_CORRUPTED);
    }
    ret->damaged |= ret->memories < 1;
    if (header) {
        ret->damaged |= (header->flags & SPA_META_HEADER_FLAG_CORRUPTED) != 0;
        ret->time = header->pts > 0 ? header->pts : 0;
        ret->sequence = (uint32_t)header->seq;
    }
}

int halo_pipewire_source_take(struct halo_pipewire_source *s, struct halo_pipewire_taken *ret,
                              struct halo_error *err)
{
    int slot = 0;
    while (slot < MAX_BUFFERS && s->taken[slot])
        slot++;
    if (slot == 0) /* events may remove buffers */
        halo_pipewire_session_turn(&s->session, 0, err);
    const int code = check(s, err);
    if (code < 0 || slot == MAX_BUFFERS)
        return code;
    struct pw_buffer *buffer = s->session.pw->stream_dequeue_buffer(s->stream);
    if (!buffer)
        return 0;
    s->taken[slot] = buffer;
    *ret = (struct halo_pipewire_taken){.index = slot};
    fill(ret, buffer->buffer);
    return 1;
}

void halo_pipewire_source_give(struct halo_pipewire_source *s, int index)
{
    if (s->taken[index])
        s->session.pw->stream_queue_buffer(s->stream, s->taken[index]);
    s->taken[index] = NULL;
}
