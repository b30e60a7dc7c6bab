/* SPDX-License-Identifier: BSD-2-Clause
 * Controls of a live stream's camera. */
#include "pipeline/stream/live_controls.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/thread.h"
#include "pipeline/camera/camera.h"
#include "pipeline/stream/live.h"
#include "pipeline/stream/live_listener.h"
#include "pipeline/stream/live_stream.h"

enum { LIMIT = 16 }; /* controls that may wait */

struct control {
    uint64_t id; /* of the halo_live_control() that requested it */
    char name[68];
    int64_t value;
};

struct halo_live_controls {
    struct halo_mutex lock;
    struct control control[LIMIT];
    int count;
};

struct halo_live_controls *halo_live_controls_create(void)
{
    return av_mallocz(sizeof(struct halo_live_controls));
}

void halo_live_controls_destroy(struct halo_live_controls *c)
{
    av_free(c);
}

int halo_live_control(struct halo_live *live, uint64_t id, const char *name, int64_t value,
                      struct halo_error *err)
{
    struct halo_live_controls *c = live->controls;
    int code = 0;
    if (!live->camera)
        return halo_fail_usage(err, "control %.64s: the stream's input is not a camera", name);
    halo_lock(&c->lock);
    if (atomic_load(&live->done) || c->count == LIMIT) {
        code = halo_fail(err, -EBUSY, "too many changes are waiting: try again later");
    } else {
        struct control *control = &c->control[c->count++];
        control->id = id;
        control->value = value;
        snprintf(control->name, sizeof control->name, "%s", name);
    }
    halo_unlock(&c->lock);
    live->post(live, HALO_LIVE_ASKED, 0);
    return code;
}

/* Stores the value for later sessions, too. */
static void keep(struct halo_live *live, const struct control *control)
{
    struct halo_capture_settings *set = &live->settings.capture;
    char *all = halo_controls_put(set->controls, control->name, control->value);
    if (!all)
        return;
    free(set->controls);
    set->controls = all;
}

static bool next(struct halo_live_controls *c, struct control *ret)
{
    halo_lock(&c->lock);
    const bool some = c->count > 0;
    if (some) {
        *ret = c->control[0];
        memmove(c->control, c->control + 1, sizeof *c->control * (size_t)--c->count);
    }
    halo_unlock(&c->lock);
    return some;
}

void halo_live_controls_set(struct halo_live *live, struct halo_camera *camera)
{
    struct control control;
    while (next(live->controls, &control)) {
        struct halo_error err = {0};
        if (!camera || halo_camera_control(camera, control.name, control.value, &err) >= 0)
            keep(live, &control);
        halo_live_tell_set(live->listener, control.id, err.code ? &err : NULL);
    }
}
