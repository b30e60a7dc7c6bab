/* SPDX-License-Identifier: BSD-2-Clause
 * What a stream may lack on this machine, and goes on without. Each has a word, which status,
 * events and metrics say; docs/control.md has the table. */
#ifndef HALO_DEGRADATION_H
#define HALO_DEGRADATION_H

enum halo_degradation {
    HALO_DEGRADED_GPU,          /* it failed: filtered on the CPU */
    HALO_DEGRADED_GPU_MEMORY,   /* it is full: on the CPU, or no picture until some is free */
    HALO_DEGRADED_DECODER,      /* the GPU's does not take the stream: decoded on the CPU */
    HALO_DEGRADED_SESSIONS,     /* of the GPU's encoder, all are taken: encoded on the CPU */
    HALO_DEGRADED_ENCODER,      /* the GPU's cannot be had for another reason: the same */
    HALO_DEGRADED_LATE,         /* the filters are slower than the pictures: some are left out */
    HALO_DEGRADED_LATE_DECODER, /* decoding is: pictures come later than they should */
    HALO_DEGRADED_LATE_ENCODER, /* an encoding is: it leaves some out */
    HALO_DEGRADATIONS,
};
enum { HALO_DEGRADATION_WORDS = 200 }; /* bytes of why */

extern const char
    *const halo_degradation_names[HALO_DEGRADATIONS + 1]; /* "gpu" ...; NULL-terminated */

#endif
