/* SPDX-License-Identifier: BSD-2-Clause
 * The commands of halod; each takes the words after its name and returns the exit code. */
#ifndef HALO_COMMANDS_H
#define HALO_COMMANDS_H

struct halo_command {
    const char *name;
    const char *words; /* after the name, for --help */
    const char *help;
    int (*run)(int argc, char **argv);
};

int halo_command_run(int argc, char **argv);

void halo_print_version(void);

/* After the last line on standard output: the exit code, with an error said where it cannot be
 * written. */
int halo_end_print(void);

#endif
