/* SPDX-License-Identifier: BSD-2-Clause
 * halod run: one input filtered into one output. */
#ifndef HALO_COMMAND_RUN_H
#define HALO_COMMAND_RUN_H

/* Runs the command. argv contains the arguments after "run". Returns the exit code. */
int halo_command_run(int argc, char **argv);
/* halod plan, with the same arguments: tries the beginning of the run, writes nothing, and prints
 * what the run would do and how long it would take. */
int halo_command_plan(int argc, char **argv);

#endif
