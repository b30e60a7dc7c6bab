/* SPDX-License-Identifier: BSD-2-Clause
 * Metrics: a row of the table for each, with its path into the status. Names and units follow
 * Prometheus: base units, _total for counters, and labels with few values. */
#include "daemon/http/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/build.h"
#include "kernels/version.h"
#include "pipeline/base/degradation.h"
#include "pipeline/base/histogram.h"
#include "pipeline/camera/v4l2.h"

/* A path leads from member to member: KEY.KEY. If one is missing, there is no sample. A KEY may be
 * followed by
 *
 *   [LABEL=MEMBER,...]  labels, whose values are members of this object, or of each element of this
 *                       list; where one has no value, there is no sample. MEMBER|MEMBER is the
 *                       first that is there, MEMBER*MEMBER is two numbers with an x between them,
 *                       # is the element's index, and LABEL= is an empty label
 *   {LABEL}             each member of this object; its key is the label's value
 *   {LABEL:KEY KEY}     only these members
 *   {LABEL!KEY}         all other members
 *
 * A number or a boolean at the path's end is a sample, and an object is 1, or a histogram. */
struct metric {
    const char *name, *type, *help; /* NULL: another path of the metric in the row before */
    const char *path;
    double unit; /* what one of the status is in the base unit; 0: 1 */
    /* The path ends at a word; the sample is 1 if it is one of these words, otherwise 0. */
    const char *is[2];
    /* The path ends at a word, or at an object whose keys are words: a sample for each of these
     * words, 1 if it is there, with the label `state`. It returns NULL after the last one. */
    const char *(*words)(int i);
    const char *state;
};

static const char *degradation(int i)
{
    return halo_degradation_names[i];
}

/* As in halo_live_camera_state(). */
static const char *camera_state(int i)
{
    return i == HALO_V4L2_FINE       ? "open"
           : i < HALO_V4L2_TROUBLES  ? halo_v4l2_states[i].name
           : i == HALO_V4L2_TROUBLES ? "closed"
                                     : NULL;
}

#define STREAM   "streams[stream=name]"
#define CAPTURE  STREAM ".capture"
#define FEED     STREAM ".region_feed"
#define DETECTOR STREAM ".detectors{find}"
#define ENGINE   "engines[engine=name]"
#define GPU      ENGINE ".gpus[gpu=number]"
/* Viewers do not see all of a target, so outputs are told apart by their index. */
#define OUTPUT STREAM ".outputs[number=#,output=target|kind]"

/* In /metrics, the order is the same. */
static const struct metric metrics[] = {
    {"halod_build_info", "gauge", "Always 1; the labels contain the version and the build.",
     "build[version=version,cuda=cuda]"},
    {"halod_start_time_seconds", "gauge", "Unix time at which the daemon started.", "since"},
    {"halod_stream_up", "gauge", "1 if the stream is running and frames pass through its filters.",
     STREAM ".state", .is = {"running", "overloaded"}},
    {"halod_stream_privacy_off", "gauge", "1 if the settings allow unfiltered frames.",
     STREAM ".privacy", .is = {"off"}},
    /* If a region feed decides what is hidden, no samples exist. */
    {"halod_stream_coverage_ratio", "gauge",
     "Fraction of a plane's samples that a chain hides in every frame; plane 0 is luma.",
     STREAM ".coverage[rendition=].planes[plane=#]"},
    {.path = STREAM ".rendition_coverage{rendition}.planes[plane=#]"},
    /* Also 0, so that an alert sees the end. */
    {"halod_stream_degraded", "gauge", "1 while a stream is degraded for the reason in the label.",
     STREAM ".degraded", .words = degradation, .state = "reason"},
    {"halod_region_feed_silent", "gauge",
     "1 while everything is hidden because no usable regions arrive from a detector.",
     FEED ".everything_hidden"},
    {"halod_camera_state", "gauge",
     "1 for the current state of a stream's camera, 0 for its other states.", STREAM ".camera",
     .words = camera_state, .state = "state"},
    {"halod_camera_format", "gauge", "Always 1; the labels describe a camera's mode.",
     CAPTURE "[format=format,size=width*height,rate=rate]"},
    {"halod_frames_total", "counter", "Frames that passed a stage.",
     STREAM "{stage:decoded filtered encoded}"},
    {"halod_frames_dropped_total", "counter", "Dropped frames, by reason.",
     STREAM ".dropped{reason}"},
    {"halod_cards_total", "counter",
     "Placeholder images (cards) sent in place of frames, summed over all encodings.",
     STREAM ".cards"},
    {"halod_encoded_bytes_total", "counter", "Bytes produced by all encodings.", STREAM ".bytes"},
    {"halod_source_opened_total", "counter", "Number of times that the source was opened.",
     STREAM ".opened"},
    {"halod_damaged_total", "counter", "Damaged parts found in the source.", STREAM ".damaged"},
    {"halod_ring_dropped_packets_total", "counter",
     "Packets lost because the supervisor was too slow.", STREAM ".ring_dropped"},
    {"halod_stream_restarts_total", "counter", "Number of times that a stream was restarted.",
     STREAM ".restarts"},
    {"halod_viewers", "gauge", "Viewers of a stream.", STREAM ".viewers"},
    {"halod_camera_failures_total", "counter", "Number of times that a camera failed.",
     CAPTURE ".failures"},
    {"halod_camera_missed_total", "counter", "Frames that a camera's driver lost.",
     CAPTURE ".missed"},
    {"halod_camera_damaged_total", "counter", "Damaged or incomplete frames from a camera.",
     CAPTURE ".damaged"},
    {"halod_hidden_objects_total", "counter", "Objects that hide replaced by cells.",
     STREAM ".hidden.objects"},
    {"halod_hidden_epsilon_total", "counter", "Sum of the epsilons of hide=noise.",
     STREAM ".hidden.epsilon"},
    {"halod_region_feed_updates_total", "counter", "Updates received from a detector.",
     FEED ".updates"},
    {"halod_region_feed_refused_total", "counter", "Unusable updates from a detector.",
     FEED ".refused"},
    {"halod_region_feed_regions", "gauge", "Regions in a detector's last update.", FEED ".regions"},
    {"halod_region_feed_age_seconds", "gauge", "Age of a detector's last update.", FEED ".age_s"},
    {"halod_region_feed_pictures_total", "counter",
     "Frames for which a region feed was queried; a frame counts once for each chain that uses "
     "the feed.",
     FEED ".pictures"},
    {"halod_region_feed_hidden_total", "counter",
     "Frames hidden completely because there were no usable regions from a detector; a frame "
     "counts once for each chain that hides it.",
     FEED ".pictures_hidden"},
    {"halod_engine_restarts_total", "counter", "Number of times that an engine was restarted.",
     ENGINE ".restarts"},
    {"halod_engine_device_failures", "gauge", "Consecutive failures of the GPU.",
     ENGINE ".device_failures"},
    /* The total is not a stage: a sum over all stages must not include it. */
    {"halod_stage_duration_seconds", "histogram", "Time that a frame spends in a stage.",
     STREAM ".stages{stage!total}"},
    {"halod_latency_seconds", "histogram",
     "Time from the decoding of a frame (with cameras, from its capture) until its encoded packet "
     "is ready.",
     STREAM ".stages.total"},
    {"halod_detector_up", "gauge", "1 while the process of a detector runs.", DETECTOR ".up"},
    {"halod_detector_restarts_total", "counter",
     "Number of times that a detector was started again.", DETECTOR ".restarts"},
    {"halod_detector_verdicts_total", "counter", "Frames about which a detector sent a verdict.",
     DETECTOR ".verdicts"},
    {"halod_detector_late_total", "counter",
     "Frames that were not shown because the detector was busy with another frame.",
     DETECTOR ".late"},
    {"halod_detector_hidden_total", "counter",
     "Frames hidden completely because the detector's verdict was late.", DETECTOR ".hidden"},
    {"halod_detector_verdict_seconds", "gauge",
     "Mean time from sending a frame to a detector to its verdict.", DETECTOR ".mean_ms",
     .unit = 1e-3},
    {"halod_gpu_memory_used_bytes", "gauge", "Device memory in use by all processes.",
     GPU ".memory_used_bytes"},
    {"halod_gpu_memory_size_bytes", "gauge", "Size of device memory.", GPU ".memory_size_bytes"},
    {"halod_output_viewers", "gauge", "Viewers of an output.", OUTPUT ".viewers"},
    {"halod_output_sent_bytes_total", "counter", "Bytes sent to an output's viewers.",
     OUTPUT ".sent_bytes"},
    {"halod_output_bytes_total", "counter", "Bytes written by an output.", OUTPUT ".bytes"},
    {"halod_output_dropped_packets_total", "counter", "Packets dropped for slow viewers.",
     OUTPUT ".dropped_packets"},
    {"halod_output_pictures_total", "counter", "Frames written to a virtual camera.",
     OUTPUT ".pictures"},
    {"halod_output_repeated_pictures_total", "counter",
     "Repeated or gray frames written to a virtual camera.", OUTPUT ".repeated"},
    {"halod_output_cut_total", "counter",
     "Viewers of an output that were disconnected because they did not read.", OUTPUT ".cut"},
    {"halod_output_failures_total", "counter", "Failures of an output.", OUTPUT ".failures"},
    {"halod_http_connections", "gauge", "Open HTTP connections.", "http.connections"},
    {"halod_http_connections_cut_total", "counter",
     "HTTP connections closed because they were too slow or because too many were open.",
     "http.cut"},
    {"halod_http_viewers", "gauge", "Clients that view frames over HTTP.", "http.viewers"},
    {"halod_http_frames_total", "counter", "Frames sent over HTTP.", "http.frames"},
    {"halod_http_frames_dropped_total", "counter",
     "Frames that were replaced by newer frames because a client read too slowly.",
     "http.frames_dropped"},
    {"halod_http_sent_bytes_total", "counter", "Bytes of frames sent over HTTP.",
     "http.sent_bytes"},
};

enum { MAX_LABELS = 5, MAX_NUMBER = 64 };

struct label {
    const char *name; /* not terminated */
    int length;
    const char *value;
    char number[MAX_NUMBER]; /* memory of values that are not words */
};

/* The samples of a row, with the labels collected on the way. */
struct page {
    FILE *to;
    const struct metric *row;
    const char *name, *type;
    struct label label[MAX_LABELS];
    int labels;
};

static struct label *add_label(struct page *p, const char *name, size_t length, const char *value)
{
    struct label *label = &p->label[p->labels++];
    label->name = name;
    label->length = (int)length;
    label->value = value;
    return label;
}

static void write_name(const struct page *p, const char *suffix)
{
    fprintf(p->to, "%s%s", p->name, suffix);
    for (int i = 0; i < p->labels; i++) {
        fprintf(p->to, "%c%.*s=\"", i ? ',' : '{', p->label[i].length, p->label[i].name);
        for (const char *c = p->label[i].value; *c; c++)
            if (*c == '\n')
                fputs("\\n", p->to);
            else
                fprintf(p->to, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
        fputc('"', p->to);
    }
    fputs(p->labels ? "} " : " ", p->to);
}

static void write_truth(const struct page *p, bool truth)
{
    write_name(p, "");
    fprintf(p->to, "%d\n", truth);
}

static void write_histogram(struct page *p, const json_t *times)
{
    const json_t *below = json_object_get(times, "below");
    const long long count = json_integer_value(json_object_get(times, "count"));
    struct label *le = add_label(p, "le", 2, NULL);
    le->value = le->number;
    for (int i = 0; i < HALO_HISTOGRAM_EDGES; i++) {
        const long long edge = halo_histogram_edge(i), second = 1000000000;
        snprintf(le->number, sizeof le->number, "%lld.%09lld", edge / second, edge % second);
        write_name(p, "_bucket");
        fprintf(p->to, "%lld\n", (long long)json_integer_value(json_array_get(below, (size_t)i)));
    }
    le->value = "+Inf";
    write_name(p, "_bucket");
    fprintf(p->to, "%lld\n", count);
    p->labels--;
    write_name(p, "_sum");
    fprintf(p->to, "%.9f\n", json_number_value(json_object_get(times, "sum")) / 1000);
    write_name(p, "_count");
    fprintf(p->to, "%lld\n", count);
}

static void write_words(struct page *p, const json_t *at)
{
    const char *is = json_string_value(at), *word;
    if (!json_is_object(at) && !(is && *is))
        return;
    for (int i = 0; (word = p->row->words(i)); i++) {
        add_label(p, p->row->state, strlen(p->row->state), word);
        write_truth(p, is ? !strcmp(is, word) : json_object_get(at, word) != NULL);
        p->labels--;
    }
}

/* Writes what is at the end of a path. */
static void write_samples(struct page *p, const json_t *at)
{
    const char *const *is = p->row->is, *word = json_string_value(at);
    if (p->row->words) {
        write_words(p, at);
    } else if (*is && word) {
        write_truth(p, !strcmp(word, is[0]) || (is[1] && !strcmp(word, is[1])));
    } else if (json_is_object(at) && !strcmp(p->type, "histogram")) {
        write_histogram(p, at);
    } else if (json_is_object(at) || json_is_boolean(at)) {
        write_truth(p, !json_is_false(at));
    } else if (json_is_integer(at) && p->row->unit == 0) { /* a double would round large counters */
        write_name(p, "");
        fprintf(p->to, "%lld\n", (long long)json_integer_value(at));
    } else if (json_is_number(at)) {
        const double v = json_number_value(at) * (p->row->unit != 0 ? p->row->unit : 1);
        write_name(p, "");
        fprintf(p->to, v < 1e9 ? "%.9g\n" : "%.3f\n", v); /* since 1970: to the millisecond */
    }
}

/* ---- paths ---- */

/* A member of an object by the first `length` bytes of key. */
static const json_t *member(const json_t *object, const char *key, size_t length)
{
    char name[40];
    snprintf(name, sizeof name, "%.*s", (int)length, key);
    return json_object_get(object, name);
}

/* The text of a label; NULL: there is none. Viewers may not see what is ***. */
static const char *text_of(const json_t *value, char *number, size_t size)
{
    const char *text = json_string_value(value);
    if (text)
        return *text && strcmp(text, "***") != 0 ? text : NULL;
    if (!json_is_number(value))
        return NULL;
    snprintf(number, size, "%g", json_number_value(value));
    return number;
}

/* Sets the value of a label from the `length` bytes after its =. False: it has none. */
static bool set_value(struct label *label, const char *from, size_t length, const json_t *at,
                      size_t index)
{
    const char *end = from + length, *second = from + strcspn(from, "|*,]") + 1;
    if (length == 0 || *from == '#') {
        snprintf(label->number, sizeof label->number, "%zu", index);
        label->value = length ? label->number : "";
        return true;
    }
    char *number = label->number;
    const bool both = second <= end && second[-1] == '*';
    label->value = text_of(member(at, from, (size_t)(second - 1 - from)), number, MAX_NUMBER / 2);
    if (second > end || (label->value && !both) || (!label->value && both))
        return label->value;
    if (both) {
        number += strlen(number);
        *number++ = 'x';
    }
    const char *next = text_of(member(at, second, (size_t)(end - second)), number, MAX_NUMBER / 2);
    label->value = next && both ? label->number : next;
    return next;
}

/* Adds the labels between [ and ]. False: one of them has no value. */
static bool add_labels(struct page *p, const char *from, const json_t *at, size_t index)
{
    for (const char *end = from; *end != ']'; from = end + 1) {
        const char *value = strchr(from, '=') + 1;
        end = value + strcspn(value, ",]");
        struct label *label = add_label(p, from, (size_t)(value - 1 - from), NULL);
        if (!set_value(label, value, (size_t)(end - value), at, index))
            return false;
    }
    return true;
}

/* Whether {LABEL}, {LABEL:KEY KEY} or {LABEL!KEY} has this key. list: what follows LABEL. */
static bool has_key(const char *list, const char *key)
{
    const size_t length = strlen(key);
    const char mark = *list++;
    bool listed = false;
    for (const char *end; mark != '}' && list[-1] != '}'; list = end + 1) {
        end = list + strcspn(list, " }");
        listed |= (size_t)(end - list) == length && !strncmp(list, key, length);
    }
    return mark == '}' || listed == (mark == ':');
}

/* Writes the samples at the end of the path, of which the last KEY led to `at`. */
static void follow(struct page *p, const char *path, json_t *at)
{
    const int labels = p->labels;
    const char *key;
    json_t *value;
    size_t i;
    if (!at)
        return;
    if (*path == '[') {
        const char *rest = strchr(path, ']') + 1;
        json_t *list = json_is_array(at) ? json_incref(at) : json_pack("[O]", at);
        json_array_foreach (list, i, value) {
            if (add_labels(p, path + 1, value, i))
                follow(p, rest, value);
            p->labels = labels;
        }
        json_decref(list);
    } else if (*path == '{') {
        const size_t length = strcspn(path + 1, ":!}");
        const char *rest = strchr(path, '}') + 1;
        json_object_foreach (at, key, value) {
            if (!has_key(path + 1 + length, key))
                continue;
            add_label(p, path + 1, length, key);
            follow(p, rest, value);
            p->labels = labels;
        }
    } else if (*path) {
        path += *path == '.';
        const size_t length = strcspn(path, ".[{");
        follow(p, path + length, (json_t *)member(at, path, length));
    } else {
        write_samples(p, at);
    }
}

char *halo_metrics_write(const json_t *status, json_t *http)
{
    char *text = NULL;
    size_t size;
    json_t *all = json_pack("{s:{s:s, s:s}, s:O}", "build", "version", HALO_VERSION, "cuda",
                            HALO_CUDA_BUILD, "http", http);
    FILE *to =
        all && json_object_update(all, (json_t *)status) == 0 ? open_memstream(&text, &size) : NULL;
    struct page p = {.to = to};
    for (size_t i = 0; to && i < sizeof metrics / sizeof metrics[0]; i++) {
        p.row = &metrics[i];
        if (p.row->name) {
            p.name = p.row->name;
            p.type = p.row->type;
            fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", p.name, p.row->help, p.name, p.type);
        }
        follow(&p, p.row->path, all);
    }
    json_decref(all);
    if (!to || fclose(to)) {
        free(text);
        return NULL;
    }
    return text;
}
