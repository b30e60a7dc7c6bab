/* SPDX-License-Identifier: BSD-2-Clause
 * No device memory. */
#include "tests/kernels/device_memory.h"

void *device_alloc(size_t size)
{
    (void)size;
    return NULL;
}

void device_free(void *memory)
{
    (void)memory;
}

void *device_stream_create(void)
{
    return NULL;
}

void device_stream_destroy(void *stream)
{
    (void)stream;
}

bool device_write_late(void *to, const void *from, size_t size, void *stream)
{
    (void)stream;
    return device_write(to, from, size);
}

bool device_write(void *to, const void *from, size_t size)
{
    (void)to;
    (void)from;
    (void)size;
    return false;
}

bool device_read(void *to, const void *from, size_t size)
{
    return device_write(to, from, size);
}
