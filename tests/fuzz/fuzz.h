/* SPDX-License-Identifier: BSD-2-Clause
 * What a fuzz target defines: libFuzzer's entry, which replay.c calls too. */
#ifndef HALO_FUZZ_H
#define HALO_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
