/* SPDX-License-Identifier: BSD-2-Clause
 * Options of halod job (job_options.h). */
#include "daemon/cli/job/job_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct halo_job_options, field)

const char *const halo_job_engines[] = {
    [HALO_JOB_SLURM] = "slurm",
    [HALO_JOB_KUBERNETES] = "kubernetes",
    [HALO_JOB_PARALLEL] = "parallel",
    [HALO_JOB_LOCAL] = "local",
    NULL,
};

const struct halo_option halo_job_options[] = {
    {"engine", NULL, HALO_OPTION_CHOICE, AT(engine), HALO_JOB_NO_ENGINE,
     .choices = halo_job_engines, .argument = "NAME", .help = "the scheduler that runs the tasks"},
    {"tasks", NULL, HALO_OPTION_INT, AT(tasks), 1000, 1, 100000,
     .help = "largest number of tasks; if there are more segments, a task encodes several"},
    {"workers", NULL, HALO_OPTION_INT, AT(workers), 0, 1, 256,
     .help = "parallel and local: number of tasks that run at the same time; by default, half the "
             "number of processors"},
    {"cpus", NULL, HALO_OPTION_INT, AT(cpus), 2, 1, 1024,
     .help = "slurm and kubernetes: number of processors for a task"},
    {"memory", NULL, HALO_OPTION_STRING, AT(memory), .argument = "SIZE",
     .help =
         "slurm and kubernetes: memory for a task, as the scheduler writes it, such as 4G or 4Gi; "
         "by default Slurm's own, or 4Gi",
     .pattern = "^[0-9]+[A-Za-z]*$", .must_be = "a number with a unit, such as 4G or 4Gi"},
    {"gpu", NULL, HALO_OPTION_FLAG, AT(gpu),
     .help = "slurm and kubernetes: a GPU for each task that encodes"},
    {"deadline", NULL, HALO_OPTION_TIME, AT(deadline), 7 * 86400, 60, 365 * 86400,
     .help = "kubernetes: how long a step of the job may take"},
    {"image", NULL, HALO_OPTION_STRING, AT(image), .argument = "IMAGE",
     .help = "kubernetes: container image"},
    {"claim", NULL, HALO_OPTION_STRING, AT(claim), .argument = "NAME",
     .help = "kubernetes: persistent volume claim that contains the shared folder"},
    {"folder", NULL, HALO_OPTION_STRING, AT(folder), .argument = "FOLDER",
     .help = "kubernetes: path of the shared folder, which must be the same here and in the "
             "containers"},
    {"program", NULL, HALO_OPTION_STRING, AT(program), .argument = "PATH",
     .help =
         "path of halod on the nodes; by default, that of this program or, in containers, halod"},
    {"print", NULL, HALO_OPTION_FLAG, AT(print), .help = "only print what would be submitted"},
    {"again", NULL, HALO_OPTION_FLAG, AT(again), .help = "submit a job that was submitted before"},
    {"of", NULL, HALO_OPTION_INT, AT(of), 0, 1, 1000000,
     .help = "number of tasks that share the segments; by default, Slurm's number of tasks, or one "
             "task for each segment"},
    {"ended", NULL, HALO_OPTION_INT, AT(ended), -1, 0, 255, .argument = "CODE",
     .help = "for schedulers' scripts: only record that the task has ended with this exit code and "
             "is not tried again"},
    {"faces", NULL, HALO_OPTION_STRING, AT(detector[HALO_FIND_FACES]), .argument = "KEY=VALUE:...",
     .help = "confirms the detector that split was given with -faces; a command in the manifest is "
             "run only if it is confirmed"},
    {"people", NULL, HALO_OPTION_STRING, AT(detector[HALO_FIND_PEOPLE]),
     .argument = "KEY=VALUE:...",
     .help = "confirms the detector that split was given with -people"},
    {"mixed", NULL, HALO_OPTION_FLAG, AT(mixed),
     .help = "allow machines with different processors and versions, and record them"},
    {"wait", NULL, HALO_OPTION_FLAG, AT(wait), .help = "wait until all segments are encoded"},
    {"json", NULL, HALO_OPTION_FLAG, AT(json), .help = "print JSON"},
    {"watch", NULL, HALO_OPTION_FLAG, AT(watch), .help = "show the progress until OUT is complete"},
    {"to", NULL, HALO_OPTION_STRING, AT(to), .argument = "FOLDER", .help = "folder of the outputs"},
    {"suffix", NULL, HALO_OPTION_STRING, AT(suffix), .argument = "SUFFIX",
     .help = "suffix of the outputs, such as mkv; by default that of the input",
     .pattern = "^[A-Za-z0-9]+$", .must_be = "letters and digits, without a dot"},
    {"settle", NULL, HALO_OPTION_TIME, AT(settle), 10, 0.1, 86400,
     .help = "time without a change after which a file becomes a job"},
    {"once", NULL, HALO_OPTION_FLAG, AT(once), .help = "look for files only once"},
    {NULL},
};

/* Whether the list `names` contains a name. */
static bool job_has_name(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = names; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && !strncmp(at, name, length))
            return true;
    return false;
}

/* Sets the option in argv[0], which begins with --. Returns how many words it used, or a usage
 * error. */
static int take(struct halo_job_options *o, const char *names, char **argv, struct halo_error *err)
{
    const char *name = argv[0] + 2, *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct halo_option *row = halo_option_find(halo_job_options, name, length);
    if (!row || !job_has_name(names, row->name))
        return halo_fail_usage(err, "unknown option %.80s: see halod job --help", argv[0]);
    const char *value = row->type == HALO_OPTION_FLAG ? "1" : equals ? equals + 1 : argv[1];
    if (row->type == HALO_OPTION_FLAG && equals)
        return halo_fail_usage(err, "--%s accepts no value", row->name);
    if (!value)
        return halo_fail_usage(err, "%s: missing value", argv[0]);
    struct halo_error inner = {0};
    const int code = halo_option_set(row, o, value, &inner);
    if (code < 0)
        return code == -ENOMEM ? halo_fail(err, code, "%s", inner.text)
                               : halo_fail_usage(err, "--%s", inner.text);
    return row->type == HALO_OPTION_FLAG || equals ? 1 : 2;
}

int halo_job_parse(struct halo_job_options *ret, const char *names, bool run_options, char **argv,
                   char ***ret_rest, struct halo_error *err)
{
    int count = 0, used = 1;
    while (argv[count])
        count++;
    struct halo_job_options o = {0};
    char **rest = calloc((size_t)count + 1, sizeof *rest);
    halo_options_init(halo_job_options, &o);
    count = rest ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    for (; count >= 0 && *argv; argv += used) {
        used = 1;
        if (!strncmp(*argv, "--", 2) && argv[0][2]) {
            used = take(&o, names, argv, err);
            count = used < 0 ? used : count;
            used = used < 0 ? 1 : used;
        } else if (!run_options && **argv == '-') {
            count = halo_fail_usage(err, "unknown option %.80s: see halod job --help", *argv);
        } else {
            rest[count++] = *argv;
        }
    }
    if (count < 0) {
        halo_job_options_finish(&o);
        free(rest);
        return count;
    }
    *ret = o;
    *ret_rest = rest;
    return count;
}

void halo_job_options_finish(struct halo_job_options *options)
{
    halo_options_finish(halo_job_options, options);
}
