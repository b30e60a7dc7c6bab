/* SPDX-License-Identifier: BSD-2-Clause
 * Samples as lists of JSON, which is how they are read. */
#include "daemon/control/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct halo_history {
    json_t *streams, *gpus, *memory;
    int count; /* samples so far, at most HALO_HISTORY_SAMPLES */
};

struct halo_history *halo_history_create(void)
{
    struct halo_history *history = calloc(1, sizeof *history);
    if (!history)
        return NULL;
    history->streams = json_object();
    history->gpus = json_object();
    history->memory = json_array();
    return history;
}

void halo_history_destroy(struct halo_history *history)
{
    if (!history)
        return;
    json_decref(history->streams);
    json_decref(history->gpus);
    json_decref(history->memory);
    free(history);
}

/* The list of this name, which has a null for each sample before it began. */
static json_t *list_of(json_t *in, const char *name, int count)
{
    json_t *list = json_object_get(in, name);
    if (list)
        return list;
    list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_null());
    json_object_set_new(in, name, list);
    return list;
}

static json_t *object_of(json_t *in, const char *name)
{
    json_t *object = json_object_get(in, name);
    if (!object) {
        object = json_object();
        json_object_set_new(in, name, object);
    }
    return object;
}

static void append(json_t *list, const json_t *value)
{
    while (json_array_size(list) >= HALO_HISTORY_SAMPLES)
        json_array_remove(list, 0);
    if (json_is_number(value))
        json_array_append(list, (json_t *)value);
    else
        json_array_append_new(list, json_null());
}

static json_t *sum_of(const json_t *numbers)
{
    json_int_t sum = 0;
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)numbers, name, value)
        if (strcmp(name, "rate") != 0) /* left out on purpose */
            sum += json_integer_value(value);
    return json_integer(sum);
}

/* `seen` has the names of those that the status lists. */
static void add_stream(struct halo_history *history, const json_t *stream, json_t *seen)
{
    const char *name = json_string_value(json_object_get(stream, "name"));
    json_t *to = object_of(history->streams, name);
    json_object_set_new(seen, name, json_true());
    const json_t *total = json_object_get(json_object_get(stream, "stages"), "total");
    json_t *dropped = sum_of(json_object_get(stream, "dropped"));
    append(list_of(to, "rate", history->count), json_object_get(stream, "rate"));
    append(list_of(to, "p50_ms", history->count), json_object_get(total, "p50"));
    append(list_of(to, "p99_ms", history->count), json_object_get(total, "p99"));
    append(list_of(to, "dropped", history->count), dropped);
    json_decref(dropped);
}

static void add_gpu(struct halo_history *history, const json_t *gpu, json_t *seen)
{
    char number[24];
    snprintf(number, sizeof number, "%lld",
             (long long)json_integer_value(json_object_get(gpu, "number")));
    if (json_object_get(seen, number))
        return; /* another engine uses it, too */
    json_object_set_new(seen, number, json_true());
    json_t *to = object_of(history->gpus, number);
    append(list_of(to, "used", history->count), json_object_get(gpu, "memory_used_bytes"));
    json_object_set(to, "size", json_object_get(gpu, "memory_size_bytes"));
}

/* Memory of a process in bytes; 0: it has ended. */
static json_int_t memory_of(json_int_t pid)
{
    char path[48];
    long long resident = 0;
    snprintf(path, sizeof path, "/proc/%lld/statm", (long long)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%*s %lld", &resident) != 1)
        resident = 0;
    fclose(file);
    return resident * 4096;
}

static void forget_others(json_t *objects, const json_t *seen)
{
    const char *name;
    json_t *object;
    void *next;
    json_object_foreach_safe(objects, next, name, object) if (!json_object_get(seen, name))
        json_object_del(objects, name);
}

void halo_history_add(struct halo_history *history, const json_t *status)
{
    json_t *one, *gpu, *streams = json_object(), *gpus = json_object();
    json_int_t bytes = memory_of(getpid());
    size_t i, k;
    json_array_foreach (json_object_get(status, "streams"), i, one)
        add_stream(history, one, streams);
    json_array_foreach (json_object_get(status, "engines"), i, one) {
        json_array_foreach (json_object_get(one, "gpus"), k, gpu)
            add_gpu(history, gpu, gpus);
        bytes += memory_of(json_integer_value(json_object_get(one, "pid")));
    }
    json_t *memory = json_integer(bytes);
    append(history->memory, memory);
    json_decref(memory);
    forget_others(history->streams, streams);
    forget_others(history->gpus, gpus);
    json_decref(streams);
    json_decref(gpus);
    history->count += history->count < HALO_HISTORY_SAMPLES;
}

json_t *halo_history_read(const struct halo_history *history, const char *name)
{
    json_t *streams = name ? json_object() : json_incref(history->streams);
    json_t *one = name ? json_object_get(history->streams, name) : NULL;
    if (one)
        json_object_set(streams, name, one);
    return json_pack("{s:i, s:o, s:O, s:O}", "interval", HALO_HISTORY_S, "streams", streams, "gpus",
                     history->gpus, "memory", history->memory);
}
