/* SPDX-License-Identifier: BSD-2-Clause
 * The commands of halod. Each one parses the arguments after its name and returns the exit code. */
#ifndef HALO_COMMANDS_H
#define HALO_COMMANDS_H

#include <stdbool.h>

struct halo_command {
    const char *name;
    const char *words; /* the command's arguments, as --help shows them */
    const char *help;
    int (*run)(int argc, char **argv);
    bool own_help; /* the command handles --help itself */
};

int halo_command_devices(int argc, char **argv);

/* Commands that concern the settings file (-c and others). The list ends with a NULL name. */
extern const struct halo_command halo_config_commands[];

/* Prints a completion script for bash, for packagers. commands is the list of commands from main(),
 * which ends with a NULL name. Returns the exit code. */
int halo_print_completion(const struct halo_command *commands);

#endif
