/* SPDX-License-Identifier: BSD-2-Clause
 * The played service manager: the other end of sd_notify(3). What it is told, and when, must be as
 * docs/service.md says. */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/supervisor/supervisor.h"
#include "tests/world/world.h"

enum {
    WATCHDOG_MS = 2000, /* WatchdogSec= */
    STOP_MS = 20000,    /* TimeoutStopSec= */
    RELOAD_MS = 10000,  /* longer than the slowest change of filters */
    STATUS_MS = 1000,   /* between two changes of the status */
    STATUS_MAX = 400,   /* bytes */
};

static struct {
    char status[STATUS_MAX + 1];
    int reloads;     /* that it was told of, and that are not over */
    int64_t changed; /* us of world_now(): when the status was told without a reload; 0: never */
    /* us of world_awake(); 0: not yet */
    int64_t ready, reloads_since, pinged, stopping,
        until; /* until: what the daemon has asked for */
} manager;

/* ---- what it is told ---- */

static void take_status(const char *text)
{
    if (strlen(text) >= STATUS_MAX)
        world_fail("manager: a status of %zu bytes: %.60s", strlen(text), text);
    if (!strcmp(text, manager.status))
        world_fail("manager: the same status is told twice: %.120s", text);
    const int since = (int)((world_now() - manager.changed) / 1000);
    if (manager.ready && !manager.reloads && manager.changed && since < STATUS_MS - WORLD_SLACK_MS)
        world_fail("manager: the status changes after %d ms", since);
    if (manager.ready && !manager.reloads)
        manager.changed = world_now();
    snprintf(manager.status, sizeof manager.status, "%s", text);
}

static void take_ready(void)
{
    if (!manager.ready && (!manager.status[0] || !client_can_join("control.sock")))
        world_fail("manager: halod is ready without a status, or nobody listens");
    if (manager.ready && !manager.reloads)
        world_fail("manager: halod is ready again, but has not reloaded anything");
    if (!manager.ready)
        manager.ready = manager.pinged = world_awake() + 1;
    manager.reloads = 0;
}

static void take_line(const char *key, const char *value)
{
    if (!strcmp(key, "STATUS")) {
        take_status(value);
    } else if (!strcmp(key, "READY")) {
        take_ready();
    } else if (!strcmp(key, "RELOADING")) {
        manager.reloads++;
        manager.reloads_since = world_awake();
    } else if (!strcmp(key, "MONOTONIC_USEC")) {
        if (atoll(value) != play_ns() / 1000 + INT64_C(1000000) * PLAY_MONOTONIC_S)
            world_fail("manager: the reload is said to begin at %s", value);
    } else if (!strcmp(key, "WATCHDOG")) {
        if (!halo_supervisor_is_alive(world_supervisor()))
            world_fail("manager: the watchdog is fed, though nothing makes progress");
        manager.pinged = world_awake();
    } else if (!strcmp(key, "STOPPING")) {
        if (!world_is_ending() && manager.ready)
            world_fail("manager: halod is said to stop, but nobody has told it to");
        manager.stopping = world_awake();
    } else if (!strcmp(key, "EXTEND_TIMEOUT_USEC")) {
        manager.until = world_awake() + atoll(value);
    } else {
        world_fail("manager: %s is not expected", key);
    }
}

static void take(const char *text)
{
    char copy[STATUS_MAX + 200], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *value = strchr(line, '=');
        if (!value)
            world_fail("manager: %s has no value", line);
        *value = '\0';
        if (strcmp(line, "WATCHDOG") != 0)
            world_say("manager: %s is %s", line, value + 1);
        take_line(line, value + 1);
    }
}

/* ---- libsystemd's calls, which these definitions replace ---- */

int sd_notify(int unset, const char *text);
int sd_notifyf(int unset, const char *format, ...) __attribute__((format(printf, 2, 3)));
int sd_watchdog_enabled(int unset, uint64_t *ret);

int sd_notify(int unset, const char *text)
{
    (void)unset;
    take(text);
    return 1;
}

int sd_notifyf(int unset, const char *format, ...)
{
    char text[2 * STATUS_MAX];
    va_list arguments;
    (void)unset;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    take(text);
    return 1;
}

int sd_watchdog_enabled(int unset, uint64_t *ret)
{
    (void)unset;
    *ret = INT64_C(1000) * WATCHDOG_MS;
    return 1;
}

/* ---- what must hold ---- */

const char *manager_status(void)
{
    return manager.status;
}

void manager_check(void)
{
    const int64_t now = world_awake();
    if (!manager.ready) /* or there is no libsystemd */
        return;
    if (!halo_supervisor_is_alive(world_supervisor()) || now - world_thawed() < WATCHDOG_MS * 1000)
        manager.pinged = now;
    if (!world_is_ending() && now - manager.pinged > (WATCHDOG_MS + WORLD_SLACK_MS) * 1000)
        world_fail("manager: the watchdog has not been fed for %d ms",
                   (int)((now - manager.pinged) / 1000));
    if (manager.reloads && !world_is_ending() && now - manager.reloads_since > RELOAD_MS * 1000)
        world_fail("manager: a reload does not end");
    if (manager.stopping && now > manager.until)
        world_fail("manager: halod stops, and has not asked for more time");
}

void manager_end(void)
{
    const int took = (int)((world_awake() - manager.stopping) / 1000);
    if (manager.ready && !manager.stopping)
        world_fail("manager: halod has ended, but did not say that it stops");
    if (manager.ready && took > STOP_MS)
        world_fail("manager: halod has taken %d ms to stop", took);
}
