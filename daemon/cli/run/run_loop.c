/* SPDX-License-Identifier: BSD-2-Clause
 * The event loop of halod run (run_loop.h). */
#include "daemon/cli/run/run_loop.h"

int halo_run_loop_open(struct halo_run_loop *l, const struct halo_run_loop_calls *calls,
                       struct halo_run_end *end, struct halo_error *err)
{
    int code = uv_loop_init(&l->loop);
    l->open = code >= 0;
    if (code >= 0)
        code = uv_async_init(&l->loop, &l->wake, calls->on_wake);
    if (code >= 0)
        code = halo_run_end_watch(end, &l->loop);
    if (code >= 0)
        code = uv_timer_init(&l->loop, &l->tick);
    l->wake.data = l->tick.data = calls->arg;
    if (code >= 0)
        code = uv_timer_start(&l->tick, calls->on_tick, calls->tick_ms, calls->tick_ms);
    return code < 0 ? halo_fail(err, code, "the event loop failed to start: %s", uv_strerror(code))
                    : 0;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle) && handle->type != UV_PROCESS)
        uv_close(handle, NULL);
}

void halo_run_loop_close_handles(struct halo_run_loop *l)
{
    uv_walk(&l->loop, close_handle, NULL);
}

void halo_run_loop_run(struct halo_run_loop *l)
{
    uv_run(&l->loop, UV_RUN_DEFAULT);
    uv_loop_close(&l->loop);
}
