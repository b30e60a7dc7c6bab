/* SPDX-License-Identifier: BSD-2-Clause
 * Metrics: table rows locate each number in the status. Names and units follow Prometheus: base
 * units, _total for counters, and labels with few values. */
#include "daemon/http/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/build.h"
#include "kernels/version.h"
#include "pipeline/base/histogram.h"
#include "pipeline/base/degradation.h"
#include "pipeline/camera/v4l2.h"

/* One family of samples: for each element of a list in the status, one number or all numbers of an
 * object. */
struct family {
    const char *name, *type, *help;
    const char *list;      /* "streams" or "engines" */
    const char *label;     /* label for the element's name */
    const char *field;     /* of the element */
    const char *sub_label; /* the field is an object whose keys are values of this label; or NULL */
    const char *keys;      /* "a b c": these numbers of the element are used instead of the field */
    /* the object of the element that contains the field; NULL: the element itself */
    const char *within;
};

static const struct family families[] = {
    {"halod_frames_total", "counter", "Frames that passed a stage.", "streams", "stream", NULL,
     "stage", "decoded filtered encoded"},
    {"halod_frames_dropped_total", "counter", "Dropped frames, by reason.", "streams", "stream",
     "dropped", "reason", NULL},
    {"halod_cards_total", "counter",
     "Placeholder images (cards) sent in place of frames, summed over all encodings.", "streams",
     "stream", "cards", NULL, NULL},
    {"halod_encoded_bytes_total", "counter", "Bytes produced by all encodings.", "streams",
     "stream", "bytes", NULL, NULL},
    {"halod_source_opened_total", "counter", "Number of times that the source was opened.",
     "streams", "stream", "opened", NULL, NULL},
    {"halod_damaged_total", "counter", "Damaged parts found in the source.", "streams", "stream",
     "damaged", NULL, NULL},
    {"halod_ring_dropped_packets_total", "counter",
     "Packets lost because the supervisor was too slow.", "streams", "stream", "ring_dropped", NULL,
     NULL},
    {"halod_stream_restarts_total", "counter", "Number of times that a stream was restarted.",
     "streams", "stream", "restarts", NULL, NULL},
    {"halod_viewers", "gauge", "Viewers of a stream.", "streams", "stream", "viewers", NULL, NULL},
    {"halod_camera_failures_total", "counter", "Number of times that a camera failed.", "streams",
     "stream", "failures", NULL, NULL, "capture"},
    {"halod_camera_missed_total", "counter", "Frames that a camera's driver lost.", "streams",
     "stream", "missed", NULL, NULL, "capture"},
    {"halod_camera_damaged_total", "counter", "Damaged or incomplete frames from a camera.",
     "streams", "stream", "damaged", NULL, NULL, "capture"},
    {"halod_hidden_objects_total", "counter", "Objects that hide replaced by cells.", "streams",
     "stream", "objects", NULL, NULL, "hidden"},
    {"halod_hidden_epsilon_total", "counter", "Sum of the epsilons of hide=noise.", "streams",
     "stream", "epsilon", NULL, NULL, "hidden"},
    {"halod_region_feed_updates_total", "counter", "Updates received from a detector.", "streams",
     "stream", "updates", NULL, NULL, "region_feed"},
    {"halod_region_feed_refused_total", "counter", "Unusable updates from a detector.", "streams",
     "stream", "refused", NULL, NULL, "region_feed"},
    {"halod_region_feed_regions", "gauge", "Regions in a detector's last update.", "streams",
     "stream", "regions", NULL, NULL, "region_feed"},
    {"halod_region_feed_age_seconds", "gauge", "Age of a detector's last update.", "streams",
     "stream", "age_s", NULL, NULL, "region_feed"},
    {"halod_region_feed_pictures_total", "counter",
     "Frames for which a region feed was queried; a frame counts once for each chain that uses "
     "the feed.",
     "streams", "stream", "pictures", NULL, NULL, "region_feed"},
    {"halod_region_feed_hidden_total", "counter",
     "Frames hidden completely because there were no usable regions from a detector; a frame "
     "counts once for each chain that hides it.",
     "streams", "stream", "pictures_hidden", NULL, NULL, "region_feed"},
    {"halod_engine_restarts_total", "counter", "Number of times that an engine was restarted.",
     "engines", "engine", "restarts", NULL, NULL},
    {"halod_engine_device_failures", "gauge", "Consecutive failures of the GPU.", "engines",
     "engine", "device_failures", NULL, NULL},
    {NULL},
};

static const char *name_of(const json_t *element)
{
    const char *name = json_string_value(json_object_get(element, "name"));
    return name ? name : "";
}

static void write_label(FILE *to, const char *label, const char *value)
{
    fprintf(to, "%s=\"", label);
    for (; *value; value++) {
        if (*value == '\n')
            fputs("\\n", to);
        else
            fprintf(to, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
    }
    fputc('"', to);
}

static void write_head(FILE *to, const char *name, const char *type, const char *help)
{
    fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Writes integers as such: a double would round large counters. */
static void write_value(FILE *to, const json_t *value)
{
    if (json_is_integer(value))
        fprintf(to, " %lld\n", (long long)json_integer_value(value));
    else
        fprintf(to, " %.9g\n", json_number_value(value));
}

static void write_sample(FILE *to, const struct family *f, const char *name, const char *sub,
                         const json_t *value)
{
    if (!json_is_number(value))
        return;
    fprintf(to, "%s{", f->name);
    write_label(to, f->label, name);
    if (sub) {
        fputc(',', to);
        write_label(to, f->sub_label, sub);
    }
    fputc('}', to);
    write_value(to, value);
}

static void write_keys(FILE *to, const struct family *f, const json_t *element)
{
    char key[32];
    for (const char *at = f->keys; *at;) {
        const size_t length = strcspn(at, " ");
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        write_sample(to, f, name_of(element), key, json_object_get(element, key));
        at += length + (at[length] != '\0');
    }
}

static void write_family(FILE *to, const struct family *f, const json_t *status)
{
    json_t *list = json_object_get(status, f->list), *element, *value;
    const char *key;
    size_t i;
    write_head(to, f->name, f->type, f->help);
    json_array_foreach (list, i, element) {
        const json_t *in = f->within ? json_object_get(element, f->within) : element;
        json_t *field = f->field ? json_object_get(in, f->field) : NULL;
        if (f->keys) {
            write_keys(to, f, element);
        } else if (!f->sub_label) {
            write_sample(to, f, name_of(element), NULL, field);
        } else {
            json_object_foreach (field, key, value)
                write_sample(to, f, name_of(element), key, value);
        }
    }
}

/* Writes the histogram of a stream, or of one of its stages if stage is not NULL. Their names
 * consist of letters, digits, '-' and '_', so nothing has to be escaped. */
static void write_histogram(FILE *to, const char *family, const char *stream, const char *stage,
                            const json_t *times)
{
    char labels[160];
    snprintf(labels, sizeof labels, "stream=\"%s\"%s%s%s", stream, stage ? ",stage=\"" : "",
             stage ? stage : "", stage ? "\"" : "");
    const json_t *below = json_object_get(times, "below");
    for (int i = 0; i < HALO_HISTOGRAM_EDGES; i++) {
        const long long edge = halo_histogram_edge(i), second = 1000000000;
        fprintf(to, "%s_bucket{%s,le=\"%lld.%09lld\"} %lld\n", family, labels, edge / second,
                edge % second, (long long)json_integer_value(json_array_get(below, (size_t)i)));
    }
    const long long count = json_integer_value(json_object_get(times, "count"));
    fprintf(to, "%s_bucket{%s,le=\"+Inf\"} %lld\n", family, labels, count);
    fprintf(to, "%s_sum{%s} %.9f\n", family, labels,
            json_number_value(json_object_get(times, "sum")) / 1000);
    fprintf(to, "%s_count{%s} %lld\n", family, labels, count);
}

/* The total is not a stage: a sum over all stages must not include it. */
static void write_stages(FILE *to, const json_t *streams)
{
    static const char stages[] = "halod_stage_duration_seconds", all[] = "halod_latency_seconds";
    json_t *stream, *times;
    const char *stage;
    size_t i;
    write_head(to, stages, "histogram", "Time that a frame spends in a stage.");
    json_array_foreach (streams, i, stream)
        json_object_foreach (json_object_get(stream, "stages"), stage, times)
            if (strcmp(stage, "total") != 0)
                write_histogram(to, stages, name_of(stream), stage, times);
    write_head(to, all, "histogram",
               "Time from the decoding of a frame (with cameras, from its capture) until its "
               "encoded packet is ready.");
    json_array_foreach (streams, i, stream) {
        times = json_object_get(json_object_get(stream, "stages"), "total");
        if (times)
            write_histogram(to, all, name_of(stream), NULL, times);
    }
}

/* ---- of streams, where a table row is not enough ---- */

static void write_up(FILE *to, const char *family, const json_t *stream)
{
    const char *state = json_string_value(json_object_get(stream, "state"));
    fprintf(to, "%s{stream=\"%s\"} %d\n", family, name_of(stream),
            state && (!strcmp(state, "running") || !strcmp(state, "overloaded")));
}

static void write_privacy(FILE *to, const char *family, const json_t *stream)
{
    const char *privacy = json_string_value(json_object_get(stream, "privacy"));
    if (privacy)
        fprintf(to, "%s{stream=\"%s\"} %d\n", family, name_of(stream), !strcmp(privacy, "off"));
}

static void write_planes(FILE *to, const char *family, const json_t *stream, const char *rendition,
                         const json_t *coverage)
{
    const json_t *part;
    size_t p;
    json_array_foreach (json_object_get(coverage, "planes"), p, part)
        fprintf(to, "%s{stream=\"%s\",rendition=\"%s\",plane=\"%zu\"} %.9g\n", family,
                name_of(stream), rendition, p, json_number_value(part));
}

/* If a region feed decides what is hidden, no samples exist. */
static void write_coverage(FILE *to, const char *family, const json_t *stream)
{
    const char *rendition;
    json_t *coverage;
    write_planes(to, family, stream, "", json_object_get(stream, "coverage"));
    json_object_foreach (json_object_get(stream, "rendition_coverage"), rendition, coverage)
        write_planes(to, family, stream, rendition, coverage);
}

/* Also writes 0, so that an alert sees the end. */
static void write_degradations(FILE *to, const char *family, const json_t *stream)
{
    const json_t *degradations = json_object_get(stream, "degraded");
    for (int i = 0; degradations && i < HALO_DEGRADATIONS; i++)
        fprintf(to, "%s{stream=\"%s\",reason=\"%s\"} %d\n", family, name_of(stream),
                halo_degradation_names[i],
                json_object_get(degradations, halo_degradation_names[i]) != NULL);
}

static void write_region_feed(FILE *to, const char *family, const json_t *stream)
{
    const json_t *feed = json_object_get(stream, "region_feed");
    if (feed)
        fprintf(to, "%s{stream=\"%s\"} %d\n", family, name_of(stream),
                !json_is_false(json_object_get(feed, "everything_hidden")));
}

/* States as in halo_live_camera_state(). */
static void write_camera_state(FILE *to, const char *family, const json_t *stream)
{
    const char *camera = json_string_value(json_object_get(stream, "camera"));
    for (int i = 0; camera && *camera && i <= HALO_V4L2_TROUBLES; i++) {
        const char *state = i == HALO_V4L2_FINE      ? "open"
                            : i < HALO_V4L2_TROUBLES ? halo_v4l2_states[i].name
                                                     : "closed";
        fprintf(to, "%s{stream=\"%s\",state=\"%s\"} %d\n", family, name_of(stream), state,
                !strcmp(camera, state));
    }
}

static void write_camera_format(FILE *to, const char *family, const json_t *stream)
{
    const json_t *capture = json_object_get(stream, "capture");
    const char *format = json_string_value(json_object_get(capture, "format"));
    if (!format || !*format)
        return;
    fprintf(to, "%s{stream=\"%s\",", family, name_of(stream));
    write_label(to, "format", format);
    fprintf(to, ",size=\"%lldx%lld\",rate=\"%g\"} 1\n",
            (long long)json_integer_value(json_object_get(capture, "width")),
            (long long)json_integer_value(json_object_get(capture, "height")),
            json_number_value(json_object_get(capture, "rate")));
}

/* These families are gauges. */
static void write_streams(FILE *to, const json_t *streams)
{
    static const struct {
        const char *name, *help;
        void (*write)(FILE *to, const char *family, const json_t *stream);
    } rows[] = {
        {"halod_stream_up", "1 if the stream is running and frames pass through its filters.",
         write_up},
        {"halod_stream_privacy_off", "1 if the settings allow unfiltered frames.", write_privacy},
        {"halod_stream_coverage_ratio",
         "Fraction of a plane's samples that a chain hides in every frame; plane 0 is luma.",
         write_coverage},
        {"halod_stream_degraded", "1 while a stream is degraded for the reason in the label.",
         write_degradations},
        {"halod_region_feed_silent",
         "1 while everything is hidden because no usable regions arrive from a detector.",
         write_region_feed},
        {"halod_camera_state",
         "1 for the current state of a stream's camera, 0 for its other states.",
         write_camera_state},
        {"halod_camera_format", "Always 1; the labels describe a camera's mode.",
         write_camera_format},
    };
    json_t *stream;
    size_t i;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        write_head(to, rows[r].name, "gauge", rows[r].help);
        json_array_foreach (streams, i, stream)
            rows[r].write(to, rows[r].name, stream);
    }
}

/* Samples of the detectors that streams use, labelled with what each looks for. */
static void write_detectors(FILE *to, const json_t *streams)
{
    static const struct {
        const char *name, *type, *key, *help;
        double unit;
    } rows[] = {
        {"halod_detector_up", "gauge", "up", "1 while the process of a detector runs.", 1},
        {"halod_detector_restarts_total", "counter", "restarts",
         "Number of times that a detector was started again.", 1},
        {"halod_detector_verdicts_total", "counter", "verdicts",
         "Frames about which a detector sent a verdict.", 1},
        {"halod_detector_late_total", "counter", "late",
         "Frames that were not shown because the detector was busy with another frame.", 1},
        {"halod_detector_hidden_total", "counter", "hidden",
         "Frames hidden completely because the detector's verdict was late.", 1},
        {"halod_detector_verdict_seconds", "gauge", "mean_ms",
         "Mean time from sending a frame to a detector to its verdict.", 1e-3},
    };
    json_t *stream, *detector;
    const char *find;
    size_t i;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        write_head(to, rows[r].name, rows[r].type, rows[r].help);
        json_array_foreach (streams, i, stream) {
            json_object_foreach (json_object_get(stream, "detectors"), find, detector) {
                const json_t *value = json_object_get(detector, rows[r].key);
                fprintf(to, "%s{stream=\"%s\",find=\"%s\"}", rows[r].name, name_of(stream), find);
                if (json_is_integer(value))
                    write_value(to, value);
                else
                    fprintf(to, " %.9g\n",
                            json_is_boolean(value) ? (double)json_is_true(value)
                                                   : json_number_value(value) * rows[r].unit);
            }
        }
    }
}

/* Samples of a GPU, labelled with its number and the engine that uses it. */
static void write_gpus(FILE *to, const json_t *engines)
{
    static const struct {
        const char *name, *key, *help;
    } rows[] = {
        {"halod_gpu_memory_used_bytes", "memory_used_bytes",
         "Device memory in use by all processes."},
        {"halod_gpu_memory_size_bytes", "memory_size_bytes", "Size of device memory."},
    };
    json_t *engine, *gpu;
    size_t i, k;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        write_head(to, rows[r].name, "gauge", rows[r].help);
        json_array_foreach (engines, i, engine) {
            json_array_foreach (json_object_get(engine, "gpus"), k, gpu) {
                fprintf(to, "%s{", rows[r].name);
                write_label(to, "engine", name_of(engine));
                fprintf(to, ",gpu=\"%lld\"}",
                        (long long)json_integer_value(json_object_get(gpu, "number")));
                write_value(to, json_object_get(gpu, rows[r].key));
            }
        }
    }
}

/* Writes samples of all outputs of a stream. Viewers do not see all of a target, so outputs are
 * distinguished by their index in the settings. */
static void write_outputs(FILE *to, const json_t *streams)
{
    static const struct {
        const char *key, *name, *type, *help;
    } rows[] = {
        {"viewers", "halod_output_viewers", "gauge", "Viewers of an output."},
        {"sent_bytes", "halod_output_sent_bytes_total", "counter",
         "Bytes sent to an output's viewers."},
        {"bytes", "halod_output_bytes_total", "counter", "Bytes written by an output."},
        {"dropped_packets", "halod_output_dropped_packets_total", "counter",
         "Packets dropped for slow viewers."},
        {"pictures", "halod_output_pictures_total", "counter",
         "Frames written to a virtual camera."},
        {"repeated", "halod_output_repeated_pictures_total", "counter",
         "Repeated or gray frames written to a virtual camera."},
        {"cut", "halod_output_cut_total", "counter",
         "Viewers of an output that were disconnected because they did not read."},
        {"failures", "halod_output_failures_total", "counter", "Failures of an output."},
    };
    json_t *stream, *output;
    size_t i, k;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        write_head(to, rows[r].name, rows[r].type, rows[r].help);
        json_array_foreach (streams, i, stream) {
            json_array_foreach (json_object_get(stream, "outputs"), k, output) {
                const json_t *value = json_object_get(output, rows[r].key);
                const char *target = json_string_value(json_object_get(output, "target"));
                const char *kind = json_string_value(json_object_get(output, "kind"));
                if (!json_is_number(value))
                    continue;
                fprintf(to, "%s{", rows[r].name);
                write_label(to, "stream", name_of(stream));
                fprintf(to, ",number=\"%zu\",", k);
                write_label(to, "output",
                            target && strcmp(target, "***") ? target
                            : kind                          ? kind
                                                            : "null");
                fputc('}', to);
                write_value(to, value);
            }
        }
    }
}

static void write_http(FILE *to, const struct halo_http_numbers *http)
{
    write_head(to, "halod_http_connections", "gauge", "Open HTTP connections.");
    fprintf(to, "halod_http_connections %d\n", http->connections);
    write_head(to, "halod_http_connections_cut_total", "counter",
               "HTTP connections closed because they were too slow or because too many were open.");
    fprintf(to, "halod_http_connections_cut_total %lld\n", (long long)http->cut);
    write_head(to, "halod_http_viewers", "gauge", "Clients that view frames over HTTP.");
    fprintf(to, "halod_http_viewers %d\n", http->viewers);
    write_head(to, "halod_http_frames_total", "counter", "Frames sent over HTTP.");
    fprintf(to, "halod_http_frames_total %lld\n", (long long)http->pictures);
    write_head(to, "halod_http_frames_dropped_total", "counter",
               "Frames that were replaced by newer frames because a client read too slowly.");
    fprintf(to, "halod_http_frames_dropped_total %lld\n", (long long)http->dropped);
    write_head(to, "halod_http_sent_bytes_total", "counter", "Bytes of frames sent over HTTP.");
    fprintf(to, "halod_http_sent_bytes_total %lld\n", (long long)http->bytes);
}

char *halo_metrics_write(const json_t *status, const struct halo_http_numbers *http)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    const json_t *streams = json_object_get(status, "streams");
    write_head(to, "halod_build_info", "gauge",
               "Always 1; the labels contain the version and the build.");
    fprintf(to, "halod_build_info{version=\"%s\",cuda=\"%s\"} 1\n", HALO_VERSION, HALO_CUDA_BUILD);
    if (json_is_number(json_object_get(status, "since"))) {
        write_head(to, "halod_start_time_seconds", "gauge",
                   "Unix time at which the daemon started.");
        fprintf(to, "halod_start_time_seconds %.3f\n",
                json_number_value(json_object_get(status, "since")));
    }
    write_streams(to, streams);
    for (const struct family *f = families; f->name; f++)
        write_family(to, f, status);
    write_stages(to, streams);
    write_detectors(to, json_object_get(status, "streams"));
    write_gpus(to, json_object_get(status, "engines"));
    write_outputs(to, streams);
    write_http(to, http);
    if (fclose(to)) {
        free(text);
        return NULL;
    }
    return text;
}
