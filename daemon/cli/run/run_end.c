/* SPDX-License-Identifier: BSD-2-Clause
 * How halod run ends (run_end.h). */
#include "daemon/cli/run/run_end.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#include "config/base/log.h"

enum { ECHO_MS = 1000 };

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};

static void on_signal(uv_signal_t *handle, int number)
{
    struct halo_run_end *end = handle->data;
    if (end->by) {
        /* timeout(1) signals its child and then the child's process group: two signals, one
         * request. */
        if (uv_now(handle->loop) - end->at < ECHO_MS)
            return;
        halo_log_set_status(NULL);
        end->abandon(end->arg);
        _exit(128 + number);
    }
    end->by = number;
    end->at = uv_now(handle->loop);
    halo_log(HALO_LOG_INFO, "%s: %s (repeat the signal to end at once)",
             number == SIGINT   ? "interrupted"
             : number == SIGHUP ? "hung up"
                                : "terminated",
             end->what ? end->what : "finishing the output");
    end->stop(end->arg);
}

/* False for a SIGHUP that nohup(1) has set to be ignored. */
static bool is_wanted(int number)
{
    struct sigaction now;
    return number != SIGHUP || sigaction(number, NULL, &now) < 0 || now.sa_handler != SIG_IGN;
}

int halo_run_end_watch(struct halo_run_end *end, uv_loop_t *loop)
{
    int code = 0;
    for (size_t i = 0; i < sizeof stop_signals / sizeof *stop_signals && code >= 0; i++) {
        if (!is_wanted(stop_signals[i]))
            continue;
        code = uv_signal_init(loop, &end->signals[i]);
        end->signals[i].data = end;
        if (code >= 0)
            code = uv_signal_start(&end->signals[i], on_signal, stop_signals[i]);
    }
    return code;
}

int halo_run_end_code(const struct halo_error *err)
{
    return err->usage ? HALO_EXIT_USAGE : err->device ? HALO_EXIT_TRY_AGAIN : HALO_EXIT_FAILED;
}

static volatile sig_atomic_t code_when_late;

static void end_late(int number)
{
    (void)number;
    _exit(code_when_late);
}

void halo_run_end_limit(double seconds, int code)
{
    code_when_late = code;
    const struct itimerval limit = {
        .it_value = {(time_t)seconds, (suseconds_t)((seconds - floor(seconds)) * 1e6) + 1}};
    signal(SIGALRM, end_late);
    setitimer(ITIMER_REAL, &limit, NULL);
}

void halo_run_end_now(int code)
{
    fflush(NULL);
    _exit(code);
}
