/* SPDX-License-Identifier: BSD-2-Clause
 * The played MQTT broker: the other end of the socket that libmosquitto connects. It keeps what is
 * retained, so that a quiet minute can compare it with docs/mqtt.md, and sends commands. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/mqtt.h"
#include "daemon/mqtt/broker.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_state.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "tests/world/world.h"

enum {
    CONNECT = 1,
    CONNACK,
    PUBLISH,
    PUBACK,
    SUBSCRIBE = 8,
    SUBACK,
    PINGREQ = 12,
    PINGRESP,
    DISCONNECT,
    /* as docs/mqtt.md says */
    PAUSE_MIN_MS = 1000,
    PAUSE_MAX_MS = 30000,
    LOGIN_MS = 15000,
    SILENCE_MS = 30000,
    TICK_MS = 1000,  /* the daemon counts in whole seconds */
    SHOWN_MS = 1000, /* until a change of state is published */
    CHECK_MS = 500,
    ROOM = 64 << 10,
};

struct retained {
    struct retained *next;
    char *topic, *text;
    int count; /* of messages since there was none */
};

static struct {
    struct retained *retained;
    char prefix[70]; /* of topics, as the first login has it; "": there was none */
    int fd;          /* -1: there is no connection */
    uint8_t *text;   /* of packets that are not complete */
    size_t length, size;
    bool listened;           /* the commands are subscribed */
    uint16_t id;             /* of its packets */
    int64_t began;           /* us of world_awake(): when the login was accepted; 0: it is not */
    int64_t muted;           /* us of world_awake(): since when the daemon has had no answer */
    int64_t looked, arrives; /* us: when it was last checked; from when on packets come */
    /* how it misbehaves */
    bool gone, stopped, mute;
    bool opened[8];   /* the shutter of this one of world_streams, by a command */
    bool shut;        /* what was commanded in the last quiet minute */
    int refusal, far; /* the answer to a login; ms until the network has connected */
    bool unsure;      /* the daemon may have given up this connection, unnoticed */
    /* the daemon's next attempt */
    int pause, due;           /* ms: after the next loss, and since the last one */
    bool exact;               /* `pause` is not only the least */
    int64_t lost, lost_awake; /* us; 0: not known, or not known exactly */
} broker = {.fd = -1, .pause = PAUSE_MIN_MS, .exact = true};

/* ---- what is retained ---- */

static struct retained **find(const char *topic)
{
    struct retained **at = &broker.retained;
    while (*at && strcmp((*at)->topic, topic) != 0)
        at = &(*at)->next;
    return at;
}

static const char *retained(const char *topic)
{
    const struct retained *found = *find(topic);
    return found ? found->text : NULL;
}

static void retain(const char *topic, const char *text)
{
    struct retained **at = find(topic), *one = *at;
    if (!text[0] && one) {
        *at = one->next;
        free(one->topic);
        free(one->text);
        free(one);
    } else if (text[0] && one) {
        free(one->text);
        one->text = strdup(text);
    } else if (text[0]) {
        *at = one = calloc(1, sizeof *one);
        one->topic = strdup(topic);
        one->text = strdup(text);
    }
    if (text[0])
        one->count++;
}

static const char *status_topic(void)
{
    static char topic[80];
    snprintf(topic, sizeof topic, "%s/status", broker.prefix[0] ? broker.prefix : "halod");
    return topic;
}

static bool is_command(const char *topic)
{
    const size_t length = strlen(topic);
    return length > 4 && !strcmp(topic + length - 4, "/set");
}

/* ---- the connection ---- */

/* The attempt or session has ended. exactly: the daemon notices now. */
static void lose(bool exactly)
{
    const int64_t age = broker.began ? (world_awake() - broker.began) / 1000 : 0;
    if (age > PAUSE_MAX_MS - TICK_MS || broker.unsure) {
        broker.pause = PAUSE_MIN_MS;
        broker.exact = age > PAUSE_MAX_MS + 3 * TICK_MS && !broker.unsure;
    }
    broker.lost = broker.unsure ? 0 : world_now();
    broker.lost_awake = exactly && broker.exact && !broker.unsure ? world_awake() : 0;
    broker.due = broker.pause;
    broker.pause = 2 * broker.pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : 2 * broker.pause;
    broker.unsure = false;
    broker.began = 0;
    broker.listened = false;
    broker.length = 0;
    if (broker.fd < 0)
        return;
    world_forget(&broker);
    world_unwatch(broker.fd);
    close(broker.fd);
    broker.fd = -1;
}

static void put_length(uint8_t **at, size_t length)
{
    do {
        *(*at)++ = (uint8_t)((length & 127) | (length > 127 ? 128 : 0));
        length >>= 7;
    } while (length);
}

static void send_packet(int type, int flags, const void *body, size_t length)
{
    uint8_t head[5], *at = head;
    if (broker.fd < 0 || broker.mute)
        return;
    *at++ = (uint8_t)(type << 4 | flags);
    put_length(&at, length);
    /* what does not fit is lost: the daemon then gets garbage, which it has to bear */
    if (send(broker.fd, head, (size_t)(at - head), MSG_NOSIGNAL) > 0 && length > 0)
        (void)!send(broker.fd, body, length, MSG_NOSIGNAL);
}

static void send_message(const char *topic, const char *text, bool again)
{
    uint8_t body[600], *at = body;
    const size_t length = strlen(topic), size = strlen(text);
    if (length + size > sizeof body - 4)
        return;
    *at++ = (uint8_t)(length >> 8);
    *at++ = (uint8_t)length;
    memcpy(at, topic, length);
    at += length;
    if (!again) { /* commands have QoS 1 */
        broker.id = broker.id == 9999 ? 1 : (uint16_t)(broker.id + 1);
        *at++ = (uint8_t)(broker.id >> 8);
        *at++ = (uint8_t)broker.id;
    }
    memcpy(at, text, size);
    send_packet(PUBLISH, again ? 1 : 2, body, (size_t)(at - body) + size);
}

/* ---- packets of the daemon ---- */

static int word_at(const uint8_t *at)
{
    return at[0] << 8 | at[1];
}

/* Copies the text that has its length before it; returns what comes after it. */
static const uint8_t *take_text(const uint8_t *at, const uint8_t *end, char *ret, size_t size)
{
    const size_t length = end - at >= 2 ? (size_t)word_at(at) : size;
    if (end - at < 2 || (size_t)(end - at - 2) < length || length >= size)
        world_fail("broker: a packet is not as long as it says");
    memcpy(ret, at + 2, length);
    ret[length] = '\0';
    return at + 2 + length;
}

static void take_connect(const uint8_t *at, const uint8_t *end)
{
    enum { WILL = 4, WILL_RETAIN = 32, USER = 128, PASSWORD = 64 };
    char protocol[16], id[80], topic[80], text[80], user[80], password[80];
    at = take_text(at, end, protocol, sizeof protocol);
    const int flags = end - at >= 4 ? at[1] : 0;
    if ((flags & (WILL | WILL_RETAIN | USER | PASSWORD)) != (WILL | WILL_RETAIN | USER | PASSWORD))
        world_fail("broker: the login has no will that is retained, or no user (%d)", flags);
    at = take_text(at + 4, end, id, sizeof id);
    at = take_text(at, end, topic, sizeof topic);
    at = take_text(at, end, text, sizeof text);
    at = take_text(at, end, user, sizeof user);
    take_text(at, end, password, sizeof password);
    char *status = strstr(topic, "/status");
    if (!status || strcmp(status, "/status") != 0 || strcmp(text, "offline") != 0 ||
        strcmp(user, "halod") != 0 || strcmp(password, "hush") != 0)
        world_fail("broker: a wrong login: %s, %s, %s, %s", topic, text, user, password);
    snprintf(broker.prefix, sizeof broker.prefix, "%.*s", (int)(status - topic), topic);
    const uint8_t answer[2] = {0, (uint8_t)broker.refusal};
    send_packet(CONNACK, 0, answer, sizeof answer);
    world_say("broker: %s logs in: %d", id, broker.refusal);
    if (broker.refusal)
        lose(true);
    else if (!broker.mute)
        broker.began = world_awake() + 1; /* even at the beginning not 0 */
}

static void take_subscribe(const uint8_t *at, const uint8_t *end)
{
    char filter[100];
    const uint8_t answer[3] = {at[0], at[1], 1};
    take_text(at + 2, end, filter, sizeof filter);
    send_packet(SUBACK, 0, answer, sizeof answer);
    const bool commands = strchr(filter, '+');
    broker.listened |= commands;
    for (const struct retained *r = broker.retained; r; r = r->next)
        if (commands ? is_command(r->topic) : !strcmp(r->topic, filter))
            send_message(r->topic, r->text, true);
}

static void take_publish(int flags, const uint8_t *at, const uint8_t *end)
{
    char topic[330], *text;
    at = take_text(at, end, topic, sizeof topic);
    if (flags & 6)
        at += 2;
    if (!(flags & 1) || is_command(topic))
        world_fail("broker: %s is not retained, or a command", topic);
    text = strndup((const char *)at, (size_t)(end - at));
    world_say("broker: %s: %.60s", topic, text);
    retain(topic, text);
    free(text);
}

static void take_packet(int type, int flags, const uint8_t *at, const uint8_t *end)
{
    if (type == CONNECT)
        take_connect(at, end);
    else if (!broker.began && !broker.mute)
        world_fail("broker: a packet of type %d comes before the login is accepted", type);
    else if (type == SUBSCRIBE)
        take_subscribe(at, end);
    else if (type == PUBLISH)
        take_publish(flags, at, end);
    else if (type == PINGREQ)
        send_packet(PINGRESP, 0, NULL, 0);
}

/* Returns the bytes of the first packet, or 0 if it is not complete. */
static size_t find_packet(size_t *ret_head)
{
    size_t length = 0;
    for (size_t i = 1; i < 5 && i < broker.length; i++) {
        length |= (size_t)(broker.text[i] & 127) << (7 * (i - 1));
        *ret_head = i + 1;
        if (!(broker.text[i] & 128))
            return broker.length >= i + 1 + length ? i + 1 + length : 0;
    }
    return 0;
}

static void read_packets(void *arg)
{
    if (broker.stopped || broker.fd < 0)
        return;
    for (;;) {
        if (broker.size < broker.length + ROOM)
            broker.text = realloc(broker.text, broker.size = broker.length + 2 * ROOM);
        const ssize_t n = recv(broker.fd, broker.text + broker.length, ROOM, 0);
        const int error = errno;
        broker.length += n > 0 ? (size_t)n : 0;
        for (size_t head, whole; broker.fd >= 0 && (whole = find_packet(&head)) > 0;) {
            const int type = broker.text[0] >> 4, flags = broker.text[0] & 15;
            if (type == DISCONNECT)
                lose(true); /* without its will, and all that comes after it */
            else
                take_packet(type, flags, broker.text + head, broker.text + whole);
            if (broker.fd < 0)
                return;
            broker.length -= whole;
            memmove(broker.text, broker.text + whole, broker.length);
        }
        if (n < 0 && error == EAGAIN)
            break;
        if (n <= 0) {
            retain(status_topic(), "offline"); /* its will */
            lose(false);
            return;
        }
    }
    world_watch(broker.fd, 0, read_packets, arg);
}

static void watch(void)
{
    const int64_t left = broker.arrives - world_now();
    world_watch(broker.fd, left > 0 ? (double)left / 1000 : 0, read_packets, &broker);
}

/* ---- connecting ---- */

/* Pauses before attempts are as documented. */
static void check_pause(void)
{
    const int early = (int)((world_now() - broker.lost) / 1000);
    const int late = (int)((world_awake() - broker.lost_awake) / 1000);
    if (broker.lost && early < broker.due - TICK_MS)
        world_fail("broker: an attempt after %d ms, not after %d", early, broker.due);
    /* a tick may be late each second */
    if (broker.lost && broker.lost_awake &&
        late > broker.due + broker.due / 20 + TICK_MS + 2 * WORLD_SLACK_MS)
        world_fail("broker: an attempt only after %d ms, not after %d", late, broker.due);
}

/* libmosquitto's; its socket becomes one of a pair. */
static int connect_broker(int fd)
{
    int ends[2];
    const int room = ROOM;
    check_pause();
    world_work_takes(broker.far);
    world_say("broker: the daemon connects");
    if (broker.fd >= 0)
        lose(false); /* the daemon left the earlier session, which the broker did not read */
    if (broker.gone) {
        lose(!broker.far);
        errno = ECONNREFUSED;
        return -1;
    }
    broker.lost = 0;
    broker.unsure = broker.stopped || broker.mute;
    broker.muted = world_awake() + INT64_C(1000) * broker.far;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        world_fail("no sockets for the broker");
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    fcntl(ends[0], F_SETFL, fcntl(fd, F_GETFL));
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    dup3(ends[0], fd, fcntl(fd, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0); /* as halod has it */
    close(ends[0]);
    broker.fd = ends[1];
    broker.arrives = world_now() + INT64_C(1000) * broker.far;
    watch();
    return 0;
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    const struct sockaddr_in *to = (const void *)address;
    if (address->sa_family == AF_INET && ntohs(to->sin_port) == WORLD_BROKER)
        return connect_broker(fd);
    return (int)syscall(SYS_connect, fd, address, size);
}

/* ---- events ---- */

static void send_garbage(int size)
{
    broker.unsure = true;
    broker.muted = world_awake();
    for (int i = 0; i < size && broker.fd >= 0; i++) {
        const uint8_t byte = (uint8_t)world_draw(256);
        (void)!send(broker.fd, &byte, 1, MSG_NOSIGNAL);
    }
}

static void command(const char *stream, const char *id, const char *text)
{
    char topic[100];
    snprintf(topic, sizeof topic, "halod/%s/hide%s%s/set", stream, id[0] ? "/" : "", id);
    for (int i = 0; world_streams[i]; i++)
        broker.opened[i] |= !strcmp(world_streams[i], stream) && !id[0] && !strcmp(text, "OFF");
    if (broker.listened)
        send_message(topic, text, false);
}

/* What was announced, and what never was. */
static void spoil_list(void)
{
    const char *list = retained("halod/announced");
    json_t *all = json_loads(list ? list : "[1, {\"a\": [\"b\"]}]", 0, NULL);
    json_object_set_new(all, "gone", json_pack("[s, s, i]", "shutter", "x", 7));
    json_object_set_new(all, "a/b", json_pack("{s:i}", "c", 1));
    char *text = json_dumps(all, JSON_COMPACT);
    retain("halod/announced", text);
    free(text);
    json_decref(all);
}

/* Commands and lists that are none. */
static void send_nonsense(const char *stream)
{
    static const char *const ids[] = {"", "door", "none", "set", "a/b", "shutter"};
    static const char *const texts[] = {"", "on", "ON ", "1", "OF", "{\"state\": \"ON\"}"};
    command(stream, ids[world_draw(6)], texts[world_draw(6)]);
    command("none", ids[world_draw(6)], "ON");
    if (!broker.began) /* the daemon gets it when it connects, and then replaces it */
        spoil_list();
}

/* What a client publishes. */
void broker_send(const char *topic, const char *text, bool retained)
{
    char name[68], rest[4];
    for (int i = 0; world_streams[i]; i++)
        broker.opened[i] |= sscanf(topic, "halod/%67[^/]/hide/%3s", name, rest) == 2 &&
                            !strcmp(rest, "set") && !strcmp(name, world_streams[i]);
    if (retained)
        retain(topic, text);
    if (broker.listened)
        send_message(topic, text, false);
}

const char *broker_retained(const char *topic)
{
    return retained(topic);
}

int broker_published(const char *topic)
{
    const struct retained *found = *find(topic);
    return found ? found->count : 0;
}

/* A command that the broker has retained, and sends again at each connection. */
static void keep_command(const char *stream)
{
    char topic[100];
    snprintf(topic, sizeof topic, "halod/%s/hide/set", stream);
    retain(topic, "OFF");
}

void broker_play(const char *what, const char *whom, int number)
{
    if (!strcmp(what, "drops") || !strcmp(what, "gone")) {
        const bool said = broker.fd >= 0 && !strcmp(what, "drops");
        broker.gone = !strcmp(what, "gone");
        retain(status_topic(), broker.fd >= 0 ? "offline" : "");
        if (said || broker.fd >= 0)
            lose(broker.began != 0);
    } else if (!strcmp(what, "stops")) {
        broker.stopped = broker.unsure = true;
    } else if (!strcmp(what, "mute")) {
        if (!broker.mute && broker.began)
            broker.muted = world_awake();
        broker.mute = broker.unsure = true;
    } else if (!strcmp(what, "refuses")) {
        broker.refusal = number;
    } else if (!strcmp(what, "far")) {
        broker.far = number;
    } else if (!strcmp(what, "garbage")) {
        send_garbage(number);
    } else if (!strcmp(what, "closes") || !strcmp(what, "opens")) { /* the shutter */
        command(whom, "", what[0] == 'c' ? "ON" : "OFF");
    } else if (!strcmp(what, "hides") || !strcmp(what, "shows")) { /* what a client has added */
        command(whom, "door", what[0] == 'h' ? "ON" : "OFF");
    } else if (!strcmp(what, "nonsense")) {
        send_nonsense(whom);
    } else if (!strcmp(what, "keeps")) {
        keep_command(whom);
    } else if (!strcmp(what, "back")) {
        broker_heal();
    }
}

void broker_heal(void)
{
    if (broker.fd >= 0 && broker.unsure)
        lose(false);
    broker.gone = broker.stopped = broker.mute = false;
    broker.refusal = broker.far = 0;
    if (broker.fd >= 0)
        watch();
}

/* ---- what must hold ---- */

void broker_check_opened(const char *stream)
{
    for (int i = 0; world_streams[i]; i++)
        if (!strcmp(world_streams[i], stream) && !broker.opened[i])
            world_fail("the shutter of %s opens, but nobody has commanded that", stream);
}

/* The daemon publishes this now. */
void __wrap_halo_mqtt_broker_publish(struct halo_mqtt_broker *to, const char *topic,
                                     const char *text);
void __real_halo_mqtt_broker_publish(struct halo_mqtt_broker *to, const char *topic,
                                     const char *text);

void __wrap_halo_mqtt_broker_publish(struct halo_mqtt_broker *to, const char *topic,
                                     const char *text)
{
    char name[68], id[36] = "";
    if (text && !strcmp(text, "ON") && sscanf(topic, "halod/%67[^/]/hide/%35s", name, id) >= 1 &&
        (!id[0] || !strcmp(id, "door")))
        check_shown(name, id[0] ? WORLD_DOOR : WORLD_SHUTTER);
    __real_halo_mqtt_broker_publish(to, topic, text);
}

/* A change of state is published at once. */
static void check_state(const struct sv_stream *s)
{
    char topic[200], words[40];
    int64_t since = check_changed(s->name);
    since = since > broker.began ? since : broker.began;
    since = since > world_thawed() ? since : world_thawed();
    if (world_awake() - since < (SHOWN_MS + WORLD_SLACK_MS) * 1000)
        return;
    snprintf(topic, sizeof topic, "%s/%s/state", broker.prefix, s->name);
    snprintf(words, sizeof words, "\"state\":\"%s\"", sv_state_names[s->state]);
    const char *text = retained(topic);
    if (!text || !strstr(text, words))
        world_fail("broker: %s is %s, but the state is %s", topic, text ? text : "missing",
                   sv_state_names[s->state]);
}

void broker_check(void)
{
    if (world_now() - broker.looked < CHECK_MS * 1000)
        return;
    broker.looked = world_now();
    const int silent = (int)((world_awake() - broker.muted) / 1000);
    const int most = (broker.began ? SILENCE_MS : LOGIN_MS) + 2 * TICK_MS + WORLD_SLACK_MS;
    if (broker.fd >= 0 && broker.mute && !broker.stopped && silent > most)
        world_fail("broker: it has been silent for %d ms, and is not given up", silent);
    if (!broker.began || broker.unsure || broker.stopped)
        return;
    for (const struct sv_stream *s = world_supervisor()->streams; s; s = s->next)
        if (!s->place.removed)
            check_state(s);
}

/* Commands are obeyed within this quiet minute. */
void broker_command_all(void)
{
    broker.shut = !broker.shut;
    if (!broker.listened && halo_mqtt_is_built())
        world_fail("broker: the daemon is not connected, though the broker is there again");
    for (int i = 0; world_streams[i]; i++)
        command(world_streams[i], "", broker.shut ? "ON" : "OFF");
}

static void expect(const char *topic, const char *text)
{
    const char *found = retained(topic);
    if (!found != !text || (found && text && strcmp(found, text) != 0))
        world_fail("broker: %s is %s, not %s", topic, found ? found : "missing",
                   text ? text : "missing");
}

/* What docs/mqtt.md says about one stream. */
static int check_topics(const char *name, int hides, const json_t *announced)
{
    char topic[200], state[12] = "";
    int count = 3; /* sensor, switch, hide */
    snprintf(topic, sizeof topic, "halod/%s/hide", name);
    expect(topic, broker.shut ? "ON" : "OFF");
    if (!(hides & WORLD_SHUTTER) != !broker.shut)
        world_fail("broker: %s is not obeyed", topic);
    snprintf(topic, sizeof topic, "halod/%s/hide/door", name);
    const char *door = retained(topic);
    if (!door && hides & WORLD_DOOR)
        world_fail("broker: %s is missing", topic);
    if (door)
        expect(topic, hides & WORLD_DOOR ? "ON" : "OFF");
    snprintf(topic, sizeof topic, "homeassistant/switch/halod_%s/hide_door/config", name);
    if (!door != !retained(topic))
        world_fail("broker: %s does not belong to what is retained", topic);
    count += door ? 2 : 0;
    snprintf(topic, sizeof topic, "homeassistant/switch/halod_%s/hide/config", name);
    if (!retained(topic))
        world_fail("broker: %s is missing", topic);
    snprintf(topic, sizeof topic, "homeassistant/sensor/halod_%s/state/config", name);
    if (!retained(topic))
        world_fail("broker: %s is missing", topic);
    snprintf(topic, sizeof topic, "halod/%s/state", name);
    json_t *said = json_loads(retained(topic) ? retained(topic) : "", 0, NULL);
    snprintf(state, sizeof state, "%s",
             said ? json_string_value(json_object_get(said, "state")) : "missing");
    json_decref(said);
    if (strcmp(state, "running") != 0)
        world_fail("broker: %s is %s", topic, state);
    if (json_array_size(json_object_get(announced, name)) != (door ? 2 : 1))
        world_fail("broker: what was announced of %s is not in the list", name);
    return count + 1;
}

/* In a quiet minute everything of the streams is there, and nothing of others. */
void broker_check_quiet(void)
{
    int count = 2; /* status, announced */
    if (!halo_mqtt_is_built())
        return;
    expect("halod/status", "online");
    json_t *announced =
        json_loads(retained("halod/announced") ? retained("halod/announced") : "", 0, NULL);
    for (int i = 0; world_streams[i]; i++)
        count += check_topics(world_streams[i], check_hides(world_streams[i]), announced);
    if (json_object_size(announced) != 4)
        world_fail("broker: streams that do not exist are announced");
    json_decref(announced);
    for (const struct retained *r = broker.retained; r; r = r->next)
        if (!is_command(r->topic) && --count < 0)
            world_fail("broker: something is retained that belongs to no stream, such as %s",
                       r->topic);
}

void broker_end(void)
{
    broker.stopped = false;
    if (broker.fd >= 0) /* what the daemon has sent last */
        read_packets(&broker);
    if (halo_mqtt_is_built() && (!play.settings || broker.prefix[0]))
        expect(status_topic(), "offline");
    if (broker.fd >= 0)
        lose(false);
    while (broker.retained)
        retain(broker.retained->topic, "");
    free(broker.text);
}
