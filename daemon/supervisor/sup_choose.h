/* SPDX-License-Identifier: BSD-2-Clause
 * Chooses the engine for a stream, which depends on the backend, the GPU, the files that the stream
 * names, and whether the stream is isolated. Loop thread only. */
#ifndef HALO_SUP_CHOOSE_H
#define HALO_SUP_CHOOSE_H

struct sv_engine;
struct sv_stream;

/* Returns an engine that is allowed to open all files that the stream names, and creates the engine
 * if necessary. Returns NULL if out of memory, or if the stream's GPU is not known yet
 * (SV_GPU_WAIT). */
struct sv_engine *sv_engine_choose(struct sv_stream *stream);
/* Gives the engine the name and the GPU number that the stream's engine must have, unless an engine
 * with that name already exists. */
void sv_engine_become(struct sv_engine *engine, struct sv_stream *stream);

#endif
