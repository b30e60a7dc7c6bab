/* SPDX-License-Identifier: BSD-2-Clause
 * Fuzz target: what a request asks for. The input's lines are method, path, action, Host, Origin,
 * the listen address, the further hosts, Referer, Sec-Fetch-Site, Sec-Fetch-Dest, who may embed,
 * Content-Type; an empty one is an absent header. Built and run as chain.c is. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/http/http_request.h"
#include "tests/fuzz/fuzz.h"

enum { LINES = 12 };

static void check(const struct halo_http_request *request, const struct halo_http_route *route)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    if ((route->what == HALO_HTTP_ERROR) != (route->status != 200) || !route->why)
        abort();
    if (route->what == HALO_HTTP_ERROR) {
        if (!*route->why)
            abort();
        return;
    }
    const bool posts = !strcmp(request->method, "POST");
    if (!posts && strcmp(request->method, "GET") && strcmp(request->method, "HEAD"))
        abort();
    if (posts &&
        (!request->content_type || strncasecmp(request->content_type, "application/json", 16)))
        abort();
    if (posts && request->fetch_site && strcmp(request->fetch_site, "same-origin") &&
        strcmp(request->fetch_site, "none"))
        abort();
    if (!request->host || !halo_http_is_host(request->host, request->listen, request->hosts))
        abort();
    if (route->embedded && (!request->embed || !request->referer))
        abort();
    const char *site = request->fetch_site, *dest = request->fetch_dest;
    if (site && !strcmp(site, "cross-site") && dest && !strcmp(dest, "image") && !route->embedded)
        abort();
    if (strlen(route->stream) > 64 || strspn(route->stream, letters) != strlen(route->stream))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *line[LINES] = {NULL}, *rest = text;
    struct halo_http_route route;
    if (!text)
        return 0;
    for (int i = 0; i < LINES && rest; i++)
        line[i] = strsep(&rest, "\n");
    const struct halo_http_request request = {
        .method = line[0] ? line[0] : "",
        .path = line[1] ? line[1] : "",
        .action = line[2] && *line[2] ? line[2] : NULL,
        .host = line[3] && *line[3] ? line[3] : NULL,
        .origin = line[4] && *line[4] ? line[4] : NULL,
        .listen = line[5] ? line[5] : "127.0.0.1:8480",
        .hosts = line[6],
        .referer = line[7] && *line[7] ? line[7] : NULL,
        .fetch_site = line[8] && *line[8] ? line[8] : NULL,
        .fetch_dest = line[9] && *line[9] ? line[9] : NULL,
        .embed = line[10],
        .content_type = line[11],
    };
    halo_http_route(&request, &route);
    check(&request, &route);
    free(text);
    return 0;
}
