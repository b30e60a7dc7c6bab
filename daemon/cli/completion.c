/* SPDX-License-Identifier: BSD-2-Clause
 * halod --completion: a script for bash, from the tables of commands, options and filters. */
#include "config/base/log.h"
#include "config/completion.h"

#include <stdio.h>

#include "config/run.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/job/job.h"
#include "pipeline/filter/filter.h"

static void print_filters(void)
{
    for (int i = 0; halo_filter_kinds[i]; i++)
        printf("%s%s", i ? " " : "", halo_filter_kinds[i]->name);
}

static void print_job(void)
{
    printf("    job,2) words='");
    halo_job_print_names(stdout);
    puts("' ;;\n    job,*)\n        case $last in");
    halo_completion_values(halo_job_options, "--", "        ", stdout);
    halo_completion_values(halo_run_options, "-", "        ", stdout);
    printf("        *) files=1 ;;\n        esac\n        [[ $word != -* ]] || words='");
    halo_completion_names(halo_job_options, "--", stdout);
    puts("'\n        ;;");
}

int halo_print_completion(const struct halo_command *commands)
{
    halo_completion_begin("halod", stdout);
    puts("    case ${COMP_WORDS[1]},$COMP_CWORD in");
    printf("    *,1) words='");
    for (const struct halo_command *c = commands; c->name; c++)
        printf("%s ", c->name);
    for (const struct halo_command *c = halo_config_commands; c->name; c++)
        printf("%s ", c->name);
    puts("--help --version' ;;");
    puts("    run,* | plan,*)\n        case $last in");
    halo_completion_values(halo_run_options, "-", "        ", stdout);
    printf("        *) files=1 ;;\n        esac\n"
           "        [[ $last != -vf && $last != -filter:v ]] || words='");
    print_filters();
    printf("'\n        [[ $word != -* || $last == -i ]] || words='");
    halo_completion_names(halo_run_options, "-", stdout);
    puts(" -f --help'\n        ;;");
    printf("    filter,2) words='");
    print_filters();
    puts("' ;;");
    print_job();
    puts("    devices,2) words=--json ;;\n"
         "    -*) files=1 ;;\n    esac");
    halo_completion_end("halod", stdout);
    return halo_end_print();
}
