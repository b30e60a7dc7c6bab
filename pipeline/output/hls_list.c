/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/output/hls_list.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBER INT64_C(1000000000000000) /* players in browsers count in doubles */

enum {
    US = 1000000,
    MAX_LENGTH_S = 86400,
};

static const struct {
    const char *before, *after;
} names[] = {
    [HALO_HLS_SEGMENT] = {"-", ".m4s"},
    [HALO_HLS_INIT] = {"-init-", ".mp4"},
};

void halo_hls_name(char *ret, size_t size, const char *stem, enum halo_hls_kind kind,
                   int64_t number)
{
    snprintf(ret, size, "%s%s%" PRId64 "%s", stem, names[kind].before, number, names[kind].after);
}

bool halo_hls_is_name(const char *name, const char *stem, enum halo_hls_kind *ret_kind,
                      int64_t *ret_number)
{
    char again[NAME_MAX + 1];
    const size_t length = strlen(stem);
    if (strncmp(name, stem, length) != 0)
        return false;
    for (enum halo_hls_kind kind = HALO_HLS_SEGMENT; kind <= HALO_HLS_INIT; kind++) {
        const size_t before = strlen(names[kind].before);
        if (strncmp(name + length, names[kind].before, before) != 0)
            continue;
        const int64_t number = strtoll(name + length + before, NULL, 10);
        halo_hls_name(again, sizeof again, stem, kind, number);
        if (number < 0 || number > MAX_NUMBER || strcmp(again, name))
            continue;
        *ret_kind = kind;
        *ret_number = number;
        return true;
    }
    return false;
}

void halo_hls_list_drop(struct halo_hls_list *list, int count)
{
    for (int i = 0; i < count; i++)
        list->discontinuities += list->segment[i].discontinuity;
    list->count -= count;
    memmove(list->segment, list->segment + count, (size_t)list->count * sizeof *list->segment);
}

void halo_hls_list_add(struct halo_hls_list *list, const struct halo_hls_segment *segment)
{
    if (list->count >= list->keep)
        halo_hls_list_drop(list, list->count - list->keep + 1);
    list->segment[list->count++] = *segment;
    list->next = segment->number + 1;
}

/* ---- text ---- */

/* No segment may be longer than this, after rounding. */
static int target_of(const struct halo_hls_list *list)
{
    int target = list->target;
    for (int i = 0; i < list->count; i++) {
        const int rounded = (int)lrint((double)list->segment[i].length / US);
        target = rounded > target ? rounded : target;
    }
    return target;
}

static void write_segment(FILE *to, const char *stem, const struct halo_hls_segment *at,
                          const struct halo_hls_segment *before)
{
    char name[NAME_MAX + 1];
    if (at->discontinuity)
        fputs("#EXT-X-DISCONTINUITY\n", to);
    if (!before || before->init != at->init) {
        halo_hls_name(name, sizeof name, stem, HALO_HLS_INIT, at->init);
        fprintf(to, "#EXT-X-MAP:URI=\"%s\"\n", name);
    }
    halo_hls_name(name, sizeof name, stem, HALO_HLS_SEGMENT, at->number);
    fprintf(to, "#EXTINF:%" PRId64 ".%06d,\n%s\n", at->length / US, (int)(at->length % US), name);
}

char *halo_hls_list_write(const struct halo_hls_list *list, const char *stem)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to,
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%d\n"
            "#EXT-X-MEDIA-SEQUENCE:%" PRId64 "\n#EXT-X-DISCONTINUITY-SEQUENCE:%" PRId64 "\n"
            "#EXT-X-INDEPENDENT-SEGMENTS\n",
            target_of(list), list->count ? list->segment[0].number : list->next,
            list->discontinuities);
    for (int i = 0; i < list->count; i++)
        write_segment(to, stem, &list->segment[i], i ? &list->segment[i - 1] : NULL);
    const bool failed = ferror(to);
    if (!fclose(to) && !failed)
        return text;
    free(text);
    return NULL;
}

/* If the line begins with `tag`, returns the rest. */
static const char *after(const char *line, const char *tag)
{
    const size_t length = strlen(tag);
    return strncmp(line, tag, length) ? NULL : line + length;
}

static bool read_map(const char *rest, const char *stem, int64_t *ret)
{
    char name[NAME_MAX + 1];
    enum halo_hls_kind kind;
    const size_t length = strcspn(rest, "\"");
    if (length >= sizeof name || rest[length] != '"')
        return false;
    memcpy(name, rest, length);
    name[length] = '\0';
    return halo_hls_is_name(name, stem, &kind, ret) && kind == HALO_HLS_INIT;
}

/* The values read so far: of the next segment, and of the list. */
struct reading {
    struct halo_hls_segment segment;
    int64_t sequence;
};

static bool read_uri(struct halo_hls_list *list, struct reading *now, const char *stem,
                     const char *line)
{
    enum halo_hls_kind kind;
    struct halo_hls_segment *at = &now->segment;
    if (!halo_hls_is_name(line, stem, &kind, &at->number) || kind != HALO_HLS_SEGMENT ||
        at->number != (list->count ? list->next : now->sequence) || at->init < 0 || at->length <= 0)
        return false;
    halo_hls_list_add(list, at);
    at->discontinuity = false;
    at->length = 0;
    return true;
}

static bool read_line(struct halo_hls_list *list, struct reading *now, const char *stem,
                      const char *line)
{
    const char *rest;
    if ((rest = after(line, "#EXT-X-MEDIA-SEQUENCE:"))) {
        list->next = now->sequence = strtoll(rest, NULL, 10);
        return now->sequence >= 0 && now->sequence <= MAX_NUMBER;
    }
    if ((rest = after(line, "#EXT-X-DISCONTINUITY-SEQUENCE:"))) {
        list->discontinuities = strtoll(rest, NULL, 10);
        return list->discontinuities >= 0 && list->discontinuities <= MAX_NUMBER;
    }
    if (!strcmp(line, "#EXT-X-DISCONTINUITY"))
        return now->segment.discontinuity = true;
    if ((rest = after(line, "#EXT-X-MAP:URI=\"")))
        return read_map(rest, stem, &now->segment.init);
    if ((rest = after(line, "#EXTINF:"))) {
        const double seconds = strtod(rest, NULL);
        now->segment.length =
            seconds > 0 && seconds < MAX_LENGTH_S ? (int64_t)llrint(seconds * US) : 0;
        return now->segment.length > 0;
    }
    return *line == '#' || read_uri(list, now, stem, line);
}

int halo_hls_list_read(struct halo_hls_list *list, const char *stem, const char *text)
{
    struct halo_hls_list found = {.keep = list->keep, .target = list->target};
    struct reading now = {.segment = {.init = -1}, .sequence = -1};
    char *copy = after(text, "#EXTM3U\n") ? strdup(text) : NULL, *at = NULL;
    bool fine = copy != NULL;
    for (char *line = fine ? strtok_r(copy, "\n", &at) : NULL; fine && line;
         line = strtok_r(NULL, "\n", &at))
        fine = read_line(&found, &now, stem, line);
    free(copy);
    if (!fine || now.sequence < 0)
        return -EINVAL;
    *list = found;
    return 0;
}
