/* SPDX-License-Identifier: BSD-2-Clause
 * The messages between halod and a detector (detect_wire.h). */
#include "pipeline/detect/detect_wire.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEPTH = 8, /* of lists and objects within each other; the contract needs 3 */
    BOX_NUMBERS = 5
};

/* ---- from halod ---- */

/* Takes the caller's reference to message. */
static char *write_message(json_t *message)
{
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    return text;
}

char *halo_detect_hello_write(const struct halo_detect_hello *hello)
{
    return write_message(json_pack("{s:s, s:i, s:s, s:s, s:i, s:i, s:f, s:b}", "type", "hello",
                                   "version", HALO_DETECT_VERSION, "stream", hello->stream, "find",
                                   halo_find_names[hello->find], "width", hello->width, "height",
                                   hello->height, "rate", hello->rate, "live", hello->live));
}

char *halo_detect_sent_write(const struct halo_detect_sent *sent)
{
    const int *in = sent->inside;
    return write_message(json_pack("{s:s, s:I, s:I, s:[i, i, i, i]}", "type", "frame", "n",
                                   (json_int_t)sent->n, "time", (json_int_t)sent->time_us, "inside",
                                   in[0], in[1], in[2], in[3]));
}

/* ---- from a detector ---- */

/* The parser calls itself for each list and object, so the depth is limited before. Text within
 * quotes does not count. */
static bool is_deep(const char *text, size_t size)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && (text[i] == '[' || text[i] == '{') && ++depth > MAX_DEPTH)
            return true;
        else if (!quoted && (text[i] == ']' || text[i] == '}'))
            depth--;
    }
    return false;
}

static bool read_whole(const json_t *from, json_int_t least, json_int_t most, json_int_t *ret)
{
    if (!json_is_integer(from))
        return false;
    const json_int_t value = json_integer_value(from);
    if (value < least || value > most)
        return false;
    *ret = value;
    return true;
}

static int read_side(const json_t *from, const char *what, int most, int *ret,
                     struct halo_error *err)
{
    json_int_t value;
    if (!read_whole(from, HALO_DETECT_MIN_SIDE, most, &value))
        return halo_fail(err, -EPROTO, "sent a message \"ready\" whose %s is not from %d to %d",
                         what, HALO_DETECT_MIN_SIDE, most);
    *ret = (int)value;
    return 0;
}

static int read_format(const json_t *from, enum AVPixelFormat *ret, struct halo_error *err)
{
    static const struct {
        const char *name;
        enum AVPixelFormat format;
    } formats[] = {
        {"rgb24", AV_PIX_FMT_RGB24},
        {"bgr24", AV_PIX_FMT_BGR24},
        {"gray8", AV_PIX_FMT_GRAY8},
    };
    const char *name = json_string_value(from);
    for (size_t i = 0; name && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(name, formats[i].name) == 0) {
            *ret = formats[i].format;
            return 0;
        }
    return halo_fail(err, -EPROTO,
                     "sent a message \"ready\" whose format is not rgb24, bgr24 or gray8");
}

static int read_answers(struct halo_detect_ready *ret, const json_t *message,
                        struct halo_error *err)
{
    const char *answers = json_string_value(json_object_get(message, "answers"));
    const json_t *mask = json_object_get(message, "mask");
    if (answers && strcmp(answers, "boxes") == 0 && !mask)
        return 0;
    if (!answers || strcmp(answers, "mask") != 0 || json_array_size(mask) != 2)
        return halo_fail(err, -EPROTO,
                         "sent a message \"ready\" with neither \"answers\": \"boxes\" nor "
                         "\"answers\": \"mask\" and \"mask\": [width, height]");
    ret->mask = true;
    const int code = read_side(json_array_get(mask, 0), "mask's width", HALO_DETECT_MAX_MASK_SIDE,
                               &ret->mask_width, err);
    return code < 0 ? code
                    : read_side(json_array_get(mask, 1), "mask's height", HALO_DETECT_MAX_MASK_SIDE,
                                &ret->mask_height, err);
}

static int read_ready(struct halo_detect_ready *ret, const json_t *message, struct halo_error *err)
{
    const char *name = json_string_value(json_object_get(message, "name"));
    if (!name || !*name)
        return halo_fail(err, -EPROTO, "sent a message \"ready\" without a name");
    snprintf(ret->name, sizeof ret->name, "%s", name);
    halo_sanitise(ret->name);
    int code = read_side(json_object_get(message, "width"), "width", HALO_DETECT_MAX_SIDE,
                         &ret->width, err);
    if (code == 0)
        code = read_side(json_object_get(message, "height"), "height", HALO_DETECT_MAX_SIDE,
                         &ret->height, err);
    if (code == 0)
        code = read_format(json_object_get(message, "format"), &ret->format, err);
    return code == 0 ? read_answers(ret, message, err) : code;
}

/* Also refuses what is not a number; JSON has none that is not finite. */
static bool read_number(const json_t *list, size_t index, double least, double most, float *ret)
{
    const json_t *from = json_array_get(list, index);
    const double value = json_number_value(from);
    if (!json_is_number(from) || !(value >= least && value <= most))
        return false;
    *ret = (float)value;
    return true;
}

static bool read_box(struct halo_detect_box *ret, const json_t *box)
{
    return json_array_size(box) == BOX_NUMBERS && read_number(box, 0, -4, 5, &ret->x) &&
           read_number(box, 1, -4, 5, &ret->y) && read_number(box, 2, 0, 5, &ret->width) &&
           read_number(box, 3, 0, 5, &ret->height) && read_number(box, 4, 0, 1, &ret->score);
}

static int read_verdict(struct halo_detect_verdict *ret, const json_t *message,
                        struct halo_error *err)
{
    json_int_t n;
    if (!read_whole(json_object_get(message, "n"), 1, INT64_MAX, &n))
        return halo_fail(err, -EPROTO, "sent a verdict without a frame's number");
    ret->n = n;
    const json_t *boxes = json_object_get(message, "boxes");
    ret->boxed = boxes != NULL;
    if (!boxes)
        return 0;
    if (!json_is_array(boxes))
        return halo_fail(err, -EPROTO, "sent a verdict whose boxes are not a list");
    const size_t count = json_array_size(boxes);
    if (count > HALO_DETECT_MAX_BOXES)
        return halo_fail(err, -EPROTO, "sent a verdict with %zu boxes (at most %d are allowed)",
                         count, HALO_DETECT_MAX_BOXES);
    for (size_t i = 0; i < count; i++)
        if (!read_box(&ret->box[i], json_array_get(boxes, i)))
            return halo_fail(err, -EPROTO,
                             "sent a verdict whose boxes[%zu] is not [x, y, width, height, score] "
                             "with numbers in their ranges",
                             i);
    ret->count = (int)count;
    return 0;
}

static int read_object(struct halo_detect_message *ret, const json_t *message,
                       struct halo_error *err)
{
    const char *type = json_string_value(json_object_get(message, "type"));
    if (type && strcmp(type, "ready") == 0) {
        ret->kind = HALO_DETECT_READY;
        return read_ready(&ret->ready, message, err);
    }
    if (type && strcmp(type, "verdict") == 0) {
        ret->kind = HALO_DETECT_VERDICT;
        return read_verdict(&ret->verdict, message, err);
    }
    return halo_fail(err, -EPROTO, "sent a message of an unknown type");
}

int halo_detect_message_read(struct halo_detect_message *ret, const char *text, size_t size,
                             struct halo_error *err)
{
    json_error_t why;
    struct halo_detect_message read = {0};
    if (size > HALO_DETECT_MESSAGE_MAX)
        return halo_fail(err, -EPROTO, "sent a message that is longer than %d bytes",
                         HALO_DETECT_MESSAGE_MAX);
    if (is_deep(text, size))
        return halo_fail(err, -EPROTO, "sent a malformed message: lists are nested too deeply");
    json_t *message = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!message && json_error_code(&why) == json_error_out_of_memory)
        return halo_fail(err, -ENOMEM, "sent a message for which there is no memory");
    const int code = json_is_object(message)
                         ? read_object(&read, message, err)
                         : halo_fail(err, -EPROTO, "sent a malformed message: not a JSON object");
    json_decref(message);
    if (code == 0)
        *ret = read;
    return code;
}

size_t halo_detect_ready_bytes(const struct halo_detect_ready *ready)
{
    const size_t pixel = ready->format == AV_PIX_FMT_GRAY8 ? 1 : 3;
    return (size_t)ready->width * (size_t)ready->height * pixel;
}
