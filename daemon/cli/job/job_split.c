/* SPDX-License-Identifier: BSD-2-Clause
 * halod job split: reads IN once and writes the manifest. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/option.h"
#include "daemon/cli/job/job.h"
#include "daemon/cli/job/job_detections.h"
#include "daemon/cli/job/job_facts.h"
#include "daemon/cli/job/job_file.h"
#include "daemon/cli/job/job_task.h"
#include "daemon/cli/run/run_end.h"
#include "daemon/engine/hide.h"
#include "pipeline/base/path.h"
#include "pipeline/output/container.h"
#include "pipeline/stream/stream.h"
#include "pipeline/segment/manifest.h"

/* Encoders of which a test showed that they give the same bytes on all processors of a kind, and
 * decoders whose result is defined to the last bit. */
static const char *const exact_encoders[] = {"libx264", "libx264rgb", "ffv1"};
static const enum AVCodecID exact_decoders[] = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8,
                                                AV_CODEC_ID_VP9, AV_CODEC_ID_FFV1};

struct split {
    struct halo_job_file job;
    char **argv; /* as given, with -segments before it */
    int argc;
    const char *encoder;
    json_t *segments; /* an array */
    struct halo_cut_input input;
    char hash[HALO_SHA256_TEXT]; /* of IN */
    struct timespec time;        /* IN's, before it was read */
    bool mixed, opened;          /* a stream has opened everything */
    int64_t packets;
};

/* ---- paths ---- */

/* Returns `path` relative to `folder`; both are absolute, without links. NULL: out of memory. */
static char *relative(const char *path, const char *folder)
{
    size_t same = 0, up = 0;
    for (size_t i = 0; folder[i] == path[i] || (!folder[i] && path[i] == '/'); i++) {
        if (path[i] == '/' || !folder[i])
            same = i + 1;
        if (!folder[i] || !path[i])
            break;
    }
    if (strlen(folder) >= same)
        for (const char *at = folder + same; *at; at++)
            up += at == folder + same || *at == '/';
    char *ret = malloc(3 * up + strlen(path) + sizeof "./"), *to = ret;
    for (size_t i = 0; ret && i < up; i++)
        to = stpcpy(to, "../");
    if (ret)
        stpcpy(up ? to : stpcpy(to, "./"), path + same);
    return ret;
}

/* Returns IN relative to the folder of OUT, which is the working directory. */
static char *relative_input(const char *input, struct halo_error *err)
{
    char *path = realpath(halo_path_of(input), NULL), *folder = realpath(".", NULL), *ret = NULL;
    if (!path)
        halo_fail(err, -errno, "%s: %s", input, strerror(errno));
    else if (!folder || !(ret = relative(path, folder)))
        halo_fail(err, -ENOMEM, "out of memory");
    free(path);
    free(folder);
    return ret;
}

static int add_word(json_t *words, const char *word, struct halo_error *err)
{
    return json_array_append_new(words, json_string(word)) < 0
               ? halo_fail_usage(err, "a job's arguments must be UTF-8: %.80s is not", word)
               : 0;
}

/* Returns the arguments with IN and OUT replaced, which halo_run_parse() has accepted. */
static json_t *replace(const struct split *s, const char *in, const char *out,
                       struct halo_error *err)
{
    json_t *ret = json_array();
    bool options = true;
    int code = 0;
    for (int i = 0; i < s->argc && code >= 0; i++) {
        const char *word = s->argv[i];
        if (options && !strcmp(word, "--")) {
            options = false;
        } else if (!options || word[0] != '-' || !word[1]) {
            word = out;
        } else {
            const struct halo_option *row =
                halo_option_find(halo_run_options, word + 1, strlen(word + 1));
            if (!row || row->type != HALO_OPTION_FLAG) { /* -f has no row */
                code = add_word(ret, word, err);
                word = row == &halo_run_options[0] ? in : s->argv[i + 1];
                i++;
            }
        }
        if (code >= 0)
            code = add_word(ret, word, err);
    }
    if (code >= 0)
        return ret;
    json_decref(ret);
    return NULL;
}

/* ---- checks ---- */

static void do_nothing(void *arg)
{
    (void)arg;
}

/* Opens everything as the join will, which finds what is wrong with the encoder and the output. */
static int check_stream(struct split *s, struct halo_error *err)
{
    struct halo_stream *stream;
    struct halo_stream_result result;
    struct halo_run_settings settings = s->job.settings;
    struct halo_segments *segments = NULL;
    const struct halo_segments_job nothing = {.facts = s->job.manifest};
    settings.device.backend = HALO_RUN_CPU;
    settings.device.hwaccel = HALO_HWACCEL_NONE;
    int code = halo_segments_open_job(&segments, &s->job.settings, s->job.manifest, &nothing, err);
    if (code >= 0)
        code = halo_stream_create(&stream, &settings, s->job.chain, do_nothing, NULL, err);
    if (code < 0) {
        halo_segments_close(segments, false);
        return code;
    }
    halo_stream_set_trial(stream);
    halo_stream_set_check(stream);
    halo_stream_set_segment(stream, segments, NULL);
    code = halo_stream_start(stream, err);
    if (code >= 0) {
        halo_stream_join(stream, &result);
        if (result.error.code)
            *err = result.error;
    }
    halo_stream_destroy(stream);
    halo_segments_close(segments, false);
    return err->code;
}

static int find_encoder(struct split *s, struct halo_error *err)
{
    const struct halo_run_settings *set = &s->job.settings;
    const AVOutputFormat *container = halo_container_guess(set->output_format, set->output);
    if (!container)
        return halo_fail_usage(err, "%s: its suffix does not select a container: use .mkv or .mp4",
                               set->output);
    const AVCodec *codec = halo_container_encoder(container, set, err);
    s->encoder = codec ? codec->name : NULL;
    return codec ? 0 : -EINVAL;
}

/* ---- the folder ---- */

static int make_folder(const struct split *s, struct halo_error *err)
{
    struct stat st;
    char *path;
    if (mkdir(s->job.folder, 0777) == 0)
        return 0;
    if (errno != EEXIST)
        return halo_fail(err, -errno, "%s: cannot be created: %s", s->job.folder, strerror(errno));
    if (asprintf(&path, "%s/manifest.json", s->job.folder) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    const bool has_manifest = stat(path, &st) == 0;
    free(path);
    if (!has_manifest || s->job.settings.overwrite)
        return 0;
    return halo_fail_usage(
        err,
        "%s: is the folder of an earlier job or run: submit or join it, or begin "
        "again with -y",
        s->job.folder);
}

/* ---- the manifest ---- */

static int found(void *arg, const struct halo_segment *segment, struct halo_error *err)
{
    struct split *s = arg;
    s->packets += segment->packets;
    return json_array_append_new(s->segments, halo_manifest_segment(segment)) < 0
               ? halo_fail(err, -ENOMEM, "out of memory")
               : 0;
}

static bool are_flags_equal(const struct split *s)
{
    bool encoder = false, decoder = false;
    for (size_t i = 0; i < sizeof exact_encoders / sizeof *exact_encoders; i++)
        encoder |= !strcmp(s->encoder, exact_encoders[i]);
    for (size_t i = 0; i < sizeof exact_decoders / sizeof *exact_decoders; i++)
        decoder |= s->input.codec == exact_decoders[i];
    return encoder && decoder;
}

static int describe(struct split *s, json_t *words, struct halo_error *err)
{
    const struct halo_run_settings *set = &s->job.settings;
    json_t *job = json_pack(
        "{s:O, s:o, s:b, s:b, s:b, s:o, s:b, s:o}", "arguments", words, "machine",
        halo_job_machine(s->encoder), "any_flags", are_flags_equal(s), "detects",
        halo_job_chain_detects(s->job.chain), "merges", halo_job_chain_merges(s->job.chain),
        "detectors", halo_job_hash_detectors(&s->job), "mixed", s->mixed, "split", halo_job_who());
    s->job.manifest = json_pack("{s:i, s:{s:o, s:I, s:I, s:s}, s:o, s:b, s:O, s:o}", "version", 1,
                                "input", "name", halo_manifest_text(set->source.input), "size",
                                (json_int_t)s->input.size, "time", halo_job_time(&s->time),
                                "sha256", s->hash, "terms", halo_manifest_terms(set, s->job.chain),
                                "complete", 1, "segments", s->segments, "job", job);
    return s->job.manifest ? 0 : halo_fail(err, -ENOMEM, "out of memory");
}

static int read_input(struct split *s, struct halo_error *err)
{
    const atomic_int stop = 0;
    const struct halo_run_settings *set = &s->job.settings;
    struct stat st;
    if (stat(halo_path_of(set->source.input), &st) == 0)
        s->time = st.st_mtim;
    const int code = halo_cut_list_read(&s->input, set, &stop, found, s, err);
    if (code >= 0 && json_array_size(s->segments) == 0)
        return halo_fail(err, -ENODATA, "%s: contains no frames", set->source.input);
    return code < 0 ? code : halo_job_hash_file(halo_path_of(set->source.input), s->hash, err);
}

/* Parses the arguments again with the new paths, in the folder of OUT. */
static int enter(struct split *s, const char *input, json_t **ret_words, struct halo_error *err)
{
    char *copy = strdup(input), *in = NULL, *out = NULL;
    int code = copy ? halo_job_enter(&s->job, err) : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0 && !(in = relative_input(copy, err)))
        code = err->code;
    if (code >= 0 && asprintf(&out, "./%s", strrchr(s->job.output, '/') + 1) < 0)
        code = halo_fail(err, -ENOMEM, "out of memory");
    json_t *words = code >= 0 ? replace(s, in, out, err) : NULL;
    free(copy);
    free(in);
    free(out);
    *ret_words = words;
    return words ? 0 : err->code;
}

static int parse_again(struct split *s, json_t *words, struct halo_error *err)
{
    struct halo_error inner = {0};
    const size_t count = json_array_size(words);
    char **argv = calloc(count + 1, sizeof *argv);
    if (!argv)
        return halo_fail(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        argv[i] = (char *)json_string_value(json_array_get(words, i));
    halo_run_finish(&s->job.settings);
    int code = halo_run_parse(&s->job.settings, (int)count, argv, err);
    free(argv);
    if (code < 0 || (code = halo_job_check_settings(&s->job.settings, NULL, err)) < 0)
        return code;
    if ((code = halo_chain_parse(&s->job.chain, s->job.settings.filters, &inner)) < 0 ||
        (code = halo_chain_refuse_feed(s->job.chain, &inner)) < 0 ||
        (code = halo_chain_load(s->job.chain, &inner)) < 0)
        return halo_fail_usage(err,
                               "-vf, %s (paths in the chain of a job are relative to the folder "
                               "of OUT)",
                               inner.text);
    return halo_job_check_chain(&s->job.settings, s->job.chain, err);
}

static int find_files(struct split *s, struct halo_error *err)
{
    char *parts = halo_segments_folder_of(&s->job.settings);
    const struct halo_run_settings settings = s->job.settings;
    int code =
        parts ? halo_job_find(&s->job, parts, err) : halo_fail(err, -ENOMEM, "out of memory");
    s->job.settings = settings;
    free(parts);
    return code;
}

static int replace_manifest(struct split *s, struct halo_error *err)
{
    const int fd = halo_segments_clear(s->job.folder, s->job.settings.overwrite, err);
    if (fd < 0)
        return fd;
    const int code = halo_job_write(&s->job, err);
    close(fd);
    return code;
}

static int split(struct split *s, struct halo_error *err)
{
    json_t *words = NULL;
    char *input;
    int code = halo_run_parse(&s->job.settings, s->argc, s->argv, err);
    if (code >= 0)
        code = halo_job_check_settings(&s->job.settings, NULL, err);
    if (code >= 0)
        code = find_files(s, err);
    if (code < 0)
        return code;
    input = realpath(halo_path_of(s->job.settings.source.input), NULL);
    if (!input)
        return halo_fail(err, -errno, "%s: %s", s->job.settings.source.input, strerror(errno));
    code = enter(s, input, &words, err);
    free(input);
    if (code >= 0)
        code = parse_again(s, words, err);
    if (code >= 0)
        code = find_encoder(s, err);
    if (code >= 0)
        code = read_input(s, err);
    if (code >= 0)
        code = make_folder(s, err);
    if (code >= 0)
        code = describe(s, words, err);
    if (code >= 0) {
        s->opened = true;
        code = check_stream(s, err);
    }
    if (code >= 0)
        code = replace_manifest(s, err);
    if (code < 0)
        rmdir(s->job.folder); /* if it is new */
    json_decref(words);
    return code;
}

int halo_job_split_command(const struct halo_job_options *options, int count, char **rest)
{
    static char *const before[] = {"-segments", "-segment_time", "30"};
    enum { BEFORE = sizeof before / sizeof *before };
    struct halo_error err = {0};
    struct split s = {.mixed = options->mixed, .segments = json_array(), .argc = count + BEFORE};
    s.argv = calloc((size_t)s.argc + 1, sizeof *s.argv);
    int code =
        s.argv && s.segments ? halo_hide_memory(&err) : halo_fail(&err, -ENOMEM, "out of memory");
    if (code >= 0) {
        memcpy(s.argv, before, sizeof before);
        memcpy(s.argv + BEFORE, rest, (size_t)count * sizeof *rest);
        code = split(&s, &err);
    }
    if (code >= 0) {
        halo_log(HALO_LOG_INFO, "%s: %d segments, %lld frames", s.job.folder,
                 (int)json_array_size(s.segments), (long long)s.packets);
        puts(s.job.folder);
    }
    code = code < 0 ? halo_job_fail(&err) : halo_end_print();
    halo_job_close(&s.job);
    json_decref(s.segments);
    free(s.argv);
    return code;
}
