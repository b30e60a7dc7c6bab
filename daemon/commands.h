/* SPDX-License-Identifier: BSD-2-Clause
 * The commands of halod; each takes the words after its name and returns the exit code. */
#ifndef HALO_COMMANDS_H
#define HALO_COMMANDS_H

#include "config/daemon.h"

struct halo_command {
    const char *name;
    const char *words; /* after the name, for --help */
    const char *help;
    int (*run)(int argc, char **argv);
};

int halo_command_devices(int argc, char **argv);

/* -c and its like: NULL-terminated. */
extern const struct halo_command halo_config_commands[];

/* The daemon, until SIGTERM (0) or SIGINT (130); settings become its own. path: of the file, to
 * read it again; must stay. Returns the exit code. */
int halo_command_daemon(struct halo_daemon_settings *settings, const char *path);
/* The same with engines of another program, for tests. */
int halo_run_daemon(struct halo_daemon_settings *settings, const char *path, const char *program);

void halo_print_version(void);
/* For packagers. commands: main's, NULL-terminated. Returns the exit code. */
int halo_print_completion(const struct halo_command *commands);

#endif
