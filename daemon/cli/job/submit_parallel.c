/* SPDX-License-Identifier: BSD-2-Clause
 * Passes the tasks to GNU parallel. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/cli/job/job_submit.h"

/* GNU parallel looks for {}, {#} and {= PERL =} in the command, also in the names of files. So the
 * task's words are in a variable, quoted for the shell that reads them and, with it, for the shell
 * that reads the line. */
static void print_array(const struct halo_job_submission *s, const struct halo_job_step *step,
                        FILE *to)
{
    char *command = NULL;
    size_t length;
    FILE *text = open_memstream(&command, &length);
    if (text) {
        halo_job_print_command(s, step, text);
        fclose(text);
    }
    fprintf(to, "seq 0 %d | HALOD_TASK=", s->tasks - 1);
    halo_job_quote(command ? command : "false", to);
    free(command);
    fprintf(to,
            " parallel --no-notice -j %d --retries 5 --halt soon,fail=1 "
            "'eval \"$HALOD_TASK {}\" && exit; code=$?; sleep 1; exit $code'",
            halo_job_workers(s));
}

static void print(const struct halo_job_submission *s, FILE *to)
{
    for (const struct halo_job_step *step = s->step; step < s->step + s->steps; step++) {
        fputs(step > s->step ? " && " : "", to);
        if (step->shares)
            print_array(s, step, to);
        else
            halo_job_print_command(s, step, to);
    }
    putc('\n', to);
}

static int submit(const struct halo_job_submission *s, char *id, size_t size,
                  struct halo_error *err)
{
    char *line = NULL;
    size_t length;
    FILE *to = open_memstream(&line, &length);
    (void)id;
    (void)size;
    if (to) {
        print(s, to);
        fclose(to);
    }
    char *argv[] = {"sh", "-c", line, NULL};
    const int code =
        line ? halo_job_pipe(argv, "", NULL, 0, err) : halo_fail(err, -ENOMEM, "out of memory");
    free(line);
    return code > 0 ? halo_job_fail_task(s, NULL, "parallel", code, err) : code;
}

const struct halo_job_engine_row halo_job_parallel = {.print = print, .submit = submit};
