/* SPDX-License-Identifier: BSD-2-Clause
 * The commands of halod. Each one parses the arguments after its name and returns the exit code. */
#ifndef HALO_COMMANDS_H
#define HALO_COMMANDS_H

#include <stdbool.h>

#include "config/daemon.h"

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

/* Runs the daemon until it receives SIGTERM or SIGINT. Returns the exit code: 0 after SIGTERM, 130
 * after SIGINT. Takes ownership of settings. path is the settings file, which a reload reads again;
 * it must stay valid. */
int halo_command_daemon(struct halo_daemon_settings *settings, const char *path);
/* Works like halo_command_daemon(), but starts engines from the executable `program`; for tests. */
int halo_run_daemon(struct halo_daemon_settings *settings, const char *path, const char *program);

/* Prints a completion script for bash, for packagers. commands is the list of commands from main(),
 * which ends with a NULL name. Returns the exit code. */
int halo_print_completion(const struct halo_command *commands);

#endif
