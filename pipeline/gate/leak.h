/* SPDX-License-Identifier: BSD-2-Clause
 * Leaks on purpose, in builds for tests alone (kernels/fault.h, "leak"): what leak checkers have to
 * find. Other builds have no such code. */
#ifndef HALO_LEAK_H
#define HALO_LEAK_H

#include <libavutil/frame.h>

enum { HALO_LEAKS = 16 }; /* ways, which take turns */

#ifdef HALO_FAULTS
/* The way's part of raw into out; old: a raw picture from before, or NULL. All are on the host, of
 * one shape and 8 bits. Any thread. */
void halo_leak_make(int way, AVFrame *out, const AVFrame *raw, const AVFrame *old);
extern const char *const halo_leak_names[HALO_LEAKS];

/* Where that is wished for. Any thread. */
void halo_leak(AVFrame *out, const AVFrame *raw);
#else
static inline void halo_leak(AVFrame *out, const AVFrame *raw)
{
    (void)out;
    (void)raw;
}
#endif

#endif
