/* SPDX-License-Identifier: BSD-2-Clause
 * Users, tokens and browsers that log in: what they may, and how long they have to wait after wrong
 * passwords, as docs/control.md says. One thing happens at a time, so that its answer is known. */
#include <stdlib.h>
#include <string.h>

#include "tests/world/world.h"

enum {
    FREE = 4,      /* wrong passwords for a user before an address must wait */
    FREE_ALL = 20, /* and for all users */
    WAIT_MS = 15000,
    WAIT_MAX_MS = 900000,
    NEAR_MS = 1500, /* about when a wait ends, both answers are right */
    ANSWER_MS = 2000,
};

static struct {
    bool busy;           /* something is not answered yet */
    bool root, anna;     /* this user exists */
    int password, tried; /* number of anna's, and of the one that is being set */
    char cookie[200];    /* of her session; "": it has ended */
    char old[200];       /* of one that has ended */
    char token[80];      /* "": there is none */
    char gone[80];       /* one that was removed */
    int wrong, wrong_all;
    int64_t until; /* us of world_now(): until when guesses for her must wait */
    char asked[20];
} users;

/* ---- control ---- */

static bool went_well(const char *text)
{
    json_t *answer = json_loads(text, 0, NULL);
    const bool fine = answer && !json_object_get(answer, "error");
    const char *token =
        json_string_value(json_object_get(json_object_get(answer, "parameters"), "token"));
    if (token)
        snprintf(users.token, sizeof users.token, "%s", token);
    json_decref(answer);
    return fine;
}

/* Her sessions end. */
static void end_sessions(void)
{
    if (users.cookie[0])
        memcpy(users.old, users.cookie, sizeof users.old);
    users.cookie[0] = '\0';
}

static void on_done(const char *text)
{
    const bool fine = went_well(text);
    users.busy = false;
    if (!fine)
        return;
    if (!strcmp(users.asked, "root")) {
        users.root = true;
    } else if (!strcmp(users.asked, "put")) {
        users.anna = true;
        users.password = users.tried;
        end_sessions();
    } else if (!strcmp(users.asked, "removed")) {
        users.anna = false;
        end_sessions();
    } else if (!strcmp(users.asked, "token-gone")) {
        memcpy(users.gone, users.token, sizeof users.gone);
        users.token[0] = '\0';
    }
}

static void change(const char *what, const char *method, json_t *parameters)
{
    snprintf(users.asked, sizeof users.asked, "%s", what);
    users.busy = client_call_then(method, parameters, false, ANSWER_MS, on_done);
}

static json_t *with_password(const char *name, const char *role, int number)
{
    char password[40];
    snprintf(password, sizeof password, "long password %d", number);
    return json_pack("{s:s, s:s, s:s}", "name", name, "role", role, "password", password);
}

/* ---- HTTP ---- */

static int status_in(const char *text)
{
    int status = 0;
    sscanf(text, "HTTP/1.1 %d", &status);
    return status;
}

static void take_cookie(const char *text)
{
    const char *at = strcasestr(text, "Set-Cookie: ");
    if (!at || sscanf(at + 12, "%199[^;]", users.cookie) != 1)
        world_fail("a login was answered without a cookie");
}

static void count_wrong(void)
{
    users.wrong_all++;
    if (++users.wrong < FREE)
        return;
    const int doublings = users.wrong - FREE > 6 ? 6 : users.wrong - FREE;
    const int64_t wait = (int64_t)WAIT_MS << doublings;
    users.until = world_now() + (wait > WAIT_MAX_MS ? WAIT_MAX_MS : wait) * 1000;
}

static void on_login(const char *text)
{
    const bool right = !strcmp(users.asked, "right") && users.anna;
    const int status = status_in(text);
    const int left = (int)((users.until - world_now()) / 1000);
    users.busy = false;
    world_say("a login, %s: %d", users.asked, status);
    if (status == 429) {
        const char *at = strcasestr(text, "Retry-After: ");
        const int retry = at ? atoi(at + 13) : 0;
        if (retry < 1 || (users.wrong_all < FREE_ALL && retry * 1000 > left + 1000 + NEAR_MS))
            world_fail("a login must wait %d ms, but is told to wait %d s", left, retry);
        if (left < -NEAR_MS && users.wrong_all < FREE_ALL)
            world_fail("a login must wait, though it may be tried since %d ms", -left);
        return;
    }
    if (left > NEAR_MS)
        world_fail("a password may be tried %d ms too early", left);
    if (status != (right ? 200 : 403))
        world_fail("a login with a %s password is answered by %d", right ? "right" : "wrong",
                   status);
    if (!right) {
        count_wrong();
        return;
    }
    users.wrong = 0;
    users.until = 0;
    take_cookie(text);
}

static void log_in(const char *how)
{
    char body[100], request[400];
    snprintf(body, sizeof body, "{\"user\": \"anna\", \"password\": \"%s password %d\"}",
             how[0] == 'w' ? "wrong" : "long", users.password);
    snprintf(request, sizeof request,
             "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
             strlen(body), body);
    snprintf(users.asked, sizeof users.asked, "%s", how);
    users.busy = client_ask(request, ANSWER_MS, on_login);
}

static void on_page(const char *text)
{
    const int status = status_in(text);
    const bool may = !strcmp(users.asked, "in") || !users.root;
    users.busy = false;
    if (status != (may ? 200 : 401))
        world_fail("who is %s gets %d", users.asked, status);
}

static void look(const char *header, const char *value, const char *as)
{
    char request[500];
    snprintf(request, sizeof request,
             "GET /api/streams HTTP/1.1\r\nHost: localhost\r\n%s%s\r\nConnection: close\r\n\r\n",
             header, value);
    snprintf(users.asked, sizeof users.asked, "%s", as);
    users.busy = client_ask(request, ANSWER_MS, on_page);
}

/* A request of nobody. */
bool users_may_answer(const char *path, int status)
{
    const bool health = !strcmp(path, "/healthz");
    return status == 200 || status == (health ? 503 : users.root || users.busy ? 401 : 200);
}

/* ---- events ---- */

void users_play(const char *what)
{
    if (users.busy || world_is_ending())
        return;
    if (!users.root && !strcmp(what, "put")) {
        change("root", "SetUser", with_password("root", "admin", 0));
    } else if (!strcmp(what, "put")) {
        change(what, "SetUser", with_password("anna", "operate", ++users.tried));
    } else if (!strcmp(what, "removed") && users.anna) {
        change(what, "RemoveUser", json_pack("{s:s}", "name", "anna"));
    } else if (!strcmp(what, "token") && users.root && !users.token[0]) {
        change(what, "AddToken", json_pack("{s:s, s:s}", "name", "monitor", "role", "view"));
    } else if (!strcmp(what, "token-gone") && users.token[0]) {
        change(what, "RemoveToken", json_pack("{s:s}", "name", "monitor"));
    } else if (!strcmp(what, "right") || !strcmp(what, "wrong")) {
        if (users.root)
            log_in(what);
    } else if (!strcmp(what, "looks")) {
        if (users.cookie[0])
            look("Cookie: ", users.cookie, "in");
        else if (users.old[0])
            look("Cookie: ", users.old, "out");
        else
            look("X-Nobody: ", "1", "out");
    } else if (!strcmp(what, "asks")) {
        if (users.token[0])
            look("Authorization: Bearer ", users.token, "in");
        else if (users.gone[0])
            look("Authorization: Bearer ", users.gone, "out");
    }
}
