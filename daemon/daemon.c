/* SPDX-License-Identifier: BSD-2-Clause
 * halod -c FILE: the supervisor with its sockets and signals on one loop, in the foreground. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "config/base/error_list.h"
#include "config/base/log.h"
#include "config/encoding.h"
#include "config/folders.h"
#include "config/overlay.h"
#include "daemon/daemon.h"
#include "daemon/control/control.h"
#include "daemon/engine/confine.h"
#include "daemon/engine/hide.h"
#include "daemon/http/http.h"
#include "daemon/mqtt/mqtt.h"
#include "daemon/notify.h"
#include "daemon/supervisor/checks.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/view/passed.h"

enum { FILES_MAX = 65536, SIGNALS = 3, STATUS_MS = 1000, EXTEND_MS = 5000, HTTP_AGAIN = 5 };

static const int numbers[SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

struct daemon {
    uv_loop_t loop;
    uv_signal_t signal[SIGNALS];
    uv_timer_t watchdog, status;
    struct halo_supervisor *sv;
    struct halo_control *control;
    struct halo_http *http;
    struct halo_access *access;
    struct halo_mqtt *mqtt;
    const char *path, *program; /* path: of the settings; program: executable of engines */
    int code;
    bool stopping, stopped; /* stopped: only handles remain to be closed */
    int reloading;          /* reloads that are not complete yet */
    bool refused;           /* the settings file had errors when it was last read */
    bool dead;              /* the watchdog has given up, and this was logged */
    char notified[400];     /* the status last sent to the service manager */
    char http_why[600];     /* why HTTP is off, although the settings have it; "": it is not */
    int http_again;         /* calls of the status timer until HTTP is tried again */
};

/* ---- words ---- */

/* Sends the status if it has changed. Called by the timer, once a second at most, and after the
 * start and each reload by SIGHUP. */
static void report_status(struct daemon *daemon)
{
    char text[sizeof daemon->notified];
    halo_supervisor_status_text(daemon->sv, text, sizeof text);
    const size_t length = strlen(text);
    if (daemon->refused && !daemon->stopping)
        snprintf(text + length, sizeof text - length,
                 "; %s has errors, the previous settings remain in effect", daemon->path);
    if (daemon->http_why[0] && !daemon->stopping)
        snprintf(text + strlen(text), sizeof text - strlen(text), "; HTTP is off: %.200s",
                 daemon->http_why);
    if (!strcmp(text, daemon->notified))
        return;
    memcpy(daemon->notified, text, sizeof text);
    halo_notify_status(text);
}

/* ---- reload ---- */

static json_t *texts_of(const struct halo_error_list *errors)
{
    json_t *ret = json_array();
    for (int i = 0; i < halo_error_list_count(errors); i++)
        json_array_append_new(ret, json_string(halo_error_list_text(errors, i)));
    return ret;
}

static bool is_same_mqtt(const struct halo_mqtt_settings *a, const struct halo_mqtt_settings *b)
{
    return halo_is_same_text(a->server, b->server) && halo_is_same_text(a->user, b->user) &&
           halo_is_same_text(a->password, b->password) && halo_is_same_text(a->tls_ca, b->tls_ca) &&
           halo_is_same_text(a->prefix, b->prefix) && halo_is_same_text(a->discovery, b->discovery);
}

/* ---- HTTP ---- */

/* If its address cannot be used yet, for example because the network is not up, the streams run
 * without HTTP, and it is tried again. */
static int open_http(struct daemon *daemon, struct halo_error *err)
{
    const struct halo_http_settings *settings = &halo_supervisor_settings(daemon->sv)->http;
    const struct halo_http_host host = {daemon->sv, daemon->control, daemon->access};
    struct halo_error why = {0};
    const int code = halo_http_create(&daemon->http, &daemon->loop, &host, settings, &why);
    if (code < 0 && (why.usage || code == -ENOMEM)) {
        *err = why;
        return code;
    }
    if (code < 0 && strcmp(why.text, daemon->http_why) != 0)
        halo_log(HALO_LOG_ERROR, "%s; halod runs without HTTP, and tries again every %d s",
                 why.text, HTTP_AGAIN * STATUS_MS / 1000);
    else if (code == 0 && daemon->http_why[0])
        halo_log(HALO_LOG_INFO, "HTTP is available now at %s", settings->listen);
    snprintf(daemon->http_why, sizeof daemon->http_why, "%s", why.text);
    daemon->http_again = HTTP_AGAIN;
    return 0;
}

/* Sockets that already listen are not changed: a new address requires a restart. */
static void apply_rest(const struct halo_daemon_settings *now,
                       const struct halo_daemon_settings *wanted)
{
    if (!halo_is_same_text(now->control.path, wanted->control.path) ||
        !halo_is_same_text(now->http.listen, wanted->http.listen) ||
        !halo_is_same_text(now->http.hosts, wanted->http.hosts) ||
        !halo_is_same_text(now->http.embed, wanted->http.embed) ||
        !halo_is_same_text(now->http.certificate, wanted->http.certificate) ||
        !halo_is_same_text(now->http.key, wanted->http.key) ||
        !halo_is_same_text(now->http.proxy, wanted->http.proxy) ||
        !halo_is_same_text(now->http.metrics, wanted->http.metrics) ||
        !halo_is_same_text(now->control.view, wanted->control.view) ||
        now->http.page != wanted->http.page || !halo_is_same_text(now->state, wanted->state))
        halo_log(HALO_LOG_WARNING, "reload: changes to 'control', 'http' and 'state' take effect "
                                   "only after halod is restarted");
    if (!is_same_mqtt(&now->mqtt, &wanted->mqtt))
        halo_log(HALO_LOG_WARNING,
                 "reload: changes to 'mqtt' take effect only after halod is restarted");
}

static int load(struct halo_daemon_settings **ret, struct daemon *daemon,
                const struct halo_control_reply *reply, struct halo_error *err)
{
    struct halo_error_list *errors = NULL;
    const int loaded = halo_daemon_load(ret, daemon->path, &halo_checks, &errors);
    if (loaded == 0)
        return 0;
    *reply->errors = texts_of(errors);
    const int count = halo_error_list_count(errors);
    halo_error_list_destroy(errors);
    return halo_fail(err, loaded, "%s: %d error%s, so nothing changed", daemon->path, count,
                     count == 1 ? "" : "s");
}

/* kept: see halo_supervisor_reload(). */
static int take(struct daemon *daemon, const char *kept, const struct halo_control_reply *reply,
                struct halo_error *err)
{
    struct halo_daemon_settings *settings;
    const int loaded = load(&settings, daemon, reply, err);
    daemon->refused = loaded < 0;
    if (loaded < 0)
        return loaded;
    apply_rest(halo_supervisor_settings(daemon->sv), settings);
    const int level = settings->log.level;
    const int taken =
        halo_supervisor_reload(daemon->sv, settings, kept, reply->reply, reply->arg, err);
    if (taken < 0)
        halo_daemon_settings_destroy(settings);
    else
        halo_supervisor_log_level(daemon->sv, level);
    return taken;
}

static int reload(void *arg, bool taking, const struct halo_control_reply *reply,
                  struct halo_error *err)
{
    struct halo_daemon_settings *settings;
    if (taking)
        return take(arg, NULL, reply, err);
    const int loaded = load(&settings, arg, reply, err);
    if (loaded < 0)
        return loaded;
    json_t *result = json_pack("{s:o}", "coverage", halo_checks_coverage(settings));
    halo_daemon_settings_destroy(settings);
    reply->reply(reply->arg, result, NULL);
    json_decref(result);
    return 0;
}

/* A stream that is only in the overlay needs an output, and its frames are for the page. */
static json_t *complete(const struct daemon *daemon, const char *name, const json_t *settings,
                        struct halo_error *err)
{
    json_t *copy = json_deep_copy(settings);
    if (halo_daemon_stream(halo_supervisor_settings(daemon->sv), name))
        return copy;
    if (!json_object_get(copy, "input"))
        halo_fail_usage(err, "there is no stream '%s', and a new stream needs an input", name);
    json_object_set_new(copy, "outputs", json_pack("[{s:b}]", "null", 1));
    return copy;
}

static int keep(void *arg, const char *name, const json_t *settings,
                const struct halo_control_reply *reply, struct halo_error *err)
{
    struct daemon *daemon = arg;
    const char *state = halo_supervisor_settings(daemon->sv)->state;
    char *path = halo_state_path(state, "overlay.yaml"), *before = NULL;
    json_t *all = settings ? complete(daemon, name, settings, err) : NULL;
    if (!halo_is_name(name, strlen(name)))
        halo_fail_usage(err, "a stream's name must be 1 to 64 letters, digits, _ and -");
    else if (!path)
        halo_fail_usage(err, "settings cannot be kept: set 'state:' to a folder");
    int code = err->code;
    if (code == 0)
        code = halo_overlay_change(path, name, all, &before, err);
    if (code == 0) {
        code = take(daemon, name, reply, err);
        if (code < 0)
            halo_overlay_restore(path, before);
    }
    json_decref(all);
    free(before);
    free(path);
    return code;
}

/* Of several concurrent reloads, the last one ends the reloading state. */
static void end_reload(struct daemon *daemon)
{
    if (--daemon->reloading == 0 && !daemon->stopping) {
        report_status(daemon);
        halo_notify_ready();
    }
}

/* Refused filters were already logged. */
static void on_reloaded(void *arg, json_t *result, const struct halo_error *err)
{
    struct daemon *daemon = arg;
    (void)result;
    (void)err;
    halo_log(HALO_LOG_INFO, "settings reloaded from %s", daemon->path);
    end_reload(daemon);
}

static void reload_by_signal(struct daemon *daemon)
{
    struct halo_error err = {0};
    json_t *errors = NULL;
    const struct halo_control_reply reply = {on_reloaded, daemon, &errors};
    daemon->reloading++;
    halo_notify_reloading();
    if (reload(daemon, true, &reply, &err) == 0)
        return;
    json_t *text;
    size_t i;
    json_array_foreach (errors, i, text)
        halo_log(HALO_LOG_ERROR, "%s", json_string_value(text));
    halo_log(HALO_LOG_ERROR, "%s", err.text);
    json_decref(errors);
    end_reload(daemon);
}

/* ---- end ---- */

static void on_stopped(void *arg)
{
    struct daemon *daemon = arg;
    daemon->stopped = true;
    halo_http_destroy(daemon->http);
    halo_control_destroy(daemon->control);
    halo_access_destroy(daemon->access);
    halo_mqtt_destroy(daemon->mqtt);
    for (int i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&daemon->signal[i], NULL);
    uv_close((uv_handle_t *)&daemon->watchdog, NULL);
    uv_close((uv_handle_t *)&daemon->status, NULL);
}

static void stop(struct daemon *daemon, int code)
{
    daemon->stopping = true;
    daemon->code = code;
    halo_notify_stopping();
    halo_notify_extend(EXTEND_MS);
    halo_supervisor_stop(daemon->sv, on_stopped, daemon);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct daemon *daemon = handle->data;
    if (number == SIGHUP) {
        if (!daemon->stopping)
            reload_by_signal(daemon);
    } else if (daemon->stopping) {
        _exit(128 + number); /* engines die with this process */
    } else {
        halo_log(HALO_LOG_INFO, "%s: stopping (repeat the signal to end at once)",
                 number == SIGINT ? "interrupted" : "terminated");
        /* SIGTERM is how a service manager stops a service, so it counts as success. */
        stop(daemon, number == SIGTERM ? HALO_EXIT_OK : HALO_EXIT_SIGINT);
    }
}

/* ---- beginning ---- */

static void on_watchdog(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;
    const bool alive = !daemon->sv || halo_supervisor_is_alive(daemon->sv);
    if (alive)
        halo_notify_alive();
    else if (!daemon->dead)
        halo_log(HALO_LOG_ERROR,
                 "no stream makes progress, and restarting engines has not helped, "
                 "so halod stops the service manager's watchdog pings, to be restarted by it");
    daemon->dead = !alive;
}

static void on_status(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;
    halo_log_flush();
    if (!daemon->sv)
        return;
    struct halo_error ignored = {0}; /* a lack of memory: it is tried again */
    if (daemon->http_why[0] && !daemon->stopping && --daemon->http_again <= 0)
        (void)open_http(daemon, &ignored);
    report_status(daemon);
    if (daemon->stopping && halo_supervisor_engines(daemon->sv) > 0)
        halo_notify_extend(EXTEND_MS); /* engines are finishing files */
}

static void start_handles(struct daemon *daemon)
{
    for (int i = 0; i < SIGNALS; i++) {
        uv_signal_init(&daemon->loop, &daemon->signal[i]);
        daemon->signal[i].data = daemon;
        uv_signal_start(&daemon->signal[i], on_signal, numbers[i]);
    }
    uv_timer_init(&daemon->loop, &daemon->watchdog);
    uv_timer_init(&daemon->loop, &daemon->status);
    daemon->status.data = daemon->watchdog.data = daemon;
    const uint64_t watchdog = halo_notify_watchdog_ms();
    if (watchdog)
        uv_timer_start(&daemon->watchdog, on_watchdog, 0, watchdog / 2);
    uv_timer_start(&daemon->status, on_status, STATUS_MS, STATUS_MS);
}

/* Each viewer needs a descriptor, and each engine several, so the limit is raised as far as the
 * system allows. */
static void raise_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_MAX)
        return;
    limit.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int start(struct daemon *daemon, struct halo_daemon_settings *settings,
                 struct halo_error *err)
{
    int code = halo_notify_take_sockets(err);
    if (code == 0)
        code = halo_supervisor_create(&daemon->sv, &daemon->loop, daemon->program, settings, err);
    if (code < 0) {
        halo_daemon_settings_destroy(settings);
        return code;
    }
    code = halo_access_create(&daemon->access, &daemon->loop, settings->state, err);
    if (code < 0)
        return code;
    const struct halo_control_host host = {.supervisor = daemon->sv,
                                           .reload = reload,
                                           .keep = keep,
                                           .arg = daemon,
                                           .access = daemon->access,
                                           .config = daemon->path};
    code = halo_control_create(&daemon->control, &daemon->loop, &settings->control, &host, err);
    if (code == 0)
        code = open_http(daemon, err);
    if (code == 0)
        code = halo_mqtt_create(&daemon->mqtt, &daemon->loop, daemon->sv, &settings->mqtt, err);
    if (code == 0)
        halo_supervisor_start(daemon->sv);
    return code;
}

static void found_handle(uv_handle_t *handle, void *arg)
{
    (void)handle;
    *(bool *)arg = true;
}

/* Runs the loop until nothing is left to do, except perhaps to wait for threads that hang on a
 * disk. */
static void turn(struct daemon *daemon)
{
    bool more = true;
    while (more && uv_run(&daemon->loop, UV_RUN_ONCE)) {
        more = !daemon->stopped;
        if (daemon->stopped)
            uv_walk(&daemon->loop, found_handle, &more);
    }
}

static void run(struct daemon *daemon, struct halo_daemon_settings *settings)
{
    struct halo_error err = {0};
    start_handles(daemon);
    if (start(daemon, settings, &err) < 0) {
        const int code = err.code == -EBADMSG || err.usage ? HALO_EXIT_CONFIG : HALO_EXIT_FAILED;
        halo_log(HALO_LOG_ERROR, "%s", err.text);
        if (daemon->sv)
            stop(daemon, code);
        else
            on_stopped(daemon);
        daemon->code = code;
    } else {
        const char *missing = halo_confine_is_built() ? halo_confine_files_missing(false) : NULL;
        if (missing)
            halo_log(HALO_LOG_INFO,
                     "engines are not restricted to their own files, and can open every file that "
                     "halod's user can: %s",
                     missing);
        halo_log(HALO_LOG_INFO, "ready: %d stream%s, control at %s", settings->streams,
                 settings->streams == 1 ? "" : "s", halo_control_path(daemon->control));
        halo_passed_notify_idle();
        report_status(daemon);
        halo_notify_ready();
    }
    turn(daemon);
}

int halo_command_daemon(struct halo_daemon_settings *settings, const char *path)
{
    struct halo_error err = {0};
    if (halo_hide_memory(&err) < 0) { /* also from engines, which run as the same user */
        halo_log(HALO_LOG_ERROR, "%s", err.text);
        halo_daemon_settings_destroy(settings);
        return HALO_EXIT_FAILED;
    }
    /* Start engines from this inode, even if another file was installed under its name meanwhile,
     * so that they have the same version. */
    return halo_run_daemon(settings, path, "/proc/self/exe");
}

int halo_run_daemon(struct halo_daemon_settings *settings, const char *path, const char *program)
{
    struct daemon *daemon = calloc(1, sizeof *daemon);
    if (!daemon || uv_loop_init(&daemon->loop) < 0) {
        halo_log(HALO_LOG_ERROR, "the event loop failed to start");
        halo_daemon_settings_destroy(settings);
        free(daemon);
        return HALO_EXIT_FAILED;
    }
    halo_log_be_service();
    halo_log_set_level((enum halo_log_level)settings->log.level);
    raise_files();
    daemon->path = path;
    daemon->program = program;
    run(daemon, settings);
    halo_supervisor_destroy(daemon->sv);
    const int code = daemon->code;
    if (uv_loop_close(&daemon->loop) == UV_EBUSY) {
        halo_log(HALO_LOG_WARNING,
                 "a thread still waits for a disk or for the network: exiting without it");
        halo_log_flush();
        _exit(code); /* exit() would wait for its threads */
    }
    free(daemon);
    return code;
}
