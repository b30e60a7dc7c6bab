/* SPDX-License-Identifier: BSD-2-Clause
 * Users and tokens, kept as the JSON of their file. */
#include "daemon/access/users.h"

#include <crypt.h>
#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "config/base/read_file.h"
#include "config/daemon.h"

enum { FILE_MAX = 1 << 20, SHA256 = 32 };

struct halo_users {
    json_t *root;
};

/* ---- secrets ---- */

static void to_hex(const uint8_t *bytes, int count, char *ret)
{
    for (int i = 0; i < count; i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

int halo_secret(char ret[HALO_SECRET_SIZE])
{
    uint8_t bytes[SHA256];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return -EIO;
    to_hex(bytes, SHA256, ret);
    return 0;
}

bool halo_secret_is(const char *a, const char *b)
{
    const size_t length = strlen(a);
    unsigned char differs = 0;
    if (strlen(b) != length) /* lengths are no secret */
        return false;
    for (size_t i = 0; i < length; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return !differs;
}

/* Returns 0 or -ENOMEM. */
static int hash_token(const char *secret, char ret[HALO_SECRET_SIZE])
{
    uint8_t digest[SHA256];
    struct AVSHA *sha = av_sha_alloc();
    if (!sha)
        return -ENOMEM;
    av_sha_init(sha, 256);
    av_sha_update(sha, (const uint8_t *)secret, strlen(secret));
    av_sha_final(sha, digest);
    av_free(sha);
    to_hex(digest, SHA256, ret);
    return 0;
}

/* Hashes the password with a setting, which may be a whole hash. Returns 0 or -EIO. */
static int run_crypt(const char *password, const char *setting, char ret[HALO_HASH_SIZE])
{
    struct crypt_data *data = calloc(1, sizeof *data);
    const char *hash = data ? crypt_r(password, setting, data) : NULL;
    const bool good = hash && hash[0] != '*' && strlen(hash) < HALO_HASH_SIZE;
    if (good)
        snprintf(ret, HALO_HASH_SIZE, "%s", hash);
    if (data)
        explicit_bzero(data, sizeof *data);
    free(data);
    return good ? 0 : -EIO;
}

int halo_password_hash(const char *password, char ret[HALO_HASH_SIZE])
{
    char setting[CRYPT_GENSALT_OUTPUT_SIZE];
    return crypt_gensalt_rn("$y$", 0, NULL, 0, setting, sizeof setting)
               ? run_crypt(password, setting, ret)
               : -EIO;
}

bool halo_password_is(const char *password, const char *hash)
{
    /* Of no password; it costs as much as the others. */
    static const char nobody[] = "$y$j9T$F5Jx5fExrKuPp53xLKQ..1$";
    char again[HALO_HASH_SIZE];
    return run_crypt(password, hash ? hash : nobody, again) == 0 && hash &&
           halo_secret_is(again, hash);
}

/* ---- the file ---- */

static bool is_entry(const char *name, const json_t *entry)
{
    const char *role = json_string_value(json_object_get(entry, "role"));
    return halo_is_name(name, strlen(name)) && role && halo_role_find(role) != HALO_ROLE_NONE &&
           json_is_string(json_object_get(entry, "hash"));
}

static bool is_table(const json_t *table)
{
    const char *name;
    json_t *entry;
    json_object_foreach ((json_t *)table, name, entry)
        if (!is_entry(name, entry))
            return false;
    return json_is_object(table);
}

static int load(struct halo_users *users, const char *path, struct halo_error *err)
{
    char *text = NULL;
    size_t length = 0;
    json_error_t at;
    int code = path ? halo_read_file(path, 0, FILE_MAX, &text, &length) : -ENOENT;
    if (code == -ENOENT) {
        users->root = json_pack("{s:{}, s:{}}", "users", "tokens");
        return users->root ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    }
    if (code < 0)
        return halo_fail(err, code, "%s: cannot be read: %s", path, strerror(-code));
    users->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
    free(text);
    if (is_table(json_object_get(users->root, "users")) &&
        is_table(json_object_get(users->root, "tokens")))
        return 0;
    return halo_fail(err, -EBADMSG,
                     "%s is damaged: restore it, or remove it and create the users again", path);
}

int halo_users_create(struct halo_users **ret, const char *path, struct halo_error *err)
{
    struct halo_users *users = calloc(1, sizeof *users);
    const int code = users ? load(users, path, err) : halo_fail(err, -ENOMEM, "out of memory");
    if (code < 0)
        halo_users_destroy(users);
    else
        *ret = users;
    return code;
}

void halo_users_destroy(struct halo_users *users)
{
    if (users)
        json_decref(users->root);
    free(users);
}

json_t *halo_users_copy(const struct halo_users *users)
{
    return json_deep_copy(users->root);
}

void halo_users_restore(struct halo_users *users, json_t *copy)
{
    json_decref(users->root);
    users->root = json_incref(copy);
}

char *halo_users_text(const struct halo_users *users)
{
    return json_dumps(users->root, JSON_INDENT(1) | JSON_SORT_KEYS);
}

/* ---- entries ---- */

static json_t *table(const struct halo_users *users, const char *which)
{
    return json_object_get(users->root, which);
}

static enum halo_role role_of(const json_t *entry)
{
    return entry ? halo_role_find(json_string_value(json_object_get(entry, "role")))
                 : HALO_ROLE_NONE;
}

bool halo_users_exist(const struct halo_users *users)
{
    return json_object_size(table(users, "users")) > 0;
}

enum halo_role halo_users_find(const struct halo_users *users, const char *name,
                               const char **ret_hash)
{
    const json_t *entry = json_object_get(table(users, "users"), name);
    *ret_hash = json_string_value(json_object_get(entry, "hash"));
    return role_of(entry);
}

enum halo_role halo_users_find_token(const struct halo_users *users, const char *secret,
                                     const char **ret_name)
{
    char hash[HALO_SECRET_SIZE];
    const char *name;
    json_t *entry;
    if (hash_token(secret, hash) < 0)
        return HALO_ROLE_NONE;
    json_object_foreach (table(users, "tokens"), name, entry)
        if (halo_secret_is(json_string_value(json_object_get(entry, "hash")), hash)) {
            *ret_name = name;
            return role_of(entry);
        }
    return HALO_ROLE_NONE;
}

static int put(json_t *to, const char *name, enum halo_role role, const char *hash,
               struct halo_error *err)
{
    if (!halo_is_name(name, strlen(name)))
        return halo_fail_usage(err, "a name must be 1 to 64 letters, digits, _ and -");
    if (json_object_size(to) >= HALO_USERS_MAX && !json_object_get(to, name))
        return halo_fail_usage(err, "the limit of %d is reached: remove one first", HALO_USERS_MAX);
    json_t *entry = json_pack("{s:s, s:s}", "role", halo_role_name(role), "hash", hash);
    return json_object_set_new(to, name, entry) ? halo_fail(err, -ENOMEM, "out of memory") : 0;
}

/* Whether an administrator other than this user remains. */
static bool has_other_admin(const struct halo_users *users, const char *name)
{
    const char *other;
    json_t *entry;
    json_object_foreach (table(users, "users"), other, entry)
        if (strcmp(other, name) != 0 && role_of(entry) == HALO_ROLE_ADMIN)
            return true;
    return false;
}

/* Without administrators, but with other users, nobody could change anything over HTTP again. */
static int check_admins(const struct halo_users *users, const char *name, struct halo_error *err)
{
    const char *ignored;
    if (halo_users_find(users, name, &ignored) != HALO_ROLE_ADMIN || has_other_admin(users, name))
        return 0;
    return halo_fail_usage(err, "'%s' is the only administrator: create another one first", name);
}

int halo_users_put(struct halo_users *users, const char *name, enum halo_role role,
                   const char *hash, struct halo_error *err)
{
    const int code = role == HALO_ROLE_ADMIN ? 0 : check_admins(users, name, err);
    return code < 0 ? code : put(table(users, "users"), name, role, hash, err);
}

int halo_users_remove(struct halo_users *users, const char *name, struct halo_error *err)
{
    const int code = check_admins(users, name, err);
    if (code < 0)
        return code;
    return json_object_del(table(users, "users"), name)
               ? halo_fail_usage(err, "there is no user '%s'", name)
               : 0;
}

int halo_users_put_token(struct halo_users *users, const char *name, enum halo_role role,
                         const char *secret, struct halo_error *err)
{
    char hash[HALO_SECRET_SIZE];
    if (json_object_get(table(users, "tokens"), name))
        return halo_fail_usage(err, "there is already a token '%s': remove it first", name);
    return hash_token(secret, hash) < 0 ? halo_fail(err, -ENOMEM, "out of memory")
                                        : put(table(users, "tokens"), name, role, hash, err);
}

int halo_users_remove_token(struct halo_users *users, const char *name, struct halo_error *err)
{
    return json_object_del(table(users, "tokens"), name)
               ? halo_fail_usage(err, "there is no token '%s'", name)
               : 0;
}

static json_t *list(const json_t *from)
{
    json_t *to = json_array(), *entry;
    const char *name;
    json_object_foreach ((json_t *)from, name, entry)
        json_array_append_new(
            to, json_pack("{s:s, s:O}", "name", name, "role", json_object_get(entry, "role")));
    return to;
}

json_t *halo_users_list(const struct halo_users *users)
{
    return json_pack("{s:o, s:o}", "users", list(table(users, "users")), "tokens",
                     list(table(users, "tokens")));
}
