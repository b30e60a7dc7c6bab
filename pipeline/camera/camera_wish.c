/* SPDX-License-Identifier: BSD-2-Clause
 * Parses inputs that describe a camera (camera_wish.h). */
#include "pipeline/camera/camera_wish.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/pipewire.h"
#include "config/option.h"

static const char WORDS[] = "v4l2:";

static const struct halo_option wishes[] = {
    {"serial", NULL, HALO_OPTION_STRING, offsetof(struct halo_camera_wish, serial),
     .help = "serial number of the USB device"},
    {"path", NULL, HALO_OPTION_STRING, offsetof(struct halo_camera_wish, path),
     .help = "the camera's port: a USB port such as 1-2.3, or udev's ID_PATH"},
    {"name", NULL, HALO_OPTION_STRING, offsetof(struct halo_camera_wish, name),
     .help = "part of the camera's name"},
    {"index", NULL, HALO_OPTION_INT, offsetof(struct halo_camera_wish, index), 0, 0, 255,
     .help = "number of the video node among all nodes of the camera"},
    {NULL},
};

bool halo_camera_wish_is(const char *input)
{
    return !strncmp(input, WORDS, strlen(WORDS));
}

/* Splits only before "word=", because ID_PATH contains colons itself. */
static char *next_word(char *text)
{
    for (char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
        const size_t length = strcspn(at + 1, "=:");
        if (at[1 + length] == '=' && length > 0)
            return at;
    }
    return NULL;
}

static int parse_word(struct halo_camera_wish *wish, const char *word, struct halo_error *err)
{
    const char *value = strchr(word, '=');
    const size_t length = value ? (size_t)(value - word) : strlen(word);
    const struct halo_option *row = halo_option_find(wishes, word, length);
    if (!row) {
        char near[HALO_NEAREST_WORDS];
        return halo_fail_usage(err, "%s has no key %.*s: use serial=, path=, name= or index=%s",
                               WORDS, (int)length, word,
                               halo_option_nearest_words(near, wishes, word, length));
    }
    if (!value || !value[1])
        return halo_fail_usage(err, "%s%s: its value is missing", WORDS, row->name);
    return halo_option_set(row, wish, value + 1, err);
}

int halo_camera_wish_parse(struct halo_camera_wish *wish, const char *input, struct halo_error *err)
{
    halo_options_init(wishes, wish);
    char *copy = strdup(input + strlen(WORDS)), *word = copy;
    int code = copy ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    while (word && code >= 0) {
        char *end = next_word(word);
        if (end)
            *end++ = 0;
        code = parse_word(wish, word, err);
        word = end;
    }
    free(copy);
    if (code >= 0 && !wish->serial && !wish->path && !wish->name)
        code =
            halo_fail_usage(err, "%s must identify a camera: use serial=, path= or name=", WORDS);
    return code;
}

void halo_camera_wish_finish(struct halo_camera_wish *wish)
{
    halo_options_finish(wishes, wish);
}

int halo_camera_check(const char *input, struct halo_error *err)
{
    struct halo_camera_wish wish;
    const char *name = halo_pipewire_name_of(input);
    if (name && !halo_pipewire_is_built())
        return halo_fail_usage(err, "%s: this halod was built without PipeWire", input);
    if (name && !*name)
        return halo_fail_usage(err, "%s: name the camera, as 'halod devices' lists it", input);
    if (!halo_camera_wish_is(input))
        return 0;
    const int code = halo_camera_wish_parse(&wish, input, err);
    halo_camera_wish_finish(&wish);
    return code;
}

/* ID_PATH ends with the port: "pci-0000:00:14.0-usb-0:2.3:1.0" is port 1-2.3, whatever the bus. */
static bool has_path(const struct halo_camera_id *id, const char *path)
{
    if (!strcmp(id->port, path))
        return true;
    const char *usb = strstr(path, "usb-"), *port = strchr(id->port, '-');
    const char *begin = usb ? strchr(usb, ':') : NULL;
    if (!begin || !port || !id->vendor[0])
        return false;
    const size_t length = strcspn(begin + 1, ":");
    return strlen(port + 1) == length && !strncmp(port + 1, begin + 1, length);
}

bool halo_camera_wish_fits(const struct halo_camera_wish *wish, const struct halo_camera_id *id)
{
    return id->index == wish->index && (!wish->serial || !strcmp(id->serial, wish->serial)) &&
           (!wish->path || has_path(id, wish->path)) &&
           (!wish->name || strcasestr(id->name, wish->name));
}
