/* SPDX-License-Identifier: BSD-2-Clause
 * standin_daemon CONTROL HTTP JPEG NAME...: control socket and HTTP before the stand-in supervisor,
 * until SIGTERM. "-" for HTTP or JPEG: none. SIGUSR1: a flood of events. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/control/control.h"
#include "daemon/http/http.h"
#include "tests/daemon/standin_supervisor.h"

enum { FLOOD = 20000, SIGNALS = 2 };

static struct {
    uv_loop_t loop;
    uv_signal_t signal[SIGNALS];
    struct halo_supervisor *sv;
    struct halo_control *control;
    struct halo_http *http;
} app;

static void on_signal(uv_signal_t *handle, int number)
{
    (void)handle;
    if (number == SIGUSR1) {
        standin_flood(app.sv, FLOOD);
    } else {
        halo_http_destroy(app.http);
        halo_control_destroy(app.control);
        standin_end(app.sv);
        for (int i = 0; i < SIGNALS; i++)
            uv_close((uv_handle_t *)&app.signal[i], NULL);
    }
}

static int on_reload(void *arg, bool take, const struct halo_control_reply *reply,
                     struct halo_error *err)
{
    (void)arg;
    if (getenv("STANDIN_BAD_CONFIG")) {
        *reply->errors =
            json_pack("[s, s]", "halod.yaml:3: streams.door.imput: no such key (nearest: input)",
                      "halod.yaml:9: version: must be 1");
        return halo_fail(err, -EINVAL, "the settings are wrong and were not taken");
    }
    if (take)
        return halo_supervisor_reload(app.sv, NULL, NULL, reply->reply, reply->arg, err);
    reply->reply(reply->arg, NULL, NULL);
    return 0;
}

static int on_keep(void *arg, const char *name, const json_t *settings,
                   const struct halo_control_reply *reply, struct halo_error *err)
{
    (void)arg;
    (void)name;
    (void)settings;
    return halo_supervisor_reload(app.sv, NULL, NULL, reply->reply, reply->arg, err);
}

static void *read_file(const char *path, size_t *size)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "rb") : NULL;
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    void *data = malloc(*size);
    *size = fread(data, 1, *size, file);
    fclose(file);
    return data;
}

static struct halo_stream_settings *make_streams(char **names, int count)
{
    struct halo_stream_settings *stream = calloc((size_t)count, sizeof *stream);
    const char *folder = getenv("STANDIN_FOLDER"), *input = getenv("STANDIN_INPUT");
    const char *codec = getenv("STANDIN_CODEC");
    for (int i = 0; i < count; i++) {
        stream[i].name = names[i];
        stream[i].source.input = (char *)(input ? input : "test:");
        stream[i].device.backend = i == 0 && getenv("STANDIN_CUDA") ? 2 : 0;
        stream[i].outputs = 1;
        stream[i].output[0].kind = folder ? HALO_OUTPUT_FILE : HALO_OUTPUT_NULL;
        stream[i].output[0].target = (char *)folder;
        stream[i].output[0].video.codec = (char *)codec;
    }
    return stream;
}

static int start(char **words, struct halo_error *err)
{
    static const int numbers[SIGNALS] = {SIGTERM, SIGUSR1};
    const struct halo_control_settings control = {words[1]};
    const struct halo_control_host host = {.supervisor = app.sv,
                                           .reload = on_reload,
                                           .keep = on_keep,
                                           .config = "/etc/halod/halod.yaml"};
    const struct halo_daemon_settings *settings = halo_supervisor_settings(app.sv);
    int code = halo_control_create(&app.control, &app.loop, &control, &host, err);
    const struct halo_http_host http = {app.sv, app.control, NULL};
    if (!code)
        code = halo_http_create(&app.http, &app.loop, &http, &settings->http, err);
    for (int i = 0; i < SIGNALS; i++) {
        uv_signal_init(&app.loop, &app.signal[i]);
        uv_signal_start(&app.signal[i], on_signal, numbers[i]);
    }
    return code;
}

int main(int argc, char **argv)
{
    struct halo_daemon_settings settings = {.version = 1, .streams = argc - 4};
    struct halo_error err = {0};
    size_t size = 0;
    if (argc < 5)
        return HALO_EXIT_USAGE;
    signal(SIGPIPE, SIG_IGN);
    halo_log_set_level(HALO_LOG_DEBUG);
    settings.stream = make_streams(argv + 4, argc - 4);
    settings.http.listen = strcmp(argv[2], "-") ? argv[2] : NULL;
    void *jpeg = read_file(argv[3], &size);
    uv_loop_init(&app.loop);
    app.sv = standin_create(&app.loop, &settings, jpeg, size);
    const int code = start(argv, &err);
    if (code) {
        halo_log(HALO_LOG_ERROR, "%s", err.text);
        on_signal(NULL, SIGTERM);
    } else {
        puts("ready");
        fflush(stdout);
    }
    uv_run(&app.loop, UV_RUN_DEFAULT);
    standin_destroy(app.sv);
    free(jpeg);
    free(settings.stream);
    const int left = uv_loop_close(&app.loop);
    return code || left ? HALO_EXIT_FAILED : HALO_EXIT_OK;
}
