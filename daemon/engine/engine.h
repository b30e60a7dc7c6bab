/* SPDX-License-Identifier: BSD-2-Clause
 * The engine process, described in engine_private.h. */
#ifndef HALO_ENGINE_H
#define HALO_ENGINE_H

/* Runs an engine, which only the daemon starts. argv contains the arguments after "engine". Returns
 * the exit code. */
int halo_command_engine(int argc, char **argv);

#endif
