/* SPDX-License-Identifier: BSD-2-Clause
 * The forms of output sockets. */
#include "config/viewer_format.h"

#include <stdio.h>
#include <string.h>

const struct halo_viewer_form halo_viewer_forms[] = {
    {".ts", "mpegts", .raw = false, .rigid = false},
    {".mkv", "matroska", .raw = false, .rigid = true},
    {".nut", "nut", .raw = true, .rigid = true},
    {".fd", NULL, .raw = true, .rigid = false},
    {NULL},
};

const struct halo_viewer_form *halo_viewer_form_find(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name)
        return NULL;
    for (const struct halo_viewer_form *form = halo_viewer_forms; form->suffix; form++)
        if (!strcmp(dot, form->suffix))
            return form;
    return NULL;
}

const struct halo_viewer_form *halo_viewer_form_named(const char *name)
{
    for (const struct halo_viewer_form *form = halo_viewer_forms; form->suffix; form++)
        if (form->muxer && !strcmp(name, form->suffix + 1))
            return form;
    return NULL;
}

const char *halo_viewer_form_list(char *ret, size_t size, enum halo_viewer_form_list which,
                                  const char *word)
{
    const char *last = NULL;
    size_t length = 0;
    ret[0] = '\0';
    for (const struct halo_viewer_form *form = halo_viewer_forms; form->suffix; form++) {
        if ((which == HALO_FORMS_RAW && !form->raw) || (which == HALO_FORMS_NAMES && !form->muxer))
            continue;
        if (last)
            length += snprintf(ret + length, size - length, "%s%s", length ? ", " : "", last);
        last = form->suffix + (which == HALO_FORMS_NAMES);
    }
    snprintf(ret + length, size - length, " %s %s", word, last);
    return ret;
}
