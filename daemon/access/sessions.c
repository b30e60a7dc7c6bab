/* SPDX-License-Identifier: BSD-2-Clause
 * Sessions, and addresses that guess. */
#include "daemon/access/sessions.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESSES = 256, ADDRESS = 48, FORGET_MS = 3600000, DOUBLINGS = 6 };

struct tries {
    char address[ADDRESS]; /* "": free */
    int wrong;
    uint64_t last; /* when the last wrong password came */
};

struct halo_sessions {
    struct halo_session session[HALO_SESSIONS_MAX]; /* those without a user are free */
    struct tries tries[ADDRESSES];
};

struct halo_sessions *halo_sessions_create(void)
{
    return calloc(1, sizeof(struct halo_sessions));
}

void halo_sessions_destroy(struct halo_sessions *sessions)
{
    free(sessions);
}

/* ---- sessions ---- */

static bool is_over(const struct halo_session *session, uint64_t now)
{
    return !session->user[0] || now - session->used > HALO_SESSION_IDLE_MS ||
           now - session->begun > HALO_SESSION_MS;
}

static struct halo_session *choose(struct halo_sessions *sessions, uint64_t now)
{
    struct halo_session *oldest = &sessions->session[0];
    for (int i = 0; i < HALO_SESSIONS_MAX; i++) {
        struct halo_session *session = &sessions->session[i];
        if (is_over(session, now))
            return session;
        if (session->used < oldest->used)
            oldest = session;
    }
    return oldest;
}

const struct halo_session *halo_session_begin(struct halo_sessions *sessions, const char *user,
                                              uint64_t now)
{
    struct halo_session *session = choose(sessions, now);
    struct halo_session next = {.begun = now, .used = now};
    snprintf(next.user, sizeof next.user, "%s", user);
    if (halo_secret(next.cookie) < 0 || halo_secret(next.token) < 0)
        return NULL;
    *session = next;
    return session;
}

static struct halo_session *find(struct halo_sessions *sessions, const char *cookie)
{
    for (int i = 0; i < HALO_SESSIONS_MAX; i++)
        if (sessions->session[i].user[0] && halo_secret_is(sessions->session[i].cookie, cookie))
            return &sessions->session[i];
    return NULL;
}

const struct halo_session *halo_session_find(struct halo_sessions *sessions, const char *cookie,
                                             uint64_t now)
{
    struct halo_session *session = find(sessions, cookie);
    if (!session || is_over(session, now))
        return NULL;
    session->used = now;
    return session;
}

void halo_session_end(struct halo_sessions *sessions, const char *cookie)
{
    struct halo_session *session = find(sessions, cookie);
    if (session)
        *session = (struct halo_session){0};
}

void halo_sessions_end_user(struct halo_sessions *sessions, const char *user)
{
    for (int i = 0; i < HALO_SESSIONS_MAX; i++)
        if (!strcmp(sessions->session[i].user, user))
            sessions->session[i] = (struct halo_session){0};
}

/* ---- tries ---- */

/* An IPv6 user may have 2^64 addresses. */
static void shorten(const char *address, char ret[ADDRESS])
{
    unsigned char ip[16];
    snprintf(ret, ADDRESS, "%s", address);
    if (!strchr(address, ':') || inet_pton(AF_INET6, address, ip) != 1)
        return;
    memset(ip + 8, 0, 8);
    inet_ntop(AF_INET6, ip, ret, ADDRESS);
}

static const struct tries *find_tries(const struct halo_sessions *sessions, const char *address)
{
    char key[ADDRESS];
    shorten(address, key);
    for (int i = 0; i < ADDRESSES; i++)
        if (sessions->tries[i].address[0] && !strcmp(sessions->tries[i].address, key))
            return &sessions->tries[i];
    return NULL;
}

uint64_t halo_tries_wait(const struct halo_sessions *sessions, const char *address, uint64_t now)
{
    const struct tries *tries = find_tries(sessions, address);
    if (!tries || tries->wrong < HALO_TRIES_FREE || now - tries->last > FORGET_MS)
        return 0;
    const int further = tries->wrong - HALO_TRIES_FREE;
    uint64_t wait = (uint64_t)HALO_TRIES_WAIT_MS << (further < DOUBLINGS ? further : DOUBLINGS);
    if (wait > HALO_TRIES_WAIT_MAX_MS)
        wait = HALO_TRIES_WAIT_MAX_MS;
    return now - tries->last >= wait ? 0 : wait - (now - tries->last);
}

void halo_tries_count(struct halo_sessions *sessions, const char *address, uint64_t now)
{
    struct tries *tries = (struct tries *)find_tries(sessions, address);
    if (!tries) {
        tries = &sessions->tries[0];
        for (int i = 0; i < ADDRESSES && tries->address[0]; i++)
            if (!sessions->tries[i].address[0] || sessions->tries[i].last < tries->last)
                tries = &sessions->tries[i];
        *tries = (struct tries){0};
        shorten(address, tries->address);
    }
    if (now - tries->last > FORGET_MS)
        tries->wrong = 0;
    tries->wrong++;
    tries->last = now;
}

void halo_tries_forget(struct halo_sessions *sessions, const char *address)
{
    struct tries *tries = (struct tries *)find_tries(sessions, address);
    if (tries)
        *tries = (struct tries){0};
}
