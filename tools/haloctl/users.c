/* SPDX-License-Identifier: BSD-2-Clause
 * The commands about users and tokens. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "config/error.h"
#include "config/role.h"
#include "daemon/control/varlink.h"
#include "tools/haloctl/haloctl.h"

enum { PASSWORD = 300 };

static int call(struct ctl *ctl, const char *method, json_t *parameters)
{
    json_t *result = NULL;
    const int code = ctl_call(ctl, method, parameters, &result);
    if (code == 0 && ctl->json)
        return ctl_print_json(result);
    json_decref(result);
    return code;
}

/* Reads a line without showing it. Returns 0 or the exit code. */
static int read_line(const char *prompt, char ret[PASSWORD])
{
    struct termios before, silent;
    const bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    if (terminal) {
        fputs(prompt, stderr);
        silent = before;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    }
    const bool fine = fgets(ret, PASSWORD, stdin);
    if (terminal) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    if (!fine)
        return ctl_say("no password was entered");
    ret[strcspn(ret, "\n")] = '\0';
    return 0;
}

static int read_password(char ret[PASSWORD])
{
    char again[PASSWORD];
    int code = read_line("Password: ", ret);
    if (code || !isatty(STDIN_FILENO))
        return code;
    code = read_line("The same again: ", again);
    if (code == 0 && strcmp(ret, again) != 0)
        code = ctl_say("the passwords differ");
    explicit_bzero(again, sizeof again);
    return code;
}

static int list(struct ctl *ctl, const char *which)
{
    json_t *result = NULL, *one;
    size_t i;
    const int code = ctl_call(ctl, HALO_METHOD_USERS, json_object(), &result);
    if (code)
        return code;
    if (ctl->json)
        return ctl_print_json(result);
    json_array_foreach (json_object_get(result, which), i, one)
        printf("%-20s %s\n", ctl_text(one, "name"), ctl_text(one, "role"));
    json_decref(result);
    return ctl_end_print();
}

static int print_code(struct ctl *ctl)
{
    json_t *result = NULL;
    const int code = ctl_call(ctl, HALO_METHOD_USERS, json_object(), &result);
    if (code)
        return code;
    const char *setup = json_string_value(json_object_get(result, HALO_FIELD_CODE));
    if (setup)
        puts(setup);
    const bool found = setup;
    json_decref(result);
    return found ? ctl_end_print()
                 : ctl_say("there is no code: either there are users already, or the settings have "
                           "no state folder");
}

static int usage(const char *what)
{
    ctl_say("'%s' requires list, add NAME ROLE or remove NAME; a role is view, operate or admin",
            what);
    return HALO_EXIT_USAGE;
}

static int add_user(struct ctl *ctl, const char *name, const char *role)
{
    char password[PASSWORD];
    int code = read_password(password);
    if (code == 0)
        code = call(ctl, HALO_METHOD_PUT_USER,
                    json_pack("{s:s, s:s, s:s}", HALO_FIELD_NAME, name, HALO_FIELD_ROLE, role,
                              HALO_FIELD_PASSWORD, password));
    explicit_bzero(password, sizeof password);
    return code;
}

static bool is(const char *word, const char *name, int count, int wanted)
{
    return !strcmp(word, name) && count == wanted;
}

int ctl_user(struct ctl *ctl, char **words, int count)
{
    if (is(words[0], "list", count, 1))
        return list(ctl, "users");
    if (is(words[0], "code", count, 1))
        return print_code(ctl);
    if (is(words[0], "remove", count, 2))
        return call(ctl, HALO_METHOD_DEL_USER, json_pack("{s:s}", HALO_FIELD_NAME, words[1]));
    if (is(words[0], "role", count, 3) && halo_role_find(words[2]))
        return call(ctl, HALO_METHOD_PUT_USER,
                    json_pack("{s:s, s:s}", HALO_FIELD_NAME, words[1], HALO_FIELD_ROLE, words[2]));
    if (is(words[0], "add", count, 3) && halo_role_find(words[2]))
        return add_user(ctl, words[1], words[2]);
    return usage("user");
}

int ctl_token(struct ctl *ctl, char **words, int count)
{
    json_t *result = NULL;
    if (is(words[0], "list", count, 1))
        return list(ctl, "tokens");
    if (is(words[0], "remove", count, 2))
        return call(ctl, HALO_METHOD_DEL_TOKEN, json_pack("{s:s}", HALO_FIELD_NAME, words[1]));
    if (!is(words[0], "add", count, 3) || !halo_role_find(words[2]))
        return usage("token");
    const int code = ctl_call(
        ctl, HALO_METHOD_ADD_TOKEN,
        json_pack("{s:s, s:s}", HALO_FIELD_NAME, words[1], HALO_FIELD_ROLE, words[2]), &result);
    if (code)
        return code;
    if (ctl->json)
        return ctl_print_json(result);
    puts(ctl_text(result, HALO_FIELD_TOKEN));
    json_decref(result);
    return ctl_end_print();
}
