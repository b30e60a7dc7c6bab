/* SPDX-License-Identifier: BSD-2-Clause
 * What a fuzz target defines: libFuzzer's entry, which replay.c calls too. */
#ifndef HALO_FUZZ_H
#define HALO_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input with a NUL behind it, to be freed; NULL: out of memory. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text && size > 0)
        memcpy(text, data, size);
    if (text)
        text[size] = '\0';
    return text;
}

#endif
