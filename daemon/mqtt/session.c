/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/mqtt/session.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    struct halo_mqtt_session *session;
};

struct halo_mqtt_session {
    uv_loop_t *loop;
    const struct halo_mosquitto *library;
    struct mosquitto *mosq; /* while the state is CONNECTING, it belongs to the thread */
    struct halo_mqtt_target target;
    const struct halo_mqtt_session_ops *ops;
    void *arg;
    uv_work_t work;
    enum state state;
    bool abandoned;       /* destroyed while the thread was connecting */
    int seconds;          /* since the state began */
    struct watch *watch;  /* NULL: there is no socket */
    int result, error;    /* of connecting: MOSQ_ERR_, errno */
    int answer;           /* the broker's answer to the login; 0: accepted; -1: none yet */
    char last_error[160]; /* the last error that libmosquitto logged, or "" */
};

/* ---- words ---- */

static bool is_about_network(const struct halo_mqtt_session *session)
{
    return session->result == MOSQ_ERR_EAI ||
           (session->result == MOSQ_ERR_ERRNO &&
            (session->error == EAFNOSUPPORT || session->error == ENETUNREACH));
}

static const char *describe(const struct halo_mqtt_session *session, int result)
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

static void lose(struct halo_mqtt_session *session, const char *why)
{
    if (session->state == LOST)
        return;
    session->state = LOST;
    session->ops->lost(session->arg, why);
}

static void lose_for(struct halo_mqtt_session *session, int result)
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

static void lose_login(struct halo_mqtt_session *session)
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
    struct halo_mqtt_session *session = arg;
    (void)mosq;
    session->answer = answer;
}

static void on_message(struct mosquitto *mosq, void *arg, const struct mosquitto_message *message)
{
    struct halo_mqtt_session *session = arg;
    (void)mosq;
    const struct halo_mqtt_message made = {
        .topic = message->topic,
        .payload = message->payload,
        .size = message->payloadlen > 0 ? (size_t)message->payloadlen : 0,
        .retained = message->retain,
    };
    session->ops->message(session->arg, &made);
}

static void on_log(struct mosquitto *mosq, void *arg, int level, const char *text)
{
    struct halo_mqtt_session *session = arg;
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

static void stop_watch(struct halo_mqtt_session *session)
{
    if (!session->watch)
        return;
    session->watch->session = NULL;
    uv_close((uv_handle_t *)&session->watch->poll, free_watch);
    session->watch = NULL;
}

static void update_events(struct halo_mqtt_session *session)
{
    if (!session->watch)
        return;
    const bool writes = session->library->want_write(session->mosq);
    uv_poll_start(&session->watch->poll, UV_READABLE | (writes ? UV_WRITABLE : 0), on_poll);
}

/* Called after each call of libmosquitto that reads or writes, with what it returned. */
static void check(struct halo_mqtt_session *session, int result)
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
            session->ops->accepted(session->arg);
        }
        update_events(session);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct halo_mqtt_session *session = ((struct watch *)poll->data)->session;
    int result = MOSQ_ERR_SUCCESS;
    errno = 0;
    if (status < 0 || events & UV_READABLE)
        result = session->library->loop_read(session->mosq, 1);
    if (result == MOSQ_ERR_SUCCESS && events & UV_WRITABLE)
        result = session->library->loop_write(session->mosq, 1);
    check(session, result);
}

/* Engines and hooks must not inherit the socket, nor the pair of sockets that libmosquitto makes;
 * it does not mark them. Everything else that is open is already marked. (Engines also close what
 * they inherit, in case one is started while the thread connects.) */
static void mark_descriptors(int fd)
{
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    fcntl(fd, F_SETFD, FD_CLOEXEC); /* Linux before 5.11 */
}

static int start_watch(struct halo_mqtt_session *session)
{
    const int fd = session->library->socket(session->mosq);
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return -ENOMEM;
    mark_descriptors(fd);
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

static int connect_on_thread(struct halo_mqtt_session *session)
{
    const struct halo_mosquitto *library = session->library;
    const struct halo_mqtt_target *target = &session->target;
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
    struct halo_mqtt_session *session = work->data;
    errno = 0;
    session->result = connect_on_thread(session);
    session->error = errno;
}

static void finish(struct halo_mqtt_session *session)
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
    struct halo_mqtt_session *session = work->data;
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

static bool copy_texts(struct halo_mqtt_target *target)
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

int halo_mqtt_session_create(struct halo_mqtt_session **ret, uv_loop_t *loop,
                             const struct halo_mosquitto *library,
                             const struct halo_mqtt_target *target,
                             const struct halo_mqtt_session_ops *ops, void *arg)
{
    struct halo_mqtt_session *session = calloc(1, sizeof *session);
    if (!session)
        return -ENOMEM;
    *session = (struct halo_mqtt_session){
        .loop = loop, .library = library, .target = *target, .ops = ops, .arg = arg, .answer = -1};
    session->work.data = session;
    if (!copy_texts(&session->target)) {
        finish(session);
        return -ENOMEM;
    }
    uv_queue_work(loop, &session->work, on_thread, after_thread); /* cannot fail */
    *ret = session;
    return 0;
}

void halo_mqtt_session_destroy(struct halo_mqtt_session *session)
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

/* ---- use ---- */

void halo_mqtt_session_tick(struct halo_mqtt_session *session)
{
    session->seconds++;
    if (session->state == LOGGING_IN && session->seconds > LOGIN_S)
        lose(session, "the broker does not answer the login");
    else if (session->state == ACCEPTED)
        check(session, session->library->loop_misc(session->mosq));
}

bool halo_mqtt_session_is_idle(const struct halo_mqtt_session *session)
{
    return session->state == ACCEPTED && !session->library->want_write(session->mosq);
}

void halo_mqtt_session_publish(struct halo_mqtt_session *session, const char *topic,
                               const char *text)
{
    if (session->state != ACCEPTED)
        return;
    const size_t size = text ? strlen(text) : 0;
    session->library->publish(session->mosq, NULL, topic, (int)size, text, 0, true);
    update_events(session);
}

void halo_mqtt_session_subscribe(struct halo_mqtt_session *session, const char *topic)
{
    if (session->state != ACCEPTED)
        return;
    session->library->subscribe(session->mosq, NULL, topic, 1);
    update_events(session);
}
