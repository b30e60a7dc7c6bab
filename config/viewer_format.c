/* SPDX-License-Identifier: BSD-2-Clause
 * The formats of output sockets. */
#include "config/viewer_format.h"

#include <stdio.h>
#include <string.h>

const struct halo_viewer_format halo_viewer_formats[] = {
    {".ts", "mpegts", .raw = false, .rigid = false},
    {".mkv", "matroska", .raw = false, .rigid = true},
    {".nut", "nut", .raw = true, .rigid = true},
    {".fd", NULL, .raw = true, .rigid = false},
    {NULL},
};

const struct halo_viewer_format *halo_viewer_format_find(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name)
        return NULL;
    for (const struct halo_viewer_format *format = halo_viewer_formats; format->suffix; format++)
        if (!strcmp(dot, format->suffix))
            return format;
    return NULL;
}

const struct halo_viewer_format *halo_viewer_format_named(const char *name)
{
    for (const struct halo_viewer_format *format = halo_viewer_formats; format->suffix; format++)
        if (format->muxer && !strcmp(name, format->suffix + 1))
            return format;
    return NULL;
}

const char *halo_viewer_format_list(char *ret, size_t size, enum halo_viewer_format_list which,
                                    const char *word)
{
    const char *last = NULL;
    size_t length = 0;
    ret[0] = '\0';
    for (const struct halo_viewer_format *format = halo_viewer_formats; format->suffix; format++) {
        if ((which == HALO_VIEWER_FORMATS_RAW && !format->raw) ||
            (which == HALO_VIEWER_FORMATS_NAMES && !format->muxer))
            continue;
        if (last)
            length += snprintf(ret + length, size - length, "%s%s", length ? ", " : "", last);
        last = format->suffix + (which == HALO_VIEWER_FORMATS_NAMES);
    }
    snprintf(ret + length, size - length, " %s %s", word, last);
    return ret;
}
