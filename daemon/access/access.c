/* SPDX-License-Identifier: BSD-2-Clause
 * Requests that hash passwords and write the file of users:
 *
 *   ask ─► queue ─► thread: check and hash ─► loop: decide ─► thread: write ─► loop: answer
 *
 * One request at a time, so that nobody can occupy all processors by guessing, and no change is
 * lost by another one. */
#include "daemon/access/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/read_file.h"
#include "config/base/write_file.h"
#include "config/folders.h"

enum {
    QUEUE = 16, /* requests that wait */
    CODE_MAX = 64,
    CODE_DIGITS = 16, /* hexadecimal, in groups */
    CODE_GROUP = 4,
};

struct job {
    uv_work_t work;
    struct halo_access *access;
    struct job *next;
    enum halo_access_what what;
    enum halo_role role;
    char name[65], password[HALO_PASSWORD_MAX + 1], secret[HALO_PASSWORD_MAX + 1], address[48];
    bool has_password;
    char known[HALO_HASH_SIZE]; /* the hash to compare with; "": there is no such user */
    char hash[HALO_HASH_SIZE];  /* of the new password */
    bool right;                 /* the password is that of `known` */
    char *text;                 /* to write; NULL: nothing */
    json_t *before;             /* the users before the change */
    struct halo_error err;
    halo_access_done *done;
    void *arg;
};

struct halo_access {
    uv_loop_t *loop;
    char *path, *code_path; /* NULL: there is no state folder */
    char code[CODE_MAX];    /* "": no code, or there are users */
    struct halo_users *users;
    struct halo_sessions *sessions;
    struct job *first; /* the one that is being done, and those that wait */
    bool destroyed;
};

/* ---- life ---- */

/* XXXX-XXXX-XXXX-XXXX */
static int make_code(char ret[CODE_MAX])
{
    char secret[HALO_SECRET_SIZE];
    if (halo_secret(secret) < 0)
        return -EIO;
    char *to = ret;
    for (int i = 0; i < CODE_DIGITS; i++) {
        if (i > 0 && i % CODE_GROUP == 0)
            *to++ = '-';
        *to++ = secret[i];
    }
    *to = '\0';
    return 0;
}

static int read_code(struct halo_access *access)
{
    char *text = NULL;
    size_t length = 0;
    const int code = halo_read_file(access->code_path, 0, CODE_MAX - 1, &text, &length);
    if (code == 0 && length < CODE_MAX)
        snprintf(access->code, sizeof access->code, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    return code == 0 && strlen(access->code) > CODE_DIGITS ? 0 : -ENOENT;
}

/* The code stays the same until it has been used. */
static void prepare_setup(struct halo_access *access)
{
    struct halo_error err = {0};
    char line[CODE_MAX + 1];
    if (!access->code_path || halo_users_exist(access->users) || read_code(access) == 0)
        return;
    if (make_code(access->code) < 0)
        return;
    snprintf(line, sizeof line, "%s\n", access->code);
    if (halo_write_file(access->code_path, 0600, line, strlen(line), &err) == 0)
        return;
    access->code[0] = '\0';
    halo_log(HALO_LOG_WARNING, "users cannot be created: %s", err.text);
}

static void finish(struct halo_access *access)
{
    halo_users_destroy(access->users);
    halo_sessions_destroy(access->sessions);
    free(access->path);
    free(access->code_path);
    free(access);
}

int halo_access_create(struct halo_access **ret, uv_loop_t *loop, const char *state,
                       struct halo_error *err)
{
    struct halo_access *access = calloc(1, sizeof *access);
    if (!access)
        return halo_fail(err, -ENOMEM, "out of memory");
    access->loop = loop;
    access->path = halo_state_path(state, "users.json");
    access->code_path = halo_state_path(state, "setup-code");
    access->sessions = halo_sessions_create();
    int code = halo_users_create(&access->users, access->path, err);
    if (code == 0 && !access->sessions)
        code = halo_fail(err, -ENOMEM, "out of memory");
    if (code < 0) {
        finish(access);
        return code;
    }
    prepare_setup(access);
    *ret = access;
    return 0;
}

void halo_access_destroy(struct halo_access *access)
{
    if (!access)
        return;
    const struct halo_error err = {.code = -ECANCELED, .text = "halod is stopping"};
    const struct halo_access_answer stopping = {.err = &err};
    for (struct job *job = access->first; job; job = job->next) {
        job->done(job->arg, &stopping);
        job->done = NULL;
    }
    access->destroyed = true;
    if (!access->first)
        finish(access);
}

const struct halo_users *halo_access_users(const struct halo_access *access)
{
    return access->users;
}

const struct halo_session *halo_access_session(struct halo_access *access, const char *cookie)
{
    return halo_session_find(access->sessions, cookie, uv_now(access->loop));
}

void halo_access_logout(struct halo_access *access, const char *cookie)
{
    halo_session_end(access->sessions, cookie);
}

bool halo_access_needs_setup(const struct halo_access *access)
{
    return access->code[0] && !halo_users_exist(access->users);
}

const char *halo_access_setup_code(const struct halo_access *access)
{
    return halo_access_needs_setup(access) ? access->code : NULL;
}

/* ---- the steps of a request ---- */

static bool needs_new_hash(const struct job *job)
{
    return job->what == HALO_ACCESS_SETUP || job->what == HALO_ACCESS_PASSWORD ||
           (job->what == HALO_ACCESS_PUT_USER && job->has_password);
}

/* In a thread. */
static void hash(uv_work_t *work)
{
    struct job *job = work->data;
    if (job->what == HALO_ACCESS_LOGIN)
        job->right = halo_password_is(job->password, job->known[0] ? job->known : NULL);
    else if (job->what == HALO_ACCESS_PASSWORD)
        job->right = halo_password_is(job->secret, job->known[0] ? job->known : NULL);
    if (needs_new_hash(job) && halo_password_hash(job->password, job->hash) < 0)
        halo_fail(&job->err, -EIO, "the password cannot be hashed");
}

/* In a thread. */
static void write_users(uv_work_t *work)
{
    struct job *job = work->data;
    halo_write_file(job->access->path, 0600, job->text, strlen(job->text), &job->err);
}

static void begin(struct job *job);

static void answer(struct job *job, const struct halo_access_answer *with)
{
    struct halo_access *access = job->access;
    access->first = job->next;
    if (job->done)
        job->done(job->arg, with);
    free(job->text);
    json_decref(job->before);
    explicit_bzero(job, sizeof *job);
    free(job);
    if (access->first && !access->destroyed) {
        begin(access->first);
        return;
    }
    while (access->first) {
        struct job *next = access->first->next;
        explicit_bzero(access->first, sizeof *access->first);
        free(access->first);
        access->first = next;
    }
    if (access->destroyed)
        finish(access);
}

static void fail(struct job *job, uint64_t wait_ms)
{
    const struct halo_access_answer with = {.err = &job->err, .wait_ms = wait_ms};
    answer(job, &with);
}

/* Whose password is guessed; "": the code. */
static const char *guessed(const struct job *job)
{
    return job->what == HALO_ACCESS_SETUP ? "" : job->name;
}

static void end_well(struct job *job)
{
    struct halo_access *access = job->access;
    const bool logs_in = job->what == HALO_ACCESS_LOGIN || job->what == HALO_ACCESS_SETUP ||
                         job->what == HALO_ACCESS_PASSWORD;
    struct halo_access_answer with = {0};
    if (access->code[0] && halo_users_exist(access->users)) {
        unlink(access->code_path);
        access->code[0] = '\0';
    }
    if (job->what != HALO_ACCESS_LOGIN && job->what != HALO_ACCESS_PUT_TOKEN)
        halo_sessions_end_user(access->sessions, job->name);
    if (logs_in) {
        halo_tries_forget(access->sessions, job->address, guessed(job));
        halo_log(HALO_LOG_INFO, "http: %s has logged in from %s", job->name, job->address);
        with.session = halo_session_begin(access->sessions, job->name, uv_now(access->loop));
    }
    if (job->what == HALO_ACCESS_PUT_TOKEN)
        with.secret = job->secret;
    answer(job, &with);
}

static void on_written(uv_work_t *work, int status)
{
    struct job *job = work->data;
    (void)status;
    if (job->err.code) { /* as if the change had not been made */
        halo_users_restore(job->access->users, job->before);
        fail(job, 0);
    } else {
        end_well(job);
    }
}

static void count_wrong(struct job *job, const char *what)
{
    halo_tries_count(job->access->sessions, job->address, guessed(job), uv_now(job->access->loop));
    halo_log(HALO_LOG_WARNING, "http: %s from %s", what, job->address);
    halo_fail(&job->err, -EACCES, "%s", what);
}

/* Changes the table. */
static int change(struct job *job)
{
    struct halo_users *users = job->access->users;
    const char *known;
    switch (job->what) {
    case HALO_ACCESS_SETUP:
        if (!halo_access_needs_setup(job->access))
            return halo_fail(&job->err, -EEXIST, "an administrator already exists");
        return halo_users_put(users, job->name, HALO_ROLE_ADMIN, job->hash, &job->err);
    case HALO_ACCESS_PASSWORD:
        return halo_users_put(users, job->name, halo_users_find(users, job->name, &known),
                              job->hash, &job->err);
    case HALO_ACCESS_PUT_USER:
        if (!job->has_password && halo_users_find(users, job->name, &known) == HALO_ROLE_NONE)
            return halo_fail_usage(&job->err, "a new user needs a password");
        return halo_users_put(users, job->name, job->role, job->has_password ? job->hash : known,
                              &job->err);
    case HALO_ACCESS_REMOVE_USER:
        return halo_users_remove(users, job->name, &job->err);
    case HALO_ACCESS_PUT_TOKEN:
        return halo_secret(job->secret) < 0
                   ? halo_fail(&job->err, -EIO, "the system gives no random numbers")
                   : halo_users_put_token(users, job->name, job->role, job->secret, &job->err);
    default:
        return halo_users_remove_token(users, job->name, &job->err);
    }
}

static void on_hashed(uv_work_t *work, int status)
{
    struct job *job = work->data;
    struct halo_access *access = job->access;
    (void)status;
    if (!job->err.code && (job->what == HALO_ACCESS_LOGIN || job->what == HALO_ACCESS_PASSWORD) &&
        !job->right)
        count_wrong(job, "wrong user name or password");
    if (!job->err.code && job->what == HALO_ACCESS_LOGIN) {
        end_well(job);
        return;
    }
    job->before = halo_users_copy(access->users);
    if (!job->before)
        halo_fail(&job->err, -ENOMEM, "out of memory");
    if (!job->err.code && change(job) == 0) {
        job->text = halo_users_text(access->users);
        if (!job->text || uv_queue_work(access->loop, &job->work, write_users, on_written) < 0)
            halo_fail(&job->err, -ENOMEM, "out of memory");
        if (job->err.code)
            halo_users_restore(access->users, job->before);
    }
    if (job->err.code)
        fail(job, 0);
}

/* What needs no thread. Returns -errno with job->err filled, or 0. */
static int check(struct job *job, uint64_t *ret_wait_ms)
{
    struct halo_access *access = job->access;
    const char *known = NULL;
    const bool guesses = job->what == HALO_ACCESS_LOGIN || job->what == HALO_ACCESS_SETUP ||
                         job->what == HALO_ACCESS_PASSWORD;
    if (guesses)
        *ret_wait_ms =
            halo_tries_wait(access->sessions, job->address, guessed(job), uv_now(access->loop));
    if (*ret_wait_ms > 0)
        return halo_fail(&job->err, -EBUSY, "too many wrong passwords: wait %llu seconds",
                         (unsigned long long)(*ret_wait_ms + 999) / 1000);
    if (!access->path && job->what != HALO_ACCESS_LOGIN)
        return halo_fail_usage(&job->err, "users cannot be stored: set 'state:' to a folder");
    if (job->what == HALO_ACCESS_SETUP &&
        (!halo_access_needs_setup(access) || !halo_secret_is(access->code, job->secret))) {
        count_wrong(job, "wrong one-time code");
        return -EACCES;
    }
    if (needs_new_hash(job) && strlen(job->password) < HALO_PASSWORD_MIN)
        return halo_fail_usage(&job->err, "a password must have at least %d characters",
                               HALO_PASSWORD_MIN);
    halo_users_find(access->users, job->name, &known);
    snprintf(job->known, sizeof job->known, "%s", known ? known : "");
    return 0;
}

static void begin(struct job *job)
{
    uint64_t wait_ms = 0;
    job->work.data = job;
    if (check(job, &wait_ms) == 0 &&
        uv_queue_work(job->access->loop, &job->work, hash, on_hashed) < 0)
        halo_fail(&job->err, -ENOMEM, "out of memory");
    if (job->err.code)
        fail(job, wait_ms);
}

static bool copy(char *to, size_t size, const char *from)
{
    return snprintf(to, size, "%s", from ? from : "") < (int)size;
}

void halo_access_ask(struct halo_access *access, const struct halo_access_request *request,
                     halo_access_done *done, void *arg)
{
    struct halo_error err = {0};
    const struct halo_access_answer refused = {.err = &err};
    struct job *job = calloc(1, sizeof *job), **last = &access->first;
    int waiting = 0;
    for (; *last; last = &(*last)->next)
        waiting++;
    if (!job)
        halo_fail(&err, -ENOMEM, "out of memory");
    else if (waiting >= QUEUE)
        halo_fail(&err, -EBUSY, "too many requests at once: try again");
    else if (!copy(job->name, sizeof job->name, request->name) ||
             !copy(job->password, sizeof job->password, request->password) ||
             !copy(job->secret, sizeof job->secret, request->secret) ||
             !copy(job->address, sizeof job->address, request->address))
        halo_fail_usage(&err, "a name or password is too long");
    if (err.code) {
        free(job);
        done(arg, &refused);
        return;
    }
    job->access = access;
    job->what = request->what;
    job->role = request->role;
    job->has_password = request->password;
    job->done = done;
    job->arg = arg;
    *last = job;
    if (!waiting)
        begin(job);
}
