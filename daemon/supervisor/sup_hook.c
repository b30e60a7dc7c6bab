/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_hook.h"

#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/link/link.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "pipeline/output/output_hook.h"
#include "pipeline/output/output_names.h"

extern char **environ;

char **sv_environment(void)
{
    static const char *const mine[] = {"NOTIFY_SOCKET=", "WATCHDOG_", "LISTEN_"};
    static char **ret; /* queued hooks outlive the supervisor */
    size_t count = 0;
    while (environ[count])
        count++;
    if (ret || !(ret = calloc(count + 1, sizeof *ret)))
        return ret;
    for (size_t i = 0, n = 0; i < count; i++) {
        bool keep = true;
        for (size_t m = 0; m < sizeof mine / sizeof *mine; m++)
            keep &= strncmp(environ[i], mine[m], strlen(mine[m])) != 0;
        if (keep)
            ret[n++] = environ[i];
    }
    return ret;
}

struct sv_hook {
    struct sv_hook *next;
    char stream[68];
    int output;
    char *pattern;
    struct halo_hook *hook;
};

static void free_hook(struct sv_hook *hook)
{
    halo_hook_destroy(hook->hook);
    free(hook->pattern);
    free(hook);
}

/* stream: NULL removes the hooks of all streams. */
static void remove_hooks(struct sv_process *process, const char *stream)
{
    for (struct sv_hook **at = &process->hooks; *at;) {
        struct sv_hook *hook = *at;
        if (stream && strcmp(hook->stream, stream) != 0) {
            at = &hook->next;
            continue;
        }
        *at = hook->next;
        free_hook(hook);
    }
}

static void add_hook(struct sv_process *process, const struct sv_stream *stream, int output)
{
    const struct halo_output_settings *set = &stream->settings.output[output];
    char **environment = sv_environment();
    struct sv_hook *hook = environment ? calloc(1, sizeof *hook) : NULL;
    if (hook) {
        hook->output = output;
        snprintf(hook->stream, sizeof hook->stream, "%s", stream->name);
        hook->pattern = strdup(set->target);
        hook->hook = halo_hook_create(set->hook, stream->name, environment);
    }
    if (!hook || !hook->pattern || !hook->hook) {
        halo_log(HALO_LOG_ERROR, "stream %s: not enough memory for the hook %s", stream->name,
                 set->hook);
        if (hook)
            free_hook(hook);
        return;
    }
    hook->next = process->hooks;
    process->hooks = hook;
}

void sv_hooks_give(struct sv_process *process, const struct sv_stream *stream)
{
    remove_hooks(process, stream->name);
    for (int i = 0; i < stream->settings.outputs; i++)
        if (stream->settings.output[i].hook)
            add_hook(process, stream, i);
}

bool sv_hooks_finished(struct sv_process *process, const json_t *message)
{
    const char *stream = json_string_value(json_object_get(message, "stream"));
    const char *path = json_string_value(json_object_get(message, "path"));
    const int64_t output = halo_json_integer(message, "output", 0, HALO_MAX_OUTPUTS - 1, -1);
    for (struct sv_hook *h = process->hooks; h && stream && path; h = h->next)
        if (h->output == output && !strcmp(h->stream, stream)) {
            const bool good = halo_names_may_match(h->pattern, path);
            if (good)
                halo_hook_start(h->hook, path);
            return good;
        }
    return false;
}

void sv_hooks_forget(struct sv_process *process)
{
    remove_hooks(process, NULL);
}
