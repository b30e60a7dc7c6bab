/* SPDX-License-Identifier: BSD-2-Clause
 * The manifest of a run in segments (manifest.h). */
#include "pipeline/segment/manifest.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/murmur3.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "config/base/atomic_file.h"
#include "kernels/version.h"
#include "pipeline/output/container.h"
#include "pipeline/region/mask_image.h"

enum { VERSION = 1 };

/* The options that the output depends on. Where and with how many threads the work is done is not
 * among them. */
static const char *const deciding[] = {
    "vf",         "c:v",          "b:v",          "crf",
    "preset",     "c:a",          "an",           "ss",
    "t",          "map_metadata", "video_size",   "framerate",
    "max_pixels", "pixel_format", "segment_time", "copy_unfiltered",
    "faces",      "people",
};

json_t *halo_manifest_text(const char *text)
{
    json_t *ret = json_string(text);
    if (ret)
        return ret;
    char *escaped = malloc(4 * strlen(text) + 1), *to = escaped;
    for (const char *at = text; escaped && *at; at++)
        to += sprintf(to, (unsigned char)*at < 0x80 ? "%c" : "\\x%02x", (unsigned char)*at);
    ret = escaped ? json_stringn(escaped, (size_t)(to - escaped)) : NULL;
    free(escaped);
    return ret;
}

/* As on the command line; "" if the option is not given. */
static json_t *value_of(const struct halo_option *row, const struct halo_run_settings *settings)
{
    const void *field = (const char *)settings + row->offset;
    char text[40] = "";
    switch (row->type) {
    case HALO_OPTION_STRING:
        return halo_manifest_text(*(char *const *)field ? *(char *const *)field : "");
    case HALO_OPTION_FLAG:
        return json_string(*(const bool *)field ? "yes" : "");
    case HALO_OPTION_INT:
        snprintf(text, sizeof text, "%d", *(const int *)field);
        break;
    default:
        if (*(const double *)field >= 0)
            snprintf(text, sizeof text, "%.9g", *(const double *)field);
    }
    return json_string(text);
}

static json_t *settings_of(const struct halo_run_settings *settings)
{
    json_t *ret = json_object();
    for (size_t i = 0; i < sizeof deciding / sizeof *deciding; i++) {
        const struct halo_option *row =
            halo_option_find(halo_run_options, deciding[i], strlen(deciding[i]));
        if (json_object_set_new(ret, deciding[i], value_of(row, settings)) < 0)
            goto fail;
    }
    const char *const formats[] = {settings->source.format, settings->output_format};
    const char *const names[] = {"f before -i", "f after -i"};
    for (int i = 0; i < 2; i++)
        if (json_object_set_new(ret, names[i], halo_manifest_text(formats[i] ? formats[i] : "")) <
            0)
            goto fail;
    return ret;
fail:
    json_decref(ret);
    return NULL;
}

static struct halo_segment_hash hash_of(const void *data, size_t size)
{
    struct halo_segment_hash ret = {0};
    struct AVMurMur3 *state = av_murmur3_alloc();
    if (!state)
        return ret;
    av_murmur3_init(state);
    av_murmur3_update(state, data, size);
    av_murmur3_final(state, ret.byte);
    av_free(state);
    return ret;
}

json_t *halo_manifest_hash(const struct halo_segment_hash *hash)
{
    char text[2 * sizeof hash->byte + 1];
    for (size_t i = 0; i < sizeof hash->byte; i++)
        snprintf(text + 2 * i, 3, "%02x", hash->byte[i]);
    return json_string(text);
}

/* Of the mask images, by the number of their filter: a file may change without its name. */
static json_t *masks_of(const struct halo_chain *chain)
{
    json_t *ret = json_object();
    for (int i = 0; i < chain->count; i++) {
        const struct halo_shapes *shapes = chain->filter[i].shapes;
        char number[16];
        for (int k = 0; shapes && k < shapes->count; k++) {
            const struct halo_mask_image *mask = shapes->shape[k].mask;
            if (!mask)
                continue;
            const struct halo_segment_hash hash =
                hash_of(mask->weight, (size_t)mask->width * (size_t)mask->height);
            snprintf(number, sizeof number, "%d", i + 1);
            json_object_set_new(ret, number, halo_manifest_hash(&hash));
        }
    }
    return ret;
}

/* ---- versions ---- */

/* The length of a library's name if it makes bytes of parts: one of FFmpeg's, or the encoder's, as
 * libx264.so.164 is for libx264rgb and libSvtAv1Enc.so.1 for libsvtav1. Otherwise 0. */
static size_t makes_bytes(const char *library, const char *encoder)
{
    static const char *const of_ffmpeg[] = {"libavcodec", "libavformat", "libavutil", "libswscale",
                                            "libswresample"};
    const size_t length = strcspn(library, ".");
    const size_t shorter = length < strlen(encoder) ? length : strlen(encoder);
    for (size_t i = 0; i < sizeof of_ffmpeg / sizeof *of_ffmpeg; i++)
        if (strlen(of_ffmpeg[i]) == length && !strncmp(of_ffmpeg[i], library, length))
            return length;
    return shorter > strlen("libm") && !strncasecmp(library, encoder, shorter) ? length : 0;
}

/* "NAME HASH": two libraries of one version may have been built from different sources. */
static json_t *describe_library(const char *name, const char *path)
{
    enum { CHUNK = 1 << 20 };
    struct halo_segment_hash hash = {0};
    FILE *file = fopen(path, "rbe");
    struct AVMurMur3 *state = av_murmur3_alloc();
    uint8_t *data = malloc(CHUNK);
    if (file && state && data) {
        av_murmur3_init(state);
        for (size_t size; (size = fread(data, 1, CHUNK, file)) > 0;)
            av_murmur3_update(state, data, size);
        av_murmur3_final(state, hash.byte);
    }
    json_t *text = halo_manifest_hash(&hash);
    json_t *ret = json_sprintf("%s %s", name, json_string_value(text));
    json_decref(text);
    if (file)
        fclose(file);
    av_free(state);
    free(data);
    return ret;
}

static const char *encoder_of(const struct halo_run_settings *settings)
{
    struct halo_error ignored = {0};
    const AVOutputFormat *container =
        halo_container_guess(settings->output_format, settings->output);
    const AVCodec *codec = container ? halo_container_encoder(container, settings, &ignored) : NULL;
    return codec ? codec->name : "";
}

json_t *halo_manifest_versions(const struct halo_run_settings *settings)
{
    char line[4200], key[80];
    const char *encoder = encoder_of(settings);
    json_t *ret = json_pack("{s:s, s:s}", "halod", HALO_VERSION, "ffmpeg", av_version_info());
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        line[strcspn(line, "\n")] = 0;
        const char *path = strchr(line, '/'), *slash = strrchr(line, '/');
        const size_t length = path ? makes_bytes(slash + 1, encoder) : 0;
        snprintf(key, sizeof key, "%.*s", (int)length, length ? slash + 1 : "");
        if (length && !json_object_get(ret, key))
            json_object_set_new(ret, key, describe_library(slash + 1, path));
    }
    if (maps)
        fclose(maps);
    if (!json_object_get(ret, "libavcodec")) /* it is part of the program */
        json_object_set_new(ret, "libavcodec", describe_library("halod", "/proc/self/exe"));
    return ret;
}

json_t *halo_manifest_terms(const struct halo_run_settings *settings,
                            const struct halo_chain *chain)
{
    return json_pack("{s:o, s:o, s:o}", "settings", settings_of(settings), "masks", masks_of(chain),
                     "versions", halo_manifest_versions(settings));
}

char *halo_manifest_canonical(const json_t *json)
{
    /* From 2.15 on, jansson writes numbers shorter unless their digits are named. */
    return json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
}

static struct halo_part_id id_of(json_t *all)
{
    struct halo_part_id id = {.hash = {{0}}};
    char *text = halo_manifest_canonical(all);
    if (text)
        id.hash = hash_of(text, strlen(text));
    free(text);
    json_decref(all);
    return id;
}

struct halo_part_id halo_manifest_part_id(json_t *terms, const struct halo_segment *segment)
{
    return id_of(json_pack("{s:O, s:i, s:I, s:o}", "terms", terms, "number", segment->number,
                           "packets", (json_int_t)segment->packets, "hash",
                           halo_manifest_hash(&segment->hash)));
}

struct halo_part_id halo_manifest_id(json_t *manifest)
{
    return id_of(json_pack("{s:O, s:O}", "terms", json_object_get(manifest, "terms"), "segments",
                           json_object_get(manifest, "segments")));
}

static int fail_term(const char *folder, bool option, const char *name, const json_t *earlier,
                     const json_t *now, struct halo_error *err)
{
    const char *none = "(not given)";
    const char *before = json_string_value(earlier), *after = json_string_value(now);
    return halo_fail_usage(err,
                           "%s: was made with %s%s %s, not with %s: use the same as before, or "
                           "remove the folder to begin again",
                           folder, option ? "-" : "", name, before && *before ? before : none,
                           after && *after ? after : none);
}

int halo_manifest_compare(const json_t *earlier, json_t *now, const char *folder,
                          struct halo_error *err)
{
    const char *group, *name;
    json_t *terms, *mine;
    json_object_foreach (now, group, terms) {
        json_object_foreach (terms, name, mine) {
            const json_t *theirs = json_object_get(json_object_get(earlier, group), name);
            if (json_equal(mine, theirs))
                continue;
            return !strcmp(group, "masks")
                       ? halo_fail_usage(err,
                                         "%s: was made with another mask image for filter %s: use "
                                         "that image, or "
                                         "remove the folder to begin again",
                                         folder, name)
                       : fail_term(folder, !strcmp(group, "settings"), name, theirs, mine, err);
        }
    }
    return 0;
}

json_t *halo_manifest_segment(const struct halo_segment *segment)
{
    return json_pack("{s:f, s:{s:I, s:i}, s:I, s:o}", "time", segment->time, "from", "pts",
                     (json_int_t)segment->from.pts, "size", segment->from.size, "packets",
                     (json_int_t)segment->packets, "hash", halo_manifest_hash(&segment->hash));
}

static int read_hash(const char *text, struct halo_segment_hash *ret)
{
    if (strlen(text) != 2 * sizeof ret->byte || strspn(text, "0123456789abcdef") != strlen(text))
        return -EBADMSG;
    for (size_t i = 0; i < sizeof ret->byte; i++)
        (void)sscanf(text + 2 * i, "%2hhx", &ret->byte[i]);
    return 0;
}

int halo_manifest_read_segment(const json_t *json, int number, struct halo_segment *ret)
{
    const char *hash;
    json_int_t pts, packets;
    struct halo_segment segment = {.number = number};
    if (json_unpack((json_t *)json, "{s:F, s:{s:I, s:i}, s:I, s:s}", "time", &segment.time, "from",
                    "pts", &pts, "size", &segment.from.size, "packets", &packets, "hash",
                    &hash) < 0 ||
        packets < 1 || read_hash(hash, &segment.hash) < 0)
        return -EBADMSG;
    segment.from.pts = pts;
    segment.packets = packets;
    *ret = segment;
    return 0;
}

static char *path_of(const char *folder)
{
    char *path;
    return asprintf(&path, "%s/manifest.json", folder) < 0 ? NULL : path;
}

int halo_manifest_read(json_t **ret, const char *folder)
{
    char *path = path_of(folder);
    if (!path)
        return -ENOMEM;
    json_error_t error;
    errno = 0;
    json_t *manifest = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    const int code = errno;
    free(path);
    if (!manifest)
        return json_error_code(&error) == json_error_cannot_open_file ? -(code ? code : ENOENT)
                                                                      : -EBADMSG;
    if (json_integer_value(json_object_get(manifest, "version")) != VERSION ||
        !json_is_object(json_object_get(manifest, "terms"))) {
        json_decref(manifest);
        return -EBADMSG;
    }
    *ret = manifest;
    return 0;
}

static int write_text(const char *text, const char *path)
{
    char *temporary;
    const int fd = halo_atomic_file_open(path, 0, &temporary);
    if (fd < 0)
        return fd;
    FILE *file = fdopen(fd, "w");
    int code = 0;
    if (!file || fputs(text, file) < 0 || fputc('\n', file) < 0 || fflush(file) != 0 ||
        fsync(fd) < 0)
        code = errno ? -errno : -EIO;
    if (file)
        fclose(file);
    else
        close(fd);
    if (code == 0)
        code = halo_atomic_file_replace(temporary, path);
    if (code < 0)
        unlink(temporary);
    else
        halo_sync_folder(path);
    free(temporary);
    return code;
}

int halo_manifest_save(const json_t *json, const char *path)
{
    char *text = json_dumps(json, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    const int code = text ? write_text(text, path) : -ENOMEM;
    free(text);
    return code;
}

int halo_manifest_write(const json_t *manifest, const char *folder, struct halo_error *err)
{
    char *path = path_of(folder);
    const int code = path ? halo_manifest_save(manifest, path) : -ENOMEM;
    if (code < 0)
        halo_fail(err, code, "%s: its manifest cannot be written: %s", folder, strerror(-code));
    free(path);
    return code;
}
