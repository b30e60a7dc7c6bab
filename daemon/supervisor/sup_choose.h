/* SPDX-License-Identifier: BSD-2-Clause
 * Which engine runs a stream: it depends on the backend, the GPU, the files that the stream names,
 * and whether it is kept apart. Loop thread only. */
#ifndef HALO_SUP_CHOOSE_H
#define HALO_SUP_CHOOSE_H

struct sv_engine;
struct sv_stream;

/* An engine that may run all of the stream, created if there is none. NULL: out of memory, or its
 * GPU is not known yet (SV_GPU_WAIT). */
struct sv_engine *sv_engine_choose(struct sv_stream *stream);
/* The engine becomes the one that the stream should have, by name and GPU, unless that exists. */
void sv_engine_become(struct sv_engine *engine, struct sv_stream *stream);

#endif
