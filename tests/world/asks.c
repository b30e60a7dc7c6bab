/* SPDX-License-Identifier: BSD-2-Clause
 * Tables of requests, and talks: blocks of events (events.c) of which each line is a case.
 *
 *   at 3 users vera view anna admin         makes them, and logs them in
 *   at 9 ask nobody vera anna               who asks; `nobody` without a login
 *     401 200 200 GET /api/streams
 *     401 403 200 call Set {"name": "front", "filters": "solid"}
 *     403 -   -   GET / | Host: evil.example ~ unknown host
 *   end
 *
 * A row has the status for each who asks ("-": does not ask, "400/413": either), the request, its
 * headers, and what its answer contains (~) or does not (!~). `call` posts to /api/call/; as `root`
 * it is a call on the control socket, whose status is `ok` or the name of an error. After
 * `followed`, a second request comes in the same packet, which must not be answered.
 *
 *   at 5 talk control.sock
 *     says {"method": "io.halod.Control.List"}
 *     hears "streams"
 *     2 begins {"meth
 *     2 is cut
 *   end
 *
 * Connections have numbers (1 if none stands before the verb, "1-64": each). They join when they
 * are first named, and stay until they leave, else until after the daemon's end. `verbs` lists what
 * they can do. [[300 x]] stands for 300 times x, and $NAME for what was remembered (expect.c). */
#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/world/world.h"

enum {
    ANSWER_MS = 9000,
    PATIENCE_MS = 15000, /* of who waits for something in a talk */
    LOOK_MS = 20,
    USERS = 6,
    COLUMNS = 8,
    CONNECTIONS = 300,
    ROW = 2000,
    SHOWN = 160, /* bytes of an answer that is not the wanted one */
};

struct user {
    char name[24], role[12];
    char headers[320]; /* of a request; "": is not logged in */
};

static const struct user root = {.name = "root"}; /* on the control socket */

static struct {
    struct user user[USERS];
    int users, comes; /* who is to be made next */
    /* the table that is being asked */
    const char *rows;                   /* that are left; NULL: none */
    const struct user *column[COLUMNS]; /* NULL: nobody */
    int columns, at;                    /* in the present row */
    bool followed;
    char *status[COLUMNS], *wanted; /* of the present row, in `row` */
    char row[ROW], *request;
} asks;

/* ---- texts ---- */

/* [[300 x]] stands for 300 times x; the caller frees the result. */
static char *unfold(const char *text, size_t length)
{
    char *ret;
    size_t size;
    FILE *file = open_memstream(&ret, &size);
    for (const char *at = text; at < text + length; at++) {
        int count = 0, from = 0;
        const char *end = strstr(at, "]]");
        if (end && end < text + length && sscanf(at, "[[%d%n", &count, &from) == 1 && from > 0) {
            while (count-- > 0)
                fwrite(at + from + 1, 1, (size_t)(end - at - from - 1), file);
            at = end + 1;
        } else {
            fputc(*at, file);
        }
    }
    fclose(file);
    return ret;
}

/* Cuts the text at the mark, and returns what stands behind it, or NULL. */
static char *cut(char *text, const char *mark)
{
    char *at = strstr(text, mark);
    if (!at)
        return NULL;
    *at = '\0';
    return at + strlen(mark);
}

/* ---- users ---- */

static void make_user(void);

static void take_session(const char *text)
{
    struct user *u = &asks.user[asks.comes];
    const char *cookie = strcasestr(text, "Set-Cookie: "), *token = strstr(text, "\"token\"");
    int length = 0;
    if (!cookie || !token)
        world_fail("%s is not logged in: %.60s", u->name, text);
    sscanf(cookie + 12, "%*[^;]%n", &length);
    snprintf(u->headers, sizeof u->headers, "Cookie: %.*s\r\nX-Halod-Token: %.64s\r\n", length,
             cookie + 12, strchr(token + 8, '"') + 1);
    asks.comes++;
    make_user();
}

static void log_in(const char *text)
{
    char body[100], request[400];
    const struct user *u = &asks.user[asks.comes];
    if (strstr(text, "\"error\""))
        world_fail("there is no user %s: %s", u->name, text);
    snprintf(body, sizeof body, "{\"user\": \"%s\", \"password\": \"correct horse\"}", u->name);
    snprintf(request, sizeof request,
             "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
             strlen(body), body);
    client_ask(request, ANSWER_MS, take_session);
}

static void make_user(void)
{
    const struct user *u = &asks.user[asks.comes];
    if (asks.comes < asks.users)
        client_call_then("SetUser",
                         json_pack("{s:s, s:s, s:s}", "name", u->name, "role", u->role, "password",
                                   "correct horse"),
                         false, ANSWER_MS, log_in);
}

void asks_make_users(const char *words)
{
    int length = 0;
    asks.comes = asks.users;
    for (struct user *u;
         u = &asks.user[asks.users],
         asks.users < USERS && sscanf(words, "%23s %11s %n", u->name, u->role, &length) == 2;
         asks.users++)
        words += length;
    if (*words || asks.comes == asks.users)
        world_fail("these are no users with roles: %s", words);
    make_user();
}

/* ---- tables ---- */

static void next_request(void);

/* Whether it is one of "400/413". */
static bool is_wanted(const char *status, const char *got)
{
    for (const char *at = status; *at; at += strcspn(at, "/"), at += *at == '/')
        if (strcspn(at, "/") == strlen(got) && !strncmp(at, got, strlen(got)))
            return true;
    return false;
}

/* The status of an answer by HTTP; of one on the control socket "ok", or the end of its error. */
static void status_of(const char *text, char ret[40])
{
    const char *error = strstr(text, "\"error\":\"");
    snprintf(ret, 40, "ok");
    if (!strncmp(text, "HTTP/1.1 ", 9))
        snprintf(ret, 40, "%.3s", text + 9);
    else if (error && sscanf(error + 9, "%*[^.].%*[^.].%*[^.].%39[^\"]", ret) != 1)
        snprintf(ret, 40, "an error");
}

/* What the answer contains, and does not, as the row says: "~ ONE !~ OTHER". */
static const char *missing_in(const char *text, char *wanted)
{
    static char what[200];
    for (char *at = wanted; at && *at;) {
        const bool has = *at == '~';
        char *from = at + (has ? 2 : 3), *one = strstr(from, " ~ "), *other = strstr(from, " !~ ");
        char *end = one && (!other || one < other) ? one : other;
        const int length = (int)(end ? (size_t)(end - from) : strlen(from));
        snprintf(what, sizeof what, "%.*s", length, from);
        if (has != (strstr(text, what) != NULL)) {
            snprintf(what, sizeof what, "%s '%.*s'", has ? "without" : "with", length, from);
            return what;
        }
        at = end ? end + 1 : NULL;
    }
    return NULL;
}

static void on_answer(const char *text)
{
    const struct user *u = asks.column[asks.at];
    const char *who = u ? u->name : "nobody", *wanted = asks.status[asks.at];
    const char *missing = missing_in(text, asks.wanted), *body = strstr(text, "\r\n\r\n");
    char status[40];
    body = body && body[4] ? body + 4 : text;
    status_of(text, status);
    world_say("%s asks for %s: %s", who, asks.request, status);
    if (!is_wanted(wanted, status))
        world_fail("%s asks for %s, and is answered %s and not %s: %.*s", who, asks.request, status,
                   wanted, SHOWN, body);
    if (missing)
        world_fail("%s asks for %s, and the answer is %s: %s", who, asks.request, missing, body);
    for (const char *at = text; asks.followed && (at = strstr(at + 1, "HTTP/1.1 "));) {
        status_of(at, status);
        const bool is_status = at[9] >= '1' && at[9] <= '5'; /* else words of an error */
        if (is_status && !is_wanted(wanted, status))
            world_fail("%s: what follows is answered, too: %s", asks.request, at);
    }
    asks.at++;
    next_request();
}

/* The next row: its columns, its request, and what is wanted of the answers. */
static void take_row(void)
{
    const size_t length = strcspn(asks.rows, "\n");
    char row[ROW];
    snprintf(row, sizeof row, "%.*s", (int)length, asks.rows);
    expect_fill_in(row, asks.row, sizeof asks.row);
    asks.rows += length + 1;
    char *at = asks.row, *rest = NULL;
    for (asks.at = 0; asks.at < asks.columns; asks.at++, at = NULL)
        if (!(asks.status[asks.at] = strtok_r(at, " ", &rest)))
            world_fail("a row has fewer columns than its table: %s", asks.row);
    asks.at = 0;
    asks.request = rest + strspn(rest, " ");
    char *has = strstr(asks.request, " ~ "), *not = strstr(asks.request, " !~ ");
    asks.wanted = has && (!not || has < not ) ? has : not ;
    if (asks.wanted)
        *asks.wanted++ = '\0';
}

static void write_header(FILE *file, const char *headers, const char *name, const char *value)
{
    const size_t length = strlen(name);
    for (const char *at = headers; at; at = strstr(at, " | ") ? strstr(at, " | ") + 3 : NULL)
        if (!strncasecmp(at, name, length) && at[length] == ':')
            return;
    fprintf(file, "%s: %s\r\n", name, value);
}

/* "call METHOD JSON", or "GET PATH", and so on, with headers behind " | ", as HTTP has it; `more`
 * are further headers. The caller frees it. */
static char *write_request(const char *request, const char *more, bool followed)
{
    char row[ROW], *text, *body = "", length[24];
    size_t size;
    snprintf(row, sizeof row, "%s", request);
    char *headers = cut(row, " | "), *path = cut(row, " "), *json = path ? cut(path, " ") : NULL;
    const bool call = !strcmp(row, "call"), posts = call || !strcmp(row, "POST");
    if (!path)
        world_fail("this is no request: %s", request);
    if (posts)
        body = json ? json : headers && strstr(headers, "chunked") ? "0\r\n\r\n" : "{}";
    char *whole = unfold(body, strlen(body)), *target = unfold(path, strlen(path));
    FILE *file = open_memstream(&text, &size);
    fprintf(file, "%s %s%s HTTP/1.1\r\n%s", call ? "POST" : row, call ? "/api/call/" : "", target,
            more);
    write_header(file, headers, "Host", "localhost");
    if (posts)
        write_header(file, headers, "Content-Type", "application/json");
    snprintf(length, sizeof length, "%zu", strlen(whole));
    if (posts && !followed)
        write_header(file, headers, "Content-Length", length);
    for (char *one = headers, *next; one; one = next) {
        next = cut(one, " | ");
        char *header = unfold(one, strlen(one));
        fprintf(file, "%s\r\n", header);
        free(header);
    }
    fprintf(file, "\r\n%s%s", whole,
            followed ? "GET /api/session HTTP/1.1\r\nHost: localhost\r\n\r\n" : "");
    fclose(file);
    free(whole);
    free(target);
    return text;
}

/* On the control socket. */
static void call_method(void)
{
    char row[ROW];
    snprintf(row, sizeof row, "%s", asks.request);
    char *method = cut(row, "call "), *json = method ? cut(method, " ") : NULL;
    json_t *parameters = json_loads(json ? json : "{}", 0, NULL);
    if (!method || !parameters)
        world_fail("this is no call: %s", asks.request);
    if (!client_call_then(method, parameters, false, ANSWER_MS, on_answer))
        world_fail("nobody listens to %s", asks.request);
}

static void send_request(const struct user *u)
{
    char more[400];
    if (u == &root) {
        call_method();
        return;
    }
    snprintf(more, sizeof more, "%s%s", u ? u->headers : "",
             asks.followed ? "" : "Connection: close\r\n");
    char *text = write_request(asks.request, more, asks.followed);
    if (!client_ask(text, ANSWER_MS, on_answer))
        world_fail("nobody listens to %s", asks.request);
    free(text);
}

static void next_request(void)
{
    while (asks.rows) {
        if (!asks.request || asks.at == asks.columns) {
            if (!*asks.rows) {
                asks.rows = asks.request = NULL;
                return;
            }
            take_row();
        } else if (!strcmp(asks.status[asks.at], "-")) {
            asks.at++;
        } else {
            send_request(asks.column[asks.at]);
            return;
        }
    }
}

static const struct user *find_user(const char *name)
{
    for (int i = 0; i < asks.users; i++)
        if (!strcmp(asks.user[i].name, name))
            return &asks.user[i];
    if (strcmp(name, "nobody") != 0 && strcmp(name, root.name) != 0)
        world_fail("nobody is called %s", name);
    return strcmp(name, root.name) ? NULL : &root;
}

void asks_check(void)
{
    if (asks.rows)
        world_fail("a table is not answered yet: %s", asks.request);
    if (asks.comes < asks.users)
        world_fail("%s is not logged in yet", asks.user[asks.comes].name);
}

void asks_play(const char *who, const char *rows)
{
    char words[200], *rest = NULL;
    asks_check();
    snprintf(words, sizeof words, "%s", who);
    asks.columns = 0;
    asks.followed = false;
    for (char *at = words, *word; (word = strtok_r(at, " ", &rest)); at = NULL)
        if (!strcmp(word, "followed"))
            asks.followed = true;
        else if (asks.columns < COLUMNS)
            asks.column[asks.columns++] = find_user(word);
    asks.rows = rows;
    next_request();
}

/* ---- talks ---- */

struct connection {
    int fd; /* 0: has not joined, or has left */
    bool control, closed;
    char *text; /* that came */
    size_t length, heard;
};

static struct {
    struct connection connection[CONNECTIONS + 1];
    char socket[40];
    const char *lines;    /* that are left; NULL: none */
    int from, to, number; /* of the connections of this line, and the present one */
    int done;             /* how often it has spoken, or heard */
    char *text;           /* that the present one says; NULL: nothing */
    size_t sent;
    int64_t since; /* us of world_awake(): the present one waits; 0: not yet */
} talk;

/* Returns whether there was room among those who want to join. */
static bool join(struct connection *c, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    c->control = strstr(name, ".sock") && strncmp(name, "http", 4) != 0; /* or an output */
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address) == 0)
        return true;
    if (errno != EAGAIN)
        world_fail("connection %d to %s: %s", talk.number, name, strerror(errno));
    close(c->fd);
    c->fd = 0;
    return false;
}

static void leave(struct connection *c)
{
    if (c->fd)
        close(c->fd);
    free(c->text);
    *c = (struct connection){0};
}

/* Takes what has come. */
static void look(struct connection *c)
{
    enum { ROOM = 8192 };
    ssize_t n;
    do {
        c->text = realloc(c->text, c->length + ROOM + 1);
        n = recv(c->fd, c->text + c->length, ROOM, 0);
        c->length += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    c->text[c->length] = '\0';
    c->closed |= n == 0 || (n < 0 && errno != EAGAIN);
}

/* Each verb returns whether the connection is done with it. */

/* "17 times TEXT": returns how often, and moves *text behind these words. */
static int times(const char **text)
{
    int count = 1, from = 0;
    if (sscanf(*text, "%d times %n", &count, &from) != 1 || from == 0)
        return 1;
    *text += from;
    return count;
}

/* Says talk.text so often. Returns whether that is done. */
static bool send_all(struct connection *c, int count, size_t size)
{
    while (talk.done < count && !c->closed) {
        const ssize_t n = send(c->fd, talk.text + talk.sent, size - talk.sent, MSG_NOSIGNAL);
        c->closed = n < 0 && errno != EAGAIN;
        if (n < 0)
            break;
        talk.sent += (size_t)n;
        if (talk.sent == size)
            talk.done++, talk.sent = 0;
    }
    if (!c->closed && talk.done < count)
        look(c); /* or neither side can go on */
    return c->closed || talk.done == count;
}

/* Another socket than that of the talk. */
static bool join_other(struct connection *c, const char *rest)
{
    return c->fd || join(c, rest);
}

static bool say(struct connection *c, const char *rest)
{
    const int count = times(&rest);
    if (!talk.text)
        talk.text = unfold(rest, strlen(rest));
    return send_all(c, count, strlen(talk.text) + 1);
}

static bool begin(struct connection *c, const char *rest)
{
    if (!talk.text)
        talk.text = unfold(rest, strlen(rest));
    return send_all(c, 1, strlen(talk.text));
}

static bool ask(struct connection *c, const char *rest)
{
    const int count = times(&rest);
    if (!talk.text)
        talk.text = write_request(rest, "", false);
    return send_all(c, count, strlen(talk.text));
}

/* The next message on the control socket; of HTTP, what came since. */
static bool hear(struct connection *c, const char *rest)
{
    const int count = times(&rest);
    const size_t length = strlen(rest);
    look(c);
    for (; talk.done < count; talk.done++) {
        const char *at = c->text + c->heard, *end = memchr(at, 0, c->length - c->heard);
        const char *found = memmem(at, c->length - c->heard, rest, length);
        if (c->control ? !end : !found)
            return false;
        if (c->control && (!found || found > end))
            world_fail("connection %d hears no '%s': %.*s", talk.number, rest, SHOWN, at);
        c->heard = (size_t)((c->control ? end + 1 : found + length) - c->text);
    }
    return true;
}

static bool be_cut(struct connection *c, const char *rest)
{
    (void)rest;
    look(c);
    return c->closed;
}

static bool shut(struct connection *c, const char *rest)
{
    (void)rest;
    shutdown(c->fd, SHUT_WR);
    return true;
}

static bool go(struct connection *c, const char *rest)
{
    (void)rest;
    leave(c);
    return true;
}

static bool stay(struct connection *c, const char *rest)
{
    (void)rest;
    look(c);
    if (c->closed)
        world_fail("connection %d was cut: %.*s", talk.number, SHOWN, c->text + c->heard);
    return true;
}

/* libmicrohttpd 1.0 leaves the loop no moment in which nothing is ready, and so in which the world
 * looks at what others have heard, before all is answered. */
static bool sees_the_order(void)
{
    return MHD_get_version()[0] == '0';
}

/* So often, or less often than that, all connections of the line have heard it: "4 times TEXT",
 * "below 200 times TEXT". */
static bool have(struct connection *c, const char *rest)
{
    const bool below = !strncmp(rest, "below ", 6);
    rest += below ? 6 : 0;
    const int wanted = times(&rest);
    int count = 0;
    for (int i = talk.from; i <= talk.to; i++) {
        c = &talk.connection[i];
        look(c);
        for (const char *at = c->text, *end = at + c->length;
             (at = memmem(at, (size_t)(end - at), rest, strlen(rest))); at++)
            count++;
    }
    if (below && !sees_the_order())
        return true;
    if (below ? count >= wanted : count != wanted)
        world_fail("%d times '%s' has come, and not %s%d times", count, rest,
                   below ? "less than " : "", wanted);
    talk.number = talk.to;
    return true;
}

static bool wait_for(struct connection *c, const char *rest)
{
    (void)c;
    return world_awake() - talk.since >= (int64_t)(atof(rest) * 1e6);
}

static const struct {
    const char *verb;
    bool (*act)(struct connection *c, const char *rest);
} verbs[] = {
    {"says", say},      {"begins", begin},   {"asks", ask},         {"hears", hear},
    {"is cut", be_cut}, {"shuts", shut},     {"leaves", go},        {"stays", stay},
    {"have", have},     {"waits", wait_for}, {"joins", join_other},
};

static void go_on(void *arg)
{
    (void)arg;
    while (talk.lines && *talk.lines) {
        char text[ROW], plain[ROW];
        size_t verb = 0, count = sizeof verbs / sizeof *verbs;
        const int length = (int)strcspn(talk.lines, "\n");
        const char *at = talk.lines, *rest = text;
        snprintf(plain, sizeof plain, "%.*s", length, at);
        expect_fill_in(plain, text, sizeof text);
        int from = 1, to = 0, n = 0, words = sscanf(text, "%d%n-%d%n", &from, &n, &to, &n);
        if (words < 1)
            n = 0;
        if (words < 2)
            to = from;
        rest += n + (int)strspn(text + n, " ");
        while (verb < count && strncmp(rest, verbs[verb].verb, strlen(verbs[verb].verb)) != 0)
            verb++;
        if (verb == count || from < 1 || to > CONNECTIONS)
            world_fail("nobody can do this: %s", text);
        if (!talk.number) {
            talk.number = talk.from = from;
            talk.to = to;
        }
        struct connection *c = &talk.connection[talk.number];
        if (!talk.since)
            talk.since = world_awake();
        rest += strlen(verbs[verb].verb);
        rest += *rest == ' ';
        const bool joins = c->fd || verbs[verb].act == join_other || join(c, talk.socket);
        if (!joins || !verbs[verb].act(c, rest)) {
            if (world_awake() - talk.since > PATIENCE_MS * 1000)
                world_fail("connection %d waits in vain: %s: %.*s", talk.number, text, SHOWN,
                           c->text ? c->text + c->heard : "");
            world_after(fmin(1 + (double)(world_awake() - talk.since) / 1e4, LOOK_MS), go_on,
                        &talk);
            return;
        }
        free(talk.text);
        talk.text = NULL;
        talk.since = talk.done = 0;
        talk.sent = 0;
        if (talk.number++ == talk.to) {
            world_say("talk: %s", text);
            talk.number = 0;
            talk.lines += length + 1;
        }
    }
    talk.lines = NULL;
}

void talks_check(void)
{
    if (talk.lines)
        world_fail("a talk has not ended yet: %.*s", (int)strcspn(talk.lines, "\n"), talk.lines);
}

void talks_play(const char *socket, const char *lines)
{
    talks_check();
    snprintf(talk.socket, sizeof talk.socket, "%s", socket);
    talk.lines = lines;
    talk.number = 0;
    go_on(NULL);
}

void talks_end(void)
{
    for (int i = 1; i <= CONNECTIONS; i++)
        leave(&talk.connection[i]);
}
