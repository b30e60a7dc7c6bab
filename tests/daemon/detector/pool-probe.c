/* SPDX-License-Identifier: BSD-2-Clause
 * Runs detectors as the supervisor does: `pool-probe HALOD`. Standard input has lines
 *
 *   want STREAM FIND shared|own COMMAND...
 *
 * and standard output one line for each answer, event and message: "STREAM FIND: TEXT". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/detector/pool.h"

enum { MAX = 16 };

struct connection {
    uv_poll_t poll;
    char stream[32];
    enum halo_find find;
    int fd;
    bool open;
};

static struct connection connections[MAX];
static struct halo_detector_pool *pool;
static uv_loop_t loop;
static uv_pipe_t input;

static void say(const char *stream, enum halo_find find, const char *text)
{
    printf("%s %s: %s\n", stream, halo_find_names[find], text);
    fflush(stdout);
}

static void close_connection(struct connection *c)
{
    if (!c->open)
        return;
    c->open = false;
    uv_poll_stop(&c->poll);
    close(c->fd);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct connection *c = poll->data;
    char text[4096];
    (void)events;
    const ssize_t size = status < 0 ? 0 : recv(c->fd, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    say(c->stream, c->find, size > 0 ? text : "closed");
    if (size <= 0)
        close_connection(c);
}

static void on_answer(void *arg, const char *stream, enum halo_find find, uint64_t id, int fd,
                      const char *why)
{
    static int made;
    char text[500];
    (void)arg;
    snprintf(text, sizeof text, "answer %d %s", (int)id, fd >= 0 ? "connected" : why);
    say(stream, find, text);
    if (fd < 0)
        return;
    if (made == MAX)
        abort();
    struct connection *c = &connections[made++];
    c->fd = fd;
    c->find = find;
    c->open = true;
    snprintf(c->stream, sizeof c->stream, "%s", stream);
    uv_poll_init(&loop, &c->poll, fd);
    c->poll.data = c;
    uv_poll_start(&c->poll, UV_READABLE, on_readable);
}

static void on_event(void *arg, const char *stream, enum halo_find find,
                     enum halo_detector_event event, const char *why)
{
    char text[500];
    (void)arg;
    snprintf(text, sizeof text, event == HALO_DETECTOR_STARTED ? "started" : "failed: %s", why);
    say(stream, find, text);
}

static void run(char *line)
{
    static uint64_t id;
    char *at = NULL, *what = strtok_r(line, " ", &at), *stream = strtok_r(NULL, " ", &at);
    const char *find_name = strtok_r(NULL, " ", &at);
    if (!what || strcmp(what, "want") != 0 || !stream || !find_name)
        return;
    const enum halo_find find = strcmp(find_name, "faces") ? HALO_FIND_PEOPLE : HALO_FIND_FACES;
    const char *how = strtok_r(NULL, " ", &at);
    struct halo_detector_settings settings = {.command = *at ? at : NULL,
                                              .shared = !strcmp(how, "shared")};
    halo_detector_pool_want(pool, stream, find, ++id, &settings);
}

static void finish(void)
{
    halo_detector_pool_destroy(pool);
    for (int i = 0; i < MAX; i++)
        if (connections[i].fd > 0) {
            close_connection(&connections[i]);
            uv_close((uv_handle_t *)&connections[i].poll, NULL);
        }
    uv_close((uv_handle_t *)&input, NULL);
}

static void allocate(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
    static char buffer[4096];
    (void)handle;
    (void)wanted;
    *ret = uv_buf_init(buffer, sizeof buffer);
}

static void on_input(uv_stream_t *stream, ssize_t size, const uv_buf_t *data)
{
    static char line[4096];
    static size_t length;
    (void)stream;
    if (size < 0)
        finish();
    for (ssize_t i = 0; i < size; i++) {
        if (data->base[i] != '\n' && length < sizeof line - 1) {
            line[length++] = data->base[i];
            continue;
        }
        line[length] = '\0';
        length = 0;
        run(line);
    }
}

int main(int argc, char **argv)
{
    static const struct halo_detector_pool_ops ops = {.answer = on_answer, .event = on_event};
    if (argc != 2)
        return 64;
    uv_loop_init(&loop);
    uv_pipe_init(&loop, &input, 0);
    uv_pipe_open(&input, STDIN_FILENO);
    halo_detector_pool_create(&pool, &loop, argv[1], &ops, NULL);
    uv_read_start((uv_stream_t *)&input, allocate, on_input);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop) ? 1 : 0;
}
