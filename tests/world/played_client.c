/* SPDX-License-Identifier: BSD-2-Clause
 * Played clients: of the control socket, browsers, and viewers. They check what they get. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/world/world.h"

enum {
    VIEWERS_MAX = 3, /* of one socket */
    RUDE_MAX = 20,
    LINGER_MS = 100,  /* a second answer would come meanwhile */
    SILENCE_MS = 400, /* before a card, as documented */
    CARDS_MS = 500,   /* between two cards */
    CARRY = 256,
    READ = 8192,
    ROOM = 400 << 10, /* for a request */
    STRANGERS = 4,
    NO_KEY = 0x41, /* before the text of a frame that is none */
};

enum kind { CLIENT, BROWSER, VIEWER, RUDE };

struct client {
    struct client *next;
    enum kind kind;
    int fd;
    int number;
    char what[64];    /* method, path or socket */
    int64_t deadline; /* us of world_awake(); 0: none */
    bool answered, subscribed, reads;
    world_answer *then;    /* called with the answer */
    int64_t looked, least; /* us of world_now(): when a rude one was looked at, may be cut */
    char stream[24];       /* whose filters it sets to `chain` */
    char *text;            /* of an answer that is not complete */
    size_t length, size;
    /* of a viewer */
    bool stopped, shown, card;
    int run, chain;
    long long frame;
    int gaps; /* between frames, since it does not read, or reads again */
    int64_t came, frame_came, frame_seen; /* us of world_awake(), and of world_now() */
    int64_t late; /* until then, in us of world_now(), it reads what came while it did not read */
};

static struct client *clients;
static int joined, answered; /* numbers */

int client_number(void)
{
    return answered ? answered : joined;
}

static void leave(struct client *c)
{
    struct client **at = &clients;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    world_forget(c);
    world_unwatch(c->fd);
    close(c->fd);
    free(c->text);
    free(c);
}

static void leave_late(void *arg)
{
    leave(arg);
}

static int make_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static struct client *join(enum kind kind, const char *path, const char *what)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const int fd = make_socket();
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        close(fd); /* nobody listens, or the backlog is full */
        return NULL;
    }
    struct client *c = calloc(1, sizeof *c);
    c->kind = kind;
    c->number = ++joined;
    c->fd = fd;
    c->came = c->frame_came = world_awake();
    snprintf(c->what, sizeof c->what, "%s", what);
    c->next = clients;
    clients = c;
    return c;
}

bool client_can_join(const char *socket)
{
    struct client *c = join(VIEWER, socket, socket);
    if (c)
        leave(c);
    return c;
}

/* Appends what is there; false: the daemon has closed the connection. */
static bool read_more(struct client *c)
{
    for (;;) {
        if (c->size < c->length + READ + 1)
            c->text = realloc(c->text, c->size = 2 * (c->length + READ + 1));
        const ssize_t n = recv(c->fd, c->text + c->length, READ, 0);
        if (n <= 0) {
            c->text[c->length] = '\0';
            return n < 0 && errno == EAGAIN;
        }
        c->length += (size_t)n;
    }
}

/* ---- control ---- */

static void take_answer(struct client *c, const char *text)
{
    json_t *answer = json_loads(text, 0, NULL);
    const char *error = json_string_value(json_object_get(answer, "error"));
    if (!answer)
        world_fail("%s was answered by something that is not JSON", c->what);
    if (c->answered)
        world_fail("%s was answered twice", c->what);
    c->answered = !c->subscribed;
    if (c->answered)
        world_say("client: %s is answered: %s", c->what, error ? error : "done");
    answered = c->number;
    if (c->then)
        c->then(text);
    answered = 0;
    if (!c->subscribed)
        c->then = NULL;
    if (c->stream[0] && !error)
        check_set(c->stream, c->chain);
    json_decref(answer);
}

static void read_answers(void *arg)
{
    struct client *c = arg;
    const bool open = read_more(c);
    size_t at = 0, end;
    for (; (end = at + strlen(c->text + at)) < c->length; at = end + 1)
        take_answer(c, c->text + at);
    memmove(c->text, c->text + at, c->length - at);
    c->length -= at;
    if (!open && !c->answered && !c->subscribed && !world_is_ending())
        world_fail("%s was not answered, but its client disconnected", c->what);
    if (!open) {
        leave(c);
        return;
    }
    if (c->answered && c->deadline) {
        c->deadline = 0;
        world_after(LINGER_MS, leave_late, c);
    }
    world_watch(c->fd, 0, read_answers, c);
}

static struct client *call(const char *method, json_t *parameters, bool more)
{
    struct client *c = join(CLIENT, "control.sock", method);
    json_t *message = json_object();
    char name[80];
    snprintf(name, sizeof name, "%s%s", strchr(method, '.') ? "" : "io.halod.Control.", method);
    json_object_set_new(message, "method", json_string(name));
    json_object_set_new(message, "parameters", parameters ? parameters : json_object());
    if (more)
        json_object_set_new(message, "more", json_true());
    char *text = json_dumps(message, JSON_COMPACT);
    if (c && send(c->fd, text, strlen(text) + 1, MSG_NOSIGNAL) < 0)
        world_fail("a call cannot be sent: %s", strerror(errno));
    free(text);
    json_decref(message);
    if (c)
        world_watch(c->fd, 0, read_answers, c);
    return c;
}

void client_call(const char *method, json_t *parameters, int ms)
{
    struct client *c = call(method, parameters, false);
    if (c)
        c->deadline = world_awake() + (int64_t)(ms + WORLD_SLACK_MS) * 1000;
}

bool client_call_then(const char *method, json_t *parameters, bool more, int ms, world_answer *done)
{
    struct client *c = call(method, parameters, more);
    if (!c)
        return false;
    c->subscribed = more;
    c->deadline = more ? 0 : world_awake() + (int64_t)(ms + WORLD_SLACK_MS) * 1000;
    c->then = done;
    return true;
}

void client_set(const char *stream)
{
    char chain[80];
    const int number = world_next_chain(chain, sizeof chain);
    client_call("Set", json_pack("{s:s, s:s}", "name", stream, "filters", chain), 5000);
    if (clients && clients->kind == CLIENT && !strcmp(clients->what, "Set")) { /* the newest */
        snprintf(clients->stream, sizeof clients->stream, "%s", stream);
        clients->chain = number;
    }
}

void client_subscribe(void)
{
    struct client *c = call("Events", NULL, true);
    if (c)
        c->subscribed = true;
}

void client_flood(const char *stream, int count)
{
    struct client *c = join(CLIENT, "control.sock", "SetRegions");
    for (int i = 0; c && i < count; i++) {
        char text[400];
        const int length = snprintf(
            text, sizeof text,
            "{\"method\": \"io.halod.Control.SetRegions\", \"oneway\": true, "
            "\"parameters\": {\"name\": \"%s\", \"picture\": %lld, \"regions\": ["
            "{\"kind\": \"rect\", \"x\": %d, \"y\": 2, \"w\": 3, \"h\": 4}%s]}}",
            stream, (long long)world_now() + 1000000000, i,
            i + 1 < count ? "" : ", {\"kind\": \"rect\", \"x\": 1, \"y\": 2, \"w\": 3, \"h\": 4}");
        if (send(c->fd, text, (size_t)length + 1, MSG_NOSIGNAL) != length + 1)
            world_fail("update %d of %s cannot be sent", i, stream);
    }
    if (c)
        c->subscribed = true; /* no answer must come, but may */
}

/* ---- HTTP ---- */

static void take_page(void *arg)
{
    struct client *c = arg;
    if (c->then && !world_is_ending())
        c->then(c->text);
    else if (!users_may_answer(c->what, atoi(c->text + 9 * (c->length > 9))) && !world_is_ending())
        world_fail("GET %s: %.60s", c->what, c->text);
    world_say("browser: GET %s: %.12s", c->what, c->text);
    leave(c);
}

/* Of an answer without an end, what comes in the first second is enough. */
static void read_page(void *arg)
{
    struct client *c = arg;
    if (!read_more(c)) {
        take_page(c);
        return;
    }
    if (c->then && !c->answered && strstr(c->text, "\r\n\r\n") &&
        !strcasestr(c->text, "Content-Length:")) {
        c->answered = true;
        world_after(1000, take_page, c);
    }
    world_watch(c->fd, 0, read_page, c);
}

static bool request(const char *path, const char *text, int ms, world_answer *done)
{
    struct client *c = join(BROWSER, "http.sock", path);
    const int room = ROOM;
    if (!c)
        return false;
    setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (send(c->fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
        world_fail("a request cannot be sent: %s", strerror(errno));
    c->deadline = world_awake() + (int64_t)(ms + WORLD_SLACK_MS) * 1000;
    c->then = done;
    world_watch(c->fd, 0, read_page, c);
    return true;
}

bool client_ask(const char *text, int ms, world_answer *done)
{
    char path[64] = "";
    sscanf(text, "%*s %63s", path);
    return request(path, text, ms, done);
}

void client_browse(const char *path)
{
    char text[200];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
             path);
    request(path, text, 1000, NULL);
}

/* ---- those who do not read, or do not say what they want ---- */

#define CALL(method, more)                                                                         \
    "{\"method\": \"io.halod.Control." method "\", \"parameters\": {" more "}"

/* When they are disconnected, as docs/control.md says. */
static const struct {
    const char *name, *socket, *text;
    int times;
    bool ends;       /* a NUL after each text */
    int least, most; /* s; most: or never */
    bool reads;
} manners[] = {
    {"silent-client", "control.sock", "", 0, false, 30, 32, false},
    {"half-call", "control.sock", CALL("Li", ""), 1, false, 30, 32, false},
    {"deaf-status", "control.sock", CALL("Status", "\"interval\": 0.1") ", \"more\": true}", 1,
     true, 10, 60, false},
    {"idle-client", "control.sock", CALL("List", "") "}", 1, true, 300, 302, false},
    {"many-calls", "control.sock", CALL("Status", "\"interval\": 60") ", \"more\": true}", 20, true,
     0, 2, false},
    {"watching-client", "control.sock", CALL("Status", "\"interval\": 1") ", \"more\": true}", 1,
     true, 0, 0, true},
    {"silent-browser", "http.sock", "", 0, false, 9, 12, false},
    {"half-request", "http.sock", "GET /metrics HTTP/1.1\r\nHos", 1, false, 9, 12, false},
    {"deaf-browser", "http.sock", "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 100, false, 9,
     75, false},
    {"events", "http.sock", "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n", 1, false, 0, 0,
     true},
    {"deaf-events", "http.sock", "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n", 1, false, 0,
     0, false},
    {"live", "http.sock", "GET /api/live?tiles=front HTTP/1.1\r\nHost: localhost\r\n\r\n", 1, false,
     0, 0, true},
    {"deaf-live", "http.sock", "GET /api/live?tiles=front HTTP/1.1\r\nHost: localhost\r\n\r\n", 1,
     false, 0, 0, false},
    {"mjpeg", "http.sock", "GET /front/stream.mjpeg HTTP/1.1\r\nHost: localhost\r\n\r\n", 1, false,
     0, 0, true},
    {"snapshot", "http.sock", "GET /yard/snapshot.jpg HTTP/1.1\r\nHost: localhost\r\n\r\n", 1,
     false, 0, 16, true},
};

static void read_rudely(void *arg)
{
    struct client *c = arg;
    const bool open = read_more(c);
    c->length = 0;
    if (open)
        world_watch(c->fd, 0, read_rudely, c);
    else if (!strcmp(c->what, "watching-client") && !world_is_ending())
        world_fail("a %s, which reads, was disconnected", c->what);
    else
        leave(c);
}

void client_be_rude(const char *how)
{
    size_t i = 0;
    int count = 0;
    while (i < sizeof manners / sizeof *manners && strcmp(manners[i].name, how) != 0)
        i++;
    for (const struct client *c = clients; c; c = c->next)
        count += c->kind == RUDE;
    if (i == sizeof manners / sizeof *manners || count >= RUDE_MAX)
        return;
    struct client *c = join(RUDE, manners[i].socket, how);
    if (!c)
        return;
    bool takes = true; /* what it does not take at once is lost: it is rude */
    for (int n = 0; n < manners[i].times && takes; n++)
        takes = send(c->fd, manners[i].text, strlen(manners[i].text) + manners[i].ends,
                     MSG_NOSIGNAL) > 0;
    c->least = world_now() + INT64_C(1000000) * manners[i].least;
    c->deadline = manners[i].most ? world_awake() + INT64_C(1000000) * manners[i].most : 0;
    c->reads = manners[i].reads;
    if (c->reads)
        world_watch(c->fd, 0, read_rudely, c);
}

/* So many that do nothing but hold a connection. */
void client_crowd(int count)
{
    for (struct client *c = clients; c; c = c->next)
        c->least = 0; /* the slowest make room for others */
    for (int i = 0; i < count; i++) {
        struct client *c = join(RUDE, "http.sock", "crowd");
        if (c)
            c->deadline = world_awake() + INT64_C(12000000);
    }
}

/* Whether the daemon has cut it; it may have left something unread. */
static bool is_cut(struct client *c)
{
    struct pollfd fd = {.fd = c->fd, .events = POLLRDHUP};
    if (world_now() - c->looked < 500000)
        return false;
    c->looked = world_now();
    return poll(&fd, 1, 0) > 0 && fd.revents & (POLLHUP | POLLRDHUP);
}

static void look_at_rude(void)
{
    for (struct client *c = clients, *next; c; c = next) {
        next = c->next;
        if (c->kind != RUDE || c->reads || !is_cut(c))
            continue;
        if (world_now() < c->least - 1000000)
            world_fail("a %s was disconnected %d ms too early", c->what,
                       (int)((c->least - world_now()) / 1000));
        world_say("%s was disconnected", c->what);
        leave(c);
    }
}

/* ---- strangers ---- */

/* Another program that listens at a socket where an output belongs, leaves, or dies there. */
void stranger_play(const char *what, const char *socket)
{
    static struct {
        char path[64];
        int fd;
    } strangers[STRANGERS];
    const bool comes = !strcmp(what, "listens");
    for (int i = 0; i < STRANGERS; i++) {
        if (strcmp(strangers[i].path, comes ? "" : socket) != 0)
            continue;
        if (comes) {
            struct sockaddr_un address = {.sun_family = AF_UNIX};
            snprintf(address.sun_path, sizeof address.sun_path, "%s", socket);
            const int fd = strangers[i].fd = make_socket();
            if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 16) < 0)
                world_fail("nobody can listen at %s: %s", socket, strerror(errno));
        } else {
            if (!strcmp(what, "leaves"))
                unlink(socket);
            close(strangers[i].fd);
        }
        snprintf(strangers[i].path, sizeof strangers[i].path, "%s", comes ? socket : "");
        return;
    }
    world_fail("no stranger: %s %s", what, socket);
}

/* ---- viewers ---- */

/* A viewer that reads loses no frame of one start of a stream, unless cards stood for frames. Who
 * has not read for a while may have lost some; it goes on at a key frame, with which all begin. */
static void see_frame(struct client *c, const char *text)
{
    char stream[68];
    int run, chain;
    long long frame;
    if (sscanf(text, "HALO %67s %d %d %lld", stream, &run, &chain, &frame) != 4)
        world_fail("viewer of %s: a damaged frame: %.60s", c->what, text);
    if (strncmp(stream, c->what, strlen(stream)) != 0)
        world_fail("viewer of %s gets frames of %s", c->what, stream);
    const bool next = c->shown && !c->card && run == c->run && frame == c->frame + 1;
    if (c->shown && !c->card && run == c->run && !next && world_now() >= c->late)
        world_fail("viewer of %s: frame %lld came after frame %lld", c->what, frame, c->frame);
    if ((c->run == 0 || (!next && world_now() < c->late && c->shown)) && text[-1] == NO_KEY)
        world_fail("viewer of %s: frame %lld, which is no key frame, comes first", c->what, frame);
    c->gaps += c->run == run && c->shown && !next;
    c->shown = true;
    c->card = false;
    c->run = run;
    c->frame = frame;
    c->chain = chain;
    c->frame_came = world_awake();
    c->frame_seen = world_now();
}

/* Cards stand for frames that have not come for SILENCE_MS, not earlier and not later. */
static void see_card(struct client *c)
{
    const bool late = world_now() < c->late || world_awake() - world_thawed() < 100000;
    const int silent = (int)((world_now() - c->frame_seen) / 1000);
    const int awake = (int)((world_awake() - c->frame_came) / 1000);
    if (c->shown && !c->card && !late && silent < SILENCE_MS - 100)
        world_fail("viewer of %s: a card %d ms after a frame", c->what, silent);
    if (c->shown && !c->card && !late && awake > SILENCE_MS + WORLD_SLACK_MS)
        world_fail("viewer of %s: a card only %d ms after the last frame", c->what, awake);
    c->card = c->shown = true;
}

static void read_video(void *arg)
{
    struct client *c = arg;
    if (c->stopped)
        return;
    const bool open = read_more(c);
    size_t at = 0;
    for (const char *line; c->length > at; at = (size_t)(line - c->text) + 1) {
        if (!(line = memchr(c->text + at, '\n', c->length - at)))
            break;
        const size_t length = (size_t)(line - c->text) - at;
        const char *frame = memmem(c->text + at, length, "HALO ", 5);
        if (frame)
            see_frame(c, frame);
        else if (length >= 4 && !memcmp(line - 4, "CARD", 4))
            see_card(c);
        c->came = world_awake();
    }
    if (c->length - at > CARRY)
        at = c->length - CARRY;
    memmove(c->text, c->text + at, c->length - at);
    c->length -= at;
    if (!open) {
        world_say("viewer of %s: the stream has ended", c->what);
        leave(c);
        return;
    }
    world_watch(c->fd, 0, read_video, c);
}

static void join_viewer(const char *socket)
{
    int count = 0;
    for (const struct client *c = clients; c; c = c->next)
        count += c->kind == VIEWER && !strcmp(c->what, socket);
    struct client *c = count < VIEWERS_MAX ? join(VIEWER, socket, socket) : NULL;
    if (c)
        world_watch(c->fd, 0, read_video, c);
}

const char *viewer_sees(const char *socket)
{
    const struct client *c = clients; /* the newest is the first */
    while (c && (c->kind != VIEWER || strcmp(c->what, socket) != 0))
        c = c->next;
    if (!c)
        return "ended";
    if (!c->shown || world_awake() - c->came > 1000000)
        return "nothing";
    return c->card ? "cards" : c->gaps ? "frames with gaps" : "frames";
}

void viewer_play(const char *socket, const char *what)
{
    struct client *c = clients;
    const bool reads = !strcmp(what, "reads");
    if (!strcmp(what, "joins")) {
        join_viewer(socket);
        return;
    }
    while (c && (c->kind != VIEWER || strcmp(c->what, socket) != 0 || c->stopped != reads))
        c = c->next;
    if (!c)
        return;
    if (!strcmp(what, "leaves")) {
        leave(c);
        return;
    }
    c->stopped = !reads;
    c->late = world_now() + 1000000;
    c->gaps = 0;
    c->shown = false; /* what it missed, it may have lost */
    c->came = world_awake();
    if (reads)
        read_video(c);
}

/* ---- all ---- */

void clients_check(void)
{
    look_at_rude();
    const int64_t now = world_awake();
    for (const struct client *c = clients; c; c = c->next) {
        if (c->kind == RUDE && c->deadline && now > c->deadline + WORLD_SLACK_MS * 1000)
            world_fail("a %s was not disconnected in time", c->what);
        if (c->kind != RUDE && c->deadline && now > c->deadline)
            world_fail("%s was not answered in time", c->what);
        if (c->kind == VIEWER && c->shown && !c->stopped &&
            now - c->came > (CARDS_MS + WORLD_SLACK_MS) * 1000)
            world_fail("viewer of %s: neither a frame nor a card for %d ms", c->what,
                       (int)((now - c->came) / 1000));
    }
}

void clients_leave(void)
{
    for (struct client *c = clients, *next; c; c = next) {
        next = c->next;
        if (!c->then || world_is_ending()) /* its answer comes soon, and must be known */
            leave(c);
    }
}
