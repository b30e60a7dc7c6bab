/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/pipewire/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/library.h"
#include "config/base/thread.h"
#include "kernels/clock.h"
#include "pipeline/pipewire/socket.h"

enum { TURN_MS = 100 };

static const int64_t PATIENCE = INT64_C(2000000000); /* ns, for an answer */

/* ---- the library ---- */

static const struct halo_library_row rows[] = {
#define ROW(name) {"pw_" #name, offsetof(struct halo_pipewire, name)},
    HALO_PIPEWIRE_FUNCTIONS(ROW)
#undef ROW
};

static const struct halo_pipewire *load(struct halo_error *err)
{
    static struct halo_pipewire found;
    if (found.init)
        return &found;
    struct halo_pipewire all;
    if (halo_library_load("libpipewire-0.3.so.0", "libpipewire-0.3-0", rows,
                          sizeof rows / sizeof *rows, &all, err) < 0)
        return NULL;
    all.init(NULL, NULL);
    if (!getenv("PIPEWIRE_DEBUG"))
        all.log_set_level(SPA_LOG_LEVEL_NONE); /* halod reports failures itself */
    found = all;
    return &found;
}

const struct halo_pipewire *halo_pipewire_load(struct halo_error *err)
{
    static struct halo_mutex lock;
    halo_lock(&lock);
    const struct halo_pipewire *ret = load(err);
    halo_unlock(&lock);
    return ret;
}

/* ---- the session ---- */

void halo_pipewire_session_lose(struct halo_pipewire_session *session, const char *why)
{
    if (session->lost)
        return;
    session->lost = true;
    snprintf(session->why, sizeof session->why, "%s", why);
    halo_sanitise(session->why);
}

/* Errors of single objects are reported to their owners, too. */
static void on_error(void *data, uint32_t id, int seq, int code, const char *message)
{
    (void)seq;
    (void)message;
    if (id == PW_ID_CORE && code == -EPIPE)
        halo_pipewire_session_lose(data, "PipeWire has closed the connection");
}

static void on_done(void *data, uint32_t id, int seq)
{
    struct halo_pipewire_session *session = data;
    if (id == PW_ID_CORE)
        session->answered = seq;
}

static const struct pw_core_events events = {
    .version = PW_VERSION_CORE_EVENTS, .done = on_done, .error = on_error};

/* Only what a stream needs is loaded, and no configuration file: the default one also asks for
 * real-time priority, and may start programs. From 1.4 on, a stream of video is an adapter; without
 * a configuration it has no converter, so it passes on what the stream offers. */
static int make_context(struct halo_pipewire_session *session)
{
    static const char *const modules[] = {
        "libpipewire-module-protocol-native", "libpipewire-module-client-node",
        "libpipewire-module-adapter", "libpipewire-module-metadata"};
    const struct halo_pipewire *pw = session->pw;
    session->context = pw->context_new(
        session->loop,
        pw->properties_new(PW_KEY_CONFIG_NAME, "null", PW_KEY_APP_NAME, "halod", NULL), 0);
    for (size_t i = 0; session->context && i < sizeof modules / sizeof *modules; i++)
        if (!pw->context_load_module(session->context, modules[i], NULL, NULL))
            return -errno;
    return session->context ? 0 : -errno;
}

static int connect_to(struct halo_pipewire_session *session, const char *path,
                      struct halo_error *err)
{
    session->core = session->pw->context_connect(session->context, NULL, 0);
    if (!session->core) {
        const int code = -errno;
        return halo_fail(err, code, "PipeWire cannot be reached at %s: %s", path, strerror(-code));
    }
    pw_core_add_listener(session->core, &session->listener, &events, session);
    return 0;
}

static int make_loop(struct halo_pipewire_session *session, struct halo_error *err)
{
    session->pw = halo_pipewire_load(err);
    if (!session->pw)
        return err->code;
    if (session->loop)
        return 0;
    session->loop = session->pw->loop_new(NULL);
    if (!session->loop)
        return halo_fail(err, -errno, "PipeWire: %s", strerror(errno));
    pw_loop_enter(session->loop);
    return 0;
}

int halo_pipewire_session_open(struct halo_pipewire_session *session, struct halo_error *err)
{
    char *path = halo_pipewire_socket(err); /* first: without a session nothing is loaded */
    if (!path)
        return err->code;
    int code = make_loop(session, err);
    if (code >= 0 && make_context(session) < 0)
        code = halo_fail(err, -ENOTSUP,
                         "PipeWire's modules cannot be loaded: install the package "
                         "libpipewire-0.3-modules");
    if (code >= 0)
        code = connect_to(session, path, err);
    free(path);
    return code;
}

void halo_pipewire_session_close(struct halo_pipewire_session *session)
{
    if (session->core) {
        spa_hook_remove(&session->listener);
        session->pw->core_disconnect(session->core);
    }
    if (session->context)
        session->pw->context_destroy(session->context);
    session->core = NULL;
    session->context = NULL;
    session->lost = false;
    session->asked = session->answered = 0;
}

void halo_pipewire_session_finish(struct halo_pipewire_session *session)
{
    halo_pipewire_session_close(session);
    if (!session->loop)
        return;
    pw_loop_leave(session->loop);
    session->pw->loop_destroy(session->loop);
    session->loop = NULL;
}

int halo_pipewire_session_poll(const struct halo_pipewire_session *session)
{
    return session->loop ? pw_loop_get_fd(session->loop) : -1;
}

int halo_pipewire_session_turn(struct halo_pipewire_session *session, int timeout_ms,
                               struct halo_error *err)
{
    if (session->loop)
        pw_loop_iterate(session->loop, timeout_ms);
    return session->lost ? halo_fail(err, -EPIPE, "%s", session->why) : 0;
}

int halo_pipewire_session_sync(struct halo_pipewire_session *session, struct halo_error *err)
{
    const int64_t end = halo_now_ns() + PATIENCE;
    session->asked = pw_core_sync(session->core, PW_ID_CORE, session->asked);
    while (session->answered != session->asked) {
        const int code = halo_pipewire_session_turn(session, TURN_MS, err);
        if (code < 0)
            return code;
        if (halo_now_ns() >= end)
            return halo_fail(err, -ETIMEDOUT, "PipeWire does not answer");
    }
    return 0;
}
