/* SPDX-License-Identifier: BSD-2-Clause
 * Detections (detections.h): arrays in memory, written one after the other. */
#include "pipeline/detect/detections.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/murmur3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/atomic_file.h"

static const char magic[] = "halod d1";

struct head {
    char magic[8];
    uint8_t id[HALO_DETECTIONS_ID];
    int64_t frames, boxes, segments, objects, values, shown;
    double bits, epsilons;
    int32_t width, height;
    char name[HALO_FINDS][HALO_DETECT_NAME];
    halo_find_set finds;
    int32_t seen;
};

void halo_detections_finish(struct halo_detections *d)
{
    free(d->frame);
    free(d->box);
    free(d->segment);
    halo_frozen_finish(&d->frozen);
    *d = (struct halo_detections){.frame = NULL};
}

/* Makes room for `more` elements after `count`, in steps that double. Returns the array; NULL: out
 * of memory. */
static void *grow(void *array, int64_t count, int64_t more, size_t size)
{
    int64_t before = count ? 64 : 0, room = 64;
    while (before && before < count)
        before *= 2;
    while (room < count + more)
        room *= 2;
    return room == before ? array : realloc(array, (size_t)room * size);
}

static int add_boxes(struct halo_detections *d, const struct halo_detect_box *box, int64_t count)
{
    struct halo_detect_box *grown = count ? grow(d->box, d->boxes, count, sizeof *grown) : d->box;
    if (count && !grown)
        return -ENOMEM;
    d->box = grown;
    if (count)
        memcpy(d->box + d->boxes, box, (size_t)count * sizeof *box);
    d->boxes += count;
    return 0;
}

int halo_detections_add(struct halo_detections *d, const struct halo_detections_frame *frame,
                        const struct halo_detect_box *const boxes[HALO_FINDS])
{
    struct halo_detections_frame *grown = grow(d->frame, d->frames, 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    d->frame = grown;
    d->frame[d->frames] = *frame;
    d->frame[d->frames].box = d->boxes;
    for (int find = 0; find < HALO_FINDS; find++)
        if (add_boxes(d, boxes[find], frame->count[find]) < 0)
            return -ENOMEM;
    d->frames++;
    return 0;
}

static int agree(struct halo_detections *d, const struct halo_detections *next,
                 struct halo_error *err)
{
    for (int find = 0; find < HALO_FINDS; find++) {
        if (!next->name[find][0])
            continue;
        if (d->name[find][0] && strcmp(d->name[find], next->name[find]) != 0)
            return halo_fail(err, -ESTALE,
                             "segment %lld: its %s were found by the detector %s, those of earlier "
                             "segments by %s",
                             (long long)d->segments, halo_find_names[find], next->name[find],
                             d->name[find]);
        memcpy(d->name[find], next->name[find], sizeof d->name[find]);
    }
    if (d->segments && (d->width != next->width || d->height != next->height))
        return halo_fail(
            err, -ESTALE,
            "segment %lld: its frames have another size than those of earlier segments",
            (long long)d->segments);
    d->finds |= next->finds;
    d->width = next->width;
    d->height = next->height;
    return 0;
}

static int append(struct halo_detections *d, const struct halo_detections *next)
{
    int64_t *grown = grow(d->segment, d->segments, 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    d->segment = grown;
    d->segment[d->segments++] = next->frames;
    for (int64_t i = 0; i < next->frames; i++) {
        const struct halo_detections_frame *frame = &next->frame[i];
        const struct halo_detect_box *boxes[HALO_FINDS], *box = next->box + frame->box;
        for (int find = 0; find < HALO_FINDS; box += frame->count[find++])
            boxes[find] = box;
        if (halo_detections_add(d, frame, boxes) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* The first frame of a segment was compared with none. */
static void mend_cut(struct halo_detections *d, const struct halo_detections *next, int64_t from)
{
    struct halo_cuts cuts = {.seen = d->seen};
    if (!next->seen)
        return;
    memcpy(cuts.before, d->last, sizeof cuts.before);
    while (from < d->frames && !d->frame[from].looked)
        from++;
    if (from < d->frames)
        d->frame[from].cut = halo_cuts_is_cut(&cuts, next->first);
    if (!d->seen)
        memcpy(d->first, next->first, sizeof d->first);
    memcpy(d->last, next->last, sizeof d->last);
    d->seen = true;
}

int halo_detections_append(struct halo_detections *d, const struct halo_detections *next,
                           struct halo_error *err)
{
    const int64_t from = d->frames;
    const int code = agree(d, next, err);
    if (code < 0)
        return code;
    if (append(d, next) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    mend_cut(d, next, from);
    return 0;
}

/* ---- files ---- */

/* The pieces of a file between its head and its end. */
struct piece {
    void **array; /* NULL: a thumbnail, at `fixed` */
    void *fixed;
    size_t size;
};

enum { PIECES = 7 };

static void lay_out(struct halo_detections *d, const struct head *head, struct piece ret[PIECES])
{
    const size_t thumbnail = head->seen ? HALO_CUT_BYTES : 0;
    ret[0] = (struct piece){(void **)&d->frame, NULL, (size_t)head->frames * sizeof *d->frame};
    ret[1] = (struct piece){(void **)&d->box, NULL, (size_t)head->boxes * sizeof *d->box};
    ret[2] =
        (struct piece){(void **)&d->segment, NULL, (size_t)head->segments * sizeof *d->segment};
    ret[3] = (struct piece){NULL, d->first, thumbnail};
    ret[4] = (struct piece){NULL, d->last, thumbnail};
    ret[5] = (struct piece){(void **)&d->frozen.object, NULL,
                            (size_t)head->objects * sizeof *d->frozen.object};
    ret[6] = (struct piece){(void **)&d->frozen.value, NULL,
                            (size_t)head->values * sizeof *d->frozen.value};
}

static int put(FILE *file, struct AVMurMur3 *hash, const void *data, size_t size)
{
    if (size == 0)
        return 0;
    av_murmur3_update(hash, data, size);
    return fwrite(data, 1, size, file) == size ? 0 : errno ? -errno : -EIO;
}

static int write_all(struct halo_detections *d, FILE *file)
{
    struct piece piece[PIECES];
    struct head head = {.frames = d->frames,
                        .boxes = d->boxes,
                        .segments = d->segments,
                        .objects = d->frozen.objects,
                        .values = d->frozen.values,
                        .shown = d->frozen.shown,
                        .bits = d->frozen.bits,
                        .epsilons = d->frozen.epsilons,
                        .width = d->width,
                        .height = d->height,
                        .finds = d->finds,
                        .seen = d->seen};
    struct AVMurMur3 *hash = av_murmur3_alloc();
    if (!hash)
        return -ENOMEM;
    memcpy(head.magic, magic, sizeof head.magic);
    memcpy(head.id, d->id, sizeof head.id);
    memcpy(head.name, d->name, sizeof head.name);
    lay_out(d, &head, piece);
    av_murmur3_init(hash);
    int code = put(file, hash, &head, sizeof head);
    for (int i = 0; i < PIECES && code == 0; i++)
        code = put(file, hash, piece[i].array ? *piece[i].array : piece[i].fixed, piece[i].size);
    av_murmur3_final(hash, d->hash);
    av_free(hash);
    if (code == 0 && (fwrite(d->hash, sizeof d->hash, 1, file) != 1 || fflush(file) != 0 ||
                      fsync(fileno(file)) < 0))
        code = errno ? -errno : -EIO;
    return code;
}

int halo_detections_save(struct halo_detections *d, const char *path, bool once,
                         struct halo_error *err)
{
    char *temporary;
    const int fd = halo_atomic_file_open(path, 0600, &temporary);
    if (fd < 0)
        return halo_fail(err, fd, "%s: cannot be written: %s", path, strerror(-fd));
    FILE *file = fdopen(fd, "wb");
    int code = file ? write_all(d, file) : -ENOMEM;
    if (file)
        fclose(file);
    else
        close(fd);
    if (code == 0)
        code = once ? halo_atomic_file_link(temporary, path)
                    : halo_atomic_file_replace(temporary, path);
    if (code < 0)
        unlink(temporary);
    else
        halo_sync_folder(path);
    free(temporary);
    return code < 0 ? halo_fail(err, code, "%s: cannot be written: %s", path, strerror(-code)) : 0;
}

static int get(FILE *file, struct AVMurMur3 *hash, void *data, size_t size)
{
    if (size == 0)
        return 0;
    if (fread(data, 1, size, file) != size)
        return ferror(file) ? -EIO : -EBADMSG;
    av_murmur3_update(hash, data, size);
    return 0;
}

/* Whether the file is as long as its head says, so that no number in it can ask for more memory. */
static bool is_long_enough(const struct head *head, int64_t size)
{
    const int64_t least = (int64_t)(sizeof *head + HALO_DETECTIONS_ID);
    const int64_t most = size / (int64_t)sizeof(uint16_t);
    struct halo_detections none;
    struct piece piece[PIECES];
    const int64_t counts[] = {head->frames, head->boxes, head->segments, head->objects,
                              head->values};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] < 0 || counts[i] > most)
            return false;
    int64_t sum = least;
    lay_out(&none, head, piece);
    for (int i = 0; i < PIECES; i++)
        sum += (int64_t)piece[i].size;
    return sum == size;
}

static int read_pieces(struct halo_detections *d, const struct head *head, FILE *file,
                       struct AVMurMur3 *hash)
{
    struct piece piece[PIECES];
    int code = 0;
    lay_out(d, head, piece);
    for (int i = 0; i < PIECES && code == 0; i++) {
        void *to = piece[i].fixed;
        if (piece[i].array && piece[i].size)
            to = *piece[i].array = malloc(piece[i].size);
        code = to || !piece[i].size ? get(file, hash, to, piece[i].size) : -ENOMEM;
    }
    return code;
}

static bool is_box_sane(const struct halo_detect_box *b)
{
    return fabsf(b->x) <= 10 && fabsf(b->y) <= 10 && b->width >= 0 && b->width <= 10 &&
           b->height >= 0 && b->height <= 10 && b->score >= 0 && b->score <= 1;
}

static bool are_objects_sane(const struct halo_frozen *frozen)
{
    for (int64_t i = 0; i < frozen->objects; i++) {
        const struct halo_frozen_object *object = &frozen->object[i];
        if (object->count < 0 || object->count > frozen->values || object->value < 0 ||
            object->value > frozen->values - object->count ||
            (i && object->frame < frozen->object[i - 1].frame))
            return false;
    }
    return true;
}

/* Whether all numbers are what the judge and the gate may be given. */
static bool is_sane(const struct halo_detections *d)
{
    int64_t boxes = 0, frames = 0;
    for (int64_t i = 0; i < d->frames; i++) {
        const struct halo_detections_frame *frame = &d->frame[i];
        if (frame->box != boxes)
            return false;
        for (int find = 0; find < HALO_FINDS; find++) {
            if (frame->count[find] < 0 || frame->count[find] > HALO_DETECT_MAX_BOXES)
                return false;
            boxes += frame->count[find];
        }
    }
    for (int64_t i = 0; i < d->boxes; i++)
        if (!is_box_sane(&d->box[i]))
            return false;
    for (int64_t i = 0; i < d->segments; i++) {
        if (d->segment[i] < 0 || d->segment[i] > d->frames)
            return false;
        frames += d->segment[i];
    }
    return are_objects_sane(&d->frozen) && boxes == d->boxes &&
           (d->segments == 0 || frames == d->frames);
}

static int read_all(struct halo_detections *d, FILE *file, int64_t size,
                    const uint8_t id[HALO_DETECTIONS_ID])
{
    struct head head;
    uint8_t found[HALO_DETECTIONS_ID];
    struct AVMurMur3 *hash = av_murmur3_alloc();
    if (!hash)
        return -ENOMEM;
    av_murmur3_init(hash);
    int code = get(file, hash, &head, sizeof head);
    if (code == 0 &&
        (memcmp(head.magic, magic, sizeof head.magic) != 0 || !is_long_enough(&head, size)))
        code = -EBADMSG;
    if (code == 0)
        code = read_pieces(d, &head, file, hash);
    av_murmur3_final(hash, found);
    av_free(hash);
    if (code == 0 && fread(d->hash, sizeof d->hash, 1, file) != 1)
        code = -EBADMSG;
    if (code < 0)
        return code;
    d->frames = head.frames;
    d->boxes = head.boxes;
    d->segments = head.segments;
    d->frozen.objects = head.objects;
    d->frozen.values = head.values;
    d->frozen.shown = head.shown;
    d->frozen.bits = head.bits;
    d->frozen.epsilons = head.epsilons;
    d->width = head.width;
    d->height = head.height;
    d->finds = head.finds;
    d->seen = head.seen;
    memcpy(d->id, head.id, sizeof d->id);
    memcpy(d->name, head.name, sizeof d->name);
    for (int find = 0; find < HALO_FINDS; find++)
        d->name[find][HALO_DETECT_NAME - 1] = 0;
    if (memcmp(found, d->hash, sizeof found) != 0 || !is_sane(d))
        return -EBADMSG;
    return memcmp(d->id, id, sizeof d->id) ? -ESTALE : 0;
}

int halo_detections_load(struct halo_detections *ret, const char *path,
                         const uint8_t id[HALO_DETECTIONS_ID])
{
    struct stat st;
    struct halo_detections d = {.frame = NULL};
    FILE *file = fopen(path, "rbe");
    if (!file)
        return -errno;
    int code = fstat(fileno(file), &st) < 0 ? -errno : 0;
    if (code == 0 && st.st_mode & 077)
        code = -EPERM;
    if (code == 0)
        code = read_all(&d, file, st.st_size, id);
    fclose(file);
    if (code < 0)
        halo_detections_finish(&d);
    else
        *ret = d;
    return code;
}

int halo_detections_fail(const char *path, int code, struct halo_error *err)
{
    switch (code) {
    case -EPERM:
        return halo_fail(err, -ESTALE,
                         "%s: other users can read this file, which records where people are: run "
                         "chmod 600 on it, and keep other users out of its folder",
                         path);
    case -EBADMSG:
        return halo_fail(err, code, "%s: is damaged", path);
    case -ESTALE:
        return halo_fail(err, code, "%s: was made from another input or with other settings", path);
    default:
        return halo_fail(err, code, "%s: %s", path, strerror(-code));
    }
}
