/* SPDX-License-Identifier: BSD-2-Clause
 * How the stand-in detector misbehaves (detector.h). */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/standin/detector.h"

enum what {
    /* When it judges, and whether. */
    SLOW,
    SILENT,
    /* What becomes of the process; the frame is not judged. */
    EXIT,
    CRASH,
    STOP,
    SPIN,
    CLOSE,
    /* Verdicts that are wrong, but keep to the contract. */
    BLIND,
    ELSEWHERE,
    /* Verdicts that break it. */
    EARLY,
    TWICE,
    OLD,
    GARBAGE,
    EMPTY,
    UNKNOWN,
    HUGE_PACKET,
    FLOOD,
    NOT_A_NUMBER,
    FAR,
    SCORE,
    NEGATIVE,
    MANY,
    ATTACHED,
    UNSEALED,
    SHORT,
    NO_MASK,
    WHATS
};

static const struct {
    const char *name;
    double value; /* if none is given */
} kinds[WHATS] = {
    [SLOW] = {"slow", 0.05},      /* withholds the verdict for VALUE seconds */
    [SILENT] = {"silent", 0},     /* judges neither this frame nor any other on this connection */
    [EXIT] = {"exit", 1},         /* exits with status VALUE */
    [CRASH] = {"crash", SIGSEGV}, /* dies by signal VALUE */
    [STOP] = {"stop", 0},         /* stops, as by SIGSTOP */
    [SPIN] = {"spin", 1},         /* computes for VALUE seconds, and answers nothing meanwhile */
    [CLOSE] = {"close", 0},       /* closes the connection */
    [BLIND] = {"blind", 0},       /* finds nothing */
    [ELSEWHERE] = {"elsewhere", 0.3}, /* shifts all boxes by VALUE, relative to the frame */
    [EARLY] = {"early", 1},           /* judges the frame VALUE later, which was not sent */
    [TWICE] = {"twice", 0},           /* judges the frame twice */
    [OLD] = {"old", 0},               /* judges the frame before again, or 0 */
    [GARBAGE] = {"garbage", 100},     /* sends VALUE random bytes */
    [EMPTY] = {"empty", 0},           /* sends an empty object */
    [UNKNOWN] = {"unknown", 0},       /* sends a message of an unknown type */
    [HUGE_PACKET] = {"huge", 65537},  /* sends a valid verdict of VALUE bytes */
    [FLOOD] = {"flood", 1000},        /* sends VALUE verdicts about this frame */
    [NOT_A_NUMBER] = {"nan", 0},      /* the word NaN in a box, or 1e999 by turns */
    [FAR] = {"far", 6},               /* a box at VALUE */
    [SCORE] = {"score", 1.5},         /* a box with score VALUE */
    [NEGATIVE] = {"negative", -0.5},  /* a box VALUE wide */
    [MANY] = {"many", 65},            /* VALUE boxes */
    [ATTACHED] = {"attached", 0},     /* boxes, with a descriptor that does not belong there */
    [UNSEALED] = {"unsealed", 0},     /* a mask without seals */
    [SHORT] = {"short", 0},           /* a mask one row shorter, sealed */
    [NO_MASK] = {"no-mask", 0},       /* a mask without a descriptor */
};

static void refuse(const char *text)
{
    fprintf(stderr, "standin-detector: --do %s: not understood\n", text);
    exit(64);
}

static void read_when(struct detector_fault *f, const char *when, const char *text)
{
    char *end;
    const long from = strtol(when, &end, 10);
    if (from < 1 || end == when)
        refuse(text);
    if (*end == '/') {
        f->one_in = strtol(end + 1, &end, 10);
        if (from != 1 || f->one_in < 1 || *end)
            refuse(text);
        return;
    }
    f->from = from;
    f->to = *end == '+' ? f->to : from;
    if (strcmp(end, "+") != 0 && *end)
        refuse(text);
}

void detector_fault_read(struct detector_fault *ret, const char *text)
{
    const size_t name = strcspn(text, "=@");
    *ret = (struct detector_fault){.what = -1, .from = 1, .to = INT64_MAX};
    for (int i = 0; i < WHATS; i++)
        if (strlen(kinds[i].name) == name && !strncmp(kinds[i].name, text, name))
            ret->what = i, ret->value = kinds[i].value;
    if (ret->what < 0)
        refuse(text);
    char *at = (char *)text + name;
    if (*at == '=')
        ret->value = strtod(at + 1, &at);
    if (*at == '@')
        read_when(ret, at + 1, text);
    else if (*at)
        refuse(text);
}

static void spin(double seconds)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) <
           seconds);
}

/* What concerns the process happens at once. */
static void happen(const struct detector_fault *f)
{
    switch ((enum what)f->what) {
    case EXIT:
        _exit((int)f->value);
    case CRASH:
        signal((int)f->value, SIG_DFL);
        raise((int)f->value);
        break;
    case STOP:
        raise(SIGSTOP);
        break;
    case SPIN:
        spin(f->value);
        break;
    default:
        break;
    }
}

double detector_fault_plan_next(struct detector_fault_plan *plan, long count,
                                const struct detector_fault **wrong)
{
    double ret = 0;
    *wrong = NULL;
    for (int i = 0; i < plan->count; i++) {
        const struct detector_fault *f = &plan->fault[i];
        const bool by_chance = !f->one_in || detector_chance(&plan->chance) * (double)f->one_in < 1;
        if (count < f->from || count > f->to || !by_chance)
            continue;
        happen(f);
        if (f->what == SLOW)
            ret = fmax(ret, f->value);
        else if (f->what == SILENT)
            ret = INFINITY;
        else if (f->what >= CLOSE)
            *wrong = f;
    }
    return ret;
}

static void send_text(struct detector_answer *a, const char *text)
{
    detector_send(a->fd, text, strlen(text), -1);
}

static void send_boxes(struct detector_answer *a, int64_t n, int count, int attached)
{
    char text[8192];
    struct detector_box box[DETECTOR_BOXES + 1];
    for (int i = 0; i < count; i++)
        box[i] = i < a->count ? a->box[i] : (struct detector_box){0.4, 0.4, 0.1, 0.1, 0.9};
    const int size = detector_write_verdict(text, sizeof text, n, box, count);
    detector_send(a->fd, text, (size_t)size, attached);
}

static void send_garbage(struct detector_answer *a, size_t size, struct detector_fault_plan *plan)
{
    uint8_t *bytes = malloc(size + 1);
    for (size_t i = 0; bytes && i < size; i++)
        bytes[i] = (uint8_t)(detector_chance(&plan->chance) * 256);
    detector_send(a->fd, bytes, size, -1);
    free(bytes);
}

/* A valid verdict, but for its length. */
static void send_huge(struct detector_answer *a, size_t size)
{
    char *text = malloc(size + 8192);
    if (!text)
        abort();
    const int used = detector_write_verdict(text, 8192, a->n, a->box, a->count);
    if ((size_t)used < size)
        memset(text + used, ' ', size - (size_t)used);
    detector_send(a->fd, text, size, -1);
    free(text);
}

static void send_mask(struct detector_answer *a, enum what what)
{
    char text[100];
    struct detector_answer like = *a;
    like.mask_width = a->mask_width ? a->mask_width : 256;
    like.mask_height = (a->mask_height ? a->mask_height : 144) - (what == SHORT);
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    snprintf(text, sizeof text, "{\"" DETECTOR_TYPE "\": \"verdict\", \"n\": %lld}",
             (long long)a->n);
    detector_send(a->fd, text, strlen(text),
                  what == NO_MASK ? -1 : detector_make_mask(&like, what == UNSEALED ? 0 : seals));
}

static void send_box(struct detector_answer *a, struct detector_box box)
{
    a->box[0] = box;
    a->count = a->count ? a->count : 1;
    send_boxes(a, a->n, a->count, -1);
}

static void send_nan(struct detector_answer *a)
{
    char text[200];
    snprintf(text, sizeof text,
             "{\"" DETECTOR_TYPE
             "\": \"verdict\", \"n\": %lld, \"boxes\": [[0.1, %s, 0.1, 0.1, 1]]}",
             (long long)a->n, a->n % 2 ? "NaN" : "1e999");
    send_text(a, text);
}

static void send_wrong(struct detector_answer *a, const struct detector_fault *f)
{
    if (f->what == BLIND)
        a->count = 0;
    for (int i = 0; f->what == ELSEWHERE && i < a->count; i++) {
        a->box[i].x += a->box[i].x > 0.5 ? -f->value : f->value;
        a->box[i].y += a->box[i].y > 0.5 ? -f->value : f->value;
    }
    detector_send_verdict(a);
}

static void send_again(struct detector_answer *a, const struct detector_fault *f)
{
    const long times = f->what == FLOOD ? (long)f->value : f->what == TWICE ? 2 : 1;
    struct detector_answer other = *a;
    if (f->what == EARLY)
        other.n += (int64_t)f->value;
    else if (f->what == OLD)
        other.n = a->before;
    for (long i = 0; i < times; i++)
        detector_send_verdict(&other);
}

void detector_fault_send(const struct detector_fault *f, struct detector_answer *a,
                         struct detector_fault_plan *plan)
{
    switch ((enum what)f->what) {
    case BLIND:
    case ELSEWHERE:
        send_wrong(a, f);
        break;
    case EARLY:
    case TWICE:
    case OLD:
    case FLOOD:
        send_again(a, f);
        break;
    case GARBAGE:
        send_garbage(a, (size_t)f->value, plan);
        break;
    case EMPTY:
        send_text(a, "{}");
        break;
    case UNKNOWN:
        send_text(a, "{\"" DETECTOR_TYPE "\": \"opinion\", \"n\": 1, \"boxes\": []}");
        break;
    case HUGE_PACKET:
        send_huge(a, (size_t)f->value);
        break;
    case NOT_A_NUMBER:
        send_nan(a);
        break;
    case FAR:
        send_box(a, (struct detector_box){f->value, 0.1, 0.1, 0.1, 0.9});
        break;
    case SCORE:
        send_box(a, (struct detector_box){0.1, 0.1, 0.1, 0.1, f->value});
        break;
    case NEGATIVE:
        send_box(a, (struct detector_box){0.1, 0.1, f->value, 0.1, 0.9});
        break;
    case MANY:
        send_boxes(a, a->n, DETECTOR_BOXES + 1, -1);
        break;
    case ATTACHED:
        send_boxes(a, a->n, a->count, memfd_create("surplus", MFD_CLOEXEC));
        break;
    case UNSEALED:
    case SHORT:
    case NO_MASK:
        send_mask(a, (enum what)f->what);
        break;
    case CLOSE:
        close(a->fd);
        a->fd = -1;
        break;
    default:
        break;
    }
}
