/* SPDX-License-Identifier: BSD-2-Clause
 * The ways in which a stream can be degraded: it continues with less than configured. Each way has
 * a name, which status, events and metrics use; docs/control.md lists the names. */
#ifndef HALO_DEGRADATION_H
#define HALO_DEGRADATION_H

enum halo_degradation {
    HALO_DEGRADED_GPU,          /* the GPU failed: the filters run on the CPU */
    HALO_DEGRADED_GPU_MEMORY,   /* GPU memory is full: the filters run on the CPU, or no frames are
                                   output until some memory is free */
    HALO_DEGRADED_DECODER,      /* the GPU cannot decode the stream: the CPU decodes it */
    HALO_DEGRADED_SESSIONS,     /* the GPU's encoder has no free session: the CPU encodes */
    HALO_DEGRADED_ENCODER,      /* the GPU cannot encode, for a reason other than a lack of
                                   sessions: the CPU encodes */
    HALO_DEGRADED_LATE,         /* filters are slower than the frame rate: frames are dropped */
    HALO_DEGRADED_LATE_DECODER, /* decoding is too slow: frames are late */
    HALO_DEGRADED_LATE_ENCODER, /* an encoding is too slow: it drops frames */
    HALO_DEGRADED_OUTPUT,       /* an output cannot be opened, or gives its viewers nothing */
    HALO_DEGRADED_DETECTOR,     /* a detector is too slow: most frames are hidden completely */
    HALO_DEGRADATIONS,
};
enum { HALO_DEGRADATION_WORDS = 200 }; /* size of the reason's text in bytes */

extern const char
    *const halo_degradation_names[HALO_DEGRADATIONS + 1]; /* "gpu" ...; NULL-terminated */

#endif
