/* SPDX-License-Identifier: BSD-2-Clause
 * The engine process (engine_private.h says what it is). */
#ifndef HALO_ENGINE_H
#define HALO_ENGINE_H

/* argv: the words after "engine". For the daemon alone, which starts it. Returns the exit code. */
int halo_command_engine(int argc, char **argv);

#endif
