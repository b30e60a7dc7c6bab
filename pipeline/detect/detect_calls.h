/* SPDX-License-Identifier: BSD-2-Clause
 * How a stream gets detectors. A stream cannot start programs: it asks its owner (the engine or
 * halod run), which starts them or has the supervisor start them.
 *
 * A stream calls `want` once for each find that it needs, at its start or when other filters need
 * it. Each call is answered exactly once, by halo_live_connect() or halo_stream_connect(), with a
 * connection or with the reason why there is none. When a connection has ended, or there was none,
 * the stream calls `want` again; the answer then comes after a pause of 0.25 to 5 seconds, so the
 * stream itself need not pause.
 *
 * Threads: the stream's; these functions do not block, and must not call the stream. */
#ifndef HALO_DETECT_CALLS_H
#define HALO_DETECT_CALLS_H

#include "config/detectors.h"

struct halo_detect_calls {
    /* The stream needs a connection to a detector. A stream must not want a find again before it
     * was answered, or while its connection works. */
    void (*want)(void *arg, enum halo_find find);
    /* The detector has broken the contract; `why` is one line. It will be killed. The stream must
     * close its end of the connection, and may then call `want`. */
    void (*broken)(void *arg, enum halo_find find, const char *why);
    /* The stream has closed its end of the connection and needs no other one. A `want` that is not
     * answered yet may still be answered. */
    void (*unwanted)(void *arg, enum halo_find find);
};

#endif
