/* SPDX-License-Identifier: BSD-2-Clause
 * halod devices: the cameras of this machine, and how they are named in settings. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/cli/commands.h"
#include "pipeline/camera/camera.h"
#include "pipeline/camera/camera_pipewire.h"

static const char *kind_of(const struct halo_camera_offer *offer)
{
    return offer->loopback  ? "loopback"
           : offer->ours    ? "halod"
           : offer->capture ? "camera"
           : offer->output  ? "output"
                            : "other";
}

/* ---- for people ---- */

static void print_modes(const struct halo_camera_offer *offer)
{
    for (int i = 0; i < offer->modes; i++) {
        const struct halo_camera_offered_mode *m = &offer->mode[i];
        if (i == 0 || m->format != m[-1].format)
            printf("%s  %-6s", i ? "\n" : "", m->format->name);
        printf(" %dx%d", m->width, m->height);
        if (m->rate > 0)
            printf("@%.4g", m->rate);
    }
    if (offer->modes > 0)
        putchar('\n');
    else if (offer->capture)
        puts("  no supported format");
}

static void print_one(const struct halo_camera_offer *offer, const struct halo_error *err)
{
    const struct halo_camera_id *id = &offer->id;
    char name[HALO_CAMERA_INPUT];
    halo_camera_input(id, name, sizeof name);
    printf("%s: %s (%s%s%s)\n", id->node, id->name[0] ? id->name : "unnamed",
           err->code ? "?" : kind_of(offer), id->driver[0] ? ", " : "", id->driver);
    if (name[0])
        printf("  input: %s\n", name);
    if (err->code)
        printf("  %s\n", halo_v4l2_states[offer->trouble].words);
    else if (offer->hidden)
        puts("  portals do not show it to programs, because its media.role is not Camera");
    else if (offer->ours)
        puts("  programs see it as a camera; its frames are filtered");
    print_modes(offer);
    for (int i = 0; i < offer->controls; i++) {
        const struct halo_camera_control_offer *c = &offer->control[i];
        printf("%s%s %" PRId64 " (%" PRId64 "..%" PRId64 ")", i ? ", " : "  controls: ", c->name,
               c->value, c->least, c->most);
    }
    if (offer->controls > 0)
        putchar('\n');
}

/* ---- for programs ---- */

static json_t *modes_of(const struct halo_camera_offer *offer)
{
    json_t *list = json_array();
    for (int i = 0; i < offer->modes; i++)
        json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:f}", "format",
                                              offer->mode[i].format->name, "width",
                                              offer->mode[i].width, "height", offer->mode[i].height,
                                              "fps", offer->mode[i].rate));
    return list;
}

static json_t *controls_of(const struct halo_camera_offer *offer)
{
    json_t *list = json_array();
    for (int i = 0; i < offer->controls; i++) {
        const struct halo_camera_control_offer *c = &offer->control[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:I, s:I, s:I}", "name", c->name, "min",
                                        (json_int_t)c->least, "max", (json_int_t)c->most, "step",
                                        (json_int_t)c->step, "value", (json_int_t)c->value));
    }
    return list;
}

static json_t *one_as_json(const struct halo_camera_offer *offer, const struct halo_error *err)
{
    const struct halo_camera_id *id = &offer->id;
    char name[HALO_CAMERA_INPUT];
    halo_camera_input(id, name, sizeof name);
    json_t *one = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s}", "node", id->node,
                            "name", id->name, "kind", err->code ? "" : kind_of(offer), "driver",
                            id->driver, "serial", id->serial, "port", id->port, "usb", id->vendor,
                            "index", id->index, "input", name[0] ? name : id->node, "trouble",
                            err->code ? halo_v4l2_states[offer->trouble].name : "");
    if (id->vendor[0]) {
        char usb[12];
        snprintf(usb, sizeof usb, "%s:%s", id->vendor, id->product);
        json_object_set_new(one, "usb", json_string(usb));
    }
    json_object_set_new(one, "hidden", json_boolean(offer->hidden));
    json_object_set_new(one, "modes", modes_of(offer));
    json_object_set_new(one, "controls", controls_of(offer));
    return one;
}

/* ---- the command ---- */

static void describe(const struct halo_camera_id *id, json_t *list)
{
    struct halo_camera_offer offer;
    struct halo_error err = {0};
    halo_camera_ask(&offer, id, &err);
    if (list)
        json_array_append_new(list, one_as_json(&offer, &err));
    else
        print_one(&offer, &err);
    halo_camera_offer_finish(&offer);
}

/* Describes devices, then nodes of PipeWire, which may be missing. Returns their number, or -errno
 * if /dev cannot be listed. */
static int describe_all(json_t *list)
{
    struct halo_camera_id *ids = NULL, *nodes = NULL;
    struct halo_error ignored = {0};
    const int count = halo_camera_list(&ids);
    if (count < 0)
        return count;
    const int more = halo_camera_pipewire_list(&nodes, &ignored);
    for (int i = 0; i < count; i++)
        describe(&ids[i], list);
    for (int i = 0; i < more; i++)
        describe(&nodes[i], list);
    free(ids);
    free(nodes);
    return count + (more > 0 ? more : 0);
}

int halo_command_devices(int argc, char **argv)
{
    const bool as_json = argc == 1 && !strcmp(argv[0], "--json");
    if (argc > as_json) {
        halo_log(HALO_LOG_ERROR, "'devices' accepts only --json, got '%s'", argv[as_json]);
        return HALO_EXIT_USAGE;
    }
    json_t *list = as_json ? json_array() : NULL;
    const int count = describe_all(list);
    if (count < 0) {
        halo_log(HALO_LOG_ERROR, "cannot list /dev: %s", strerror(-count));
        json_decref(list);
        return HALO_EXIT_FAILED;
    }
    if (list) {
        json_dumpf(list, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        putchar('\n');
    } else if (count == 0) {
        puts("no cameras: /dev/video* does not exist");
    }
    json_decref(list);
    return halo_end_print();
}
