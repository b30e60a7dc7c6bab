/* SPDX-License-Identifier: BSD-2-Clause
 * In builds without the headers of libpipewire: no node is ever found, so none is opened. */
#include "pipeline/pipewire/source.h"

#include <errno.h>

#include "pipeline/pipewire/list.h"

int halo_pipewire_list(struct halo_pipewire_listed **ret, struct halo_error *err)
{
    (void)ret;
    return halo_fail(err, -ENOTSUP, "this build of halod has no PipeWire");
}

int halo_pipewire_source_open(struct halo_pipewire_source **ret,
                              struct halo_pipewire_agreed *ret_agreed,
                              const struct halo_pipewire_wanted *wanted, int wake,
                              struct halo_error *err)
{
    (void)ret;
    (void)ret_agreed;
    (void)wanted;
    (void)wake;
    return halo_fail(err, -ENOTSUP, "this build of halod has no PipeWire");
}

void halo_pipewire_source_close(struct halo_pipewire_source *source)
{
    (void)source;
}

int halo_pipewire_source_poll(const struct halo_pipewire_source *source)
{
    (void)source;
    return -1;
}

int halo_pipewire_source_take(struct halo_pipewire_source *source, struct halo_pipewire_taken *ret,
                              struct halo_error *err)
{
    (void)source;
    (void)ret;
    return halo_fail(err, -ENODEV, "this build of halod has no PipeWire");
}

void halo_pipewire_source_give(struct halo_pipewire_source *source, int index)
{
    (void)source;
    (void)index;
}
