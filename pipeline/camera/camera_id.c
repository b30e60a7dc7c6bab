/* SPDX-License-Identifier: BSD-2-Clause
 * A camera's identity as text (camera_find.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/camera/camera_find.h"

enum { FIELDS = 9 };

/* Its texts are printable, so none contains a tab. */
void halo_camera_id_write(const struct halo_camera_id *id, char ret[HALO_CAMERA_ID_TEXT])
{
    snprintf(ret, HALO_CAMERA_ID_TEXT, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d", id->node, id->name,
             id->serial, id->port, id->vendor, id->product, id->driver, id->index, id->twin);
}

/* Reads untrusted text up to the next tab. False: it is too long. */
static bool take(const char **at, char *ret, size_t size)
{
    const size_t length = strcspn(*at, "\t");
    if (length >= size)
        return false;
    memcpy(ret, *at, length);
    ret[length] = 0;
    halo_sanitise(ret);
    *at += length + ((*at)[length] == '\t');
    return true;
}

int halo_camera_id_read(struct halo_camera_id *ret, const char *text)
{
    struct halo_camera_id id = {.index = 0};
    char index[8], twin[2];
    int tabs = 0;
    for (const char *at = text; *at; at++)
        tabs += *at == '\t';
    if (tabs != FIELDS - 1 || !take(&text, id.node, sizeof id.node) ||
        !take(&text, id.name, sizeof id.name) || !take(&text, id.serial, sizeof id.serial) ||
        !take(&text, id.port, sizeof id.port) || !take(&text, id.vendor, sizeof id.vendor) ||
        !take(&text, id.product, sizeof id.product) || !take(&text, id.driver, sizeof id.driver) ||
        !take(&text, index, sizeof index) || !take(&text, twin, sizeof twin))
        return -EINVAL;
    id.index = (int)strtol(index, NULL, 10);
    id.twin = twin[0] == '1';
    *ret = id;
    return 0;
}
