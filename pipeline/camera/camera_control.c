/* SPDX-License-Identifier: BSD-2-Clause
 * A camera's controls, by the names that v4l2-ctl gives them. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "config/option.h"
#include "pipeline/camera/camera_private.h"

enum { MAX_SKIPPED = 256, NAME = 33 };

void halo_camera_control_name(const char *name, char *ret, size_t size)
{
    size_t length = 0;
    bool gap = false;
    for (; *name && length + 2 < size; name++) {
        if (!isalnum((unsigned char)*name)) {
            gap = length > 0;
            continue;
        }
        if (gap)
            ret[length++] = '_';
        gap = false;
        ret[length++] = (char)tolower((unsigned char)*name);
    }
    ret[length] = 0;
}

int halo_camera_next_control(int fd, struct v4l2_queryctrl *q)
{
    for (int i = 0; i < MAX_SKIPPED; i++) {
        q->id |= V4L2_CTRL_FLAG_NEXT_CTRL;
        const int code = halo_v4l2_call(fd, VIDIOC_QUERYCTRL, q);
        if (code < 0)
            return code == -ENOTTY ? -EINVAL : code;
        q->name[sizeof q->name - 1] = 0;
        if (!(q->flags & V4L2_CTRL_FLAG_DISABLED) && q->type != V4L2_CTRL_TYPE_CTRL_CLASS)
            return 0;
    }
    return -EINVAL;
}

/* Finds a control by its name. -EINVAL: there is no such control; names (count of them) are all
 * that exist. */
static int find(int fd, const char *name, struct v4l2_queryctrl *ret, char names[][NAME],
                size_t *ret_count)
{
    int code = 0;
    *ret = (struct v4l2_queryctrl){.id = 0};
    *ret_count = 0;
    while (*ret_count < HALO_CAMERA_CONTROLS && (code = halo_camera_next_control(fd, ret)) == 0) {
        halo_camera_control_name((const char *)ret->name, names[*ret_count], NAME);
        if (!strcmp(names[(*ret_count)++], name))
            return 0;
    }
    return code < 0 ? code : -EINVAL;
}

static int fail_unknown(const struct halo_camera *c, const char *name, char names[][NAME],
                        size_t count, struct halo_error *err)
{
    const char *candidates[HALO_CAMERA_CONTROLS];
    for (size_t i = 0; i < count; i++)
        candidates[i] = names[i];
    char near[HALO_NEAREST_WORDS];
    return halo_fail(err, -EINVAL,
                     "%s has no control %.64s%s: run 'halod devices' to list its controls",
                     c->id.node, name, halo_nearest_words(near, name, candidates, count));
}

int halo_camera_control(struct halo_camera *c, const char *name, int64_t value,
                        struct halo_error *err)
{
    char names[HALO_CAMERA_CONTROLS][NAME];
    size_t count;
    struct v4l2_queryctrl q;
    int code = find(c->fd, name, &q, names, &count);
    if (code == -EINVAL)
        return fail_unknown(c, name, names, count, err);
    if (code < 0)
        return halo_fail(err, code, "%s: control %.64s: %s", c->id.node, name, strerror(-code));
    if (value < q.minimum || value > q.maximum)
        return halo_fail(err, -ERANGE,
                         "%s: control %.64s cannot be %" PRId64 ": must be from %d to %d",
                         c->id.node, name, value, q.minimum, q.maximum);
    struct v4l2_control set = {.id = q.id, .value = (int)value};
    code = halo_v4l2_call(c->fd, VIDIOC_S_CTRL, &set);
    if (code < 0)
        return halo_fail(err, code, "%s: control %.64s cannot be set to %" PRId64 " now: %s",
                         c->id.node, name, value, strerror(-code));
    return 0;
}

int halo_camera_set_all(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    char name[68];
    int64_t value;
    for (const char *at = c->settings->controls;
         halo_controls_next(&at, name, sizeof name, &value);) {
        struct halo_error err = {0};
        const int code = halo_camera_control(c, name, value, &err);
        if (code < 0 && halo_v4l2_judge(HALO_V4L2_S_CTRL, -code) != HALO_V4L2_FINE)
            return halo_camera_fail(c, fault, HALO_V4L2_S_CTRL, code);
        if (code < 0)
            halo_log(HALO_LOG_WARNING, "%s", err.text);
    }
    return 0;
}
