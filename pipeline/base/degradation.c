/* SPDX-License-Identifier: BSD-2-Clause
 * The words for degraded streams (degradation.h). */
#include "pipeline/base/degradation.h"

#include <stddef.h>

const char *const halo_degradation_names[HALO_DEGRADATIONS + 1] = {
    [HALO_DEGRADED_GPU] = "gpu",
    [HALO_DEGRADED_GPU_MEMORY] = "gpu-memory",
    [HALO_DEGRADED_DECODER] = "decoder",
    [HALO_DEGRADED_SESSIONS] = "encoder-sessions",
    [HALO_DEGRADED_ENCODER] = "encoder",
    [HALO_DEGRADED_LATE] = "late",
    [HALO_DEGRADED_LATE_DECODER] = "late-decoder",
    [HALO_DEGRADED_LATE_ENCODER] = "late-encoder",
    [HALO_DEGRADED_OUTPUT] = "output",
    [HALO_DEGRADED_DETECTOR] = "late-detector",
};
