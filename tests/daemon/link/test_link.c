/* SPDX-License-Identifier: BSD-2-Clause
 * The link between supervisor and engine: order, descriptors, a side that does not read, and one
 * that sends what nobody should. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/link/link.h"
#include "daemon/link/link_stats.h"
#include "tests/cmocka_all.h"

struct side {
    uv_loop_t loop;
    struct halo_link *link;
    int other; /* our end, raw */
    int messages, fds, closed;
    int64_t last;
    char why[128];
    bool leave; /* destroys its link in the first message */
};

static void on_message(void *arg, json_t *message, const int *fds, int count)
{
    struct side *side = arg;
    side->messages++;
    side->last = halo_json_integer(message, "n", 0, INT64_MAX, -1);
    for (int i = 0; i < count; i++) {
        side->fds++;
        assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
        close(fds[i]);
    }
    if (side->leave) {
        halo_link_destroy(side->link);
        side->link = NULL;
    }
}

static void on_closed(void *arg, const char *why)
{
    struct side *side = arg;
    side->closed++;
    snprintf(side->why, sizeof side->why, "%s", why);
}

static const struct halo_link_ops ops = {.message = on_message, .closed = on_closed};

static int set_up(void **state)
{
    struct side *side = calloc(1, sizeof *side);
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
                     0);
    assert_int_equal(uv_loop_init(&side->loop), 0);
    side->other = ends[1];
    assert_int_equal(halo_link_create(&side->link, &side->loop, ends[0], &ops, side), 0);
    *state = side;
    return 0;
}

static int tear_down(void **state)
{
    struct side *side = *state;
    halo_link_destroy(side->link);
    uv_run(&side->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&side->loop), 0);
    if (side->other >= 0)
        close(side->other);
    free(side);
    return 0;
}

static void run(struct side *side)
{
    for (int i = 0; i < 20; i++)
        uv_run(&side->loop, UV_RUN_NOWAIT);
}

static void send_raw(struct side *side, const void *data, size_t size, const int *fds, int count)
{
    struct iovec part = {.iov_base = (void *)data, .iov_len = size};
    char room[CMSG_SPACE(sizeof(int) * 8)] = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = room;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
        memcpy(CMSG_DATA(head), fds, sizeof(int) * (size_t)count);
    }
    assert_int_equal(sendmsg(side->other, &message, MSG_NOSIGNAL), (ssize_t)size);
}

static int open_fds(void)
{
    int count = 0;
    for (int fd = 0; fd < 512; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void takes_messages_and_descriptors(void **state)
{
    struct side *side = *state;
    const int before = open_fds(), fds[] = {side->other, side->other};
    send_raw(side, "{\"n\": 1}", 8, NULL, 0);
    send_raw(side, "{\"n\": 2}", 8, fds, 2);
    run(side);
    assert_int_equal(side->messages, 2);
    assert_int_equal(side->fds, 2);
    assert_int_equal(side->last, 2);
    assert_int_equal(open_fds(), before);
}

static void closes_more_descriptors_than_two(void **state)
{
    struct side *side = *state;
    const int before = open_fds(), fds[] = {side->other, side->other, side->other, side->other};
    send_raw(side, "{\"n\": 1}", 8, fds, 4);
    run(side);
    assert_int_equal(side->messages, 0);
    assert_int_equal(side->closed, 1);
    assert_non_null(strstr(side->why, "too large"));
    assert_int_equal(open_fds(), before);
}

static void says_that_no_descriptors_are_left(void **state)
{
    struct side *side = *state;
    const int before = open_fds(), fds[] = {side->other, side->other};
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit few = {.rlim_cur = 3, .rlim_max = limit.rlim_max};
    send_raw(side, "{\"n\": 1}", 8, fds, 2);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    run(side);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(side->messages, 0);
    assert_int_equal(side->closed, 1);
    assert_non_null(strstr(side->why, "too many open files"));
    assert_int_equal(open_fds(), before);
}

static void breaks_at_what_is_no_message(void **state)
{
    static const char *const bad[] = {"", "{", "[]", "12", "null", "{\"a\":1,\"a\":2}", "\xff\xfe"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        void *one;
        set_up(&one);
        struct side *side = one;
        const int fd = side->other;
        send_raw(side, bad[i], strlen(bad[i]), &fd, strlen(bad[i]) > 0);
        send_raw(side, "{\"n\": 1}", 8, NULL, 0);
        run(side);
        assert_int_equal(side->messages, 0);
        assert_int_equal(side->closed, 1);
        assert_int_equal(halo_link_send(side->link, json_object(), NULL, 0), -EPIPE);
        tear_down(&one);
    }
}

static void breaks_at_one_that_is_too_large(void **state)
{
    struct side *side = *state;
    const size_t size = HALO_LINK_MAX + 1;
    char *text = malloc(size);
    memset(text, ' ', size);
    memcpy(text, "{}", 2);
    send_raw(side, text, size, NULL, 0);
    run(side);
    assert_int_equal(side->messages, 0);
    assert_int_equal(side->closed, 1);
    free(text);
}

static json_t *numbered(int64_t n, size_t padding)
{
    char *text = malloc(padding + 1);
    memset(text, 'x', padding);
    text[padding] = '\0';
    json_t *message = json_pack("{s:I, s:s}", "n", (json_int_t)n, "x", text);
    free(text);
    return message;
}

static void refuses_to_send_what_is_too_large(void **state)
{
    struct side *side = *state;
    assert_int_equal(halo_link_send(side->link, numbered(1, HALO_LINK_MAX), NULL, 0), -EMSGSIZE);
    assert_int_equal(halo_link_send(side->link, numbered(1, HALO_LINK_MAX - 100), NULL, 0), 0);
    assert_int_equal(halo_link_send(side->link, NULL, NULL, 0), -ENOMEM);
    run(side);
    assert_int_equal(side->closed, 0);
}

/* Reads what there is; returns the number of the last one, and checks the order. */
static int64_t read_all(struct side *side, int64_t last)
{
    static char text[HALO_LINK_MAX];
    for (;;) {
        const ssize_t n = recv(side->other, text, sizeof text, MSG_DONTWAIT);
        if (n <= 0)
            return last;
        json_t *message = json_loadb(text, (size_t)n, 0, NULL);
        assert_int_equal(halo_json_integer(message, "n", 0, INT64_MAX, -1), last + 1);
        json_decref(message);
        last++;
    }
}

static void keeps_what_the_socket_does_not_take(void **state)
{
    struct side *side = *state;
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    for (int i = 1; i <= 200; i++)
        assert_int_equal(halo_link_send(side->link, numbered(i, 8192), &pipe_ends[0], 1), 0);
    close(pipe_ends[0]); /* copies wait */
    close(pipe_ends[1]);
    int64_t last = 0;
    for (int i = 0; i < 100 && last < 200; i++) {
        last = read_all(side, last);
        run(side);
    }
    assert_int_equal(last, 200);
    assert_int_equal(side->closed, 0);
}

static void gives_up_on_one_that_does_not_read(void **state)
{
    struct side *side = *state;
    const int before = open_fds();
    int code = 0, sent = 0;
    while (code == 0 && sent < 100000)
        code = halo_link_send(side->link, numbered(++sent, 8192), &side->other, 1);
    assert_int_equal(code, -EPIPE);
    assert_in_range(sent, HALO_LINK_WAITING, HALO_LINK_WAITING + 200);
    assert_int_equal(side->closed, 0); /* not from within send */
    assert_int_equal(open_fds(), before);
    run(side);
    assert_int_equal(side->closed, 1);
    assert_string_equal(side->why, "the receiver is not reading its messages");
}

static void reports_that_the_other_side_is_gone(void **state)
{
    struct side *side = *state;
    send_raw(side, "{\"n\": 7}", 8, NULL, 0);
    close(side->other);
    side->other = -1;
    run(side);
    assert_int_equal(side->last, 7); /* last words are heard */
    assert_int_equal(side->closed, 1);
}

/* It died before it read what was sent to it. */
static void last_words_are_heard_of_one_that_has_not_read(void **state)
{
    struct side *side = *state;
    assert_int_equal(halo_link_send(side->link, json_object(), NULL, 0), 0);
    send_raw(side, "{\"n\": 7}", 8, NULL, 0);
    close(side->other);
    side->other = -1;
    run(side);
    assert_int_equal(side->last, 7);
    assert_int_equal(side->closed, 1);
}

/* The same, where they are asked for before the loop hears of the end. */
static void drained_of_one_that_has_not_read(void **state)
{
    struct side *side = *state;
    assert_int_equal(halo_link_send(side->link, json_object(), NULL, 0), 0);
    send_raw(side, "{\"n\": 7}", 8, NULL, 0);
    close(side->other);
    side->other = -1;
    halo_link_drain(side->link);
    assert_int_equal(side->last, 7);
    assert_int_equal(side->closed, 0);
}

static void last_words_are_heard_after_a_send_that_failed(void **state)
{
    struct side *side = *state;
    send_raw(side, "{\"n\": 7}", 8, NULL, 0);
    close(side->other);
    side->other = -1;
    for (int i = 0; i < 2; i++)
        assert_int_equal(halo_link_send(side->link, json_object(), NULL, 0), -EPIPE);
    assert_int_equal(side->closed, 0);
    run(side);
    assert_int_equal(side->last, 7);
    assert_int_equal(side->closed, 1);
}

static void may_be_destroyed_in_a_message(void **state)
{
    struct side *side = *state;
    side->leave = true;
    send_raw(side, "{\"n\": 1}", 8, NULL, 0);
    send_raw(side, "{\"n\": 2}", 8, NULL, 0);
    run(side);
    assert_int_equal(side->messages, 1);
    assert_int_equal(side->closed, 0);
}

static void stats_survive_the_way(void **state)
{
    (void)state;
    static struct halo_link_stats in, out;
    in = (struct halo_link_stats){.decoded = 5,
                                  .filtered = 4,
                                  .backend = "cpu",
                                  .camera = "absent",
                                  .capture = {.failures = 2,
                                              .missed = 7,
                                              .late = 3,
                                              .damaged = 1,
                                              .width = 1280,
                                              .height = 720,
                                              .format = "yuyv",
                                              .rate = 29.97},
                                  .width = 640,
                                  .rate = 24.5,
                                  .outputs = 2,
                                  .dropped = {3, 2}};
    in.stage[HALO_LIVE_TOTAL] = (struct halo_link_stage){.count = 4, .p50 = 1.5, .most = 9};
    for (int i = 7; i < HALO_HISTOGRAM_EDGES; i++)
        in.stage[HALO_LIVE_TOTAL].below[i] = i < 9 ? i - 6 : 4;
    in.output[1] = (struct halo_link_output){.state = 2, .why = "full", .bytes = INT64_MAX};
    json_t *text = halo_link_stats_write(&in);
    halo_link_stats_read(&out, text);
    assert_memory_equal(&in, &out, sizeof in);
    json_decref(text);
}

/* A histogram that falls, or counts more than there is, would be refused by who reads it. */
static void wrong_histograms_become_right_ones(void **state)
{
    static struct halo_link_stats out;
    static const int64_t wanted[] = {0, 3, 3, 3, 3, 9, 9};
    (void)state;
    json_t *bad = json_pack("{s:{s:{s:i, s:[i, i, i, s, i, i]}}}", "stages", "filter", "count", 9,
                            "below", -7, 3, 2, "x", -1, 88);
    halo_link_stats_read(&out, bad);
    for (int i = 0; i < HALO_HISTOGRAM_EDGES; i++)
        assert_int_equal(out.stage[HALO_LIVE_FILTER].below[i], wanted[i < 6 ? i : 6]);
    json_decref(bad);
}

static void stats_from_anybody_are_harmless(void **state)
{
    static struct halo_link_stats out;
    (void)state;
    json_t *bad =
        json_pack("{s:i, s:s, s:f, s:f, s:[i,s], s:s, s:{s:i}, s:i}", "decoded", -5, "filtered",
                  "x", "width", 3.5, "rate", -2.0, "outputs", 1, "y", "backend",
                  "a\x1b[2Jvery very long name of a backend", "dropped", "late", -1, "stages", 4);
    halo_link_stats_read(&out, bad);
    assert_int_equal(out.decoded, 0);
    assert_int_equal(out.filtered, 0);
    assert_int_equal(out.width, 0);
    assert_true(out.rate == 0);
    assert_int_equal(out.outputs, 2);
    assert_int_equal(out.dropped[0], 0);
    assert_null(strchr(out.backend, '\x1b'));
    json_decref(bad);
    halo_link_stats_read(&out, NULL);
    assert_int_equal(out.outputs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(takes_messages_and_descriptors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closes_more_descriptors_than_two, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_that_no_descriptors_are_left, set_up, tear_down),
        cmocka_unit_test(breaks_at_what_is_no_message),
        cmocka_unit_test_setup_teardown(breaks_at_one_that_is_too_large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_to_send_what_is_too_large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_what_the_socket_does_not_take, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gives_up_on_one_that_does_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reports_that_the_other_side_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(last_words_are_heard_of_one_that_has_not_read, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(drained_of_one_that_has_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(last_words_are_heard_after_a_send_that_failed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(may_be_destroyed_in_a_message, set_up, tear_down),
        cmocka_unit_test(stats_survive_the_way),
        cmocka_unit_test(wrong_histograms_become_right_ones),
        cmocka_unit_test(stats_from_anybody_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
