/* SPDX-License-Identifier: BSD-2-Clause
 * Part files (part_file.h): a head, the encoder's extradata, packets, and an end. Numbers have the
 * byte order of the machine, since parts are joined where they are made. */
#include "pipeline/segment/part_file.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/murmur3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/atomic_file.h"

enum { END = -1 }; /* the size in the record after the last packet */

static const char magic[] = "halod p1";

struct head {
    char magic[8];
    struct halo_part_id id;
    int32_t codec, extradata_size;
};

struct record {
    int64_t pts, duration;
    int32_t flags, size;
};

/* After the record END. */
struct end {
    int64_t frames;
    struct halo_segment_hash hash; /* of all bytes before it */
};

/* ---- writing ---- */

struct halo_part_writer {
    FILE *file;
    char *path, *temporary;
    struct AVMurMur3 *hash;
};

static int fail_write(const struct halo_part_writer *w, int code, struct halo_error *err)
{
    return halo_fail(err, code, "%s: cannot be written: %s", w->path, strerror(-code));
}

static int put(struct halo_part_writer *w, const void *data, size_t size, struct halo_error *err)
{
    if (size == 0)
        return 0;
    av_murmur3_update(w->hash, data, size);
    return fwrite(data, 1, size, w->file) == size ? 0 : fail_write(w, errno ? -errno : -EIO, err);
}

int halo_part_create(struct halo_part_writer **ret, const char *path, const struct halo_part_id *id,
                     const AVCodecParameters *par, struct halo_error *err)
{
    struct halo_part_writer *w = av_mallocz(sizeof *w);
    if (!w || !(w->path = strdup(path)) || !(w->hash = av_murmur3_alloc())) {
        halo_part_discard(w);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    av_murmur3_init(w->hash);
    int code = halo_atomic_file_open(path, 0, &w->temporary);
    if (code < 0)
        fail_write(w, code, err);
    else if (!(w->file = fdopen(code, "wb"))) {
        close(code);
        code = halo_fail(err, -ENOMEM, "out of memory");
    }
    struct head head = {.id = *id, .codec = par->codec_id, .extradata_size = par->extradata_size};
    memcpy(head.magic, magic, sizeof head.magic);
    if (code >= 0)
        code = put(w, &head, sizeof head, err);
    if (code >= 0)
        code = put(w, par->extradata, (size_t)par->extradata_size, err);
    if (code < 0) {
        halo_part_discard(w);
        return code;
    }
    *ret = w;
    return 0;
}

int halo_part_write(struct halo_part_writer *w, const AVPacket *pkt, struct halo_error *err)
{
    const struct record record = {pkt->pts, pkt->duration, pkt->flags, pkt->size};
    if (av_packet_get_side_data(pkt, AV_PKT_DATA_NEW_EXTRADATA, NULL))
        return halo_fail_usage(err, "-segments: the encoder's parameters change within the video, "
                                    "so segments of it cannot be joined: choose another -c:v");
    const int code = put(w, &record, sizeof record, err);
    return code < 0 ? code : put(w, pkt->data, (size_t)pkt->size, err);
}

int halo_part_finish(struct halo_part_writer *w, int64_t frames, struct halo_part_content *ret,
                     struct halo_error *err)
{
    const struct record last = {.size = END};
    struct end end = {.frames = frames};
    int code = put(w, &last, sizeof last, err);
    if (code < 0)
        return code;
    av_murmur3_final(w->hash, end.hash.byte);
    if (fwrite(&end, sizeof end, 1, w->file) != 1 || fflush(w->file) != 0 ||
        fsync(fileno(w->file)) < 0)
        return fail_write(w, -errno, err);
    code = halo_atomic_file_replace(w->temporary, w->path);
    if (code < 0)
        return fail_write(w, code, err);
    free(w->temporary);
    w->temporary = NULL;
    halo_sync_folder(w->path);
    *ret = (struct halo_part_content){frames, end.hash};
    return 0;
}

const char *halo_part_temporary(const struct halo_part_writer *w)
{
    return w->temporary;
}

void halo_part_discard(struct halo_part_writer *w)
{
    if (!w)
        return;
    if (w->file)
        fclose(w->file);
    if (w->temporary)
        unlink(w->temporary);
    free(w->temporary);
    free(w->path);
    av_free(w->hash);
    av_free(w);
}

/* ---- reading ---- */

/* Reads everything before the end, and its first bytes into *ret_head. Returns 0 or -errno. */
static int hash_content(FILE *file, int64_t size, struct head *ret_head,
                        struct halo_segment_hash *ret)
{
    enum { CHUNK = 1 << 16 };
    struct AVMurMur3 *hash = av_murmur3_alloc();
    uint8_t *data = malloc(CHUNK);
    int code = hash && data ? 0 : -ENOMEM;
    if (hash)
        av_murmur3_init(hash);
    for (int64_t left = size; code == 0 && left > 0;) {
        const size_t wanted = left < CHUNK ? (size_t)left : CHUNK;
        if (fread(data, 1, wanted, file) != wanted)
            code = ferror(file) ? -EIO : -EBADMSG;
        else if (left == size)
            memcpy(ret_head, data, sizeof *ret_head);
        av_murmur3_update(hash, data, wanted);
        left -= (int64_t)wanted;
    }
    if (code == 0)
        av_murmur3_final(hash, ret->byte);
    free(data);
    av_free(hash);
    return code;
}

static int check_file(FILE *file, const struct halo_part_id *id, struct halo_part_content *ret)
{
    struct head head;
    struct end end;
    struct halo_segment_hash found;
    const int64_t size = fseeko(file, 0, SEEK_END) < 0 ? -1 : ftello(file);
    if (size < 0)
        return -errno;
    if (size < (int64_t)(sizeof head + sizeof end))
        return -EBADMSG;
    rewind(file);
    const int code = hash_content(file, size - (int64_t)sizeof end, &head, &found);
    if (code < 0)
        return code;
    if (fread(&end, sizeof end, 1, file) != 1)
        return ferror(file) ? -EIO : -EBADMSG;
    if (memcmp(&found, &end.hash, sizeof found) != 0 ||
        memcmp(head.magic, magic, sizeof head.magic) != 0)
        return -EBADMSG;
    if (memcmp(&head.id, id, sizeof *id) != 0)
        return -ESTALE;
    *ret = (struct halo_part_content){end.frames, end.hash};
    return 0;
}

int halo_part_check(const char *path, const struct halo_part_id *id, struct halo_part_content *ret)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return -errno;
    const int code = check_file(file, id, ret);
    fclose(file);
    return code;
}

struct halo_part_reader {
    FILE *file;
    char *path;
    struct halo_part_order *order;
    int64_t *time; /* presentation times of all packets, sorted */
    int64_t count, read;
    int64_t step; /* from one frame to the next, at the beginning */
};

/* Parts were checked before, so this is the disk's failure, or somebody else's write. */
static int fail_read(const struct halo_part_reader *r, struct halo_error *err)
{
    return ferror(r->file) ? halo_fail(err, -EIO, "%s: cannot be read", r->path)
                           : halo_fail(err, -EBADMSG, "%s: was damaged during the run", r->path);
}

static int check_encoder(struct halo_part_reader *r, const AVCodecParameters *par,
                         struct halo_error *err)
{
    struct head head;
    if (fread(&head, sizeof head, 1, r->file) != 1 || memcmp(head.magic, magic, sizeof head.magic))
        return fail_read(r, err);
    bool same = head.codec == (int32_t)par->codec_id && head.extradata_size == par->extradata_size;
    uint8_t *extradata = same && head.extradata_size ? malloc((size_t)head.extradata_size) : NULL;
    if (extradata) {
        if (fread(extradata, (size_t)head.extradata_size, 1, r->file) != 1) {
            free(extradata);
            return fail_read(r, err);
        }
        same = !memcmp(extradata, par->extradata, (size_t)par->extradata_size);
    }
    free(extradata);
    return same ? 0
                : halo_fail(err, -EINVAL,
                            "%s: the encoder's parameters are not those of the other "
                            "segments, so they cannot be joined",
                            r->path);
}

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int add_time(struct halo_part_reader *r, const struct record *record)
{
    const int64_t room = r->count < 64 ? 64 : r->count;
    if ((r->count & (r->count - 1)) == 0 && (r->count == 0 || r->count >= 64)) {
        int64_t *grown = realloc(r->time, (size_t)(r->count + room) * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        r->time = grown;
    }
    if (r->count == 0)
        r->step = record->duration > 0 ? record->duration : 1;
    r->time[r->count++] = record->pts;
    return 0;
}

/* Reads the times of all packets, and goes back to the first one. */
static int read_times(struct halo_part_reader *r, struct halo_error *err)
{
    struct record record;
    const off_t first = ftello(r->file);
    for (;;) {
        if (fread(&record, sizeof record, 1, r->file) != 1 || record.size < END)
            return fail_read(r, err);
        if (record.size == END)
            break;
        if (add_time(r, &record) < 0)
            return halo_fail(err, -ENOMEM, "out of memory");
        if (fseeko(r->file, record.size, SEEK_CUR) < 0)
            return fail_read(r, err);
    }
    if (r->count > 0)
        qsort(r->time, (size_t)r->count, sizeof *r->time, compare_times);
    if (r->count > 1)
        r->step = r->time[1] - r->time[0];
    return fseeko(r->file, first, SEEK_SET) < 0 ? fail_read(r, err) : 0;
}

/* The presentation time of frame n, which is negative in the parts before. */
static int64_t time_of(const struct halo_part_reader *r, int64_t n)
{
    const struct halo_part_order *order = r->order;
    if (n >= 0)
        return r->time[n];
    if (n >= -order->count)
        return order->before[order->count + n];
    const int64_t first = order->count > 0 ? order->before[0] : r->time[0];
    return first + (n + order->count) * r->step;
}

int halo_part_open(struct halo_part_reader **ret, const char *path, const AVCodecParameters *par,
                   struct halo_part_order *order, struct halo_error *err)
{
    struct halo_part_reader *r = av_mallocz(sizeof *r);
    if (!r || !(r->path = strdup(path))) {
        halo_part_close(r);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    r->file = fopen(path, "rb");
    r->order = order;
    int code = r->file ? check_encoder(r, par, err)
                       : halo_fail(err, -errno, "%s: %s", path, strerror(errno));
    if (code >= 0)
        code = read_times(r, err);
    if (code < 0) {
        halo_part_close(r);
        return code;
    }
    *ret = r;
    return 0;
}

int halo_part_read(struct halo_part_reader *r, AVPacket *pkt, struct halo_error *err)
{
    struct record record;
    av_packet_unref(pkt);
    if (fread(&record, sizeof record, 1, r->file) != 1)
        return fail_read(r, err);
    if (record.size == END) {
        /* Remembers the last frames for the next part. */
        struct halo_part_order next = {.delay = r->order->delay};
        for (int64_t n = r->count - next.delay; n < r->count; n++)
            if (n >= -r->order->count)
                next.before[next.count++] = time_of(r, n);
        *r->order = next;
        return 0;
    }
    if (record.size < 0 || r->read == r->count)
        return halo_fail(err, -EBADMSG, "%s: was damaged during the run", r->path);
    if (av_new_packet(pkt, record.size) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    if (record.size > 0 && fread(pkt->data, (size_t)record.size, 1, r->file) != 1)
        return fail_read(r, err);
    pkt->pts = record.pts;
    pkt->dts = time_of(r, r->read++ - r->order->delay);
    pkt->duration = record.duration;
    pkt->flags = record.flags;
    if (pkt->dts > pkt->pts)
        return halo_fail(err, -ENOTSUP,
                         "%s: cannot be joined: its encoder reorders frames by more "
                         "than %d",
                         r->path, r->order->delay);
    return 1;
}

void halo_part_close(struct halo_part_reader *r)
{
    if (!r)
        return;
    if (r->file)
        fclose(r->file);
    free(r->path);
    free(r->time);
    av_free(r);
}
