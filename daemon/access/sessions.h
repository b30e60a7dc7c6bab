/* SPDX-License-Identifier: BSD-2-Clause
 * Who is logged in, and how often somebody may try. Times are milliseconds of any clock that never
 * goes back; tests play it. One thread at a time. */
#ifndef HALO_SESSIONS_H
#define HALO_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/access/users.h"

enum {
    HALO_SESSIONS_MAX = 256, /* a further one replaces the one that was used least recently */
    HALO_SESSION_IDLE_MS = 12 * 3600 * 1000,
    HALO_SESSION_MS = 7 * 24 * 3600 * 1000,
    /* wrong passwords for a user from an address before they have to wait ... */
    HALO_TRIES_FREE = 4,
    HALO_TRIES_ADDRESS = 20,         /* ... and for all users together */
    HALO_TRIES_WAIT_MS = 15000,      /* the first wait; twice as long after each further one, */
    HALO_TRIES_WAIT_MAX_MS = 900000, /* at most */
};

struct halo_session {
    char user[65];
    char cookie[HALO_SECRET_SIZE]; /* only in the browser's cookie */
    char token[HALO_SECRET_SIZE];  /* the page sends it with each request that changes something */
    uint64_t begun, used;
};

struct halo_sessions;

struct halo_sessions *halo_sessions_create(void); /* NULL: out of memory */
void halo_sessions_destroy(struct halo_sessions *sessions);

/* Returns a new session of the user, valid until it ends, or NULL if there is no randomness. */
const struct halo_session *halo_session_begin(struct halo_sessions *sessions, const char *user,
                                              uint64_t now);
/* Returns the session with this cookie, or NULL if there is none or it has expired. */
const struct halo_session *halo_session_find(struct halo_sessions *sessions, const char *cookie,
                                             uint64_t now);
void halo_session_end(struct halo_sessions *sessions, const char *cookie);
/* Ends all sessions of the user: the user was removed, or has another password. */
void halo_sessions_end_user(struct halo_sessions *sessions, const char *user);

/* Returns how many milliseconds must pass before somebody at this address may try a password of the
 * user ("": a code); 0: now. Addresses are texts; of IPv6 only the first 56 bits count. */
uint64_t halo_tries_wait(const struct halo_sessions *sessions, const char *address,
                         const char *user, uint64_t now);
/* Counts a wrong password. */
void halo_tries_count(struct halo_sessions *sessions, const char *address, const char *user,
                      uint64_t now);
/* Forgets the wrong passwords for this user from this address, after a right one. Those for others
 * still count. */
void halo_tries_forget(struct halo_sessions *sessions, const char *address, const char *user);

#endif
