/* SPDX-License-Identifier: BSD-2-Clause
 * Sessions and tries on a clock that the tests play, and the table of users. */
#include <crypt.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/access/sessions.h"
#include "daemon/access/users.h"
#include "tests/cmocka_all.h"

enum { NOW = 1000000 };

static int set_up(void **state)
{
    *state = halo_sessions_create();
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    halo_sessions_destroy(*state);
    return 0;
}

static void expire(void **state)
{
    char cookie[HALO_SECRET_SIZE];
    const struct halo_session *session = halo_session_begin(*state, "anna", NOW);
    assert_non_null(session);
    assert_int_equal(strlen(session->cookie), HALO_SECRET_SIZE - 1);
    assert_string_not_equal(session->cookie, session->token);
    strcpy(cookie, session->cookie);
    uint64_t at = NOW + HALO_SESSION_IDLE_MS;
    assert_ptr_equal(halo_session_find(*state, cookie, at), session);
    assert_null(halo_session_find(*state, "", at));
    assert_null(halo_session_find(*state, session->token, at));
    at += HALO_SESSION_IDLE_MS + 1;
    assert_null(halo_session_find(*state, cookie, at)); /* idle */

    strcpy(cookie, halo_session_begin(*state, "anna", NOW)->cookie);
    for (at = NOW; at <= (uint64_t)NOW + HALO_SESSION_MS; at += HALO_SESSION_IDLE_MS)
        assert_non_null(halo_session_find(*state, cookie, at));
    assert_null(halo_session_find(*state, cookie, at)); /* old */
}

static void end(void **state)
{
    char anna[2][HALO_SECRET_SIZE], otto[HALO_SECRET_SIZE];
    for (int i = 0; i < 2; i++)
        strcpy(anna[i], halo_session_begin(*state, "anna", NOW)->cookie);
    strcpy(otto, halo_session_begin(*state, "otto", NOW)->cookie);
    halo_session_end(*state, anna[0]);
    assert_null(halo_session_find(*state, anna[0], NOW));
    assert_non_null(halo_session_find(*state, anna[1], NOW));
    halo_sessions_end_user(*state, "anna");
    assert_null(halo_session_find(*state, anna[1], NOW));
    assert_non_null(halo_session_find(*state, otto, NOW));
    halo_sessions_end_user(*state, ""); /* free entries have no user */
    assert_null(halo_session_find(*state, "", NOW));
}

static void many(void **state)
{
    char first[HALO_SECRET_SIZE], used[HALO_SECRET_SIZE];
    strcpy(first, halo_session_begin(*state, "anna", NOW)->cookie);
    strcpy(used, halo_session_begin(*state, "anna", NOW)->cookie);
    for (int i = 2; i < HALO_SESSIONS_MAX; i++)
        halo_session_begin(*state, "anna", NOW + 1);
    assert_non_null(halo_session_find(*state, used, NOW + 2));
    halo_session_begin(*state, "otto", NOW + 3);
    assert_null(halo_session_find(*state, first, NOW + 3)); /* used least recently */
    assert_non_null(halo_session_find(*state, used, NOW + 3));
}

static void wait_longer(void **state)
{
    const char *address = "192.0.2.1";
    for (int i = 0; i < HALO_TRIES_FREE; i++) {
        assert_int_equal(halo_tries_wait(*state, address, "anna", NOW), 0);
        halo_tries_count(*state, address, "anna", NOW);
    }
    assert_int_equal(halo_tries_wait(*state, address, "anna", NOW), HALO_TRIES_WAIT_MS);
    assert_int_equal(halo_tries_wait(*state, address, "anna", NOW + HALO_TRIES_WAIT_MS - 1), 1);
    assert_int_equal(halo_tries_wait(*state, address, "anna", NOW + HALO_TRIES_WAIT_MS), 0);
    assert_int_equal(halo_tries_wait(*state, "192.0.2.2", "anna", NOW), 0);
    assert_int_equal(halo_tries_wait(*state, address, "otto", NOW), 0);
    halo_tries_forget(*state, address, "otto"); /* a right password of somebody else */
    halo_tries_count(*state, address, "anna", NOW);
    assert_int_equal(halo_tries_wait(*state, address, "anna", NOW), 2 * HALO_TRIES_WAIT_MS);
    for (int i = 0; i < 100; i++)
        halo_tries_count(*state, address, "anna", NOW);
    assert_int_equal(halo_tries_wait(*state, address, "anna", NOW), HALO_TRIES_WAIT_MAX_MS);
    assert_int_equal(halo_tries_wait(*state, address, "otto", NOW), HALO_TRIES_WAIT_MAX_MS);
    halo_tries_forget(*state, address, "anna");
    assert_int_equal(halo_tries_wait(*state, "192.0.2.3", "anna", NOW), 0);
}

static void many_users(void **state)
{
    char user[16];
    for (int i = 0; i < HALO_TRIES_ADDRESS; i++) {
        snprintf(user, sizeof user, "user%d", i);
        assert_int_equal(halo_tries_wait(*state, "192.0.2.1", user, NOW), 0);
        halo_tries_count(*state, "192.0.2.1", user, NOW);
    }
    assert_true(halo_tries_wait(*state, "192.0.2.1", "another", NOW) > 0);
}

static void addresses(void **state)
{
    for (int i = 0; i < HALO_TRIES_FREE; i++) {
        char address[64];
        snprintf(address, sizeof address, "2001:db8:1:2::%x", i);
        halo_tries_count(*state, address, "anna", NOW);
    }
    assert_true(halo_tries_wait(*state, "2001:db8:1:2:ffff::1", "anna", NOW) > 0);
    assert_int_equal(halo_tries_wait(*state, "2001:db8:1:300::1", "anna", NOW), 0);
    /* Many other addresses do not make it forget one that has to wait. */
    for (int i = 0; i < 10000; i++) {
        char address[64];
        snprintf(address, sizeof address, "10.%d.%d.1", i / 256, i % 256);
        halo_tries_count(*state, address, "anna", NOW + 1);
    }
    assert_true(halo_tries_wait(*state, "2001:db8:1:2::1", "anna", NOW + 1) > 0);
}

static void passwords(void **state)
{
    char hash[HALO_HASH_SIZE], again[HALO_HASH_SIZE];
    (void)state;
    assert_int_equal(halo_password_hash("correct horse", hash), 0);
    assert_int_equal(halo_password_hash("correct horse", again), 0);
    assert_string_not_equal(hash, again);
    assert_memory_equal(hash, "$y$", 3);
    assert_true(halo_password_is("correct horse", hash));
    assert_false(halo_password_is("correct hors", hash));
    assert_false(halo_password_is("", hash));
    assert_false(halo_password_is("correct horse", NULL));
    assert_false(halo_password_is("correct horse", ""));
    assert_false(halo_password_is("correct horse", "*0"));
}

static char cost[32];
static int hashed;

char *__wrap_crypt_r(const char *phrase, const char *setting, struct crypt_data *data);
char *__real_crypt_r(const char *phrase, const char *setting, struct crypt_data *data);

char *__wrap_crypt_r(const char *phrase, const char *setting, struct crypt_data *data)
{
    hashed++;
    snprintf(cost, sizeof cost, "%.7s", setting); /* such as "$y$j9T$" */
    return __real_crypt_r(phrase, setting, data);
}

/* They take as long as others. */
static void unknown_users(void **state)
{
    char hash[HALO_HASH_SIZE], known[sizeof cost];
    (void)state;
    assert_int_equal(halo_password_hash("correct horse", hash), 0);
    hashed = 0;
    assert_false(halo_password_is("wrong horse", hash));
    snprintf(known, sizeof known, "%s", cost);
    assert_false(halo_password_is("wrong horse", NULL));
    assert_int_equal(hashed, 2);
    assert_string_equal(cost, known);
}

static void last_admin(void **state)
{
    struct halo_users *users;
    struct halo_error err = {0};
    const char *hash, *name;
    (void)state;
    assert_int_equal(halo_users_create(&users, NULL, &err), 0);
    assert_false(halo_users_exist(users));
    assert_int_equal(halo_users_put(users, "anna", HALO_ROLE_ADMIN, "h1", &err), 0);
    assert_int_equal(halo_users_put(users, "anna", HALO_ROLE_VIEW, "h1", &err), -EINVAL);
    assert_int_equal(halo_users_remove(users, "anna", &err), -EINVAL);
    assert_int_equal(halo_users_put(users, "otto", HALO_ROLE_ADMIN, "h2", &err), 0);
    assert_int_equal(halo_users_put(users, "anna", HALO_ROLE_VIEW, "h1", &err), 0);
    assert_int_equal(halo_users_find(users, "anna", &hash), HALO_ROLE_VIEW);
    assert_string_equal(hash, "h1");
    assert_int_equal(halo_users_put(users, "a b", HALO_ROLE_VIEW, "h", &err), -EINVAL);
    assert_int_equal(halo_users_put_token(users, "wall", HALO_ROLE_VIEW, "secret", &err), 0);
    assert_int_equal(halo_users_put_token(users, "wall", HALO_ROLE_ADMIN, "other", &err), -EINVAL);
    assert_int_equal(halo_users_find_token(users, "secret", &name), HALO_ROLE_VIEW);
    assert_string_equal(name, "wall");
    assert_int_equal(halo_users_find_token(users, "Secret", &name), HALO_ROLE_NONE);
    char *text = halo_users_text(users);
    assert_null(strstr(text, "secret"));
    free(text);
    halo_users_destroy(users);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(expire, set_up, tear_down),
        cmocka_unit_test_setup_teardown(end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wait_longer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_users, set_up, tear_down),
        cmocka_unit_test_setup_teardown(addresses, set_up, tear_down),
        cmocka_unit_test(passwords),
        cmocka_unit_test(unknown_users),
        cmocka_unit_test(last_admin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
