/* SPDX-License-Identifier: BSD-2-Clause
 * Finds cameras by their identity (camera_find.h), from sysfs. */
#include "pipeline/camera/camera_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/error.h"
#include "config/option.h"
#include "config/pipewire.h"
#include "pipeline/camera/camera_pipewire.h"
#include "pipeline/camera/watch.h"
#include "pipeline/pipewire/socket.h"

/* ---- what is wished ---- */

/* The description of a camera in an input such as "v4l2:serial=S:index=1". */
struct camera_wish {
    char *serial, *path, *name; /* NULL: any */
    int index;
};

static const char WORDS[] = "v4l2:";

static const struct halo_option wishes[] = {
    {"serial", NULL, HALO_OPTION_STRING, offsetof(struct camera_wish, serial),
     .help = "serial number of the USB device"},
    {"path", NULL, HALO_OPTION_STRING, offsetof(struct camera_wish, path),
     .help = "the camera's port: a USB port such as 1-2.3, or udev's ID_PATH"},
    {"name", NULL, HALO_OPTION_STRING, offsetof(struct camera_wish, name),
     .help = "part of the camera's name"},
    {"index", NULL, HALO_OPTION_INT, offsetof(struct camera_wish, index), 0, 0, 255,
     .help = "number of the video node among all nodes of the camera"},
    {NULL},
};

/* Returns whether input begins with "v4l2:" and therefore describes a camera. */
static bool wish_is(const char *input)
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

static int parse_word(struct camera_wish *wish, const char *word, struct halo_error *err)
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

/* Parses an input that begins with "v4l2:". Returns 0, a usage error or -ENOMEM; call
 * wish_finish() in any case. */
static int wish_parse(struct camera_wish *wish, const char *input, struct halo_error *err)
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

static void wish_finish(struct camera_wish *wish)
{
    halo_options_finish(wishes, wish);
}

int halo_camera_check(const char *input, struct halo_error *err)
{
    struct camera_wish wish;
    const char *name = halo_pipewire_name_of(input);
    if (name && !halo_pipewire_is_built())
        return halo_fail_usage(err, "%s: this halod was built without PipeWire", input);
    if (name && !*name)
        return halo_fail_usage(err, "%s: name the camera, as 'halod devices' lists it", input);
    if (!wish_is(input))
        return 0;
    const int code = wish_parse(&wish, input, err);
    wish_finish(&wish);
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

static bool wish_fits(const struct camera_wish *wish, const struct halo_camera_id *id)
{
    return id->index == wish->index && (!wish->serial || !strcmp(id->serial, wish->serial)) &&
           (!wish->path || has_path(id, wish->path)) &&
           (!wish->name || strcasestr(id->name, wish->name));
}

/* ---- cameras ---- */

enum { MAX_NODES = 256 };

static const char CLASS[] = "/sys/class/video4linux";

/* ---- what a node is ---- */

/* The first line of folder/name; "" if it cannot be read. */
static void read_line(const char *folder, const char *name, char *ret, size_t size)
{
    char path[PATH_MAX];
    ret[0] = 0;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    const ssize_t n = read(fd, ret, size - 1);
    close(fd);
    ret[n > 0 ? n : 0] = 0;
    ret[strcspn(ret, "\n")] = 0;
    halo_sanitise(ret);
}

/* The last component of the target of the link folder/name. */
static void read_link_name(const char *folder, const char *name, char *ret, size_t size)
{
    char path[PATH_MAX], target[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return;
    const ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0)
        return;
    target[n] = 0;
    const char *slash = strrchr(target, '/');
    snprintf(ret, size, "%.*s", (int)size - 1, slash ? slash + 1 : target);
    halo_sanitise(ret);
}

/* Goes up from the interface to the USB device, which has idVendor. */
static void read_usb(char *folder, struct halo_camera_id *id)
{
    for (int up = 0; up < 3; up++) {
        read_line(folder, "idVendor", id->vendor, sizeof id->vendor);
        char *slash = strrchr(folder, '/');
        if (id->vendor[0]) {
            read_line(folder, "idProduct", id->product, sizeof id->product);
            read_line(folder, "serial", id->serial, sizeof id->serial);
            snprintf(id->port, sizeof id->port, "%.*s", HALO_DEVICE_TEXT - 1,
                     slash ? slash + 1 : folder);
            return;
        }
        if (!slash || slash == folder)
            return;
        *slash = 0;
    }
}

/* number: that of /dev/videoN. False: no such node exists. */
static bool identify(struct halo_camera_id *ret, int number)
{
    char folder[PATH_MAX], device[PATH_MAX], index[16];
    *ret = (struct halo_camera_id){.index = 0};
    snprintf(ret->node, sizeof ret->node, "/dev/video%d", number);
    if (access(ret->node, F_OK) != 0)
        return false;
    snprintf(folder, sizeof folder, "%s/video%d", CLASS, number);
    read_line(folder, "name", ret->name, sizeof ret->name);
    read_line(folder, "index", index, sizeof index);
    ret->index = (int)strtol(index, NULL, 10);
    snprintf(device, sizeof device, "%s/video%d/device", CLASS, number);
    read_link_name(device, "driver", ret->driver, sizeof ret->driver);
    read_link_name(folder, "device", ret->port, sizeof ret->port);
    if (realpath(device, folder))
        read_usb(folder, ret);
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Lists the numbers of all nodes, sorted; returns their count, or -errno. */
static int list_numbers(int *ret, int most)
{
    DIR *dir = opendir("/dev");
    const struct dirent *entry;
    int count = 0, length;
    if (!dir)
        return -errno;
    while ((entry = readdir(dir)) && count < most)
        if (sscanf(entry->d_name, "video%9d%n", &ret[count], &length) == 1 &&
            !entry->d_name[length] && ret[count] >= 0)
            count++;
    closedir(dir);
    qsort(ret, (size_t)count, sizeof *ret, compare_numbers);
    return count;
}

int halo_camera_list(struct halo_camera_id **ret)
{
    int number[MAX_NODES], count = 0;
    const int numbers = list_numbers(number, MAX_NODES);
    if (numbers < 0)
        return numbers;
    struct halo_camera_id *list = calloc((size_t)numbers + 1, sizeof *list);
    if (!list)
        return -ENOMEM;
    for (int i = 0; i < numbers; i++)
        count += identify(&list[count], number[i]);
    *ret = list;
    return count;
}

/* ---- the same one ---- */

/* Whether both are the same node of devices of the same make, with the same serial number, if
 * any. */
static bool is_alike(const struct halo_camera_id *id, const struct halo_camera_id *known)
{
    return id->index == known->index && !strcmp(id->vendor, known->vendor) &&
           !strcmp(id->product, known->product) && !strcmp(id->name, known->name) &&
           !strcmp(id->serial, known->serial);
}

static bool is_at_port(const struct halo_camera_id *id, const struct halo_camera_id *known)
{
    return known->port[0] ? !strcmp(id->port, known->port) : !strcmp(id->node, known->node);
}

/* Whether it is the same camera: identified by its serial number, otherwise by its port; a device
 * without a port, by its number. */
static bool is_same(const struct halo_camera_id *id, const struct halo_camera_id *known)
{
    return is_alike(id, known) && ((known->serial[0] && !known->twin) || is_at_port(id, known));
}

bool halo_camera_is_still(const struct halo_camera_id *id)
{
    struct halo_camera_id now;
    int number;
    return sscanf(id->node, "/dev/video%9d", &number) == 1 && identify(&now, number) &&
           is_alike(&now, id) && is_at_port(&now, id);
}

/* ---- finding ---- */

static int fail_absent(const char *input, struct halo_error *err)
{
    return halo_fail(err, -ENODEV, "%s: no camera found; run 'halod devices' to list the cameras",
                     input);
}

/* Finds the node to which the path leads. */
static int find_path(struct halo_camera_id *ret, const char *input, struct halo_error *err)
{
    char target[PATH_MAX];
    int number, length;
    if (!realpath(input, target))
        return fail_absent(input, err);
    const char *slash = strrchr(target, '/');
    if (sscanf(slash + 1, "video%9d%n", &number, &length) == 1 && !slash[1 + length] &&
        identify(ret, number))
        return 0;
    return fail_absent(input, err);
}

static int find_wish(struct halo_camera_id *ret, const char *input,
                     const struct halo_camera_id *list, int count, struct halo_error *err)
{
    struct camera_wish wish;
    const struct halo_camera_id *found = NULL;
    int code = wish_parse(&wish, input, err);
    for (int i = 0; i < count && code >= 0; i++) {
        if (!wish_fits(&wish, &list[i]))
            continue;
        if (found)
            code = halo_fail(err, -EEXIST,
                             "%s: matches %s and %s: be more specific, for example with path=%s",
                             input, found->node, list[i].node, found->port);
        found = &list[i];
    }
    wish_finish(&wish);
    if (code >= 0 && !found)
        code = fail_absent(input, err);
    if (code >= 0)
        *ret = *found;
    return code;
}

/* How similar they are, in case several match; 0: another camera. */
static int likeness(const struct halo_camera_id *id, const struct halo_camera_id *known)
{
    return is_same(id, known) ? 1 + 2 * is_at_port(id, known) + !strcmp(id->node, known->node) : 0;
}

/* Finds a camera with the identity of `known`; here: only at the same port. */
static bool find_known(struct halo_camera_id *ret, const struct halo_camera_id *known, bool here,
                       const struct halo_camera_id *list, int count)
{
    int best = here ? 2 : 0;
    const struct halo_camera_id *found = NULL;
    for (int i = 0; i < count; i++)
        if (likeness(&list[i], known) > best) {
            best = likeness(&list[i], known);
            found = &list[i];
        }
    if (found)
        *ret = *found;
    return found != NULL;
}

/* Follows the link, if its target can be the camera it led to before: links are updated late, and
 * may lead to another device that got the number meanwhile. A port may get another camera, an id
 * another port. */
static bool find_link(struct halo_camera_id *ret, const char *input,
                      const struct halo_camera_id *known, bool here)
{
    struct halo_camera_id id;
    if (find_path(&id, input, NULL) < 0)
        return false;
    const bool fits = here ? id.index == known->index && is_at_port(&id, known)
                           : is_alike(&id, known) && (!known->twin || is_at_port(&id, known));
    if (fits)
        *ret = id;
    return fits;
}

/* A number means the camera that had it first, wherever that is now. A link means its target; if
 * the link is late or missing, the camera it led to before. */
static int find_node(struct halo_camera_id *ret, const char *input,
                     const struct halo_camera_id *known, const struct halo_camera_id *list,
                     int count, struct halo_error *err)
{
    const bool link = !strncmp(input, "/dev/v4l/", 9);
    const bool here = strstr(input, "/by-path/") != NULL;
    if (!known)
        return find_path(ret, input, err);
    if (link && find_link(ret, input, known, here))
        return 0;
    if (find_known(ret, known, here, list, count))
        return 0;
    return halo_fail(err, -ENODEV,
                     "%s: no camera: %s is not connected; run 'halod devices' to list the cameras",
                     input, known->name[0] ? known->name : "the camera that was used before");
}

static bool has_twin(const struct halo_camera_id *id, const struct halo_camera_id *list, int count)
{
    for (int i = 0; i < count; i++)
        if (is_alike(&list[i], id) && strcmp(list[i].node, id->node) != 0)
            return true;
    return false;
}

int halo_camera_find(struct halo_camera_id *ret, const char *input,
                     const struct halo_camera_id *known, struct halo_error *err)
{
    struct halo_camera_id *list = NULL;
    if (halo_pipewire_name_of(input))
        return halo_camera_pipewire_find(ret, input, known, err);
    const int count = halo_camera_list(&list);
    if (count < 0)
        return halo_fail(err, count, "%s: /dev cannot be listed: %s", input, strerror(-count));
    const int code = wish_is(input) ? find_wish(ret, input, list, count, err)
                                    : find_node(ret, input, known, list, count, err);
    if (code >= 0)
        ret->twin = (known && known->twin && is_same(ret, known)) || has_twin(ret, list, count);
    free(list);
    return code;
}

/* The folder of the PipeWire server's socket, or of devices. */
int halo_camera_watch(const char *input)
{
    struct halo_error ignored = {0};
    char *path = halo_pipewire_name_of(input) ? halo_pipewire_socket(&ignored) : NULL;
    if (path)
        *strrchr(path, '/') = 0;
    const int ret = halo_watch(path ? path : "/dev");
    free(path);
    return ret;
}

bool halo_camera_watch_drain(int watch)
{
    static const char *const names[] = {"video", "v4l", "pipewire-", NULL};
    return halo_watch_drain(watch, names);
}

void halo_camera_input(const struct halo_camera_id *id, char *ret, size_t size)
{
    char index[20] = "";
    if (halo_camera_pipewire_is(id)) {
        snprintf(ret, size, "%s", id->node);
        return;
    }
    if (id->index > 0)
        snprintf(index, sizeof index, ":index=%d", id->index);
    if (id->serial[0])
        snprintf(ret, size, "v4l2:serial=%s%s", id->serial, index);
    else if (id->port[0])
        snprintf(ret, size, "v4l2:path=%s%s", id->port, index);
    else
        ret[0] = 0;
}
