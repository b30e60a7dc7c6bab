/* SPDX-License-Identifier: BSD-2-Clause
 * The supervisor: streams from the settings, engines that run them, feeds that show them.
 *
 *   settings --> stream --(start, set, stop)--> engine process (one for each GPU, one for the CPU)
 *                  |                                 |
 *                feeds <------- packet rings --------+
 *
 * It never touches CUDA or a decoder, and waits for no engine: all is messages (link.h). An engine
 * that dies, or says nothing for HALO_ENGINE_SILENCE_MS, is killed and started again after a pause
 * that grows; meanwhile feeds show cards. After HALO_GPU_FAILURES ends with status 75 in a row, its
 * streams with backend auto go on on the CPU, which is said. A stream that ends engines is searched
 * for (suspects.h), and kept apart.
 *
 * Loop thread only. What control and HTTP show and ask for is here and nowhere else. */
#ifndef HALO_SUPERVISOR_H
#define HALO_SUPERVISOR_H

#include <jansson.h>
#include <uv.h>

#include "config/daemon.h"
#include "config/error.h"
#include "daemon/view/feed.h"

enum {
    HALO_ENGINE_SILENCE_MS = 3000,
    HALO_GPU_FAILURES = 3,
};

struct halo_supervisor;

/* settings become the supervisor's, on success. program: path of this binary, for engines. */
int halo_supervisor_create(struct halo_supervisor **ret, uv_loop_t *loop, const char *program,
                           struct halo_daemon_settings *settings, struct halo_error *err);
/* Listens and starts every enabled stream. -errno with err filled: a socket cannot be had. */
int halo_supervisor_start(struct halo_supervisor *sv, struct halo_error *err);
/* Stops all, closes its handles on the loop; done(arg) comes when nothing is left, in at most ten
 * seconds. */
void halo_supervisor_stop(struct halo_supervisor *sv, void (*done)(void *arg), void *arg);
void halo_supervisor_destroy(struct halo_supervisor *sv); /* after done; NULL is nothing to do */

/* ---- for control, HTTP and signals ---- */

/* One answer, later or at once, on the loop thread: result (borrowed) or err, the other NULL. */
typedef void halo_reply(void *arg, json_t *result, const struct halo_error *err);

/* The whole status: {"streams": [...], "engines": [...], "since", ...}, or that of one stream; a
 * new reference; NULL: no memory, or (err says so) no such stream. The fields are in
 * docs/control.md. */
json_t *halo_supervisor_status(const struct halo_supervisor *sv);
json_t *halo_supervisor_stream(struct halo_supervisor *sv, const char *name,
                               struct halo_error *err);
const struct halo_daemon_settings *halo_supervisor_settings(const struct halo_supervisor *sv);

/* -ENOENT: no such stream, err has the nearest name; -EINVAL: a chain is wrong; then reply does not
 * come. Else 0 and reply comes once, in five seconds at most. */
int halo_supervisor_set(struct halo_supervisor *sv, const char *name, const char *filters,
                        halo_reply *reply, void *arg, struct halo_error *err);
struct halo_control_value {
    const char *control; /* "brightness" */
    int64_t value;
};
/* A control of its camera; likewise, and -EINVAL: its input is none. It stays with the stream over
 * restarts, until a reload. */
int halo_supervisor_control(struct halo_supervisor *sv, const char *name,
                            const struct halo_control_value *to, halo_reply *reply, void *arg,
                            struct halo_error *err);
/* result: {"format", "size", "fd"}: a memfd with the whole image, size bytes of it; the descriptor
 * stays the supervisor's and is closed after reply. (Not in the JSON itself: pictures are
 * large.) */
int halo_supervisor_snapshot(struct halo_supervisor *sv, const char *name, const char *format,
                             halo_reply *reply, void *arg, struct halo_error *err);
/* "start", "stop", "restart". Done when it was asked for: status says what becomes of it. */
int halo_supervisor_act(struct halo_supervisor *sv, const char *name, const char *action,
                        struct halo_error *err);
int halo_supervisor_record(struct halo_supervisor *sv, const char *name, bool on,
                           struct halo_error *err);
/* What a detector found in the picture of that time (microseconds of CLOCK_MONOTONIC); regions is
 * borrowed (regions.h). Done when it is on its way: of many the newest is. -EINVAL: it makes no
 * sense, or the stream has no region_feed; -EAGAIN: it is not running. */
int halo_supervisor_regions(struct halo_supervisor *sv, const char *name, int64_t picture_us,
                            json_t *regions, struct halo_error *err);
/* Takes new settings over (on success) and changes only the streams that differ. Then reply comes
 * once, when all new filters are in force or refused, in five seconds at most; its result says
 * which: {"added": [...], "removed": [...], "changed": [...], "set": [...], "refused": [...]}, the
 * last with the reasons. On failure settings stay the caller's, and reply does not come. */
int halo_supervisor_reload(struct halo_supervisor *sv, struct halo_daemon_settings *settings,
                           halo_reply *reply, void *arg, struct halo_error *err);

/* Of this process and of all engines. */
void halo_supervisor_log_level(struct halo_supervisor *sv, int level);
void halo_supervisor_count(const struct halo_supervisor *sv, int *ret_running, int *ret_all);

/* What a service manager shows: one line, true now: "2 streams, 1 filtering on cuda:0, door: no
 * camera". It changes when states do, and never for a number that runs. */
void halo_supervisor_words(const struct halo_supervisor *sv, char *ret, size_t size);
/* Whether it does what it is there for, as far as it can: not every stream that should run is
 * on an engine that stood still, was started anew, and stood still again. */
bool halo_supervisor_is_alive(const struct halo_supervisor *sv);
/* Engines that are still there. */
int halo_supervisor_engines(const struct halo_supervisor *sv);

/* Whether a process that connected is an engine or started by one, as far as its parents are known;
 * counted as a message that makes no sense. An engine that has died counts as one until
 * halo_supervisor_forget_dead(): when no connection waits that it may have made. */
bool halo_supervisor_is_engine(struct halo_supervisor *sv, pid_t pid);
void halo_supervisor_forget_dead(struct halo_supervisor *sv);

/* The JPEG encoding of a stream, for HTTP; NULL: no such stream. Valid until the stream is removed,
 * which ends its takers. */
struct halo_feed *halo_supervisor_jpeg(struct halo_supervisor *sv, const char *name);

/* Every change of a state: {"time", "event", "stream", "state", "why"}; borrowed. */
struct halo_listener {
    void (*event)(struct halo_listener *listener, json_t *event);
    struct halo_listener *next; /* the supervisor's */
};
void halo_supervisor_listen(struct halo_supervisor *sv, struct halo_listener *listener);
void halo_supervisor_unlisten(struct halo_supervisor *sv, struct halo_listener *listener);

#endif
