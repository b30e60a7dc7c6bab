/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/cli/run/run_detectors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/base/thread.h"
#include "daemon/cli/run/run_confine.h"
#include "daemon/link/send_fds.h"

struct halo_run_detectors {
    halo_run_connect *connect;
    void *arg;
    uv_poll_t answers;           /* of the helper */
    struct halo_mutex lock;      /* guards the fields below */
    uint64_t wanted[HALO_FINDS]; /* what is not answered yet; 0: nothing */
    bool closed;
};

/* ---- the loop ---- */

/* Takes what was wanted from the list. Returns whether it still was. */
static bool is_wanted(struct halo_run_detectors *d, enum halo_find find, uint64_t id)
{
    halo_lock(&d->lock);
    const bool ret = d->wanted[find] && (!id || d->wanted[find] == id) && !d->closed;
    if (ret)
        d->wanted[find] = 0;
    halo_unlock(&d->lock);
    return ret;
}

static void on_answer(uv_poll_t *poll, int status, int events)
{
    struct halo_run_detectors *d = poll->data;
    struct halo_run_answer answer;
    int fd = -1;
    (void)events;
    const ssize_t size =
        status < 0 ? 0 : halo_receive(halo_run_helper(), &answer, sizeof answer, &fd);
    if (size == -EAGAIN || size == -EINTR)
        return;
    if (size == sizeof answer && is_wanted(d, answer.find, answer.id)) {
        d->connect(d->arg, answer.find, fd, answer.why);
        return;
    }
    if (fd >= 0)
        close(fd);
    if (size > 0)
        return;
    uv_poll_stop(poll);
    for (int find = 0; find < HALO_FINDS; find++)
        if (is_wanted(d, (enum halo_find)find, 0))
            d->connect(d->arg, (enum halo_find)find, -1, "halod's helper has ended");
}

/* ---- the stream's threads ---- */

static void ask(struct halo_run_detectors *d, enum halo_run_ask what, enum halo_find find,
                const char *why)
{
    static uint64_t last; /* under the lock; there is one at a time */
    struct halo_run_asked asked = {.what = what, .find = find};
    struct iovec part = {&asked, sizeof asked};
    snprintf(asked.why, sizeof asked.why, "%s", why);
    halo_lock(&d->lock);
    const bool closed = d->closed;
    asked.id = ++last;
    if (!closed && what == HALO_RUN_WANT)
        d->wanted[find] = asked.id;
    halo_unlock(&d->lock);
    if (closed || halo_send_fds(halo_run_helper(), &part, 1, NULL, 0) >= 0)
        return;
    if (what == HALO_RUN_WANT && is_wanted(d, find, asked.id))
        d->connect(d->arg, find, -1, "halod's helper does not answer");
}

static void want(void *arg, enum halo_find find)
{
    ask(arg, HALO_RUN_WANT, find, "");
}

static void broken(void *arg, enum halo_find find, const char *why)
{
    ask(arg, HALO_RUN_BROKEN, find, why);
}

static void unwanted(void *arg, enum halo_find find)
{
    ask(arg, HALO_RUN_UNWANTED, find, "");
}

const struct halo_detect_calls halo_run_detector_calls = {want, broken, unwanted};

/* ---- life ---- */

int halo_run_detectors_create(struct halo_run_detectors **ret, uv_loop_t *loop,
                              halo_run_connect *connect, void *arg, struct halo_error *err)
{
    struct halo_run_detectors *d = calloc(1, sizeof *d);
    if (!d)
        return halo_fail(err, -ENOMEM, "out of memory");
    d->connect = connect;
    d->arg = arg;
    int code = uv_poll_init(loop, &d->answers, halo_run_helper());
    d->answers.data = d;
    if (code >= 0)
        code = uv_poll_start(&d->answers, UV_READABLE, on_answer);
    if (code >= 0) {
        *ret = d;
        return 0;
    }
    free(d);
    return halo_fail(err, code, "detectors: %s", uv_strerror(code));
}

void halo_run_detectors_leave(struct halo_run_detectors *detectors)
{
    for (int find = 0; find < HALO_FINDS; find++) {
        is_wanted(detectors, (enum halo_find)find, 0);
        unwanted(detectors, (enum halo_find)find);
    }
}

void halo_run_detectors_close(struct halo_run_detectors *detectors)
{
    if (!detectors)
        return;
    halo_run_detectors_leave(detectors);
    halo_lock(&detectors->lock);
    const bool closed = detectors->closed;
    detectors->closed = true;
    halo_unlock(&detectors->lock);
    if (!closed)
        uv_close((uv_handle_t *)&detectors->answers, NULL);
}

void halo_run_detectors_destroy(struct halo_run_detectors *detectors)
{
    free(detectors);
}
