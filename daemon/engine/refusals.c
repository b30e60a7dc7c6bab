/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/engine/refusals.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "daemon/engine/confine.h"

struct halo_refusals {
    uv_poll_t poll;
    int calls;
    bool said;
    char who[160];
};

/* In old kernels, the request for a call blocks if there is none any more, because the process has
 * ended: that, too, makes the descriptor ready. */
static bool has_call(const struct halo_refusals *r)
{
    struct pollfd state = {.fd = r->calls, .events = POLLIN};
    return halo_poll(&state, 1, 0) == 1 && (state.revents & POLLIN);
}

static void on_call(uv_poll_t *poll, int status, int events)
{
    struct halo_refusals *r = poll->data;
    /* later kernels may write more than this header knows */
    union {
        struct seccomp_notif call;
        char room[512];
    } asked = {0};
    union {
        struct seccomp_notif_resp call;
        char room[512];
    } answer = {0};
    char name[64];
    (void)events;
    if (status < 0 || !has_call(r)) {
        uv_poll_stop(poll);
        return;
    }
    if (ioctl(r->calls, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
        return; /* its thread was ended or interrupted */
    if (!r->said)
        halo_log(HALO_LOG_WARNING,
                 "%s: process %d was refused the system call %s; further ones are not logged",
                 r->who, (int)asked.call.pid,
                 halo_confine_call_name(asked.call.data.nr, name, sizeof name));
    r->said = true;
    answer.call.id = asked.call.id;
    answer.call.error = -EPERM;
    ioctl(r->calls, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

struct halo_refusals *halo_refusals_answer(uv_loop_t *loop, int calls, const char *who)
{
    struct halo_refusals *r = calloc(1, sizeof *r);
    if (!r || uv_poll_init(loop, &r->poll, calls) < 0) {
        close(calls);
        free(r);
        return NULL;
    }
    r->poll.data = r;
    r->calls = calls;
    snprintf(r->who, sizeof r->who, "%s", who);
    uv_poll_start(&r->poll, UV_READABLE, on_call);
    uv_unref((uv_handle_t *)&r->poll);
    return r;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void halo_refusals_end(struct halo_refusals *refusals)
{
    if (!refusals)
        return;
    uv_poll_stop(&refusals->poll);
    close(refusals->calls);
    uv_close((uv_handle_t *)&refusals->poll, on_closed);
}
