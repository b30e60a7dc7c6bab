/* SPDX-License-Identifier: BSD-2-Clause
 * In builds without the headers of libpipewire. The settings refuse such outputs, so these
 * functions are never called with a node. */
#include "pipeline/pipewire/node.h"

#include <errno.h>

int halo_pipewire_node_create(struct halo_pipewire_node **ret,
                              const struct halo_pipewire_mode *mode)
{
    (void)ret;
    (void)mode;
    return -ENOTSUP;
}

void halo_pipewire_node_destroy(struct halo_pipewire_node *node)
{
    (void)node;
}

int halo_pipewire_node_open(struct halo_pipewire_node *node, struct halo_error *err)
{
    (void)node;
    return halo_fail(err, -ENOTSUP, "this build of halod has no PipeWire");
}

void halo_pipewire_node_close(struct halo_pipewire_node *node)
{
    (void)node;
}

int halo_pipewire_node_poll(const struct halo_pipewire_node *node)
{
    (void)node;
    return -1;
}

int halo_pipewire_node_turn(struct halo_pipewire_node *node, struct halo_error *err)
{
    (void)node;
    (void)err;
    return 0;
}

void halo_pipewire_node_wish(const struct halo_pipewire_node *node, struct halo_pipewire_wish *ret)
{
    (void)node;
    (void)ret;
}

size_t halo_pipewire_node_size(const struct halo_pipewire_node *node, int format)
{
    (void)node;
    (void)format;
    return 0;
}

int halo_pipewire_node_write(struct halo_pipewire_node *node, const void *data, size_t size,
                             int64_t time)
{
    (void)node;
    (void)data;
    (void)size;
    (void)time;
    return -EAGAIN;
}
