/* SPDX-License-Identifier: BSD-2-Clause
 * Sessions, and addresses that guess. */
#include "daemon/access/sessions.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 1024, KEY = 128, FORGET_MS = 3600000, DOUBLINGS = 6, NETWORK = 7 };

/* Wrong passwords from an address: for one user ("ADDRESS USER"), or for all ("ADDRESS"). */
struct tries {
    char key[KEY];   /* "": free */
    int wrong, free; /* free: how many cost nothing */
    uint64_t last;   /* when the last wrong password came */
};

struct halo_sessions {
    struct halo_session session[HALO_SESSIONS_MAX]; /* those without a user are free */
    struct tries tries[TRIES];
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

/* user NULL: all. An IPv6 customer has 2^64 addresses or more. */
static void make_key(const char *address, const char *user, char ret[KEY])
{
    unsigned char ip[16];
    char shown[INET6_ADDRSTRLEN];
    snprintf(shown, sizeof shown, "%s", address);
    if (strchr(address, ':') && inet_pton(AF_INET6, address, ip) == 1) {
        memset(ip + NETWORK, 0, sizeof ip - NETWORK);
        inet_ntop(AF_INET6, ip, shown, sizeof shown);
    }
    snprintf(ret, KEY, "%s%s%.64s", shown, user ? " " : "", user ? user : "");
}

static struct tries *find_tries(const struct halo_sessions *sessions, const char *address,
                                const char *user)
{
    char key[KEY];
    make_key(address, user, key);
    for (int i = 0; i < TRIES; i++)
        if (sessions->tries[i].key[0] && !strcmp(sessions->tries[i].key, key))
            return (struct tries *)&sessions->tries[i];
    return NULL;
}

static uint64_t wait_of(const struct tries *tries, uint64_t now)
{
    if (!tries || tries->wrong < tries->free || now - tries->last > FORGET_MS)
        return 0;
    const int further = tries->wrong - tries->free;
    uint64_t wait = (uint64_t)HALO_TRIES_WAIT_MS << (further < DOUBLINGS ? further : DOUBLINGS);
    if (wait > HALO_TRIES_WAIT_MAX_MS)
        wait = HALO_TRIES_WAIT_MAX_MS;
    return now - tries->last >= wait ? 0 : wait - (now - tries->last);
}

uint64_t halo_tries_wait(const struct halo_sessions *sessions, const char *address,
                         const char *user, uint64_t now)
{
    const uint64_t one = wait_of(find_tries(sessions, address, user), now);
    const uint64_t all = wait_of(find_tries(sessions, address, NULL), now);
    return one > all ? one : all;
}

/* A free entry, or else the oldest of those that nobody waits for, or else the oldest. */
static struct tries *choose_tries(struct halo_sessions *sessions, uint64_t now)
{
    struct tries *best = NULL;
    for (int i = 0; i < TRIES; i++) {
        struct tries *tries = &sessions->tries[i];
        if (!tries->key[0])
            return tries;
        const bool waits = wait_of(tries, now) > 0, best_waits = best && wait_of(best, now) > 0;
        if (!best || waits < best_waits || (waits == best_waits && tries->last < best->last))
            best = tries;
    }
    return best;
}

static void count(struct halo_sessions *sessions, const char *address, const char *user,
                  uint64_t now)
{
    struct tries *tries = find_tries(sessions, address, user);
    if (!tries) {
        tries = choose_tries(sessions, now);
        *tries = (struct tries){.free = user ? HALO_TRIES_FREE : HALO_TRIES_ADDRESS};
        make_key(address, user, tries->key);
    }
    if (now - tries->last > FORGET_MS)
        tries->wrong = 0;
    tries->wrong++;
    tries->last = now;
}

void halo_tries_count(struct halo_sessions *sessions, const char *address, const char *user,
                      uint64_t now)
{
    count(sessions, address, user, now);
    count(sessions, address, NULL, now);
}

void halo_tries_forget(struct halo_sessions *sessions, const char *address, const char *user)
{
    struct tries *tries = find_tries(sessions, address, user);
    if (tries)
        *tries = (struct tries){0};
}
