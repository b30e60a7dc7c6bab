/* SPDX-License-Identifier: BSD-2-Clause
 * Who may use the daemon over HTTP: the users and tokens of the state folder, and who is logged in.
 * Passwords are hashed, and files written, by threads of libuv's pool, one at a time.
 *
 * As long as there is no user, a code that only root and the daemon's user can read (setup-code in
 * the state folder) creates the first administrator.
 *
 * Loop thread only. */
#ifndef HALO_ACCESS_H
#define HALO_ACCESS_H

#include <jansson.h>
#include <uv.h>

#include "daemon/access/sessions.h"
#include "daemon/access/users.h"

struct halo_access;

/* `state` is the folder of the settings, or NULL (config/folders.h). Returns 0, -EBADMSG if a file
 * is damaged, or another -errno, with err filled. */
int halo_access_create(struct halo_access **ret, uv_loop_t *loop, const char *state,
                       struct halo_error *err);
/* Answers pending requests with an error. The memory is freed when their threads have ended. NULL
 * is ignored. */
void halo_access_destroy(struct halo_access *access);

const struct halo_users *halo_access_users(const struct halo_access *access);
/* Returns the session with this cookie, or NULL. */
const struct halo_session *halo_access_session(struct halo_access *access, const char *cookie);
void halo_access_logout(struct halo_access *access, const char *cookie);
/* Returns whether the first administrator can be created with a code. */
bool halo_access_needs_setup(const struct halo_access *access);

/* Returns this code, or NULL. */
const char *halo_access_setup_code(const struct halo_access *access);

/* A request that takes time. */
struct halo_access_request {
    enum halo_access_what {
        HALO_ACCESS_LOGIN,        /* name, password: begins a session */
        HALO_ACCESS_SETUP,        /* secret: the code; name, password: of the new administrator,
                                   * whose session begins */
        HALO_ACCESS_PASSWORD,     /* name, secret: the old password; password: the new one */
        HALO_ACCESS_PUT_USER,     /* name, role, password (NULL: as before) */
        HALO_ACCESS_REMOVE_USER,  /* name */
        HALO_ACCESS_PUT_TOKEN,    /* name, role: answered with its secret */
        HALO_ACCESS_REMOVE_TOKEN, /* name */
    } what;
    const char *name, *password, *secret, *address;
    enum halo_role role;
};

/* The answer: one of session, secret and err is set, or none, which means that the request is done.
 * err->code is -EACCES if a password or code is wrong, -EBUSY if the address has to wait for
 * wait_ms, or as in users.h. */
struct halo_access_answer {
    const struct halo_session *session;
    const char *secret;
    const struct halo_error *err;
    uint64_t wait_ms;
};
typedef void halo_access_done(void *arg, const struct halo_access_answer *answer);

/* Begins a request; its texts are copied. done(arg) is called once, at once or later. */
void halo_access_ask(struct halo_access *access, const struct halo_access_request *request,
                     halo_access_done *done, void *arg);

#endif
