/* SPDX-License-Identifier: BSD-2-Clause
 * Deliberate leaks of unfiltered frames, to test that the leak checkers find them. Only builds with
 * -Dfaults=true contain this code (the fault "leak" in kernels/fault.h). */
#ifndef HALO_LEAK_H
#define HALO_LEAK_H

#include <libavutil/frame.h>

enum { HALO_LEAKS = 16 }; /* number of different leaks that tests can make on purpose */

#ifdef HALO_FAULTS
/* Makes leak number `way`: copies a part of raw, or of old, into out. old is an earlier unfiltered
 * frame or NULL. All frames must be on the host, have the same format and size, and have 8 bits per
 * sample. Any thread. */
void halo_leak_make(int variant, AVFrame *out, const AVFrame *raw, const AVFrame *old);
extern const char *const halo_leak_names[HALO_LEAKS];

/* If the fault "leak" is requested, leaks a part of raw into out. Each call makes the next of the
 * HALO_LEAKS leaks. Any thread. */
void halo_leak(AVFrame *out, const AVFrame *raw);
#else
static inline void halo_leak(AVFrame *out, const AVFrame *raw)
{
    (void)out;
    (void)raw;
}
#endif

#endif
