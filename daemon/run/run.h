/* SPDX-License-Identifier: BSD-2-Clause
 * halod run: one input filtered into one output. */
#ifndef HALO_COMMAND_RUN_H
#define HALO_COMMAND_RUN_H

/* Runs the command. argv contains the arguments after "run". Returns the exit code. */
int halo_command_run(int argc, char **argv);

#endif
