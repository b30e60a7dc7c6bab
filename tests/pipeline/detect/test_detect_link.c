/* SPDX-License-Identifier: BSD-2-Clause
 * The connection with a detector: each rule of docs/detectors.md, broken once. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pipeline/detect/detect_link.h"
#include "tests/cmocka_all.h"

#define SECOND INT64_C(1000000000)
#define START  (1000 * SECOND)
#define BOXES                                                                                      \
    "{\"type\":\"ready\",\"name\":\"d\",\"width\":32,\"height\":16,\"format\":\"gray8\","          \
    "\"answers\":\"boxes\"}"
#define MASKS                                                                                      \
    "{\"type\":\"ready\",\"name\":\"d\",\"width\":32,\"height\":16,\"format\":\"rgb24\","          \
    "\"answers\":\"mask\",\"mask\":[16,18]}"
#define NOTHING(n) "{\"type\":\"verdict\",\"n\":" n ",\"boxes\":[]}"
#define BOX(list)  "{\"type\":\"verdict\",\"n\":1,\"boxes\":[" list "]}"
#define MASK(n)    "{\"type\":\"verdict\",\"n\":" n "}"

enum { MASK_BYTES = 16 * 18, SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL };

static struct halo_detect_hello hello = {"door", HALO_FIND_FACES, 640, 360, 25, true};
static struct halo_detect_link *link_;
static int other; /* the detector's end */
static struct halo_detect_answer answer;
static struct halo_error err;

static int open_fds(void)
{
    int count = 0;
    for (int fd = 0; fd < 64; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void say_bytes(const void *text, size_t size, const int *fds, int count)
{
    struct iovec part = {(void *)text, size};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int) * 16)];
    } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.room;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
        memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * (size_t)count);
    }
    assert_int_equal(sendmsg(other, &message, 0), size);
}

static void say(const char *text)
{
    say_bytes(text, strlen(text), NULL, 0);
}

static int read_at(int64_t now)
{
    err = (struct halo_error){0};
    return halo_detect_link_read(link_, now, &answer, &err);
}

static void expect(int code, const char *words)
{
    const int is = read_at(START);
    if (is != code || !strstr(err.text, words))
        fail_msg("%d \"%s\" instead of %d \"%s\"", is, err.text, code, words);
}

static void begin(const char *ready, int frames)
{
    int ends[2];
    char text[1024];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    other = ends[1];
    assert_int_equal(halo_detect_link_create(&link_, ends[0], &hello, START), 0);
    const ssize_t n = recv(other, text, sizeof text - 1, 0);
    assert_true(n > 0);
    text[n] = '\0';
    assert_non_null(strstr(text, "\"hello\""));
    assert_non_null(strstr(text, "\"faces\""));
    assert_null(halo_detect_link_ready(link_));
    if (!ready)
        return;
    say(ready);
    assert_int_equal(read_at(START), 0);
    assert_non_null(halo_detect_link_ready(link_));
    for (int i = 1; i <= frames; i++) {
        const struct halo_detect_sent sent = {.n = i, .time_us = i, .inside = {0, 0, 32, 16}};
        assert_int_equal(halo_detect_link_send(link_, &sent, 0, START + i * SECOND), 0);
    }
}

static void end(void)
{
    halo_detect_link_destroy(link_);
    close(other);
}

/* ---- messages ---- */

static void test_malformed(void **state)
{
    static const char *const wrong[] = {
        "x",
        "[]",
        "7",
        "{",
        "{}",
        "{\"type\":7}",
        "{\"type\":\"hello\"}",
        "{\"type\":\"verdict\",\"type\":\"verdict\",\"n\":1,\"boxes\":[]}",
        NOTHING("0"),
        NOTHING("-1"),
        NOTHING("1.0"),
        NOTHING("\"1\""),
        NOTHING("1e0"),
        NOTHING("99999999999999999999"),
        NOTHING("null"),
        NOTHING("2"),
        "{\"type\":\"verdict\",\"boxes\":[]}",
        "{\"type\":\"verdict\",\"n\":1}",
        "{\"type\":\"verdict\",\"n\":1,\"boxes\":{}}",
        "{\"type\":\"verdict\",\"n\":1,\"boxes\":null}",
        BOX("7"),
        BOX("[]"),
        BOX("[0,0,1,1]"),
        BOX("[0,0,1,1,1,1]"),
        BOX("[0,0,1,1,\"1\"]"),
        BOX("[0,0,1,1,true]"),
        BOX("[-4.1,0,1,1,1]"),
        BOX("[5.1,0,1,1,1]"),
        BOX("[0,-5,1,1,1]"),
        BOX("[0,0,-0.1,1,1]"),
        BOX("[0,0,1,-1e-9,1]"),
        BOX("[0,0,6,1,1]"),
        BOX("[0,0,1,1e300,1]"),
        BOX("[0,0,1,1,1.1]"),
        BOX("[0,0,1,1,-0.1]"),
        BOX("[1e999,0,1,1,1]"),
        BOX("[NaN,0,1,1,1]"),
        BOX("[Infinity,0,1,1,1]"),
        BOX("[[0],0,1,1,1]"),
        BOX("[0,0,1,1,1],[0,0,1,1,2]"),
        BOX("[[[[[[[[[[[[]]]]]]]]]]]]"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        begin(BOXES, 1);
        say(wrong[i]);
        if (read_at(START) != -EPROTO)
            fail_msg("%s is accepted", wrong[i]);
        assert_memory_equal(err.text, "the detector ", 13);
        end();
    }
}

static void test_not_ready(void **state)
{
    static const char *const fields[] = {
        "\"width\":32,\"height\":16,\"format\":\"gray8\",\"answers\":\"boxes\"",
        "\"name\":\"\",\"width\":32,\"height\":16,\"format\":\"gray8\",\"answers\":\"boxes\"",
        "\"name\":\"d\",\"width\":15,\"height\":16,\"format\":\"gray8\",\"answers\":\"boxes\"",
        "\"name\":\"d\",\"width\":2049,\"height\":16,\"format\":\"gray8\",\"answers\":\"boxes\"",
        "\"name\":\"d\",\"width\":32,\"height\":16.0,\"format\":\"gray8\",\"answers\":\"boxes\"",
        "\"name\":\"d\",\"width\":32,\"height\":16,\"format\":\"nv12\",\"answers\":\"boxes\"",
        "\"name\":\"d\",\"width\":32,\"height\":16,\"format\":\"gray8\",\"answers\":\"words\"",
        "\"name\":\"d\",\"width\":32,\"height\":16,\"format\":\"gray8\",\"answers\":\"mask\"",
        "\"name\":\"d\",\"width\":32,\"height\":16,\"format\":\"gray8\",\"answers\":\"boxes\","
        "\"mask\":[16,16]",
        "\"name\":\"d\",\"width\":32,\"height\":16,\"format\":\"gray8\",\"answers\":\"mask\","
        "\"mask\":[16,1025]",
        "\"name\":\"d\",\"width\":32,\"height\":16,\"format\":\"gray8\",\"answers\":\"mask\","
        "\"mask\":[16]",
    };
    char text[512];
    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        begin(NULL, 0);
        snprintf(text, sizeof text, "{\"type\":\"ready\",%s}", fields[i]);
        say(text);
        if (read_at(START) != -EPROTO)
            fail_msg("%s is accepted", text);
        assert_null(halo_detect_link_ready(link_));
        end();
    }
}

static void test_large(void **state)
{
    static char text[HALO_DETECT_MESSAGE_MAX + 2];
    (void)state;
    begin(BOXES, 1); /* as long as allowed */
    memset(text, ' ', sizeof text);
    memcpy(text, NOTHING("1"), strlen(NOTHING("1")));
    say_bytes(text, HALO_DETECT_MESSAGE_MAX, NULL, 0);
    assert_int_equal(read_at(START), 1);
    end();
    begin(BOXES, 1);
    say_bytes(text, HALO_DETECT_MESSAGE_MAX + 1, NULL, 0);
    expect(-EPROTO, "longer than 65536");
    end();
    for (int count = 64; count <= 65; count++) {
        int at = snprintf(text, sizeof text, "{\"type\":\"verdict\",\"n\":1,\"boxes\":[");
        for (int i = 0; i < count; i++)
            at += sprintf(text + at, "%s[%d,-4,0,5,0.5]", i ? "," : "", i % 6);
        memcpy(text + at, "]}", 3);
        begin(BOXES, 1);
        say(text);
        assert_int_equal(read_at(START), count == 64 ? 1 : -EPROTO);
        if (count == 64) {
            assert_int_equal(answer.count, 64);
            assert_true(answer.box[5].x == 5 && answer.box[63].y == -4);
        }
        end();
    }
}

/* ---- order ---- */

static void test_order(void **state)
{
    (void)state;
    const struct halo_detect_sent third = {.n = 9}, same = {.n = 2};
    begin(BOXES, 2);
    assert_int_equal(halo_detect_link_send(link_, &third, 0, START), -EBUSY);
    say(NOTHING("1"));
    assert_int_equal(read_at(START), 1);
    assert_int_equal(answer.n, 1);
    assert_null(answer.mask);
    assert_int_equal(read_at(START), 0);
    assert_int_equal(halo_detect_link_send(link_, &same, 0, START), -EINVAL);
    assert_int_equal(halo_detect_link_send(link_, &third, 0, START), 0);
    say(NOTHING("2"));
    say(NOTHING("9"));
    assert_int_equal(read_at(START), 1);
    assert_int_equal(read_at(START), 1);
    assert_int_equal(halo_detect_link_unanswered(link_), 0);
    say(NOTHING("9"));
    expect(-EPROTO, "frame 9, which was not sent to it or was already answered");
    end();
    begin(BOXES, 2);
    say(NOTHING("2"));
    expect(-EPROTO, "frame 2 before frame 1");
    end();
    begin(BOXES, 0);
    say(BOXES);
    expect(-EPROTO, "does not answer");
    end();
    begin(NULL, 0);
    assert_int_equal(halo_detect_link_send(link_, &third, 0, START), -EAGAIN);
    say(NOTHING("1"));
    expect(-EPROTO, "was not sent");
    end();
}

/* Frames that were sent before a hello are answered as was agreed then. */
static void test_hello_again(void **state)
{
    const struct halo_detect_sent sent = {.n = 5};
    (void)state;
    begin(BOXES, 1);
    assert_int_equal(halo_detect_link_hello(link_, &hello, START), 0);
    assert_int_equal(halo_detect_link_hello(link_, &hello, START), 0);
    assert_int_equal(halo_detect_link_send(link_, &sent, 0, START), -EAGAIN);
    say(MASKS); /* answers the first hello, after which the second is sent */
    assert_int_equal(read_at(START), 0);
    assert_null(halo_detect_link_ready(link_));
    say(MASKS);
    say(NOTHING("1"));
    assert_int_equal(read_at(START), 1);
    assert_true(halo_detect_link_ready(link_)->mask);
    assert_int_equal(halo_detect_link_send(link_, &sent, 0, START), 0);
    say(NOTHING("5"));
    expect(-EPROTO, "announced masks");
    end();
}

/* ---- descriptors ---- */

static int make_mask(size_t size, int seals)
{
    const int fd = memfd_create("mask", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(write(fd, &(uint8_t){(uint8_t)i}, 1), 1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static void refuse_mask(int fd, const char *words)
{
    begin(MASKS, 1);
    say_bytes(MASK("1"), strlen(MASK("1")), &fd, 1);
    expect(-EPROTO, words);
    end();
    close(fd);
}

static void test_masks(void **state)
{
    const int before = open_fds();
    int pair[2];
    (void)state;
    begin(MASKS, 1);
    int fd = make_mask(MASK_BYTES, SEALS);
    say_bytes(MASK("1"), strlen(MASK("1")), &fd, 1);
    close(fd);
    assert_int_equal(read_at(START), 1);
    assert_int_equal(answer.mask_width, 16);
    assert_int_equal(answer.mask_height, 18);
    for (int i = 0; i < MASK_BYTES; i++)
        assert_int_equal(answer.mask[i], (uint8_t)i);
    end();
    refuse_mask(make_mask(MASK_BYTES - 1, SEALS), "another size");
    refuse_mask(make_mask(MASK_BYTES + 1, SEALS), "another size");
    for (int seal = F_SEAL_SEAL; seal <= F_SEAL_WRITE; seal *= 2)
        refuse_mask(make_mask(MASK_BYTES, SEALS & ~seal), "not sealed");
    assert_int_equal(pipe(pair), 0);
    close(pair[1]);
    refuse_mask(pair[0], "not a memory file");
    refuse_mask(open("/dev/zero", O_RDONLY), "not a memory file");
    assert_int_equal(open_fds(), before);
}

/* Descriptors that do not belong to a message are refused and closed. */
static void test_descriptors(void **state)
{
    static const struct {
        const char *ready, *text;
        int fds;
    } cases[] = {
        {NULL, BOXES, 1},         {NULL, MASKS, 4},          {BOXES, NOTHING("1"), 1},
        {BOXES, NOTHING("1"), 4}, {BOXES, NOTHING("1"), 16}, {MASKS, MASK("1"), 0},
        {MASKS, MASK("1"), 2},    {MASKS, MASK("1"), 16},    {MASKS, NOTHING("1"), 1},
        {MASKS, "x", 3},
    };
    const int before = open_fds();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fds[16];
        begin(cases[i].ready, 1);
        fds[0] = make_mask(MASK_BYTES, SEALS);
        for (int k = 1; k < 16; k++)
            fds[k] = fds[0];
        say_bytes(cases[i].text, strlen(cases[i].text), fds, cases[i].fds);
        close(fds[0]);
        assert_int_equal(read_at(START), -EPROTO);
        end();
        assert_int_equal(open_fds(), before);
    }
}

/* ---- time, and the end ---- */

static void test_deadlines(void **state)
{
    (void)state;
    begin(NULL, 0);
    assert_int_equal(halo_detect_link_deadline(link_), START + 30 * SECOND);
    assert_int_equal(read_at(START + 30 * SECOND - 1), 0);
    assert_int_equal(read_at(START + 30 * SECOND), -ETIMEDOUT);
    assert_non_null(strstr(err.text, "not ready within 30 s"));
    end();
    begin(BOXES, 2); /* sent at 1 s and at 2 s */
    assert_int_equal(halo_detect_link_deadline(link_), START + 11 * SECOND);
    assert_int_equal(read_at(START + 11 * SECOND - 1), 0);
    say(NOTHING("1")); /* has arrived before this process looked */
    assert_int_equal(read_at(START + 20 * SECOND), 1);
    assert_int_equal(halo_detect_link_deadline(link_), START + 12 * SECOND);
    assert_int_equal(read_at(START + 12 * SECOND), -ETIMEDOUT);
    assert_non_null(strstr(err.text, "frame 2 within 10 s"));
    end();
    begin(BOXES, 0);
    assert_true(halo_detect_link_deadline(link_) == INT64_MAX);
    end();
    hello.live = false;
    begin(BOXES, 1);
    hello.live = true;
    assert_int_equal(halo_detect_link_deadline(link_), START + 301 * SECOND);
    assert_int_equal(read_at(START + 301 * SECOND - 1), 0);
    assert_int_equal(read_at(START + 1000 * SECOND), 0); /* this process was stopped */
    assert_int_equal(halo_detect_link_deadline(link_), START + 1300 * SECOND);
    assert_int_equal(read_at(START + 1300 * SECOND), -ETIMEDOUT);
    assert_non_null(strstr(err.text, "frame 1 within 300 s"));
    end();
}

static void test_closed(void **state)
{
    const struct halo_detect_sent sent = {.n = 7};
    (void)state;
    begin(BOXES, 1); /* it closes without having read the frame; its last verdict still counts */
    say(NOTHING("1"));
    close(other);
    assert_int_equal(halo_detect_link_send(link_, &sent, 0, START), -EPIPE);
    assert_int_equal(read_at(START), 1);
    expect(-EPIPE, "closed the connection");
    other = -1;
    halo_detect_link_destroy(link_);
    halo_detect_link_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed),   cmocka_unit_test(test_not_ready),
        cmocka_unit_test(test_large),       cmocka_unit_test(test_order),
        cmocka_unit_test(test_hello_again), cmocka_unit_test(test_masks),
        cmocka_unit_test(test_descriptors), cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
