/* SPDX-License-Identifier: BSD-2-Clause
 * halod job: its commands and their help (job.h). */
#include "daemon/cli/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "pipeline/base/av.h"

static const struct command {
    const char *name, *words;
    const char *options; /* names of those that it accepts */
    bool run_options;    /* those of halod run as well */
    const char *help;
    int (*run)(const struct halo_job_options *options, int count, char **rest);
} commands[] = {
    {"split", "-i IN -vf CHAIN [options] OUT", "mixed", true,
     "decide where IN is cut and write OUT.parts/manifest.json; the options are those of halod run",
     halo_job_split_command},
    {"detect", "MANIFEST... [N]", "of faces people ended", false,
     "run the detectors on segment N, numbered as for 'segment'; only for region=faces and people",
     halo_job_detect_command},
    {"merge", "MANIFEST...", "wait ended", false,
     "merge the detections of all segments, which can then be encoded", halo_job_merge_command},
    {"segment", "MANIFEST... [N]", "of ended", false,
     "encode segment N; by default, N is the number that the scheduler gave this task",
     halo_job_segment_command},
    {"join", "MANIFEST...", "wait ended", false,
     "check all segments and join them into OUT, which appears complete or not at all",
     halo_job_join_command},
    {"status", "MANIFEST...", "json watch", false,
     "print the progress, the speed of each machine, and the time that is left",
     halo_job_status_command},
    {"submit", "--engine NAME MANIFEST...",
     "engine tasks workers cpus memory gpu deadline image claim folder program faces people print "
     "again",
     false, "submit the encoding and joining to a scheduler, or print what would be submitted",
     halo_job_submit_command},
    {"watch", "--engine NAME --to FOLDER FOLDER -vf CHAIN [options]",
     "engine tasks workers cpus memory gpu deadline image claim folder program mixed to suffix "
     "settle once",
     true, "create a job for each file that appears in a folder", halo_job_watch_command},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

void halo_job_print_names(FILE *to)
{
    for (const struct command *c = commands; c < commands + COMMANDS; c++)
        fprintf(to, "%s%s", c == commands ? "" : " ", c->name);
}

static void print_help(void)
{
    puts("halod job encodes one file on many machines that share a folder.\n\nusage:");
    for (const struct command *c = commands; c < commands + COMMANDS; c++)
        printf("  halod job %s %s\n      %s\n", c->name, c->words, c->help);
    puts("\nMANIFEST is the folder OUT.parts, or the manifest.json in it. Options:");
    halo_options_print(halo_job_options, "--", stdout);
    puts("\nexample:\n  halod job split -i film.mkv -vf gblur=sigma=12 blurred.mkv\n"
         "  halod job submit --engine slurm blurred.mkv.parts\n"
         "  halod job status --watch blurred.mkv.parts\n"
         "\nexit codes: 0 done, 1 failed, 64 usage, 75 try again, 78 this machine or its files do\n"
         "not fit the manifest, 130 and 143 interrupted.");
}

static int perform(const struct command *c, char **argv)
{
    struct halo_error err = {0};
    struct halo_job_options options;
    char **rest;
    const int count = halo_job_parse(&options, c->options, c->run_options, argv, &rest, &err);
    if (count < 0) {
        halo_log(HALO_LOG_ERROR, "%s", err.text);
        return HALO_EXIT_USAGE;
    }
    halo_av_init_log();
    const int code = c->run(&options, count, rest);
    halo_job_options_finish(&options);
    free(rest);
    return code;
}

int halo_command_job(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            print_help();
            return halo_end_print();
        }
    for (const struct command *c = commands; argc > 0 && c < commands + COMMANDS; c++)
        if (!strcmp(argv[0], c->name))
            return perform(c, argv + 1);
    if (argc > 0)
        halo_log(HALO_LOG_ERROR, "job: unknown command '%.80s': see halod job --help", argv[0]);
    else
        halo_log(HALO_LOG_ERROR, "job: a command is missing: see halod job --help");
    return HALO_EXIT_USAGE;
}
