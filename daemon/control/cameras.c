/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/control/cameras.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/camera/camera.h"

struct search {
    uv_work_t work;
    json_t *list;
    int code;
    halo_reply *reply;
    void *arg;
};

static void add(json_t *list, const struct halo_camera_id *id)
{
    struct halo_camera_offer offer;
    struct halo_error err = {0};
    char input[HALO_CAMERA_INPUT];
    halo_camera_ask(&offer, id, &err);
    halo_camera_input(id, input, sizeof input);
    if (err.code || (offer.capture && !offer.loopback && offer.modes > 0))
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "path", id->node, "name", id->name,
                                              "input", input[0] ? input : id->node));
    halo_camera_offer_finish(&offer);
}

static void search(uv_work_t *work)
{
    struct search *search = work->data;
    struct halo_camera_id *ids = NULL;
    const int count = halo_camera_list(&ids);
    search->code = count < 0 ? count : 0;
    for (int i = 0; i < count; i++)
        add(search->list, &ids[i]);
    free(ids);
}

static void on_found(uv_work_t *work, int status)
{
    struct search *search = work->data;
    struct halo_error err = {0};
    (void)status;
    if (search->code < 0)
        halo_fail(&err, search->code, "cannot list /dev: %s", strerror(-search->code));
    search->reply(search->arg, search->code < 0 ? NULL : search->list,
                  search->code < 0 ? &err : NULL);
    json_decref(search->list);
    free(search);
}

int halo_cameras_find(uv_loop_t *loop, halo_reply *reply, void *arg)
{
    struct search *search_now = calloc(1, sizeof *search_now);
    if (!search_now)
        return -ENOMEM;
    search_now->work.data = search_now;
    search_now->list = json_array();
    search_now->reply = reply;
    search_now->arg = arg;
    if (search_now->list && uv_queue_work(loop, &search_now->work, search, on_found) == 0)
        return 0;
    json_decref(search_now->list);
    free(search_now);
    return -ENOMEM;
}
