/* SPDX-License-Identifier: BSD-2-Clause
 * The supervisor manages the streams in the settings, the engines that run them, and the feeds
 * through which they are viewed.
 *
 *   settings --> stream --(start, set, stop)--> engine process (one for each GPU, one for the CPU)
 *                  |                                 |
 *                feeds <------- packet rings --------+
 *
 * It never touches CUDA or a decoder and never waits for an engine: they exchange messages
 * (link.h). An engine that dies or is silent for HALO_ENGINE_SILENCE_MS is killed and started again
 * after a pause that grows with each failure; meanwhile feeds show cards. After an engine has
 * exited HALO_GPU_FAILURES times in a row with status 75, its streams with backend auto continue on
 * the CPU, which is reported. If engines keep dying, the supervisor searches for the stream that
 * causes it (suspects.h) and isolates that stream.
 *
 * Loop thread only. This header is the whole interface for control and HTTP. */
#ifndef HALO_SUPERVISOR_H
#define HALO_SUPERVISOR_H

#include <jansson.h>
#include <uv.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "config/encoding.h"
#include "daemon/view/feed.h"

enum {
    HALO_ENGINE_SILENCE_MS = 3000,
    HALO_GPU_FAILURES = 3,
};

struct halo_supervisor;

/* Creates the supervisor. Takes ownership of settings on success. program is the path of this
 * binary, from which engines are started. Returns 0, or -errno with err filled. */
int halo_supervisor_create(struct halo_supervisor **ret, uv_loop_t *loop, const char *program,
                           struct halo_daemon_settings *settings, struct halo_error *err);
/* Opens the sockets and starts every enabled stream. A socket that cannot be opened is logged and
 * tried again later; everything else runs without it. */
void halo_supervisor_start(struct halo_supervisor *sv);
/* Stops everything and closes the supervisor's handles on the event loop. done(arg) is called when
 * everything has ended, which takes at most ten seconds. */
void halo_supervisor_stop(struct halo_supervisor *sv, void (*done)(void *arg), void *arg);
/* Frees the supervisor. Must not be called before done(arg) has been called; NULL is ignored. */
void halo_supervisor_destroy(struct halo_supervisor *sv);

/* ---- functions for the control socket, HTTP and signals ---- */

/* A callback that receives the only answer to a request, at once or later, on the loop thread.
 * Either result (borrowed) or err is set; the other is NULL. */
typedef void halo_reply(void *arg, json_t *result, const struct halo_error *err);

/* Returns a new reference to the status of the whole daemon: {"streams": [...], "engines": [...],
 * "since", ...}. Returns NULL if out of memory. docs/control.md describes the fields. */
json_t *halo_supervisor_status(const struct halo_supervisor *sv);
/* Returns a new reference to the status of one stream. Returns NULL if out of memory or, with err
 * filled, if there is no such stream. */
json_t *halo_supervisor_stream(struct halo_supervisor *sv, const char *name,
                               struct halo_error *err);
/* Returns a new reference to {"base", "hides", "revision"} of one stream as last requested, which
 * may not be in force yet. Returns NULL as above. */
json_t *halo_supervisor_chain(struct halo_supervisor *sv, const char *name, struct halo_error *err);
const struct halo_daemon_settings *halo_supervisor_settings(const struct halo_supervisor *sv);
/* Returns the detectors that the settings need, as halo_checks_detectors() (checks.h) does. */
json_t *halo_supervisor_detectors(const struct halo_supervisor *sv);

/* Sets the stream's filters. On success, returns 0, and reply is called once, within five seconds.
 * On failure, reply is not called, and the function returns -ENOENT if there is no such stream (err
 * then suggests the most similar name), -EINVAL if the chain is invalid, or another -errno. */
int halo_supervisor_set(struct halo_supervisor *sv, const char *name, const char *filters,
                        halo_reply *reply, void *arg, struct halo_error *err);
/* Checks whether the stream would accept the chain, and returns {"coverage", "leaves"} as in a
 * status: what it would hide, and what it would leave of that. The result is a new reference, or
 * NULL with err filled if the chain is refused. Nothing changes. */
json_t *halo_supervisor_check(struct halo_supervisor *sv, const char *name, const char *filters,
                              struct halo_error *err);
struct halo_hide {
    const char *id;      /* 1 to 31 letters, digits, _ and - */
    const char *filters; /* they must hide what they apply to; "" removes what has this id */
};
/* Adds filters to the stream's chain under an id, or replaces what has this id. Additions are kept
 * when halod or the stream restarts, or when the rest of the chain changes. Returns the same codes
 * as halo_supervisor_set(). */
int halo_supervisor_hide(struct halo_supervisor *sv, const char *name, const struct halo_hide *hide,
                         halo_reply *reply, void *arg, struct halo_error *err);
struct halo_control_value {
    const char *control; /* "brightness" */
    int64_t value;
};
/* Sets a control of the stream's camera. Returns the same codes as halo_supervisor_set(), and also
 * -EINVAL if the stream's input is not a camera. The value is kept across restarts of the stream,
 * until a reload. */
int halo_supervisor_control(struct halo_supervisor *sv, const char *name,
                            const struct halo_control_value *to, halo_reply *reply, void *arg,
                            struct halo_error *err);
struct halo_shot {
    const char *format;  /* "png" or "jpg" */
    const char *filters; /* filter the image additionally, and nothing else; NULL: none */
};
/* Requests a snapshot. The result is {"format", "size", "fd"}: "fd" is a memfd that contains the
 * image, which has "size" bytes. The supervisor owns the descriptor and closes it after calling
 * reply. A descriptor is used because images are too large for JSON. */
int halo_supervisor_snapshot(struct halo_supervisor *sv, const char *name,
                             const struct halo_shot *shot, halo_reply *reply, void *arg,
                             struct halo_error *err);
/* Starts, stops or restarts a stream: action is "start", "stop" or "restart". Returns once the
 * action has been requested; the status shows its progress. */
int halo_supervisor_act(struct halo_supervisor *sv, const char *name, const char *action,
                        struct halo_error *err);
int halo_supervisor_record(struct halo_supervisor *sv, const char *name, bool on,
                           struct halo_error *err);
/* Passes on the regions that a detector found in the frame with the timestamp frame_us, in
 * microseconds of CLOCK_MONOTONIC. regions is borrowed (regions.h). Returns 0 once the update is
 * queued; if too many updates are queued, only the newest are sent. Returns -EINVAL if the update
 * is invalid or the stream has no region_feed, or -EAGAIN if the stream is not running. */
int halo_supervisor_regions(struct halo_supervisor *sv, const char *name, int64_t frame_us,
                            json_t *regions, struct halo_error *err);
/* Applies new settings. Streams whose settings and mask images are the same as those in force are
 * not affected. If `kept` is not NULL, only the stream of this name gets its stored filters: those
 * that were set for other streams stay in force, unless their settings differ from those last
 * applied. On success, takes ownership of `settings`, and calls `reply` exactly once: as soon
 * as all new filters are in force or refused, but within five seconds in any case. The result lists
 * the streams: {"added": [...], "removed": [...], "changed": [...], "set": [...], "refused":
 * [...]}; the entries of "refused" include the reasons. On failure, the caller keeps ownership of
 * settings, and reply is not called. */
int halo_supervisor_reload(struct halo_supervisor *sv, struct halo_daemon_settings *settings,
                           const char *kept, halo_reply *reply, void *arg, struct halo_error *err);

/* Sets the log level of this process and of all engines. */
void halo_supervisor_log_level(struct halo_supervisor *sv, int level);

/* Writes the current status in one line for a service manager, such as "2 streams, 1 filtering on
 * cuda:0, door: no camera". This line changes only when a state changes; it contains no counters
 * that change all the time. */
void halo_supervisor_status_text(const struct halo_supervisor *sv, char *ret, size_t size);
/* Returns whether the daemon can go on without a full restart. The result is false only if every
 * stream that should run is on an engine that has stalled several times in a row in spite of
 * restarts. */
bool halo_supervisor_is_alive(const struct halo_supervisor *sv);
/* Returns the number of engine processes that still exist. */
int halo_supervisor_engines(const struct halo_supervisor *sv);

/* Returns whether the process with the id pid, which has connected to the control socket, is an
 * engine or was started by an engine, as far as its parent processes are known. If so, and if the
 * engine is still running, the connection counts as one malformed message from the engine; if the
 * engine has ended, the connection is only logged. An engine that has died still counts as an
 * engine until halo_supervisor_forget_dead() is called. halo_supervisor_forget_dead() must be
 * called only when no connections are waiting to be accepted, because an engine may have made one
 * of these connections before it died. */
bool halo_supervisor_is_engine(struct halo_supervisor *sv, pid_t pid);
void halo_supervisor_forget_dead(struct halo_supervisor *sv);

/* Returns the feed of one of a stream's encodings for HTTP, or NULL if there is no such stream or
 * its feeds are closed. When the stream's feeds are closed, for example when the stream is stopped
 * or removed, end() is called for each receiver (struct halo_feed_subscriber), and the feed that
 * was returned becomes invalid. */
struct halo_feed *halo_supervisor_feed(struct halo_supervisor *sv, const char *name,
                                       enum halo_view view);

/* A listener receives an event for every change of a state: {"time", "event", "stream", "state",
 * "why"}. The event object is borrowed. */
struct halo_listener {
    void (*event)(struct halo_listener *listener, json_t *event);
    struct halo_listener *next; /* for the supervisor's own use */
};
void halo_supervisor_listen(struct halo_supervisor *sv, struct halo_listener *listener);
void halo_supervisor_unlisten(struct halo_supervisor *sv, struct halo_listener *listener);

#endif
