/* SPDX-License-Identifier: BSD-2-Clause
 * The commands that ask once, events, and the table of all. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "config/base/atomic_file.h"
#include "config/base/error.h"
#include "config/option.h"
#include "config/role.h"
#include "daemon/control/varlink.h"
#include "tools/haloctl/haloctl.h"

/* ---- users ---- */

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

static int list_access(struct ctl *ctl, const char *which)
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
                 : ctl_say("there is no code: either users exist already, or 'state:' is not set "
                           "to a folder");
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

static int ctl_user(struct ctl *ctl, char **words, int count)
{
    if (is(words[0], "list", count, 1))
        return list_access(ctl, "users");
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

static int ctl_token(struct ctl *ctl, char **words, int count)
{
    json_t *result = NULL;
    if (is(words[0], "list", count, 1))
        return list_access(ctl, "tokens");
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

/* ---- streams ---- */

static int call_and_done(struct ctl *ctl, const char *method, json_t *parameters)
{
    json_t *result = NULL;
    const int rc = ctl_call(ctl, method, parameters, &result);
    if (rc == 0 && ctl->json)
        return ctl_print_json(result);
    json_decref(result);
    return rc;
}

static int list(struct ctl *ctl, char **words, int count)
{
    json_t *result = NULL, *stream;
    size_t i;
    (void)words;
    (void)count;
    const int code = ctl_call(ctl, HALO_METHOD_LIST, json_object(), &result);
    if (code)
        return code;
    if (ctl->json)
        return ctl_print_json(result);
    json_array_foreach (json_object_get(result, HALO_FIELD_STREAMS), i, stream) {
        const char *why = ctl_why(stream);
        printf("%-20s %s%s%s\n", ctl_text(stream, "name"), ctl_text(stream, "state"),
               *why ? ": " : "", why);
    }
    json_decref(result);
    return ctl_end_print();
}

/* words: NAME control.X=Y */
static int set_control(struct ctl *ctl, char **words, const char *equals)
{
    const char *name = words[1] + strlen("control.");
    char *control = equals > name ? strndup(name, (size_t)(equals - name)) : NULL, *end;
    const long long value = control ? strtoll(equals + 1, &end, 10) : 0;
    if (!control || end == equals + 1 || *end) {
        ctl_say("%s: the value of a control must be a whole number, as in haloctl set desk "
                "control.brightness=128",
                words[1]);
        free(control);
        return HALO_EXIT_USAGE;
    }
    const int rc =
        call_and_done(ctl, HALO_METHOD_CONTROL,
                      json_pack("{s:s, s:s, s:I}", HALO_FIELD_NAME, words[0], HALO_FIELD_CONTROL,
                                control, HALO_FIELD_VALUE, (json_int_t)value));
    free(control);
    return rc;
}

static int set(struct ctl *ctl, char **words, int count)
{
    static const char *const keys[] = {HALO_FIELD_FILTERS};
    const char *equals = strchr(words[1], '=');
    const size_t length = equals ? (size_t)(equals - words[1]) : strlen(words[1]);
    (void)count;
    if (equals && !strncmp(words[1], "control.", strlen("control.")))
        return set_control(ctl, words, equals);
    if (!equals || length != strlen(keys[0]) || memcmp(words[1], keys[0], length)) {
        const char *near = halo_nearest(words[1], length, keys, 1);
        ctl_say("'set' requires filters=CHAIN or control.X=Y, not '%s'%s; for example: haloctl set "
                "door filters=gblur=sigma=12",
                words[1], near ? " (nearest: filters)" : "");
        return HALO_EXIT_USAGE;
    }
    return call_and_done(
        ctl, HALO_METHOD_SET,
        json_pack("{s:s, s:s}", HALO_FIELD_NAME, words[0], HALO_FIELD_FILTERS, equals + 1));
}

/* words: NAME ID filters=CHAIN, or NAME ID off */
static int hide(struct ctl *ctl, char **words, int count)
{
    static const char key[] = HALO_FIELD_FILTERS "=";
    const bool off = !strcmp(words[2], "off");
    (void)count;
    if (!off && strncmp(words[2], key, sizeof key - 1)) {
        ctl_say("'hide' requires filters=CHAIN or off, not '%s'; for example: haloctl hide door "
                "sign \"filters=solid=region=rect 10%% 10%% 20%% 20%%\"",
                words[2]);
        return HALO_EXIT_USAGE;
    }
    return call_and_done(ctl, HALO_METHOD_HIDE,
                         json_pack("{s:s, s:s, s:s}", HALO_FIELD_NAME, words[0], HALO_FIELD_ID,
                                   words[1], HALO_FIELD_FILTERS,
                                   off ? "" : words[2] + sizeof key - 1));
}

static int keep(struct ctl *ctl, char **words, int count)
{
    (void)count;
    return call_and_done(ctl, HALO_METHOD_KEEP, json_pack("{s:s}", HALO_FIELD_NAME, words[0]));
}

static int forget(struct ctl *ctl, char **words, int count)
{
    (void)count;
    return call_and_done(ctl, HALO_METHOD_FORGET, json_pack("{s:s}", HALO_FIELD_NAME, words[0]));
}

static int start(struct ctl *ctl, char **words, int count)
{
    (void)count;
    return call_and_done(ctl, HALO_METHOD_START, json_pack("{s:s}", HALO_FIELD_NAME, words[0]));
}

static int stop(struct ctl *ctl, char **words, int count)
{
    (void)count;
    return call_and_done(ctl, HALO_METHOD_STOP, json_pack("{s:s}", HALO_FIELD_NAME, words[0]));
}

static int restart(struct ctl *ctl, char **words, int count)
{
    (void)count;
    return call_and_done(ctl, HALO_METHOD_RESTART, json_pack("{s:s}", HALO_FIELD_NAME, words[0]));
}

static int record(struct ctl *ctl, char **words, int count)
{
    const bool on = !strcmp(words[1], "start");
    (void)count;
    if (!on && strcmp(words[1], "stop")) {
        ctl_say("'record' requires 'start' or 'stop', not '%s'", words[1]);
        return HALO_EXIT_USAGE;
    }
    return call_and_done(ctl, HALO_METHOD_RECORD,
                         json_pack("{s:s, s:b}", HALO_FIELD_NAME, words[0], HALO_FIELD_ON, on));
}

static void print_names(const json_t *result, const char *key)
{
    const json_t *names = json_object_get(result, key);
    if (json_array_size(names) == 0)
        return;
    printf("%s:", key);
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        printf(" %s", name ? name : "?");
    }
    putchar('\n');
}

/* Chains that cannot be computed for a stream's pictures. */
static int say_refused(const json_t *result, int rc)
{
    const json_t *refused = json_object_get(result, "refused");
    for (size_t i = 0; i < json_array_size(refused); i++)
        rc = ctl_say("%s", json_string_value(json_array_get(refused, i)));
    return rc;
}

static int reload(struct ctl *ctl, char **words, int count)
{
    static const char *const kinds[] = {"added", "removed", "changed", "set"};
    json_t *result = NULL, *value;
    const char *key;
    size_t changes = 0, row;
    (void)words;
    (void)count;
    const int code = ctl_call(ctl, HALO_METHOD_RELOAD,
                              json_pack("{s:b}", HALO_FIELD_CHECK, ctl->check), &result);
    if (code)
        return code;
    if (ctl->json) {
        const int end = say_refused(result, ctl_print_json(json_incref(result)));
        json_decref(result);
        return end;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        print_names(result, kinds[i]);
    json_object_foreach (result, key, value)
        changes += json_array_size(value);
    json_array_foreach (json_object_get(result, "coverage"), row, value) {
        const char *rendition = ctl_text(value, "rendition");
        printf("stream %s%s%s: hides %s\n", ctl_text(value, "stream"),
               *rendition ? ", rendition " : "", rendition,
               ctl_text(json_object_get(value, "coverage"), "words"));
    }
    if (ctl->check)
        puts("the settings are valid");
    else if (!changes)
        puts("nothing changed");
    const int end = say_refused(result, ctl_end_print());
    json_decref(result);
    return end;
}

/* ---- snapshot ---- */

static int copy_image(int from, int to)
{
    static char buffer[65536];
    off_t at = 0;
    ssize_t n;
    while ((n = pread(from, buffer, sizeof buffer, at)) > 0) {
        for (ssize_t done_bytes = 0; done_bytes < n;) {
            const ssize_t w = write(to, buffer + done_bytes, (size_t)(n - done_bytes));
            if (w < 0 && errno != EINTR)
                return -errno;
            done_bytes += w > 0 ? w : 0;
        }
        at += n;
    }
    return n < 0 ? -errno : 0;
}

/* Beside it and renamed, so that there is never half a picture under its name. */
static int write_file(int from, const char *path)
{
    char *temporary;
    const int fd = halo_atomic_file_open(path, 0, &temporary);
    if (fd < 0)
        return ctl_say("%s: %s", path, strerror(-fd));
    int code = copy_image(from, fd);
    if (close(fd) && !code)
        code = -errno;
    if (!code && rename(temporary, path))
        code = -errno;
    if (code)
        unlink(temporary);
    free(temporary);
    return code ? ctl_say("%s: %s", path, strerror(-code)) : HALO_EXIT_OK;
}

static const char *image_format(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (!strcmp(path, "-"))
        return "png";
    if (dot && !strcasecmp(dot, ".png"))
        return "png";
    return dot && (!strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg")) ? "jpg" : NULL;
}

/* words: NAME FILE, and filters=CHAIN or nothing */
static int snapshot(struct ctl *ctl, char **words, int count)
{
    static const char key[] = HALO_FIELD_FILTERS "=";
    const char *path = words[1], *format = image_format(path);
    json_t *result = NULL;
    if (!format) {
        ctl_say("%s: the name of a snapshot must end in .png, .jpg or .jpeg, or be - for PNG on "
                "standard output",
                path);
        return HALO_EXIT_USAGE;
    }
    if (count == 3 && strncmp(words[2], key, sizeof key - 1)) {
        ctl_say("'snapshot' requires filters=CHAIN after the name of the file, or nothing, not "
                "'%s'",
                words[2]);
        return HALO_EXIT_USAGE;
    }
    int code =
        ctl_call(ctl, HALO_METHOD_SNAPSHOT,
                 json_pack("{s:s, s:s, s:s*}", HALO_FIELD_NAME, words[0], HALO_FIELD_FORMAT, format,
                           HALO_FIELD_FILTERS, count == 3 ? words[2] + sizeof key - 1 : NULL),
                 &result);
    if (code)
        return code;
    if (ctl->received < 0)
        code = ctl_say("the daemon sent no image");
    else if (strcmp(path, "-"))
        code = write_file(ctl->received, path);
    else if ((code = copy_image(ctl->received, STDOUT_FILENO)))
        code = ctl_say("standard output: %s", strerror(-code));
    if (!code && ctl->json && strcmp(path, "-"))
        return ctl_print_json(result);
    json_decref(result);
    return code;
}

/* ---- events ---- */

static void print_event(const json_t *event)
{
    static const char *const words[] = {"engine", "stream", "method", "state"};
    char clock[32] = "";
    const time_t when = (time_t)ctl_number(event, "time");
    struct tm parts;
    if (localtime_r(&when, &parts))
        strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &parts);
    printf("%s %-9s", clock, ctl_text(event, "event"));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (*ctl_text(event, words[i]))
            printf(" %s", ctl_text(event, words[i]));
    if (json_object_get(event, "uid"))
        printf(" by user %.0f (process %.0f)", ctl_number(event, "uid"), ctl_number(event, "pid"));
    const char *why = ctl_text(event, "why");
    printf("%s%s\n", *why ? ": " : "", why);
}

static int print_answer(const struct ctl *ctl, const json_t *answer)
{
    json_t *parameters = json_object_get(answer, "parameters");
    if (json_object_get(answer, "error"))
        return ctl_say_error(ctl, answer);
    if (json_object_size(parameters) == 0)
        return HALO_EXIT_OK; /* the first one: it has begun */
    if (ctl->json)
        return ctl_print_json(json_incref(parameters));
    if (json_object_get(parameters, HALO_FIELD_LOST))
        printf("lost %.0f events: haloctl was too slow\n", ctl_number(parameters, HALO_FIELD_LOST));
    else
        print_event(json_object_get(parameters, HALO_FIELD_EVENT));
    return ctl_end_print();
}

static int events(struct ctl *ctl, char **words, int count)
{
    (void)words;
    (void)count;
    int rc = ctl_connect(ctl);
    if (rc)
        return rc;
    rc = ctl_send(ctl, HALO_METHOD_EVENTS, json_object(), true);
    while (!rc) {
        json_t *answer = NULL;
        rc = ctl_receive(ctl, -1, &answer);
        if (rc)
            break;
        const int code = print_answer(ctl, answer);
        json_decref(answer);
        if (code)
            return code;
    }
    return ctl_say_errno(ctl, rc);
}

const struct ctl_command ctl_commands[] = {
    {"list", "", "list the names and states of all streams", 0, 0, NULL, "", list},
    {"status", "[NAME]", "show the status of all streams, or of one", 0, 1, "watch interval",
     "stream", ctl_status},
    {"set", "NAME filters=CHAIN", "change the filters, or a camera control with control.X=Y", 2, 2,
     NULL, "stream filters=", set},
    {"hide", "NAME ID filters=CHAIN|off", "hide more of a stream, or with off stop hiding it", 3, 3,
     NULL, "stream ID filters=|off", hide},
    {"keep", "NAME", "keep the filters of a stream when halod restarts", 1, 1, NULL, "stream",
     keep},
    {"forget", "NAME", "use the filters in the settings file again", 1, 1, NULL, "stream", forget},
    {"start", "NAME", "start a stream that is stopped", 1, 1, NULL, "stream", start},
    {"stop", "NAME", "stop a stream until it is started again", 1, 1, NULL, "stream", stop},
    {"restart", "NAME", "stop and start a stream", 1, 1, NULL, "stream", restart},
    {"record", "NAME start|stop", "start or stop writing a stream's files", 2, 2, NULL,
     "stream start|stop", record},
    {"snapshot", "NAME FILE [filters=CHAIN]",
     "save the next filtered frame (.png or .jpg; - is standard output)", 2, 3, NULL,
     "stream FILE filters=", snapshot},
    {"reload", "", "read the settings again and change the streams that differ", 0, 0, "check", "",
     reload},
    {"events", "", "print events as they happen, until Ctrl-C", 0, 0, NULL, "", events},
    {"user", "list|add|role|remove|code [NAME [ROLE]]",
     "users of HTTP; 'code' prints the code with which the first one is created", 1, 3, NULL,
     "list|add|role|remove|code", ctl_user},
    {"token", "list|add|remove [NAME [ROLE]]", "tokens of programs that use HTTP", 1, 3, NULL,
     "list|add|remove", ctl_token},
    {"doctor", "", "check for common problems", 0, 0, NULL, "", ctl_doctor},
    {NULL},
};
