/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/http/http_pause.h"

#include <sys/socket.h>

#include "config/base/thread.h"

void halo_http_suspend(struct halo_http_pause *pause)
{
    pause->suspended = true;
    MHD_suspend_connection(pause->connection);
}

void halo_http_resume(struct halo_http_pause *pause)
{
    if (!pause->suspended)
        return;
    pause->suspended = false;
    MHD_resume_connection(pause->connection);
    pause->wake(pause->arg);
}

static int client_fd(const struct halo_http_pause *pause)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(pause->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

bool halo_http_has_left(const struct halo_http_pause *pause)
{
    struct pollfd pfd = {.fd = client_fd(pause), .events = POLLRDHUP};
    return pause->suspended && halo_poll(&pfd, 1, 0) &&
           (pfd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void halo_http_disconnect(const struct halo_http_pause *pause)
{
    shutdown(client_fd(pause), SHUT_RDWR);
}
