/* SPDX-License-Identifier: BSD-2-Clause
 * Submits to Slurm: an array for each step, which begins when all of the one before has ended with
 * success. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/cli/job/job_submit.h"
#include "kernels/clock.h"

enum { TRIES = 6 };

/* Slurm starts a task again after a node was lost, but by its exit code only where the site says
 * so. 137: it was killed with SIGKILL, perhaps for memory, so not for ever. */
static const char again[] =
    "task && exit\n"
    "code=$?\n"
    "case $code in\n"
    "75 | 137 | 143)\n"
    "    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do\n"
    "        [ \"${SLURM_RESTART_COUNT:-0}\" -lt 20 ] || break\n"
    "        scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\" && exit $code\n"
    "        sleep 5\n"
    "    done\n"
    "    ;;\n"
    "esac\n"
    "task --ended $code\n"
    "exit $code\n";

/* The log of all tasks. sbatch reads the name as a pattern, in which it has no way to write a
 * backslash or quotation marks: then the tasks have no log. */
static void print_log(const char *output, FILE *to)
{
    if (strpbrk(output, "\\\"")) {
        fputs("#SBATCH --output=/dev/null\n", to);
        return;
    }
    fputs("#SBATCH --output=\"", to);
    for (; *output; output++)
        fputs(*output == '%' ? "%%" : (char[]){*output, 0}, to);
    fputs(".job.log\"\n", to);
}

static void print_head(const struct halo_job_submission *s, const struct halo_job_step *step,
                       FILE *to)
{
    const struct halo_job_options *o = s->options;
    fprintf(to, "#!/bin/sh\n#SBATCH --job-name=%s%s\n#SBATCH --array=0-%d\n#SBATCH --requeue\n",
            s->name, step->suffix, (step->shares ? s->tasks : s->jobs) - 1);
    fprintf(to, "#SBATCH --cpus-per-task=%d\n#SBATCH --open-mode=append\n",
            step->shares ? o->cpus : 1);
    print_log(s->job[0].output, to);
    if (o->memory && step->shares)
        fprintf(to, "#SBATCH --mem=%s\n", o->memory);
    if (o->gpu && step->shares)
        fputs("#SBATCH --gres=gpu:1\n", to);
}

/* The script of a step: a task for a share of the segments, or for each job. */
static void print_script(const struct halo_job_submission *s, const struct halo_job_step *step,
                         FILE *to)
{
    print_head(s, step, to);
    if (step->shares) {
        fputs("task() {\n    ", to);
        halo_job_print_command(s, step, to);
        fprintf(to, " \"$SLURM_ARRAY_TASK_ID\" \"$@\"\n}\n%s", again);
        return;
    }
    fputs("set --", to);
    for (int i = 0; i < s->jobs; i++) {
        putc(' ', to);
        halo_job_quote(s->job[i].folder, to);
    }
    fputs("\nshift \"$SLURM_ARRAY_TASK_ID\"\njob=$1\ntask() {\n    ", to);
    halo_job_quote(s->program, to);
    fprintf(to, " job %s \"$job\" \"$@\"\n}\n%s", step->command, again);
}

static void print(const struct halo_job_submission *s, FILE *to)
{
    for (int i = 0; i < s->steps; i++) {
        fprintf(to, "sbatch --parsable%s <<'%s'\n",
                i ? " --dependency=afterok:NUMBER --kill-on-invalid-dep=yes" : "",
                s->step[i].command);
        print_script(s, &s->step[i], to);
        fprintf(to, "%s\n", s->step[i].command);
    }
}

/* id: that of the step before, or ""; then that of this step. */
static int submit_step(const struct halo_job_submission *s, const struct halo_job_step *step,
                       char id[80], struct halo_error *err)
{
    char *script = NULL, dependency[120];
    char *argv[] = {"sbatch", "--parsable", *id ? "--kill-on-invalid-dep=yes" : NULL, dependency,
                    NULL};
    size_t length;
    FILE *to = open_memstream(&script, &length);
    if (to) {
        print_script(s, step, to);
        fclose(to);
    }
    snprintf(dependency, sizeof dependency, "--dependency=afterok:%s", id);
    char said[80] = "";
    int code = script ? halo_job_pipe(argv, script, said, sizeof said, err)
                      : halo_fail(err, -ENOMEM, "out of memory");
    free(script);
    said[strcspn(said, ";\n")] = 0;        /* "NUMBER;CLUSTER" */
    if (code > 0 || (code == 0 && !*said)) /* which may be because the controller is away */
        return halo_fail(err, -EAGAIN, "sbatch did not accept the job (exit %d)", code);
    if (code == 0)
        snprintf(id, 80, "%s", said);
    return code;
}

static int submit(const struct halo_job_submission *s, char *id, size_t size,
                  struct halo_error *err)
{
    char last[80] = "";
    int code = 0;
    for (int i = 0; i < s->steps && code >= 0; i++) {
        code = submit_step(s, &s->step[i], last, err);
        for (int tries = 1; code == -EAGAIN && i > 0 && tries < TRIES; tries++) {
            *err = (struct halo_error){0}; /* what follows a step must not be missing */
            halo_sleep(halo_job_pause(tries));
            code = submit_step(s, &s->step[i], last, err);
        }
        if (i == 0)
            snprintf(id, size, "%s", last);
    }
    return code;
}

const struct halo_job_engine_row halo_job_slurm = {.print = print, .submit = submit};
