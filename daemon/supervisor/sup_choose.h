/* SPDX-License-Identifier: BSD-2-Clause
 * Which engine a stream belongs to: by its backend, its GPU, the files that it names, and whether
 * it is kept apart. Loop thread only. */
#ifndef HALO_SUP_CHOOSE_H
#define HALO_SUP_CHOOSE_H

struct sv_engine;
struct sv_stream;

/* One that may run all of it, made where there is none. NULL: no memory, or its GPU is not known
 * yet (SV_GPU_WAIT). */
struct sv_engine *sv_engine_choose(struct sv_stream *stream);
/* Takes the name and the number of the engine that the stream should have, if there is none. */
void sv_engine_become(struct sv_engine *engine, struct sv_stream *stream);

#endif
