/* SPDX-License-Identifier: BSD-2-Clause
 * The stand-in detector (detector.h): arguments, connections, and what the contract demands of
 * halod. */
#include "tests/standin/detector.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    CONTROL = 3, /* descriptor on which connections arrive */
    CONNECTIONS = 64,
    UNANSWERED = 2,
    LONGEST = 65536,
};

struct pending {
    struct detector_answer answer;
    const struct detector_fault *wrong; /* NULL: none */
    double due;                         /* seconds of the clock; INFINITY: never */
};

struct connection {
    int fd; /* -1: free */
    bool greeted;
    int stream_width, stream_height, width, height;
    long frames;
    int64_t last, judged; /* frame that came last, that was judged last */
    struct pending pending[UNANSWERED];
    int pendings;
};

static struct {
    struct detector_looker looker;
    struct detector_fault_plan plan;
    int width, height; /* 0: those of the stream */
    const char *format;
    int mask_width, mask_height;
    bool say;
} wish = {.looker = {.score = 0.9, .stay = 4}, .plan.chance = 1, .format = "rgb24"};
static struct connection connections[CONNECTIONS];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[500];
    va_list list;
    va_start(list, format);
    const int size = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    const size_t used = (size_t)size < sizeof line - 1 ? (size_t)size : sizeof line - 2;
    line[used] = '\n';
    if (write(STDERR_FILENO, line, used + 1) < 0)
        return;
}

/* What halod does against the contract is for a test to see. */
#define DEMAND(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            say("breach: " __VA_ARGS__);                                                           \
            _exit(DETECTOR_BREACH);                                                                \
        }                                                                                          \
    } while (0)

static int channels(void)
{
    return strcmp(wish.format, "gray8") ? 3 : 1;
}

/* ---- messages ---- */

static int clip(int size)
{
    return size < 16 ? 16 : size > 2048 ? 2048 : size;
}

static int integer(const json_t *message, const char *key)
{
    const json_t *value = json_object_get(message, key);
    DEMAND(json_is_integer(value), "%s is no integer", key);
    return (int)json_integer_value(value);
}

static void greet(struct connection *c, const json_t *message, int attached)
{
    char text[400], mask[60] = "";
    const char *find = json_string_value(json_object_get(message, "find"));
    const char *stream = json_string_value(json_object_get(message, "stream"));
    DEMAND(attached < 0, "hello with a descriptor");
    DEMAND(integer(message, "version") == 1, "another version");
    DEMAND(find && (!strcmp(find, "faces") || !strcmp(find, "people")), "find");
    DEMAND(stream, "no name of the stream");
    DEMAND(json_is_number(json_object_get(message, "rate")), "no rate");
    DEMAND(json_is_boolean(json_object_get(message, "live")), "not said whether it is live");
    c->stream_width = integer(message, "width");
    c->stream_height = integer(message, "height");
    DEMAND(c->stream_width > 0 && c->stream_height > 0, "size of the frames");
    c->width = wish.width ? wish.width : clip(c->stream_width);
    c->height = wish.height ? wish.height : clip(c->stream_height);
    c->greeted = true;
    if (wish.say)
        say("hello %dx%d %s %s", c->stream_width, c->stream_height, find, stream);
    if (wish.mask_width)
        snprintf(mask, sizeof mask, ", \"mask\": [%d, %d]", wish.mask_width, wish.mask_height);
    const int size =
        snprintf(text, sizeof text,
                 "{\"" DETECTOR_TYPE "\": \"ready\", \"name\": \"stand-in\", \"width\": %d, "
                 "\"height\": %d, \"format\": \"%s\", \"answers\": \"%s\"%s}",
                 c->width, c->height, wish.format, *mask ? "mask" : "boxes", mask);
    detector_send(c->fd, text, (size_t)size, -1);
}

static const uint8_t *map_frame(const struct connection *c, int fd, size_t size)
{
    struct stat st;
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    DEMAND(fd >= 0, "frame without a descriptor");
    DEMAND(!fstat(fd, &st) && st.st_size == (off_t)size,
           "frame of %lld bytes, and not %zu of %dx%d", (long long)st.st_size, size, c->width,
           c->height);
    DEMAND((fcntl(fd, F_GET_SEALS) & seals) == seals, "frame that is not sealed");
    const uint8_t *ret = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    DEMAND(ret != MAP_FAILED, "frame cannot be mapped: %s", strerror(errno));
    return ret;
}

static void read_inside(struct detector_frame *f, const json_t *message)
{
    const json_t *inside = json_object_get(message, "inside");
    DEMAND(json_array_size(inside) == 4, "inside");
    for (size_t i = 0; i < 4; i++)
        f->inside[i] = (int)json_integer_value(json_array_get(inside, i));
    DEMAND(f->inside[0] >= 0 && f->inside[1] >= 0 && f->inside[2] > 0 && f->inside[3] > 0 &&
               f->inside[0] + f->inside[2] <= f->width && f->inside[1] + f->inside[3] <= f->height,
           "inside [%d, %d, %d, %d] of %dx%d", f->inside[0], f->inside[1], f->inside[2],
           f->inside[3], f->width, f->height);
}

static void take_frame(struct connection *c, const json_t *message, int attached)
{
    const size_t size = (size_t)c->width * (size_t)c->height * (size_t)channels();
    struct detector_frame f = {
        .width = c->width,
        .height = c->height,
        .channels = channels(),
        .blue_first = wish.format[0] == 'b',
        .stream_width = c->stream_width,
        .stream_height = c->stream_height,
        .n = json_integer_value(json_object_get(message, "n")),
        .time = json_integer_value(json_object_get(message, "time")),
    };
    DEMAND(c->greeted, "frame before hello");
    DEMAND(json_is_integer(json_object_get(message, "time")), "no time");
    DEMAND(f.n > c->last, "frame %lld after %lld", (long long)f.n, (long long)c->last);
    DEMAND(c->pendings < UNANSWERED, "frame %lld while two are unanswered", (long long)f.n);
    read_inside(&f, message);
    f.data = map_frame(c, attached, size);
    struct pending *p = &c->pending[c->pendings++];
    p->answer = (struct detector_answer){
        .fd = c->fd, .n = f.n, .mask_width = wish.mask_width, .mask_height = wish.mask_height};
    p->answer.count = detector_find(&wish.looker, &f, p->answer.box);
    munmap((void *)f.data, size);
    c->last = f.n;
    if (wish.say)
        say("frame %lld", (long long)f.n);
    p->due = now() + detector_fault_plan_next(&wish.plan, ++c->frames, &p->wrong);
}

/* ---- connections ---- */

static void end(struct connection *c)
{
    if (c->fd >= 0)
        close(c->fd);
    *c = (struct connection){.fd = -1};
}

/* Returns the bytes of a packet, 0 at the end, and -1 if there is none now. */
static ssize_t receive(int fd, char *text, size_t size, int *ret_attached)
{
    union {
        char room[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {text, size};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    *ret_attached = -1;
    const ssize_t ret = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (ret < 0)
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    DEMAND(!(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)), "packet that is too long");
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c) {
        DEMAND(c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)),
               "more than one descriptor");
        memcpy(ret_attached, CMSG_DATA(c), sizeof(int));
    }
    return ret;
}

static void accept_connection(void)
{
    char kind[8];
    int fd;
    const ssize_t size = receive(CONTROL, kind, sizeof kind, &fd);
    if (size == 0)
        exit(0);
    if (size < 0)
        return;
    DEMAND(size == 1 && kind[0] == 'S' && fd >= 0, "another packet than S with a descriptor");
    for (int i = 0; i < CONNECTIONS; i++)
        if (connections[i].fd < 0) {
            connections[i].fd = fd;
            return;
        }
    close(fd);
}

static void listen_to(struct connection *c)
{
    static char text[LONGEST];
    int attached;
    const ssize_t size = receive(c->fd, text, sizeof text, &attached);
    if (size == 0)
        end(c);
    if (size <= 0)
        return;
    json_t *message = json_loadb(text, (size_t)size, 0, NULL);
    DEMAND(json_is_object(message), "packet that is no object");
    const char *type = json_string_value(json_object_get(message, DETECTOR_TYPE));
    DEMAND(type, "message without a type");
    if (!strcmp(type, "hello"))
        greet(c, message, attached);
    else if (!strcmp(type, "frame"))
        take_frame(c, message, attached);
    else
        DEMAND(false, "message of type %s", type);
    json_decref(message);
    if (attached >= 0)
        close(attached);
}

/* Judges the oldest frame if it is due. */
static void judge(struct connection *c)
{
    struct pending p = c->pending[0];
    c->pending[0] = c->pending[1];
    c->pendings--;
    p.answer.before = c->judged;
    c->judged = p.answer.n;
    if (wish.say)
        say("verdict %lld %d", (long long)p.answer.n, p.answer.count);
    if (!p.wrong) {
        detector_send_verdict(&p.answer);
        return;
    }
    detector_fault_send(p.wrong, &p.answer, &wish.plan);
    if (p.answer.fd < 0) {
        c->fd = -1;
        end(c);
    }
}

static double judge_all(void)
{
    double next = INFINITY;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &connections[i];
        while (c->fd >= 0 && c->pendings && c->pending[0].due <= now())
            judge(c);
        if (c->fd >= 0 && c->pendings)
            next = fmin(next, c->pending[0].due);
    }
    return next;
}

static void serve(void)
{
    for (;;) {
        const double next = judge_all();
        const double left = (next - now()) * 1000;
        struct pollfd fds[CONNECTIONS + 1] = {{.fd = CONTROL, .events = POLLIN}};
        for (int i = 0; i < CONNECTIONS; i++)
            fds[i + 1] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
        const int timeout = isinf(next) ? -1 : left > 0 ? (int)fmin(ceil(left), 60000) : 0;
        if (poll(fds, CONNECTIONS + 1, timeout) < 0)
            continue;
        for (int i = 0; i < CONNECTIONS; i++)
            if (fds[i + 1].revents && connections[i].fd >= 0)
                listen_to(&connections[i]);
        if (fds[0].revents)
            accept_connection();
    }
}

/* ---- arguments ---- */

__attribute__((noreturn)) static void refuse(const char *what)
{
    fprintf(stderr, "standin-detector: %s: not understood\n", what);
    exit(64);
}

static void read_size(const char *text, int *width, int *height)
{
    if (sscanf(text, "%dx%d", width, height) != 2)
        refuse(text);
}

static void read_look(const char *text)
{
    static const char *const names[] = {"mark", "spot", "none", "all", "rows"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (!strcmp(text, names[i])) {
            wish.looker.look = (enum detector_look)i;
            return;
        }
    refuse(text);
}

static void read_box(const char *text)
{
    struct detector_box b = {.score = wish.looker.score};
    if (wish.looker.always_count == DETECTOR_BOXES ||
        sscanf(text, "%lf,%lf,%lf,%lf,%lf", &b.x, &b.y, &b.width, &b.height, &b.score) < 4)
        refuse(text);
    wish.looker.always[wish.looker.always_count++] = b;
}

static const struct option options[] = {
    {"look", 1, NULL, 'l'}, {"rows", 1, NULL, 'r'}, {"within", 1, NULL, 'w'},
    {"box", 1, NULL, 'b'},  {"stay", 1, NULL, 't'}, {"score", 1, NULL, 's'},
    {"size", 1, NULL, 'S'}, {"mask", 1, NULL, 'm'}, {"format", 1, NULL, 'f'},
    {"do", 1, NULL, 'd'},   {"seed", 1, NULL, 'e'}, {"say", 0, NULL, 'v'},
    {NULL, 0, NULL, 0},
};

static void read_option(int c)
{
    struct detector_looker *l = &wish.looker;
    switch (c) {
    case 'l':
        read_look(optarg);
        break;
    case 'r':
        detector_read_rows(l, optarg);
        break;
    case 'w':
        l->within = atoll(optarg);
        break;
    case 'b':
        read_box(optarg);
        break;
    case 't':
        l->stay = (unsigned)(atoi(optarg) > 0 ? atoi(optarg) : 1);
        break;
    case 's':
        l->score = atof(optarg);
        break;
    case 'S':
        read_size(optarg, &wish.width, &wish.height);
        break;
    case 'm':
        read_size(optarg, &wish.mask_width, &wish.mask_height);
        break;
    case 'f':
        wish.format = optarg;
        break;
    case 'd':
        if (wish.plan.count == DETECTOR_FAULTS)
            refuse("--do");
        detector_fault_read(&wish.plan.fault[wish.plan.count++], optarg);
        break;
    case 'e':
        wish.plan.chance = strtoull(optarg, NULL, 10);
        break;
    case 'v':
        wish.say = true;
        break;
    default:
        exit(64);
    }
}

int main(int argc, char **argv)
{
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
        read_option(c);
    if (argc != optind && strcmp(argv[optind], "faces") && strcmp(argv[optind], "people"))
        refuse(argv[optind]); /* it may be called as halo-detect is */
    for (int i = 0; i < CONNECTIONS; i++)
        connections[i].fd = -1;
    serve();
}
