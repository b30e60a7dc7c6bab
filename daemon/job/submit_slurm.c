/* SPDX-License-Identifier: BSD-2-Clause
 * Submits to Slurm: an array that encodes, and an array that joins, one task for each job, when all
 * of the first has ended with success. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/job/job_submit.h"

/* Slurm starts a task again after a node was lost, but by its exit code only where the site says
 * so. 137: it was killed with SIGKILL, perhaps for memory, so not for ever. */
static const char again[] =
    "code=$?\n"
    "case $code in\n"
    "75 | 137 | 143)\n"
    "    [ \"${SLURM_RESTART_COUNT:-0}\" -lt 20 ] || exit $code\n"
    "    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do\n"
    "        scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\" && break\n"
    "        sleep 5\n"
    "    done\n"
    "    ;;\n"
    "esac\n"
    "exit $code\n";

/* A value in a line that begins with #SBATCH. */
static void print_value(const char *value, bool is_pattern, FILE *to)
{
    putc('"', to);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            putc('\\', to);
        if (*value == '%' && is_pattern)
            putc('%', to);
        putc(*value, to);
    }
    putc('"', to);
}

static void print_head(const struct halo_job_submission *s, int tasks, bool encodes, FILE *to)
{
    const struct halo_job_options *o = s->options;
    fprintf(to, "#!/bin/sh\n#SBATCH --job-name=%s%s\n#SBATCH --array=0-%d\n#SBATCH --requeue\n",
            s->name, encodes ? "" : "-join", tasks - 1);
    fprintf(to, "#SBATCH --cpus-per-task=%d\n#SBATCH --open-mode=append\n#SBATCH --output=",
            encodes ? o->cpus : 1);
    char *log;
    if (asprintf(&log, "%s.job.log", s->job[0].output) < 0)
        log = NULL;
    print_value(log ? log : "/dev/null", log != NULL, to);
    free(log);
    putc('\n', to);
    if (o->memory && encodes) {
        fputs("#SBATCH --mem=", to);
        print_value(o->memory, false, to);
        putc('\n', to);
    }
    if (o->gpu && encodes)
        fputs("#SBATCH --gres=gpu:1\n", to);
}

static void print_segments(const struct halo_job_submission *s, FILE *to)
{
    print_head(s, s->tasks, true, to);
    halo_job_print_command(s, "segment", s->tasks, to);
    fprintf(to, " \"$SLURM_ARRAY_TASK_ID\"\n%s", again);
}

static void print_join(const struct halo_job_submission *s, FILE *to)
{
    print_head(s, s->jobs, false, to);
    fputs("set --", to);
    for (int i = 0; i < s->jobs; i++) {
        putc(' ', to);
        halo_job_quote(s->job[i].folder, to);
    }
    fputs("\nshift \"$SLURM_ARRAY_TASK_ID\"\n", to);
    halo_job_quote(s->program, to);
    fprintf(to, " job join \"$1\"\n%s", again);
}

static void print(const struct halo_job_submission *s, FILE *to)
{
    fputs("sbatch --parsable <<'SEGMENTS'\n", to);
    print_segments(s, to);
    fputs("SEGMENTS\nsbatch --dependency=afterok:NUMBER --kill-on-invalid-dep=yes <<'JOIN'\n", to);
    print_join(s, to);
    fputs("JOIN\n", to);
}

static int submit_script(const struct halo_job_submission *s, char *const *argv,
                         void (*write)(const struct halo_job_submission *s, FILE *to), char *id,
                         struct halo_error *err)
{
    char *script = NULL;
    size_t length;
    FILE *to = open_memstream(&script, &length);
    if (to) {
        write(s, to);
        fclose(to);
    }
    int code = script ? halo_job_pipe(argv, script, id, 80, err)
                      : halo_fail(err, -ENOMEM, "out of memory");
    free(script);
    if (code > 0)
        code = halo_fail(err, -ECHILD, "sbatch refused the job (exit %d)", code);
    id[strcspn(id, ";")] = 0; /* "NUMBER;CLUSTER" */
    return code;
}

static int submit(const struct halo_job_submission *s, char *id, size_t size,
                  struct halo_error *err)
{
    char dependency[120], join[80] = "";
    char *segments_argv[] = {"sbatch", "--parsable", NULL};
    char *join_argv[] = {"sbatch", "--parsable", "--kill-on-invalid-dep=yes", dependency, NULL};
    (void)size;
    int code = submit_script(s, segments_argv, print_segments, id, err);
    if (code < 0)
        return code;
    snprintf(dependency, sizeof dependency, "--dependency=afterok:%s", id);
    return submit_script(s, join_argv, print_join, join, err);
}

const struct halo_job_engine_row halo_job_slurm = {NULL, print, submit};
