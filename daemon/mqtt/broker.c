/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/broker.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <mosquitto.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/library.h"
#include "config/base/log.h"

/* ---- the library ----
 * It is loaded only if the settings contain `mqtt:`, so that halod also runs without it. */

#define MOSQUITTO_NAME "libmosquitto.so.1"

/* The functions that are used, without their prefix. */
#define MOSQUITTO_FUNCTIONS(F)                                                                     \
    F(lib_init)                                                                                    \
    F(new)                                                                                         \
    F(destroy)                                                                                     \
    F(username_pw_set)                                                                             \
    F(will_set)                                                                                    \
    F(tls_set)                                                                                     \
    F(connect)                                                                                     \
    F(disconnect)                                                                                  \
    F(publish)                                                                                     \
    F(subscribe)                                                                                   \
    F(loop_read)                                                                                   \
    F(loop_write)                                                                                  \
    F(loop_misc)                                                                                   \
    F(socket)                                                                                      \
    F(want_write)                                                                                  \
    F(connect_callback_set)                                                                        \
    F(message_callback_set)                                                                        \
    F(log_callback_set)                                                                            \
    F(strerror)                                                                                    \
    F(connack_string)

struct mosquitto_calls {
#define MOSQUITTO_FIELD(name) __typeof__(mosquitto_##name) *name;
    MOSQUITTO_FUNCTIONS(MOSQUITTO_FIELD)
#undef MOSQUITTO_FIELD
};

static const struct halo_library_row rows[] = {
#define ROW(name) {"mosquitto_" #name, offsetof(struct mosquitto_calls, name)},
    MOSQUITTO_FUNCTIONS(ROW)
#undef ROW
};

/* Returns the functions, which remain valid until the process ends, or NULL with err filled if the
 * library is not installed or lacks a function. Opens files in the library folders. */
static const struct mosquitto_calls *mosquitto_load(struct halo_error *err)
{
    static struct mosquitto_calls found;
    if (found.lib_init)
        return &found;
    struct mosquitto_calls all;
    if (halo_library_load(MOSQUITTO_NAME, "libmosquitto1", rows, sizeof rows / sizeof *rows, &all,
                          err) < 0)
        return NULL;
    if (all.lib_init() != MOSQ_ERR_SUCCESS) {
        halo_fail(err, -ENOMEM, "%s failed to start", MOSQUITTO_NAME);
        return NULL;
    }
    found = all;
    return &found;
}

/* ---- a session ----
 * One connection to the broker, from the attempt to connect until it is lost. libmosquitto resolves
 * names and connects with calls that block, so these calls run on a thread of libuv's pool.
 * Afterwards the socket is polled, and libmosquitto is called only on the event loop. A session
 * whose connection is lost is destroyed, and the next attempt is made by a new one. */

/* What a session needs; copied by session_create(). */
struct target {
    const char *host; /* a name or an address, without brackets */
    int port;
    const char *id;                     /* the client's name for the broker */
    const char *user, *password;        /* may be NULL */
    const char *tls_ca;                 /* NULL: no TLS */
    const char *will_topic, *will_text; /* published by the broker when the connection is lost */
};

enum {
    KEEPALIVE_S = 15, /* a broker that is silent for twice as long is given up */
    LOGIN_S = 15,     /* time for TLS and for the broker's answer to the login */
    TEXTS = 7,
};

enum state { CONNECTING, LOGGING_IN, ACCEPTED, LOST };

/* The poll handle outlives the session until the event loop has closed it. It polls a copy of the
 * descriptor, because libmosquitto closes its own at any time. */
struct watch {
    uv_poll_t poll;
    int fd;
    struct session *session;
};

struct session {
    uv_loop_t *loop;
    const struct mosquitto_calls *library;
    struct mosquitto *mosq; /* while the state is CONNECTING, it belongs to the thread */
    struct target target;
    struct halo_mqtt_broker *broker; /* not used once the session was abandoned */
    uv_work_t work;
    enum state state;
    bool abandoned;       /* destroyed while the thread was connecting */
    int seconds;          /* since the state began */
    struct watch *watch;  /* NULL: there is no socket */
    int result, error;    /* of connecting: MOSQ_ERR_, errno */
    int answer;           /* the broker's answer to the login; 0: accepted; -1: none yet */
    char last_error[160]; /* the last error that libmosquitto logged, or "" */
};

struct halo_mqtt_broker {
    uv_loop_t *loop; /* NULL until it is started */
    const struct mosquitto_calls *library;
    const struct halo_mqtt_broker_ops *ops;
    void *arg;
    char *server, *host, *user, *password, *tls_ca, *will_topic;
    char id[80];
    int port;
    struct session *session; /* NULL: the next attempt is in `wait` seconds */
    int wait, pause;
    int age;        /* of an accepted session, in seconds; -1: it is not accepted */
    char said[400]; /* the last failure that was logged since a session began */
};

/* The broker has accepted the user; publishing is possible. */
static void on_accepted(struct halo_mqtt_broker *broker);
/* The connection could not be made, or was lost; `why` is one line. Destroys the session. */
static void on_lost(struct halo_mqtt_broker *broker, const char *why);

static bool is_accepted(const struct session *session)
{
    return session && session->state == ACCEPTED;
}

/* ---- words ---- */

static bool is_about_network(const struct session *session)
{
    return session->result == MOSQ_ERR_EAI ||
           (session->result == MOSQ_ERR_ERRNO &&
            (session->error == EAFNOSUPPORT || session->error == ENETUNREACH));
}

static const char *describe(const struct session *session, int result)
{
    if (result == MOSQ_ERR_EAI)
        return gai_strerror(session->error);
    if (result == MOSQ_ERR_ERRNO && session->error == EBADF)
        return "the broker cannot be reached"; /* libmosquitto 2.1 has closed the socket first */
    if (result == MOSQ_ERR_ERRNO)
        return session->error ? strerror(session->error) : "the connection was closed";
    if (result == MOSQ_ERR_CONN_LOST)
        return "the connection was closed";
    if (result == MOSQ_ERR_KEEPALIVE)
        return "the broker does not respond";
    return session->library->strerror(result);
}

static void lose(struct session *session, const char *why)
{
    if (session->state == LOST)
        return;
    session->state = LOST;
    on_lost(session->broker, why);
}

static void lose_for(struct session *session, int result)
{
    char why[400];
    /* So libmosquitto 2.0.21 calls a refused certificate, the second if the handshake took time. */
    if (result == MOSQ_ERR_PROTOCOL || (result == MOSQ_ERR_ERRNO && session->error == EPROTO))
        result = MOSQ_ERR_TLS;
    const char *said = result == MOSQ_ERR_TLS ? session->last_error : "";
    snprintf(why, sizeof why, "%s%s%s%s", describe(session, result), said[0] ? " " : "", said,
             is_about_network(session)
                 ? " (as a service, halod needs the drop-in network.conf: halod(8))"
                 : "");
    lose(session, why);
}

static void lose_login(struct session *session)
{
    char why[200];
    const bool user = session->answer == 4 || session->answer == 5;
    snprintf(why, sizeof why, "the broker refuses the login: %s%s",
             session->library->connack_string(session->answer),
             user ? " Check 'user' and 'password'" : "");
    lose(session, why);
}

/* ---- callbacks of libmosquitto ---- */

static void on_answer(struct mosquitto *mosq, void *arg, int answer)
{
    struct session *session = arg;
    (void)mosq;
    session->answer = answer;
}

static void on_message(struct mosquitto *mosq, void *arg, const struct mosquitto_message *message)
{
    struct session *session = arg;
    (void)mosq;
    const struct halo_mqtt_message made = {
        .topic = message->topic,
        .payload = message->payload,
        .size = message->payloadlen > 0 ? (size_t)message->payloadlen : 0,
        .retained = message->retain,
    };
    session->broker->ops->message(session->broker->arg, &made);
}

static void on_log(struct mosquitto *mosq, void *arg, int level, const char *text)
{
    struct session *session = arg;
    (void)mosq;
    if (level == MOSQ_LOG_ERR)
        snprintf(session->last_error, sizeof session->last_error, "%s", text);
}

/* ---- polling ---- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void free_watch(uv_handle_t *handle)
{
    struct watch *watch = handle->data;
    close(watch->fd);
    free(watch);
}

static void stop_watch(struct session *session)
{
    if (!session->watch)
        return;
    session->watch->session = NULL;
    uv_close((uv_handle_t *)&session->watch->poll, free_watch);
    session->watch = NULL;
}

static void update_events(struct session *session)
{
    if (!session->watch)
        return;
    const bool writes = session->library->want_write(session->mosq);
    uv_poll_start(&session->watch->poll, UV_READABLE | (writes ? UV_WRITABLE : 0), on_poll);
}

/* Called after each call of libmosquitto that reads or writes, with what it returned. */
static void check(struct session *session, int result)
{
    if (session->state == LOST)
        return;
    if (session->answer > 0) {
        lose_login(session);
    } else if (result != MOSQ_ERR_SUCCESS) {
        session->error = errno;
        lose_for(session, result);
    } else {
        if (session->state == LOGGING_IN && session->answer == 0) {
            session->state = ACCEPTED;
            on_accepted(session->broker);
        }
        update_events(session);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct session *session = ((struct watch *)poll->data)->session;
    int result = MOSQ_ERR_SUCCESS;
    errno = 0;
    if (status < 0 || events & UV_READABLE)
        result = session->library->loop_read(session->mosq, 1);
    if (result == MOSQ_ERR_SUCCESS && events & UV_WRITABLE)
        result = session->library->loop_write(session->mosq, 1);
    check(session, result);
}

static int start_watch(struct session *session)
{
    const int fd = session->library->socket(session->mosq);
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return -ENOMEM;
    watch->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    const int code = watch->fd < 0 ? -errno : uv_poll_init(session->loop, &watch->poll, watch->fd);
    if (code < 0) {
        if (watch->fd >= 0)
            close(watch->fd);
        free(watch);
        return code;
    }
    watch->poll.data = watch;
    watch->session = session;
    session->watch = watch;
    update_events(session);
    return 0;
}

/* ---- connecting ---- */

static int connect_on_thread(struct session *session)
{
    const struct mosquitto_calls *library = session->library;
    const struct target *target = &session->target;
    session->mosq = library->new (target->id, true, session);
    if (!session->mosq)
        return MOSQ_ERR_NOMEM;
    library->connect_callback_set(session->mosq, on_answer);
    library->message_callback_set(session->mosq, on_message);
    library->log_callback_set(session->mosq, on_log);
    int result = MOSQ_ERR_SUCCESS;
    if (target->user)
        result = library->username_pw_set(session->mosq, target->user, target->password);
    if (!result)
        result = library->will_set(session->mosq, target->will_topic,
                                   (int)strlen(target->will_text), target->will_text, 1, true);
    if (!result && target->tls_ca) {
        result = library->tls_set(session->mosq, target->tls_ca, NULL, NULL, NULL, NULL);
        if (result == MOSQ_ERR_INVAL)
            snprintf(session->last_error, sizeof session->last_error, "tls_ca: cannot read %.120s",
                     target->tls_ca);
        result = result ? MOSQ_ERR_TLS : MOSQ_ERR_SUCCESS;
    }
    return result ? result
                  : library->connect(session->mosq, target->host, target->port, KEEPALIVE_S);
}

static void on_thread(uv_work_t *work)
{
    struct session *session = work->data;
    errno = 0;
    session->result = connect_on_thread(session);
    session->error = errno;
}

static void finish(struct session *session)
{
    if (session->mosq)
        session->library->destroy(session->mosq);
    const char *const texts[TEXTS] = {session->target.host,     session->target.id,
                                      session->target.user,     session->target.password,
                                      session->target.tls_ca,   session->target.will_topic,
                                      session->target.will_text};
    for (int i = 0; i < TEXTS; i++)
        free((char *)texts[i]);
    free(session);
}

static void after_thread(uv_work_t *work, int status)
{
    struct session *session = work->data;
    if (session->abandoned) {
        finish(session);
        return;
    }
    session->state = LOGGING_IN;
    session->seconds = 0;
    if (status < 0)
        lose(session, uv_strerror(status));
    else if (session->result != MOSQ_ERR_SUCCESS)
        lose_for(session, session->result);
    else if (start_watch(session) < 0)
        lose(session, "out of memory or descriptors");
}

static bool copy_texts(struct target *target)
{
    const char **const fields[TEXTS] = {&target->host,     &target->id,     &target->user,
                                        &target->password, &target->tls_ca, &target->will_topic,
                                        &target->will_text};
    bool fine = true;
    for (int i = 0; i < TEXTS; i++) {
        const char *text = *fields[i];
        *fields[i] = text ? strdup(text) : NULL;
        fine &= !text || *fields[i];
    }
    return fine;
}

/* Begins to connect. Returns 0, or -ENOMEM. */
static int session_create(struct halo_mqtt_broker *broker, const struct target *target)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return -ENOMEM;
    *session = (struct session){.loop = broker->loop,
                                .library = broker->library,
                                .target = *target,
                                .broker = broker,
                                .answer = -1};
    session->work.data = session;
    if (!copy_texts(&session->target)) {
        finish(session);
        return -ENOMEM;
    }
    uv_queue_work(broker->loop, &session->work, on_thread, after_thread); /* cannot fail */
    broker->session = session;
    return 0;
}

/* If a thread is still connecting, the memory is freed when that ends, which may take minutes. */
static void session_destroy(struct session *session)
{
    if (!session)
        return;
    if (session->state == CONNECTING) {
        session->abandoned = true;
        uv_cancel((uv_req_t *)&session->work); /* succeeds only if the thread has not begun */
        return;
    }
    if (session->state == ACCEPTED)
        session->library->disconnect(session->mosq);
    stop_watch(session);
    finish(session);
}

/* Called once a second: keeps the connection alive, and loses it if the broker does not
 * answer. */
static void session_tick(struct session *session)
{
    session->seconds++;
    if (session->state == LOGGING_IN && session->seconds > LOGIN_S)
        lose(session, "the broker does not answer the login");
    else if (session->state == ACCEPTED)
        check(session, session->library->loop_misc(session->mosq));
}

/* ---- the broker ---- */

static void on_accepted(struct halo_mqtt_broker *broker)
{
    broker->age = 0;
    broker->said[0] = '\0';
    halo_log(HALO_LOG_INFO, "mqtt: connected to %s", broker->server);
    broker->ops->accepted(broker->arg);
}

/* A reason is logged once, not at every attempt. */
static void say(struct halo_mqtt_broker *broker, const char *why)
{
    if (!strcmp(broker->said, why))
        return;
    snprintf(broker->said, sizeof broker->said, "%s", why);
    halo_log(HALO_LOG_WARNING, "mqtt: %s: %s; trying again at least every %d s", broker->server,
             why, HALO_MQTT_PAUSE_MAX_S);
}

static void on_lost(struct halo_mqtt_broker *broker, const char *why)
{
    say(broker, why);
    session_destroy(broker->session);
    broker->session = NULL;
    if (broker->age >= HALO_MQTT_PAUSE_MAX_S)
        broker->pause = HALO_MQTT_PAUSE_MIN_S;
    broker->wait = broker->pause;
    broker->pause *= 2;
    if (broker->pause > HALO_MQTT_PAUSE_MAX_S)
        broker->pause = HALO_MQTT_PAUSE_MAX_S;
    broker->age = -1;
}

static void begin(struct halo_mqtt_broker *broker)
{
    const struct target target = {
        .host = broker->host,
        .port = broker->port,
        .id = broker->id,
        .user = broker->user,
        .password = broker->password,
        .tls_ca = broker->tls_ca,
        .will_topic = broker->will_topic,
        .will_text = "offline",
    };
    if (session_create(broker, &target) < 0)
        on_lost(broker, "out of memory");
}

/* ---- settings ---- */

static char *copy_text(const char *text, bool *fine)
{
    char *copy = text ? strdup(text) : NULL;
    *fine &= copy || !text;
    return copy;
}

/* Splits HOST:PORT or [HOST]:PORT, whose form the loader has checked. */
static void split_server(struct halo_mqtt_broker *broker)
{
    char *colon = strrchr(broker->host, ':');
    *colon = '\0';
    broker->port = atoi(colon + 1);
    const size_t length = strlen(broker->host);
    if (broker->host[0] == '[') {
        memmove(broker->host, broker->host + 1, length - 2);
        broker->host[length - 2] = '\0';
    }
}

static int copy_settings(struct halo_mqtt_broker *broker, const struct halo_mqtt_settings *settings,
                         const char *will_topic)
{
    bool fine = true;
    broker->server = copy_text(settings->server, &fine);
    broker->host = copy_text(settings->server, &fine);
    broker->user = copy_text(settings->user, &fine);
    broker->password = copy_text(settings->password, &fine);
    broker->tls_ca = copy_text(settings->tls_ca, &fine);
    broker->will_topic = copy_text(will_topic, &fine);
    if (!fine)
        return -ENOMEM;
    split_server(broker);
    /* The same at every connection, so that the broker ends a stale one, and its last will comes
     * before the new session. */
    snprintf(broker->id, sizeof broker->id, "halod-%s",
             settings->prefix ? settings->prefix : HALO_MQTT_PREFIX);
    for (char *c = broker->id; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '-';
    return 0;
}

int halo_mqtt_broker_create(struct halo_mqtt_broker **ret,
                            const struct halo_mqtt_settings *settings, const char *will_topic,
                            const struct halo_mqtt_broker_ops *ops, void *arg,
                            struct halo_error *err)
{
    const struct mosquitto_calls *library = mosquitto_load(err);
    if (!library)
        return err->code;
    struct halo_mqtt_broker *broker = calloc(1, sizeof *broker);
    if (!broker || copy_settings(broker, settings, will_topic) < 0) {
        halo_mqtt_broker_destroy(broker);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    broker->library = library;
    broker->ops = ops;
    broker->arg = arg;
    broker->pause = HALO_MQTT_PAUSE_MIN_S;
    broker->age = -1;
    *ret = broker;
    return 0;
}

void halo_mqtt_broker_destroy(struct halo_mqtt_broker *broker)
{
    if (!broker)
        return;
    halo_mqtt_broker_publish(broker, broker->will_topic, "offline");
    session_destroy(broker->session);
    char *const texts[] = {broker->server,   broker->host,   broker->user,
                           broker->password, broker->tls_ca, broker->will_topic};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    free(broker);
}

/* ---- use ---- */

void halo_mqtt_broker_start(struct halo_mqtt_broker *broker, uv_loop_t *loop)
{
    broker->loop = loop;
    begin(broker);
}

void halo_mqtt_broker_tick(struct halo_mqtt_broker *broker)
{
    if (broker->age >= 0)
        broker->age++;
    if (broker->session)
        session_tick(broker->session);
    else if (--broker->wait <= 0)
        begin(broker);
}

bool halo_mqtt_broker_is_idle(const struct halo_mqtt_broker *broker)
{
    const struct session *session = broker->session;
    return is_accepted(session) && !session->library->want_write(session->mosq);
}

void halo_mqtt_broker_publish(struct halo_mqtt_broker *broker, const char *topic, const char *text)
{
    struct session *session = broker->session;
    if (!is_accepted(session))
        return;
    const size_t size = text ? strlen(text) : 0;
    session->library->publish(session->mosq, NULL, topic, (int)size, text, 0, true);
    update_events(session);
}

void halo_mqtt_broker_subscribe(struct halo_mqtt_broker *broker, const char *topic)
{
    struct session *session = broker->session;
    if (!is_accepted(session))
        return;
    session->library->subscribe(session->mosq, NULL, topic, 1);
    update_events(session);
}
