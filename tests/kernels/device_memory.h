/* SPDX-License-Identifier: BSD-2-Clause
 * Device memory for tests: device_memory_cuda.c, or device_memory_none.c in builds without CUDA. */
#ifndef HALO_TEST_DEVICE_MEMORY_H
#define HALO_TEST_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *device_alloc(size_t size); /* on device 0, aligned to 256; NULL: there is none */
void device_free(void *memory);

void *device_stream_create(void); /* a cudaStream_t that waits for no other; NULL: there is none */
void device_stream_destroy(void *stream);

/* Puts the copy from page-locked host memory onto the stream, behind work that takes a while, and
 * returns at once. */
bool device_write_late(void *to, const void *from, size_t size, void *stream);

/* Copies, and waits. */
bool device_write(void *to, const void *from, size_t size);
bool device_read(void *to, const void *from, size_t size);

#endif
