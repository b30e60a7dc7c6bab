/* SPDX-License-Identifier: BSD-2-Clause
 * The table of sources. */
#include "config/source_kinds.h"

#include <stddef.h>
#include <string.h>

#include "config/base/path_name.h"
#include "config/pipewire.h"

static bool starts(const char *input, const char *with)
{
    return !strncmp(input, with, strlen(with));
}

bool halo_is_camera(const char *name)
{
    return starts(name, "/dev/video") || starts(name, "/dev/v4l/") || starts(name, "v4l2:");
}

static bool is_pipewire(const char *input)
{
    return halo_pipewire_name_of(input) != NULL;
}

static bool is_test(const char *input)
{
    return starts(input, "test:");
}

static bool is_stdin(const char *input)
{
    return !strcmp(input, "-") || starts(input, "pipe:") || starts(input, "fd:");
}

static bool is_http(const char *input)
{
    return starts(input, "http://") || starts(input, "https://");
}

static bool is_any(const char *input)
{
    return input != NULL;
}

static const struct halo_source_row rows[] = {
    {
        .kind = HALO_SOURCE_CAMERA,
        .is = halo_is_camera,
        .place = HALO_FROM_DEVICE,
        .live = true,
        .captures = true,
        .fails = true,
    },
    {
        .kind = HALO_SOURCE_PIPEWIRE,
        .is = is_pipewire,
        .place = HALO_FROM_SESSION,
        .live = true,
        .captures = true,
        .fails = true,
    },
    {
        .kind = HALO_SOURCE_TEST,
        .is = is_test,
        .pace = HALO_PACE_ALWAYS,
        .live = true,
    },
    {
        .kind = HALO_SOURCE_STDIN,
        .is = is_stdin,
        .refused = "a daemon cannot read standard input: use a file or a URL",
    },
    {
        .kind = HALO_SOURCE_HTTP,
        .is = is_http,
        .place = HALO_FROM_NETWORK,
        .pace = HALO_PACE_ALWAYS, /* the server may send a file as fast as it is read */
        .live = true,
        .fails = true,
    },
    {
        .kind = HALO_SOURCE_URL,
        .is = halo_path_is_url,
        .place = HALO_FROM_NETWORK,
        .pace = HALO_PACE_ASKED,
        .live = true,
        .fails = true,
    },
    {
        .kind = HALO_SOURCE_FILE,
        .is = is_any,
        .place = HALO_FROM_FILE,
        .pace = HALO_PACE_ASKED,
        .fails = true,
    },
};

const struct halo_source_row *halo_source_row(const char *input)
{
    const struct halo_source_row *row = rows;
    while (!row->is(input))
        row++;
    return row;
}

const char *halo_source_path(const char *input)
{
    const enum halo_source_place place = halo_source_row(input)->place;
    return place == HALO_FROM_FILE                      ? halo_path_of(input)
           : place == HALO_FROM_DEVICE && *input == '/' ? input
                                                        : NULL;
}
