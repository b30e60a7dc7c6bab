/* SPDX-License-Identifier: BSD-2-Clause
 * The users and tokens that may use the daemon over HTTP, each with a role. Users have a password,
 * of which only the hash is stored (yescrypt); tokens are random, so SHA-256 is enough for them.
 * The file users.json is
 *
 *   {"users": {"NAME": {"role": "admin", "hash": "$y$..."}},
 *    "tokens": {"NAME": {"role": "view", "hash": "HEX"}}}
 *
 * Functions with "password" in their names take some 40 ms of a processor, and belong on another
 * thread than the loop's. Everything else is for one thread at a time. */
#ifndef HALO_USERS_H
#define HALO_USERS_H

#include <jansson.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "config/role.h"

enum {
    HALO_USERS_MAX = 256, /* users, and also tokens */
    HALO_PASSWORD_MIN = 8,
    HALO_PASSWORD_MAX = 256, /* bytes */
    HALO_HASH_SIZE = 384,
    HALO_SECRET_SIZE = 65, /* 256 bits in hexadecimal */
};

struct halo_users;

/* Reads the file at path; NULL, or a file that does not exist: no users. Returns 0, -EBADMSG if the
 * file is damaged, or another -errno; err is then filled. */
int halo_users_create(struct halo_users **ret, const char *path, struct halo_error *err);
void halo_users_destroy(struct halo_users *users);

/* Returns whether there is at least one user. */
bool halo_users_exist(const struct halo_users *users);
/* Returns the user's role and sets *ret_hash to the password's hash, which belongs to users, or
 * returns HALO_ROLE_NONE if there is no such user. */
enum halo_role halo_users_find(const struct halo_users *users, const char *name,
                               const char **ret_hash);
/* Returns the role of the token with this secret and sets *ret_name to its name, which belongs to
 * users, or returns HALO_ROLE_NONE. */
enum halo_role halo_users_find_token(const struct halo_users *users, const char *secret,
                                     const char **ret_name);

/* Add, replace or remove a user or token. Return 0, -EINVAL with err filled (malformed name, too
 * many, the last administrator), -ENOENT or -ENOMEM. */
int halo_users_put(struct halo_users *users, const char *name, enum halo_role role,
                   const char *hash, struct halo_error *err);
int halo_users_remove(struct halo_users *users, const char *name, struct halo_error *err);
int halo_users_put_token(struct halo_users *users, const char *name, enum halo_role role,
                         const char *secret, struct halo_error *err);
int halo_users_remove_token(struct halo_users *users, const char *name, struct halo_error *err);

/* Return a copy of the table, a new reference or NULL, and make the table like this copy again. */
json_t *halo_users_copy(const struct halo_users *users);
void halo_users_restore(struct halo_users *users, json_t *copy);

/* Returns {"users": [{"name", "role"}], "tokens": [...]}, without hashes; a new reference. */
json_t *halo_users_list(const struct halo_users *users);
/* Returns the contents of the file; the caller frees them. NULL: out of memory. */
char *halo_users_text(const struct halo_users *users);

/* Fills ret with random hexadecimal digits. Returns 0 or -EIO. */
int halo_secret(char ret[HALO_SECRET_SIZE]);
/* Compares in constant time. */
bool halo_secret_is(const char *a, const char *b);

/* Any thread; neither blocks on disk. halo_password_hash() returns 0, or -EIO if libcrypt cannot
 * make a hash. halo_password_is() takes as long if hash is NULL, and then returns false. */
int halo_password_hash(const char *password, char ret[HALO_HASH_SIZE]);
bool halo_password_is(const char *password, const char *hash);

#endif
