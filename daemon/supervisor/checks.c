/* SPDX-License-Identifier: BSD-2-Clause
 * Checks chains, encoders and cameras in the settings file. The supervisor calls this, too, so no
 * device is opened, and only the beginning of a mask image is read. */
#include "daemon/supervisor/checks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/encoding.h"
#include "config/output_kinds.h"
#include "config/source_kinds.h"
#include "daemon/link/link_stats.h"
#include "pipeline/base/av.h"
#include "pipeline/filter/coverage.h"
#include "pipeline/filter/disclosure.h"
#include "pipeline/filter/filter.h"
#include "pipeline/filter/privacy.h"
#include "pipeline/stream/source_ops.h"
#include "pipeline/output/container.h"
#include "pipeline/output/encode_check.h"
#include "pipeline/output/output.h"

static int check_encoder(const char *codec, bool audio, struct halo_error *err)
{
    const enum AVMediaType type = audio ? AVMEDIA_TYPE_AUDIO : AVMEDIA_TYPE_VIDEO;
    const AVCodec *found = halo_av_find_encoder("encoder", codec, type, err);
    return found ? halo_encode_check_codec(found, err) : -EINVAL;
}

static int check_codec(const AVOutputFormat *container, const struct halo_output_row *row,
                       const char *encoder, struct halo_error *err)
{
    const AVCodec *codec = encoder ? avcodec_find_encoder_by_name(encoder) : NULL;
    if (!codec)
        return 0; /* reported where the encoder is named */
    const AVCodecParameters par = {.codec_type = codec->type, .codec_id = codec->id};
    if (row->container && !halo_container_holds(container, &par))
        return halo_fail(err, -ENOTSUP, "%s: players do not support %s in %s: use another codec",
                         row->key, avcodec_get_name(codec->id), row->container);
    return halo_container_check(container, row->key, &par, err);
}

static int check_output(const struct halo_output_settings *output, struct halo_error *err)
{
    const struct halo_output_row *row = halo_output_row(output);
    const AVOutputFormat *container = halo_container_of(output);
    if (row->writer == HALO_WRITER_ENGINE && halo_output_check(output, err) < 0)
        return -EINVAL;
    if (!container)
        return 0; /* reported elsewhere, or a format of unencoded frames */
    const int code = check_codec(container, row, halo_video_codec(&output->video), err);
    return code < 0 ? code : check_codec(container, row, output->audio, err);
}

static int check_input(const char *input, struct halo_error *err)
{
    return halo_source_ops[halo_source_row(input)->kind]->check(input, err);
}

/* Finds the size of frames: that requested from a camera, rotated as set. For other inputs it is
 * not known yet: 0. */
static void find_size(const struct halo_stream_settings *stream, int *ret_width, int *ret_height)
{
    const struct halo_capture_settings *capture = &stream->capture;
    int width, height;
    const bool known = halo_source_row(stream->source.input)->captures && capture->size &&
                       sscanf(capture->size, "%dx%d", &width, &height) == 2;
    const bool turned = capture->rotate % 2;
    *ret_width = !known ? 0 : turned ? height : width;
    *ret_height = !known ? 0 : turned ? width : height;
}

static int guess_at(struct halo_coverage *ret, const char *text, int width, int height,
                    struct halo_error *err)
{
    struct halo_chain *chain;
    int code = halo_chain_parse(&chain, strcmp(text, "none") ? text : "null", err);
    if (code)
        return code;
    code = halo_coverage_guess(ret, chain, width, height, err);
    halo_chain_destroy(chain);
    return code;
}

static int guess(struct halo_coverage *ret, const char *text,
                 const struct halo_stream_settings *stream, struct halo_error *err)
{
    int width, height;
    find_size(stream, &width, &height);
    return guess_at(ret, text, width, height, err);
}

json_t *halo_checks_hides(const char *chain, int width, int height, struct halo_error *err)
{
    struct halo_coverage coverage;
    return guess_at(&coverage, chain, width, height, err) ? NULL : halo_coverage_write(&coverage);
}

json_t *halo_checks_disclosure(const char *text)
{
    struct halo_disclosure disclosure[HALO_MAX_FILTERS];
    struct halo_error err;
    struct halo_chain *chain;
    json_t *to = json_array();
    if (halo_chain_parse(&chain, strcmp(text, "none") ? text : "null", &err) < 0)
        return to;
    const int count = halo_chain_disclosure(chain, disclosure);
    halo_chain_destroy(chain);
    for (int i = 0; i < count; i++)
        json_array_append_new(to, json_pack("{s:s, s:s, s:b}", "where", disclosure[i].where,
                                            "words", disclosure[i].words, "bounded",
                                            disclosure[i].kind != HALO_DISCLOSURE_MORE));
    return to;
}

static int check_coverage(const char *chain, const struct halo_stream_settings *stream,
                          struct halo_error *err)
{
    struct halo_coverage coverage;
    if (stream->min_coverage <= 0 || !stream->source.input)
        return 0;
    const int code = guess(&coverage, chain, stream, err);
    return code ? code : halo_coverage_check(&coverage, stream->min_coverage, err);
}

/* Appends a row for a chain that does not hide all of every frame. */
static void add_coverage(json_t *to, const struct halo_stream_settings *stream,
                         const char *rendition, const char *chain)
{
    struct halo_coverage coverage;
    bool whole = true;
    if (guess(&coverage, chain, stream, NULL) < 0)
        return;
    for (int p = 0; p < coverage.planes; p++)
        whole &= coverage.part[p] >= 1;
    if (whole && coverage.planes > 0)
        return;
    json_t *row =
        json_pack("{s:s, s:o}", "stream", stream->name, "coverage", halo_coverage_write(&coverage));
    if (rendition)
        json_object_set_new(row, "rendition", json_string(rendition));
    json_array_append_new(to, row);
}

json_t *halo_checks_coverage(const struct halo_daemon_settings *settings)
{
    json_t *to = json_array();
    for (int i = 0; i < settings->streams; i++) {
        const struct halo_stream_settings *stream = &settings->stream[i];
        add_coverage(to, stream, NULL, stream->filters);
        for (int r = 0; r < stream->renditions; r++)
            add_coverage(to, stream, stream->rendition[r].name, stream->rendition[r].filters);
    }
    return to;
}

static halo_find_set finds_of(const char *text)
{
    struct halo_chain_needs needs = {0};
    struct halo_chain *chain;
    if (!strcmp(text, "none") || halo_chain_parse(&chain, text, NULL))
        return 0;
    halo_chain_add_needs(chain, &needs);
    halo_chain_destroy(chain);
    return needs.hidden | needs.shown;
}

static bool is_listed(const json_t *list, const char *find, const char *command)
{
    json_t *one;
    size_t i;
    json_array_foreach ((json_t *)list, i, one) {
        const char *other = json_string_value(json_object_get(one, "command"));
        const bool same = command && other ? !strcmp(command, other) : command == other;
        if (same && !strcmp(find, json_string_value(json_object_get(one, "find"))))
            return true;
    }
    return false;
}

static void add_detectors(json_t *to, const struct halo_stream_settings *stream)
{
    halo_find_set finds = finds_of(stream->filters);
    for (int r = 0; r < stream->renditions; r++)
        finds |= finds_of(stream->rendition[r].filters);
    for (int find = 0; find < HALO_FINDS; find++) {
        const char *const name = halo_find_names[find];
        const char *const command = stream->detector[find].command;
        if (!(finds & halo_find_bit((enum halo_find)find)) || is_listed(to, name, command))
            continue;
        json_t *row = json_pack("{s:s, s:s}", "stream", stream->name, "find", name);
        if (command)
            json_object_set_new(row, "command", json_string(command));
        json_array_append_new(to, row);
    }
}

json_t *halo_checks_detectors(const struct halo_daemon_settings *settings)
{
    json_t *to = json_array();
    for (int i = 0; i < settings->streams; i++)
        add_detectors(to, &settings->stream[i]);
    return to;
}

const struct halo_daemon_checks halo_checks = {
    .filters = halo_chain_check,
    .coverage = check_coverage,
    .feed = halo_chain_check_feed,
    .encoder = check_encoder,
    .output = check_output,
    .video = halo_encode_check,
    .input = check_input,
};
