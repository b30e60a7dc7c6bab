/* SPDX-License-Identifier: BSD-2-Clause
 * As many processors as HALOTEST_CORES says, for FFmpeg's decoders; before libavutil's by
 * LD_PRELOAD (tests/pipeline/input/test_damage_matrix.py). */
#include <stdlib.h>

int av_cpu_count(void)
{
    const char *cores = getenv("HALOTEST_CORES");
    return cores ? atoi(cores) : 1;
}
