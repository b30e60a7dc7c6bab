/* SPDX-License-Identifier: BSD-2-Clause
 * The engine process, described in engine_private.h. */
#ifndef HALO_ENGINE_H
#define HALO_ENGINE_H

/* argv: the arguments after "engine". Only the daemon starts engines. Returns the exit code. */
int halo_command_engine(int argc, char **argv);

#endif
