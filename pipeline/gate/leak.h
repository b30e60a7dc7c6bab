/* SPDX-License-Identifier: BSD-2-Clause
 * Deliberate leaks, only in builds with -Dfaults=true (kernels/fault.h, "leak"), to check that leak
 * checkers find them. Other builds do not contain this code. */
#ifndef HALO_LEAK_H
#define HALO_LEAK_H

#include <libavutil/frame.h>

enum { HALO_LEAKS = 16 }; /* kinds of leak, used in turn */

#ifdef HALO_FAULTS
/* Copies the part of raw that kind number `way` leaks into out; old: an earlier unfiltered frame,
 * or NULL. All are on the host, with the same format and size, and 8 bits. Any thread. */
void halo_leak_make(int way, AVFrame *out, const AVFrame *raw, const AVFrame *old);
extern const char *const halo_leak_names[HALO_LEAKS];

/* Leaks if the fault is requested; the kinds alternate. Any thread. */
void halo_leak(AVFrame *out, const AVFrame *raw);
#else
static inline void halo_leak(AVFrame *out, const AVFrame *raw)
{
    (void)out;
    (void)raw;
}
#endif

#endif
