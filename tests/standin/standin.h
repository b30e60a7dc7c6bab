/* SPDX-License-Identifier: BSD-2-Clause
 * What the stand-ins for the NVIDIA driver's libraries share: libcuda (cuda.c), NVDEC (nvcuvid.c)
 * and NVENC (nvenc.c). What they do is asked for in the environment; without, all goes well:
 *
 * HALO_STANDIN                trouble, one of:
 *   no-device                   cuInit finds no GPU
 *   codec                       NVDEC supports no codec
 *   size                        NVDEC takes nothing above 64x64
 *   surfaces                    no decoder can be made
 *   lost                        the device is, at the tenth frame decoded, for every call
 *   refuses                     NVDEC refuses the tenth frame, and the device is well
 * HALO_STANDIN_OPENING        ms that NVDEC takes to open a decoder, one after the other
 * HALO_STANDIN_LOG            a file that gets a line when libcuda or NVDEC's library is loaded,
 *                             and "decoder" when NVDEC opens one; "-": standard error
 * HALO_STANDIN_NVENC_VERSION  the API's version, major * 16 + minor (default: newer than any)
 * HALO_STANDIN_NVENC_OPEN     what opening a session returns (2: unsupported device, 10: out of
 *                             memory)
 * HALO_STANDIN_NVENC_SESSIONS how many may be open in a process; beyond, opening returns 10
 * HALO_STANDIN_NVENC_INIT     what setting up the encoder returns
 * HALO_STANDIN_NVENC_FAIL     the frame, counted from 1, at which encoding fails
 * HALO_STANDIN_NVENC_B        B-frames between others: frames held back, and coded out of order
 * HALO_STANDIN_NVENC_DUMP     a file to which the samples of all frames are written, plane by
 *                             plane */
#ifndef HALO_STANDIN_H
#define HALO_STANDIN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STANDIN_LOST = 700 };

/* In libcuda: from now on the device fails. Returns STANDIN_LOST. */
int standin_lose_device(void);

/* Whether HALO_STANDIN asks for this trouble. */
static inline bool standin_is(const char *trouble)
{
    const char *wish = getenv("HALO_STANDIN");
    return wish && !strcmp(wish, trouble);
}

static inline void standin_log(const char *line)
{
    const char *path = getenv("HALO_STANDIN_LOG");
    FILE *file = !path ? NULL : !strcmp(path, "-") ? fdopen(dup(2), "a") : fopen(path, "a");
    if (!file)
        return;
    fprintf(file, "%s\n", line);
    fclose(file);
}

#endif
