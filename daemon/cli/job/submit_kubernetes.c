/* SPDX-License-Identifier: BSD-2-Clause
 * Submits to Kubernetes: an Indexed Job that encodes, and a Job that waits for the files of the
 * first and joins. If detectors are needed, two such Jobs that detect and merge are submitted
 * first, by themselves: pods that wait for others would keep these from starting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config/base/log.h"
#include "daemon/cli/job/job_submit.h"

enum {
    TRIES = 10,
    KEEP_SECONDS = 7 * 24 * 3600, /* a Job that has ended */
    USER = 10001,                 /* of the image (Containerfile) */
    GRACE_SECONDS = 5,
};

static int check(const struct halo_job_submission *s, struct halo_error *err)
{
    const struct halo_job_options *o = s->options;
    const char *missing = !o->image ? "image" : !o->claim ? "claim" : !o->folder ? "folder" : NULL;
    if (missing)
        return halo_fail_usage(err, "job submit --engine kubernetes: --%s is missing", missing);
    if (!strcmp(o->folder, "/tmp") || !strcmp(o->folder, "/tmp/"))
        return halo_fail_usage(err, "--folder /tmp: the containers have their own /tmp");
    const size_t length = strlen(o->folder) - (o->folder[strlen(o->folder) - 1] == '/');
    for (int i = 0; i < s->jobs; i++) {
        json_t *text = json_string(s->job[i].folder);
        json_decref(text);
        if (!text)
            return halo_fail_usage(err, "%s: is not UTF-8, as names in Kubernetes must be",
                                   s->job[i].folder);
        if (*o->folder != '/' || strncmp(s->job[i].folder, o->folder, length) != 0 ||
            s->job[i].folder[length] != '/')
            return halo_fail_usage(
                err, "%s: must be in --folder %s, because the containers see only that folder",
                s->job[i].folder, o->folder);
    }
    return 0;
}

/* Kubernetes replaces $(NAME) in commands, and $$ by $. */
static json_t *word_of(const char *word)
{
    char *text = malloc(2 * strlen(word) + 1), *to = text;
    for (; text && *word; word++) {
        if (*word == '$')
            *to++ = '$';
        *to++ = *word;
    }
    json_t *ret = text ? json_stringn(text, (size_t)(to - text)) : NULL;
    free(text);
    return ret;
}

static json_t *command_of(const struct halo_job_submission *s, const struct halo_job_step *step)
{
    const char **words = halo_job_words(s, step, step->shares ? NULL : "--wait");
    json_t *ret = json_array();
    for (const char **word = words; word && *word; word++)
        json_array_append_new(ret, word_of(*word));
    free(words);
    return ret;
}

static json_t *resources_of(const struct halo_job_options *o, bool shares)
{
    char cpus[16];
    snprintf(cpus, sizeof cpus, "%d", shares ? o->cpus : 1);
    const char *memory = o->memory ? o->memory : "4Gi";
    json_t *limits = json_pack("{s:s}", "memory", memory);
    if (o->gpu && shares)
        json_object_set_new(limits, "nvidia.com/gpu", json_string("1"));
    return json_pack("{s:{s:s, s:s}, s:o}", "requests", "cpu", cpus, "memory", memory, "limits",
                     limits);
}

/* Nothing is written but to the shared folder and /tmp, and nobody talks to the cluster. */
static json_t *pod_of(const struct halo_job_submission *s, const struct halo_job_step *step)
{
    const struct halo_job_options *o = s->options;
    json_t *context = json_pack("{s:b, s:b, s:{s:[s]}}", "allowPrivilegeEscalation", 0,
                                "readOnlyRootFilesystem", 1, "capabilities", "drop", "ALL");
    json_t *mounts = json_pack("[{s:s, s:s}, {s:s, s:s}]", "name", "shared", "mountPath", o->folder,
                               "name", "tmp", "mountPath", "/tmp");
    json_t *container =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name", "halod", "image", o->image, "command",
                  command_of(s, step), "resources", resources_of(o, step->shares),
                  "securityContext", context, "volumeMounts", mounts);
    json_t *security =
        json_pack("{s:b, s:i, s:i, s:i, s:{s:s}}", "runAsNonRoot", 1, "runAsUser", USER,
                  "runAsGroup", USER, "fsGroup", USER, "seccompProfile", "type", "RuntimeDefault");
    json_t *volumes =
        json_pack("[{s:s, s:{s:s}}, {s:s, s:{}}]", "name", "shared", "persistentVolumeClaim",
                  "claimName", o->claim, "name", "tmp", "emptyDir");
    return json_pack("{s:s, s:i, s:b, s:o, s:[o], s:o}", "restartPolicy", "Never",
                     "terminationGracePeriodSeconds", GRACE_SECONDS, "automountServiceAccountToken",
                     0, "securityContext", security, "containers", container, "volumes", volumes);
}

/* A usage error, or files that do not fit, stay so; an eviction does not count as a failure. */
static json_t *policy_of(const char *action)
{
    return json_pack("{s:[{s:s, s:{s:s, s:s, s:[i,i]}}, {s:s, s:[{s:s, s:s}]}]}", "rules", "action",
                     action, "onExitCodes", "containerName", "halod", "operator", "In", "values",
                     HALO_EXIT_USAGE, HALO_EXIT_CONFIG, "action", "Ignore", "onPodConditions",
                     "type", "DisruptionTarget", "status", "True");
}

static json_t *job_of(const struct halo_job_submission *s, const struct halo_job_step *step)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s", s->name, step->suffix);
    json_t *template = json_pack("{s:{s:{s:s}}, s:o}", "metadata", "labels",
                                 "app.kubernetes.io/name", "halod", "spec", pod_of(s, step));
    json_t *spec = json_pack("{s:o, s:I, s:i, s:o}", "podFailurePolicy",
                             policy_of(step->shares ? "FailIndex" : "FailJob"),
                             "activeDeadlineSeconds", (json_int_t)s->options->deadline,
                             "ttlSecondsAfterFinished", KEEP_SECONDS, "template", template);
    if (step->shares) {
        json_object_set_new(spec, "completionMode", json_string("Indexed"));
        json_object_set_new(spec, "completions", json_integer(s->tasks));
        json_object_set_new(spec, "parallelism",
                            json_integer(s->options->workers ? s->options->workers : s->tasks));
        json_object_set_new(spec, "backoffLimitPerIndex", json_integer(TRIES));
        json_object_set_new(spec, "maxFailedIndexes", json_integer(0));
    } else {
        json_object_set_new(spec, "backoffLimit", json_integer(TRIES));
    }
    return json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "batch/v1", "kind", "Job",
                     "metadata", "name", name, "spec", spec);
}

static void print(const struct halo_job_submission *s, FILE *to)
{
    json_t *items = json_array();
    for (int i = 0; i < s->steps; i++)
        json_array_append_new(items, job_of(s, &s->step[i]));
    json_t *list = json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "List", "items", items);
    json_dumpf(list, to, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    putc('\n', to);
    json_decref(list);
}

/* What is not in the image by default (Containerfile). */
static void say_needs(const struct halo_job_submission *s)
{
    const char *image = s->options->image;
    if (s->step->shares && s->merges)
        halo_log(HALO_LOG_INFO,
                 "%s must contain the job's detectors, and halo-detect's models: see Containerfile",
                 image);
    if (s->options->gpu)
        halo_log(HALO_LOG_INFO, "%s must contain halod with CUDA, for --gpu: see Containerfile",
                 image);
}

/* A Job cannot be changed: one that has failed stays so until it is deleted, and to apply it once
 * more changes nothing. */
static int submit(const struct halo_job_submission *s, char *id, size_t size,
                  struct halo_error *err)
{
    char *text = NULL, said[4096] = "";
    char *apply[] = {"kubectl", "apply", "-f", "-", NULL};
    char *replace[] = {"kubectl", "replace", "--force", "-f", "-", NULL};
    size_t length;
    say_needs(s);
    FILE *to = open_memstream(&text, &length);
    if (to) {
        print(s, to);
        fclose(to);
    }
    const int code =
        text ? halo_job_pipe(s->options->again ? replace : apply, text, said, sizeof said, err)
             : halo_fail(err, -ENOMEM, "out of memory");
    free(text);
    fputs(said, stdout);
    snprintf(id, size, "%s", s->name);
    if (code > 0) /* which may be because the cluster is away */
        return halo_fail(err, -EAGAIN, "kubectl did not accept the job (exit %d)", code);
    if (code == 0 && strstr(said, "unchanged") && !strstr(said, "created"))
        return halo_fail_usage(err,
                               "%s: this Job already exists in Kubernetes, so nothing was started: "
                               "use --again to replace it",
                               s->name);
    return code;
}

const struct halo_job_engine_row halo_job_kubernetes = {
    .merges_first = true, .check = check, .print = print, .submit = submit};
