/* SPDX-License-Identifier: BSD-2-Clause
 * The words of what streams lack (degradation.h). */
#include "pipeline/base/degradation.h"

#include <stddef.h>

const char *const halo_lack_names[HALO_LACKS + 1] = {
    [HALO_LACK_GPU] = "gpu",
    [HALO_LACK_GPU_MEMORY] = "gpu-memory",
    [HALO_LACK_DECODER] = "decoder",
    [HALO_LACK_SESSIONS] = "encoder-sessions",
    [HALO_LACK_ENCODER] = "encoder",
    [HALO_LACK_LATE] = "late",
    [HALO_LACK_LATE_DECODER] = "late-decoder",
    [HALO_LACK_LATE_ENCODER] = "late-encoder",
};
