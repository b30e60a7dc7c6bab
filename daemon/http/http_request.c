/* SPDX-License-Identifier: BSD-2-Clause
 * Checks paths, hosts and origins. A page of another site must not reach this machine's cameras
 * through a host name that it makes point here, so only known names are served. Nor may it show
 * them: requests that browsers mark as coming from other sites (Sec-Fetch-Site) are refused, and
 * headers of the answer (http.c) forbid other browsers to show it. */
#include "daemon/http/http_request.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config/daemon.h"

/* Length of the name in "NAME" or "NAME:PORT"; an IPv6 address keeps its brackets. 0: malformed. */
static size_t name_length(const char *host)
{
    size_t length = strcspn(host, ":");
    if (host[0] == '[') {
        const char *end = strchr(host, ']');
        if (!end)
            return 0;
        length = (size_t)(end - host) + 1;
    }
    if (!host[length])
        return length;
    const char *port = host + length + 1;
    return host[length] == ':' && strspn(port, "0123456789") == strlen(port) ? length : 0;
}

static bool is_same(const char *a, size_t length, const char *b, size_t b_length)
{
    return length == b_length && !strncasecmp(a, b, length);
}

/* Whether the word is in a comma-separated list. */
static bool is_listed(const char *list, const char *word, size_t length)
{
    for (const char *at = list; at && *at;) {
        at += strspn(at, ", ");
        const size_t one = strcspn(at, ", ");
        if (one > 0 && is_same(word, length, at, one))
            return true;
        at += one;
    }
    return false;
}

bool halo_http_is_host(const char *host, const char *listen, const char *hosts)
{
    static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};
    const size_t length = name_length(host);
    if (length == 0)
        return false;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (is_same(host, length, own[i], strlen(own[i])))
            return true;
    if (strncmp(listen, "unix:", 5) && is_same(host, length, listen, name_length(listen)))
        return true;
    return is_listed(hosts, host, length);
}

/* Whether url belongs to one of these origins. */
static bool is_embedder(const char *origins, const char *url)
{
    const char *host = url ? strstr(url, "://") : NULL;
    if (!host)
        return false;
    host += 3;
    return is_listed(origins, url, (size_t)(host - url) + strcspn(host, "/?#"));
}

/* Whether a page of another origin makes the request, as far as the browser reports it. Following a
 * link does not count, because its target gets the whole window. For frames the browser checks
 * which sites may embed this, which http.c lists in a header. */
static bool is_for_another(const struct halo_http_request *request)
{
    const char *site = request->fetch_site, *dest = request->fetch_dest;
    if (!site || !strcmp(site, "same-origin") || !strcmp(site, "none"))
        return false;
    return !dest || (strcmp(dest, "document") &&
                     !(request->embed && (!strcmp(dest, "iframe") || !strcmp(dest, "frame"))));
}

/* Whether origin is "http://HOST" with the host of this request. */
static bool is_same_origin(const char *origin, const char *host)
{
    const char *begin = strstr(origin, "://");
    return begin && !strcasecmp(begin + 3, host);
}

static void fail(struct halo_http_route *route, int status, const char *why)
{
    route->what = HALO_HTTP_ERROR;
    route->status = status;
    route->why = why;
}

static bool is_get(const struct halo_http_request *request)
{
    return !strcmp(request->method, "GET") || !strcmp(request->method, "HEAD");
}

/* A page of another site can send a form here, but not JSON, for which browsers ask first. */
static bool is_post(const struct halo_http_request *request, struct halo_http_route *route)
{
    static const char json[] = "application/json";
    const char *type = request->content_type;
    const bool same = !request->fetch_site || !strcmp(request->fetch_site, "same-origin") ||
                      !strcmp(request->fetch_site, "none");
    if (!type || strncasecmp(type, json, sizeof json - 1) != 0 ||
        (type[sizeof json - 1] && !strchr("; ", type[sizeof json - 1])))
        fail(route, 415, "the request must have 'Content-Type: application/json'");
    else if (!same)
        fail(route, 403, "requests from pages of other sites are refused");
    return route->what != HALO_HTTP_ERROR;
}

static bool is_allowed(const struct halo_http_request *request, struct halo_http_route *route)
{
    if (request->ambiguous)
        fail(route, 400, "a header is malformed, or contradicts another one");
    else if (!is_get(request) && strcmp(request->method, "POST") != 0)
        fail(route, 405, "only GET, HEAD and POST are allowed");
    else if (!request->host || !halo_http_is_host(request->host, request->listen, request->hosts))
        fail(route, 403, "unknown host name: add it to 'http: hosts:' in the settings");
    else if (request->origin && !is_same_origin(request->origin, request->host))
        fail(route, 403, "requests from pages of other sites are refused");
    else if (!route->embedded && is_for_another(request))
        fail(route, 403,
             "pages from other origins cannot embed this one: to allow an origin, add it to 'http: "
             "embed:' in "
             "the settings");
    return route->what != HALO_HTTP_ERROR;
}

/* The paths that are served; tests compare these tables with docs/control.md. */
struct path {
    const char *name;
    enum halo_http_what what;
    enum halo_role role;
    bool posts;
};

/* Pages without a stream. */
static const struct path pages[] = {
    {"/", HALO_HTTP_INDEX, HALO_ROLE_NONE, false},
    {"/metrics", HALO_HTTP_METRICS, HALO_ROLE_VIEW, false},
    {"/healthz", HALO_HTTP_HEALTH, HALO_ROLE_NONE, false},
    {"/api/streams", HALO_HTTP_STATUS, HALO_ROLE_VIEW, false},
    {"/api/live", HALO_HTTP_LIVE, HALO_ROLE_VIEW, false},
    {"/api/events", HALO_HTTP_EVENTS, HALO_ROLE_VIEW, false},
    {"/api/filters", HALO_HTTP_FILTERS, HALO_ROLE_NONE, false},
    {"/api/openapi.json", HALO_HTTP_OPENAPI, HALO_ROLE_NONE, false},
    {"/api/session", HALO_HTTP_SESSION, HALO_ROLE_NONE, false},
    {"/api/login", HALO_HTTP_LOGIN, HALO_ROLE_NONE, true},
    {"/api/logout", HALO_HTTP_LOGOUT, HALO_ROLE_NONE, true},
    {"/api/setup", HALO_HTTP_SETUP, HALO_ROLE_NONE, true},
};

/* Folders, whose entries are checked elsewhere. */
static const struct path folders[] = {
    {"/page/", HALO_HTTP_FILE, HALO_ROLE_NONE, false},
    {"/api/call/", HALO_HTTP_CALL, HALO_ROLE_NONE, true},
};

/* FILE in "/NAME/FILE". */
static const struct path files[] = {
    {"stream.mjpeg", HALO_HTTP_STREAM, HALO_ROLE_VIEW, false},
    {"snapshot.jpg", HALO_HTTP_SNAPSHOT, HALO_ROLE_VIEW, false},
    {"live.mp4", HALO_HTTP_MEDIA, HALO_ROLE_VIEW, false},
};

/* WORD in "/NAME/?action=WORD" and "/?action=WORD", the paths of mjpg-streamer. */
static const struct path actions[] = {
    {"stream", HALO_HTTP_STREAM, HALO_ROLE_VIEW, false},
    {"snapshot", HALO_HTTP_SNAPSHOT, HALO_ROLE_VIEW, false},
};

#define FIND(table, name) find(table, sizeof(table) / sizeof(table)[0], name)

static const struct path *find(const struct path *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name, table[i].name))
            return &table[i];
    return NULL;
}

static const struct path *find_folder(const char *path, char name[65])
{
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const size_t length = strlen(folders[i].name);
        if (strncmp(path, folders[i].name, length) != 0)
            continue;
        const int written = snprintf(name, 65, "%s", path + length);
        return written > 0 && written < 65 && !strchr(name, '/') ? &folders[i] : NULL;
    }
    return NULL;
}

/* A page of a stream, whose name is copied; "" means the first stream. */
static const struct path *find_stream(const struct halo_http_request *request, char stream[65])
{
    const char *name = request->path + (request->path[0] == '/');
    const size_t length = strcspn(name, "/");
    const char *file = name + length;
    if (length > 0 && (!halo_is_name(name, length) || *file++ != '/'))
        return NULL;
    snprintf(stream, 65, "%.*s", (int)length, name);
    if (!*file)
        return request->action ? FIND(actions, request->action) : NULL;
    return length > 0 ? FIND(files, file) : NULL;
}

void halo_http_route(const struct halo_http_request *request, struct halo_http_route *ret)
{
    struct halo_http_route route = {
        .what = HALO_HTTP_INDEX, .status = 200, .why = "", .allow = "GET, HEAD"};
    route.embedded = is_embedder(request->embed, request->referer);
    const struct path *path = request->action ? NULL : FIND(pages, request->path);
    if (!path)
        path = find_stream(request, route.stream); /* also if it is named "page" */
    if (!path)
        path = find_folder(request->path, route.name);
    if (path && path->posts)
        route.allow = "POST";
    if (is_allowed(request, &route)) {
        if (!path)
            fail(&route, 404, "no such page: for a list of all pages, see '/'");
        else if (path->posts == is_get(request))
            fail(&route, 405,
                 path->posts ? "only POST is allowed" : "only GET and HEAD are allowed");
        if (path && route.what != HALO_HTTP_ERROR && (!path->posts || is_post(request, &route))) {
            route.what = path->what;
            route.role = path->role;
        }
    }
    *ret = route;
}
