/* SPDX-License-Identifier: BSD-2-Clause
 * Plays a PipeWire camera, as a program that knows only libpipewire.
 *
 *   pipewire-client NODE [FORMAT [FRAMES [ROUNDS]]]
 *
 * NODE is a node.name. FORMAT is i420, nv12, yuy2, rgb or any (the default). After FRAMES frames
 * (0, the default: never), it disconnects from the node, ROUNDS times (1, the default), and ends.
 * With 0 rounds it keeps every frame that it gets.
 * Each frame is written to standard output as a line "frame FORMAT WIDTH HEIGHT TIME ARRIVAL SIZE",
 * with times in ns of CLOCK_MONOTONIC, and SIZE bytes. Exit status: 0, 1 (error), 3 (the connection
 * was lost). */
#include <pipewire/pipewire.h>
#include <spa/param/video/format-utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name;
    enum spa_video_format format;
} formats[] = {
    {"i420", SPA_VIDEO_FORMAT_I420},
    {"nv12", SPA_VIDEO_FORMAT_NV12},
    {"yuy2", SPA_VIDEO_FORMAT_YUY2},
    {"rgb", SPA_VIDEO_FORMAT_RGB},
};
enum { FORMATS = sizeof formats / sizeof *formats };

struct client {
    struct pw_main_loop *loop;
    struct pw_core *core;
    struct pw_stream *stream;
    struct spa_hook core_listener, listener;
    struct spa_video_info_raw info;
    const char *node;
    int wanted; /* FORMATS: any */
    int most, frames, rounds, status;
};

static void end(struct client *c, int status)
{
    c->status = status;
    pw_main_loop_quit(c->loop);
}

static const char *name_of(enum spa_video_format format)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].format == format)
            return formats[i].name;
    return "unknown";
}

static void on_param(void *data, uint32_t id, const struct spa_pod *param)
{
    struct client *c = data;
    uint8_t memory[512];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    if (id != SPA_PARAM_Format || !param)
        return;
    spa_format_video_raw_parse(param, &c->info);
    const struct spa_pod *params[] = {
        spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta,
                                   SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
                                   SPA_PARAM_META_size,
                                   SPA_POD_Int(sizeof(struct spa_meta_header))),
        spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers,
                                   SPA_PARAM_BUFFERS_dataType,
                                   SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemFd)),
    };
    pw_stream_update_params(c->stream, params, 2);
}

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void write_out(struct client *c, const struct spa_buffer *buffer)
{
    const struct spa_data *d = &buffer->datas[0];
    const struct spa_meta_header *header =
        spa_buffer_find_meta_data(buffer, SPA_META_Header, sizeof *header);
    if (!d->data || d->chunk->size > d->maxsize)
        return;
    printf("frame %s %u %u %lld %lld %u\n", name_of(c->info.format), c->info.size.width,
           c->info.size.height, header ? (long long)header->pts : -1, now(), d->chunk->size);
    fwrite((const char *)d->data + d->chunk->offset, 1, d->chunk->size, stdout);
    if (fflush(stdout))
        end(c, 1);
    if (++c->frames == c->most)
        end(c, 0);
}

static void on_process(void *data)
{
    struct client *c = data;
    struct pw_buffer *buffer;
    while ((buffer = pw_stream_dequeue_buffer(c->stream))) {
        if (c->most == 0 || c->frames < c->most)
            write_out(c, buffer->buffer);
        if (c->rounds > 0)
            pw_stream_queue_buffer(c->stream, buffer);
    }
}

static void on_state(void *data, enum pw_stream_state old, enum pw_stream_state state,
                     const char *error)
{
    (void)old;
    if (state == PW_STREAM_STATE_ERROR) {
        fprintf(stderr, "pipewire-client: %s\n", error ? error : "failed");
        end(data, 1);
    }
}

static const struct pw_stream_events events = {
    .version = PW_VERSION_STREAM_EVENTS,
    .state_changed = on_state,
    .param_changed = on_param,
    .process = on_process,
};

static void on_error(void *data, uint32_t id, int seq, int code, const char *message)
{
    (void)seq;
    (void)message;
    if (id == PW_ID_CORE && code == -EPIPE)
        end(data, 3);
}

static const struct pw_core_events core_events = {.version = PW_VERSION_CORE_EVENTS,
                                                  .error = on_error};

static const struct spa_pod *wish(const struct client *c, struct spa_pod_builder *b)
{
    const bool any = c->wanted == FORMATS;
    return spa_pod_builder_add_object(
        b, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat, SPA_FORMAT_mediaType,
        SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format,
        SPA_POD_CHOICE_ENUM_Id(
            5, formats[any ? 0 : c->wanted].format, formats[any ? 0 : c->wanted].format,
            formats[any ? 1 : c->wanted].format, formats[any ? 2 : c->wanted].format,
            formats[any ? 3 : c->wanted].format),
        SPA_FORMAT_VIDEO_size,
        SPA_POD_CHOICE_RANGE_Rectangle(&SPA_RECTANGLE(640, 480), &SPA_RECTANGLE(1, 1),
                                       &SPA_RECTANGLE(8192, 8192)),
        SPA_FORMAT_VIDEO_framerate,
        SPA_POD_CHOICE_RANGE_Fraction(&SPA_FRACTION(30, 1), &SPA_FRACTION(0, 1),
                                      &SPA_FRACTION(1000, 1)));
}

static void play(struct client *c)
{
    uint8_t memory[1024];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[] = {wish(c, &b)};
    c->frames = 0;
    c->stream = pw_stream_new(c->core, "pipewire-client",
                              pw_properties_new(PW_KEY_MEDIA_TYPE, "Video", PW_KEY_MEDIA_CATEGORY,
                                                "Capture", PW_KEY_MEDIA_ROLE, "Camera",
                                                PW_KEY_TARGET_OBJECT, c->node, NULL));
    if (!c->stream) {
        c->status = 1;
        return;
    }
    pw_stream_add_listener(c->stream, &c->listener, &events, c);
    pw_stream_connect(c->stream, PW_DIRECTION_INPUT, PW_ID_ANY,
                      PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_MAP_BUFFERS, params, 1);
    pw_main_loop_run(c->loop);
    pw_stream_destroy(c->stream);
}

int main(int argc, char **argv)
{
    struct client c = {.wanted = 0, .rounds = argc > 4 ? atoi(argv[4]) : 1};
    if (argc < 2)
        return 64;
    pw_init(&argc, &argv);
    c.node = argv[1];
    c.most = argc > 3 ? atoi(argv[3]) : 0;
    while (c.wanted < FORMATS && (argc < 3 || strcmp(argv[2], formats[c.wanted].name)))
        c.wanted++;
    c.loop = pw_main_loop_new(NULL);
    struct pw_context *context = pw_context_new(pw_main_loop_get_loop(c.loop), NULL, 0);
    c.core = pw_context_connect(context, NULL, 0);
    if (!c.core) {
        fprintf(stderr, "pipewire-client: cannot connect\n");
        return 1;
    }
    pw_core_add_listener(c.core, &c.core_listener, &core_events, &c);
    for (int i = 0; (i < c.rounds || i == 0) && c.status == 0; i++)
        play(&c);
    pw_core_disconnect(c.core);
    pw_context_destroy(context);
    pw_main_loop_destroy(c.loop);
    return c.status;
}
