/* SPDX-License-Identifier: BSD-2-Clause
 * In builds without the headers of libpipewire. */
#include "config/pipewire.h"

bool halo_pipewire_is_built(void)
{
    return false;
}
