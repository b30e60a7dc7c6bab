/* SPDX-License-Identifier: BSD-2-Clause
 * Facts: lists of items to check, collected from the settings and checked on another thread, where
 * a slow disk blocks nothing. */
#include "daemon/control/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <libavcodec/avcodec.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "config/daemon.h"
#include "config/encoding.h"
#include "config/output_kinds.h"
#include "config/pipewire.h"
#include "config/run.h"
#include "config/source_kinds.h"
#include "daemon/detector/probe.h"
#include "pipeline/pipewire/list.h"

/* ---- kernel nodes ---- */

static void add(json_t *nodes, const char *stream, const char *path, bool output)
{
    json_array_append_new(
        nodes, json_pack("{s:s, s:s, s:b}", "stream", stream, "path", path, "output", output));
}

/* Adds {stream, path, output} to `nodes` for each output and input of the stream that is a node. */
static void facts_ask_nodes(json_t *nodes, const struct halo_stream_settings *stream)
{
    if (stream->source.input && halo_pipewire_name_of(stream->source.input))
        add(nodes, stream->name, stream->source.input, false);
    for (int i = 0; i < stream->outputs; i++) {
        const struct halo_output_settings *output = &stream->output[i];
        char name[HALO_PIPEWIRE_NAME], path[HALO_PIPEWIRE_NAME + 16];
        if (halo_output_row(output)->target != HALO_AT_NODE || !output->target)
            continue;
        halo_pipewire_node_name(output->target, name);
        snprintf(path, sizeof path, "pipewire:%s", name);
        add(nodes, stream->name, path, true);
    }
}

static bool is_there(const json_t *node, const struct halo_pipewire_listed *list, int count)
{
    const char *name = halo_pipewire_name_of(json_string_value(json_object_get(node, "path")));
    const bool output = json_is_true(json_object_get(node, "output"));
    for (int i = 0; i < count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", list[i].id);
        if (!strcmp(list[i].name, name) && (!output || list[i].ours))
            return true;
        if (!output && (!strcmp(number, name) || !strcmp(list[i].label, name)))
            return true;
    }
    return false;
}

static json_t *cameras_of(const struct halo_pipewire_listed *list, int count)
{
    json_t *ret = json_array();
    for (int i = 0; i < count; i++)
        if (!list[i].screen && !strcmp(list[i].role, "Camera"))
            json_array_append_new(ret, json_pack("{s:s, s:b}", "name",
                                                 list[i].label[0] ? list[i].label : list[i].name,
                                                 "filtered", list[i].ours));
    return ret;
}

/* Sets "missing" of each of facts.nodes, and facts.cameras to what programs see: a list of {name,
 * filtered}. If PipeWire cannot be reached, sets facts.pipewire_error instead. Does nothing if
 * facts.nodes is empty. Not on the loop thread: it waits for the server for up to some seconds. */
static void facts_check_nodes(json_t *facts)
{
    struct halo_pipewire_listed *list = NULL;
    struct halo_error err = {0};
    json_t *nodes = json_object_get(facts, "nodes"), *one;
    size_t i;
    if (json_array_size(nodes) == 0)
        return;
    const int count = halo_pipewire_list(&list, &err);
    if (count < 0) {
        json_object_set_new(facts, "pipewire_error", json_string(err.text));
        return;
    }
    json_array_foreach (nodes, i, one)
        json_object_set_new(one, "missing", json_boolean(!is_there(one, list, count)));
    json_object_set_new(facts, "cameras", cameras_of(list, count));
    free(list);
}

/* ---- facts ---- */

/* The time for all detectors, less than HALO_FACTS_MS: a slow one is not an error. */
enum { DETECTORS_MS = 5000 };

struct waiting {
    struct waiting *next;
    halo_reply *reply;
    void *arg;
};

struct gathering {
    uv_work_t work;
    struct halo_facts *owner; /* NULL: it was destroyed */
    json_t *facts;
    _Atomic(const char *) path; /* being checked now; NULL: none */
};

struct halo_facts {
    uv_loop_t *loop;
    uv_timer_t timer;
    int patience_ms;
    struct gathering *running; /* NULL: none */
    bool late;                 /* the running check is late, and this was reported */
    struct waiting *first;
};

static json_t *list_of(json_t *facts, const char *name)
{
    json_t *list = json_object_get(facts, name);
    if (list)
        return list;
    json_object_set_new(facts, name, json_array());
    return json_object_get(facts, name);
}

static void ask_encoder(json_t *facts, const char *stream, const struct halo_video_settings *video)
{
    const char *codec = halo_video_codec(video);
    if (strcmp(codec, "raw"))
        json_array_append_new(list_of(facts, "encoders"),
                              json_pack("{s:s, s:s, s:b}", "stream", stream, "codec", codec,
                                        "known", avcodec_find_encoder_by_name(codec) != NULL));
}

/* The folder of a file; of a pattern, its fixed part. malloc'ed. */
static char *folder_of(const char *target)
{
    char *folder = strdup(target);
    if (!folder)
        return NULL;
    char *pattern = strchr(folder, '%');
    if (pattern)
        *pattern = '\0';
    char *slash = strrchr(folder, '/');
    if (!slash) {
        free(folder);
        return strdup(".");
    }
    slash[slash == folder] = '\0';
    return folder;
}

static void ask_output(json_t *facts, const char *stream, const struct halo_output_settings *output)
{
    const struct halo_output_row *row = halo_output_row(output);
    if (row->target == HALO_AT_DEVICE)
        json_array_append_new(list_of(facts, "virtual_cameras"),
                              json_pack("{s:s, s:s}", "stream", stream, "path", output->target));
    else if (row->coded)
        ask_encoder(facts, stream, &output->video);
    if (!output->target || (row->target != HALO_AT_FILE && row->target != HALO_AT_SOCKET))
        return;
    char *folder = folder_of(output->target);
    if (folder)
        json_array_append_new(list_of(facts, "folders"),
                              json_pack("{s:s, s:s}", "stream", stream, "path", folder));
    if (row->target == HALO_AT_SOCKET)
        json_array_append_new(list_of(facts, "sockets"), json_string(output->target));
    free(folder);
}

static void ask_stream(json_t *facts, const struct halo_stream_settings *stream)
{
    const char *input = stream->source.input;
    const char *path = input ? halo_source_path(input) : NULL;
    if (path)
        json_array_append_new(list_of(facts, "inputs"),
                              json_pack("{s:s, s:s}", "stream", stream->name, "path", path));
    facts_ask_nodes(list_of(facts, "nodes"), stream);
    const char *const backend = halo_run_backends[stream->device.backend];
    if (!strcmp(backend, "cuda"))
        json_array_append_new(list_of(facts, "cuda_streams"), json_string(stream->name));
    for (int i = 0; i < stream->outputs; i++)
        ask_output(facts, stream->name, &stream->output[i]);
}

static void add_error(json_t *question, int failed)
{
    if (failed)
        json_object_set_new(question, "error", json_string(strerror(errno)));
}

static void check_folder(json_t *folder)
{
    const char *path = json_string_value(json_object_get(folder, "path"));
    struct statvfs disk;
    add_error(folder, access(path, W_OK | X_OK));
    if (statvfs(path, &disk))
        return;
    json_object_set_new(folder, "free_bytes",
                        json_integer((json_int_t)disk.f_bavail * (json_int_t)disk.f_frsize));
    json_object_set_new(folder, "size_bytes",
                        json_integer((json_int_t)disk.f_blocks * (json_int_t)disk.f_frsize));
}

static void check_camera(json_t *camera)
{
    const int failed = access(json_string_value(json_object_get(camera, "path")), R_OK | W_OK);
    const bool missing = failed && errno == ENOENT;
    add_error(camera, failed);
    json_object_set_new(camera, "missing", json_boolean(missing));
}

/* Checks whether this user may use the device files of the GPU. */
static void check_devices(json_t *facts)
{
    json_t *list = list_of(facts, "devices");
    glob_t found;
    if (glob("/dev/nvidia*", 0, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat info;
        if (stat(found.gl_pathv[i], &info) || !S_ISCHR(info.st_mode))
            continue;
        json_t *device = json_pack("{s:s}", "path", found.gl_pathv[i]);
        add_error(device, access(found.gl_pathv[i], R_OK | W_OK));
        json_array_append_new(list, device);
    }
    globfree(&found);
}

static void check_input(json_t *input)
{
    add_error(input, access(json_string_value(json_object_get(input, "path")), R_OK));
}

static void check_all(struct gathering *g, const char *list, void (*gather_on_thread)(json_t *one))
{
    json_t *one;
    size_t i;
    json_array_foreach (json_object_get(g->facts, list), i, one) {
        atomic_store(&g->path, json_string_value(json_object_get(one, "path")));
        gather_on_thread(one);
    }
    atomic_store(&g->path, NULL);
}

static void gather_on_thread(uv_work_t *work)
{
    struct gathering *g = work->data;
    check_all(g, "inputs", check_input);
    check_all(g, "folders", check_folder);
    check_all(g, "virtual_cameras", check_camera);
    atomic_store(&g->path, "the program of a detector");
    halo_detector_probe(json_object_get(g->facts, "detectors"), DETECTORS_MS);
    atomic_store(&g->path, NULL);
    atomic_store(&g->path, "PipeWire");
    facts_check_nodes(g->facts);
    atomic_store(&g->path, NULL);
    check_devices(g->facts);
}

static void answer_all(struct halo_facts *facts, json_t *result, const struct halo_error *err)
{
    while (facts->first) {
        struct waiting *waiting = facts->first;
        facts->first = waiting->next;
        waiting->reply(waiting->arg, result, err);
        free(waiting);
    }
}

static void after(uv_work_t *work, int status)
{
    struct gathering *g = work->data;
    struct halo_facts *facts = g->owner;
    const struct halo_error err = {.code = status, .text = "the disk check was cancelled"};
    if (facts) {
        facts->running = NULL;
        uv_timer_stop(&facts->timer);
        answer_all(facts, status ? NULL : g->facts, status ? &err : NULL);
    }
    json_decref(g->facts);
    free(g);
}

static int say_what_hangs(const struct gathering *g, struct halo_error *err)
{
    const char *path = atomic_load(&g->path);
    return halo_fail(err, -ETIMEDOUT,
                     "%s does not respond: it may be on a disk or mount that hangs",
                     path ? path : "a GPU device file");
}

static void on_late(uv_timer_t *timer)
{
    struct halo_facts *facts = timer->data;
    struct halo_error err = {0};
    say_what_hangs(facts->running, &err);
    facts->late = true;
    answer_all(facts, NULL, &err);
}

static int begin(struct halo_facts *facts, const struct halo_daemon_settings *settings,
                 json_t *base)
{
    struct gathering *g = calloc(1, sizeof *g);
    if (!g)
        return -ENOMEM;
    g->work.data = g;
    g->owner = facts;
    g->facts = json_incref(base);
    static const char *const lists[] = {"inputs",       "folders",  "sockets",        "devices",
                                        "cuda_streams", "encoders", "virtual_cameras"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        list_of(base, lists[i]);
    for (int i = 0; i < settings->streams; i++)
        ask_stream(base, &settings->stream[i]);
    if (settings->http.listen)
        json_object_set_new(base, "http", json_string(settings->http.listen));
    struct rlimit limit;
    if (!getrlimit(RLIMIT_MEMLOCK, &limit))
        json_object_set_new(base, "memlock_bytes",
                            limit.rlim_cur == RLIM_INFINITY
                                ? json_null()
                                : json_integer((json_int_t)limit.rlim_cur));
    facts->running = g;
    facts->late = false;
    uv_timer_start(&facts->timer, on_late, (uint64_t)facts->patience_ms, 0);
    uv_queue_work(facts->loop, &g->work, gather_on_thread, after); /* fails without `look` only */
    return 0;
}

static int gather(struct halo_facts *facts, const struct halo_daemon_settings *settings,
                  json_t *base, halo_reply *reply, void *arg, struct halo_error *err)
{
    if (facts->running && facts->late)
        return say_what_hangs(facts->running, err);
    struct waiting *waiting = base ? calloc(1, sizeof *waiting) : NULL;
    if (!waiting || (!facts->running && begin(facts, settings, base) < 0)) {
        free(waiting);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    *waiting = (struct waiting){.next = facts->first, .reply = reply, .arg = arg};
    facts->first = waiting;
    return 0;
}

int halo_facts_gather(struct halo_facts *facts, const struct halo_daemon_settings *settings,
                      json_t *base, halo_reply *reply, void *arg, struct halo_error *err)
{
    const int code = gather(facts, settings, base, reply, arg, err);
    json_decref(base);
    return code;
}

struct halo_facts *halo_facts_create(uv_loop_t *loop, int patience_ms)
{
    struct halo_facts *facts = calloc(1, sizeof *facts);
    if (!facts)
        return NULL;
    facts->loop = loop;
    facts->patience_ms = patience_ms;
    uv_timer_init(loop, &facts->timer);
    facts->timer.data = facts;
    return facts;
}

static void free_facts(uv_handle_t *handle)
{
    free(handle->data);
}

void halo_facts_destroy(struct halo_facts *facts)
{
    const struct halo_error err = {.code = -ESHUTDOWN, .text = "halod is stopping"};
    if (!facts)
        return;
    if (facts->running)
        facts->running->owner = NULL;
    answer_all(facts, NULL, &err);
    uv_close((uv_handle_t *)&facts->timer, free_facts);
}
