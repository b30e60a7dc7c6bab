/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs to live HLS playlists with segments of fragmented MP4.
 *
 * The MP4 muxer writes into memory: first the header, and then one fragment for each group of
 * frames. A segment consists of whole fragments. Each opening of the output writes its own
 * header, and begins with a discontinuity, so that players that follow the playlist continue
 * although the engine died or the parameters changed.
 *
 * FFmpeg's HLS muxer is not used, because with a full disk it reports success, empties the playlist
 * and lists empty segments; and because its playlists have one header, which it replaces when it
 * continues a playlist, although the segments from before may need the old one. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libavformat/avformat.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mem.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/output/container.h"
#include "pipeline/output/hls_list.h"
#include "pipeline/output/output_mux.h"
#include "pipeline/output/output_names.h"
#include "pipeline/output/output_place.h"
#include "pipeline/output/output_queue.h"

/* ---- the folder ---- */

/* The folder of a live HLS playlist. Each file appears there complete under its name, or not at
 * all: it is written under a temporary name in the folder. Symbolic links in the folder are never
 * followed. Used by one thread; all calls may block on disk, and return 0 or -errno. */

struct halo_hls_folder {
    int dir;                 /* descriptor of the folder */
    int fd;                  /* of the file that is being written; -1: none */
    const char *stem;        /* the caller's */
    char name[NAME_MAX + 1]; /* final name of the file that is being written */
};

enum { MAX_TEXT = 65536 };

static const char temporary[] = ".tmp";
static const char suffix[] = ".m3u8";

/* Opens the folder of this playlist, and creates it if it is missing. On failure, nothing is
 * open. */
static int hls_folder_open(struct halo_hls_folder *folder, const char *playlist, const char *stem)
{
    char path[PATH_MAX];
    *folder = (struct halo_hls_folder){.dir = -1, .fd = -1, .stem = stem};
    if (strlen(playlist) >= sizeof path || strlen(stem) + 40 > NAME_MAX)
        return -ENAMETOOLONG;
    const int code = halo_names_make_folders(playlist);
    if (code < 0)
        return code;
    strcpy(path, playlist);
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    folder->dir = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder->dir < 0 ? -errno : 0;
}

static void temporary_name(const struct halo_hls_folder *folder, char ret[NAME_MAX + 8])
{
    snprintf(ret, NAME_MAX + 8, "%s%s", folder->name, temporary);
}

/* Also after a failure. */
static void leave(struct halo_hls_folder *folder)
{
    char name[NAME_MAX + 8];
    if (folder->fd < 0)
        return;
    close(folder->fd);
    folder->fd = -1;
    temporary_name(folder, name);
    unlinkat(folder->dir, name, 0);
}

/* Closes the folder. Removes the file that is being written. */
static void hls_folder_close(struct halo_hls_folder *folder)
{
    leave(folder);
    if (folder->dir >= 0)
        close(folder->dir);
    folder->dir = -1;
}

/* ---- writing ---- */

static int begin(struct halo_hls_folder *folder)
{
    char name[NAME_MAX + 8];
    temporary_name(folder, name);
    unlinkat(folder->dir, name, 0); /* what a killed process left */
    folder->fd =
        openat(folder->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return folder->fd < 0 ? -errno : 0;
}

/* Begins a file, adds bytes to it, and gives it its final name. */
static int hls_folder_begin(struct halo_hls_folder *folder, enum halo_hls_kind kind, int64_t number)
{
    halo_hls_name(folder->name, sizeof folder->name, folder->stem, kind, number);
    return begin(folder);
}

static int hls_folder_write(struct halo_hls_folder *folder, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(folder->fd, (const char *)bytes + done, size - done);
        if (n < 0 && errno != EINTR) {
            const int code = -errno;
            leave(folder);
            return code;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int hls_folder_end(struct halo_hls_folder *folder)
{
    char name[NAME_MAX + 8];
    temporary_name(folder, name);
    const int fd = folder->fd;
    folder->fd = -1;
    int code = close(fd) < 0 && errno != EINTR ? -errno : 0;
    if (code >= 0 && renameat(folder->dir, name, folder->dir, folder->name) < 0)
        code = -errno;
    if (code < 0)
        unlinkat(folder->dir, name, 0);
    return code;
}

/* Replaces the playlist. Call it while no file is being written. */
static int hls_folder_publish(struct halo_hls_folder *folder, const struct halo_hls_list *list)
{
    char *text = halo_hls_list_write(list, folder->stem);
    if (!text)
        return -ENOMEM;
    snprintf(folder->name, sizeof folder->name, "%s%s", folder->stem, suffix);
    int code = begin(folder);
    if (code >= 0)
        code = hls_folder_write(folder, text, strlen(text));
    if (code >= 0)
        code = hls_folder_end(folder);
    free(text);
    return code;
}

/* ---- reading ---- */

/* Returns the length of the text, or -errno. */
static ssize_t read_text(int fd, char text[MAX_TEXT])
{
    size_t length = 0;
    for (ssize_t n = 1; n && length < MAX_TEXT - 1;) {
        n = read(fd, text + length, MAX_TEXT - 1 - length);
        if (n < 0 && errno != EINTR)
            return -errno;
        length += n > 0 ? (size_t)n : 0;
    }
    text[length] = '\0';
    return (ssize_t)length;
}

/* Whether players that followed the playlist when it was written have given up. Segments that are
 * this old would also mislead new ones, and a power failure may have emptied them. */
static bool is_over(const struct stat *st, const struct halo_hls_list *list)
{
    const int64_t age = halo_unix_seconds() - st->st_mtim.tv_sec;
    int64_t length = 0;
    for (int i = 0; i < list->count; i++)
        length += list->segment[i].length;
    return age < 0 || age > 60 + 3 * length / 1000000;
}

/* Drops the newest segment that is missing, and all before it. */
static void drop_missing(const struct halo_hls_folder *folder, struct halo_hls_list *list)
{
    char name[NAME_MAX + 1];
    struct stat st;
    for (int i = list->count - 1; i >= 0; i--) {
        bool there = true;
        for (int kind = HALO_HLS_SEGMENT; kind <= HALO_HLS_INIT; kind++) {
            const struct halo_hls_segment *at = &list->segment[i];
            halo_hls_name(name, sizeof name, folder->stem, (enum halo_hls_kind)kind,
                          kind == HALO_HLS_INIT ? at->init : at->number);
            there &= fstatat(folder->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISREG(st.st_mode) && st.st_size > 0;
        }
        if (there)
            continue;
        halo_hls_list_drop(list, i + 1);
        return;
    }
}

static int read_list(int fd, const struct halo_hls_folder *folder, struct halo_hls_list *list)
{
    static const int64_t none = -1;
    struct stat st;
    char *text = malloc(MAX_TEXT);
    ssize_t code = text ? 0 : -ENOMEM;
    if (code >= 0 && fstat(fd, &st) < 0)
        code = -errno;
    else if (code >= 0 && !S_ISREG(st.st_mode))
        code = -EEXIST;
    if (code >= 0)
        code = read_text(fd, text);
    list->next = none;
    if (code > 0 && text[0]) /* not emptied by a power failure */
        code = halo_hls_list_read(list, folder->stem, text) < 0 ? -EEXIST : 0;
    free(text);
    if (code < 0)
        return (int)code;
    if (is_over(&st, list))
        halo_hls_list_drop(list, list->count);
    drop_missing(folder, list);
    return 0;
}

/* Reads the playlist that is there, and brings `list` to the point at which it continues: segments
 * that are missing, or too old for any player to be following them, are dropped. If there is no
 * playlist, numbers begin with the seconds since 1970, so that no cache has files with such names.
 * Returns -EEXIST if the file is not a playlist of this output. */
static int hls_folder_read(const struct halo_hls_folder *folder, struct halo_hls_list *list)
{
    char name[NAME_MAX + 1];
    list->count = 0;
    list->discontinuities = 0;
    list->next = -1;
    snprintf(name, sizeof name, "%s%s", folder->stem, suffix);
    const int fd = openat(folder->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return errno == ELOOP ? -EEXIST : -errno;
    const int code = fd >= 0 ? read_list(fd, folder, list) : 0;
    if (fd >= 0)
        close(fd);
    if (list->next < 0)
        list->next = halo_unix_seconds();
    return code;
}

/* ---- what is old ---- */

struct sweep {
    const struct halo_hls_folder *folder;
    int64_t oldest, next; /* segments from oldest on, and before next, are kept */
    int64_t init;         /* the newest header that is not newer than the segment `oldest` */
};

/* Removes `.tmp` from a name, if it ends with it. */
static bool is_temporary(char *name)
{
    const size_t length = strlen(name), end = sizeof temporary - 1;
    if (length <= end || strcmp(name + length - end, temporary))
        return false;
    name[length - end] = '\0';
    return true;
}

static bool is_old(const struct sweep *sweep, const char *name)
{
    char plain[NAME_MAX + 1];
    enum halo_hls_kind kind;
    int64_t number;
    snprintf(plain, sizeof plain, "%s", name);
    const bool unfinished = is_temporary(plain);
    if (!halo_hls_is_name(plain, sweep->folder->stem, &kind, &number))
        return false;
    if (unfinished)
        return true;
    return kind == HALO_HLS_SEGMENT ? number < sweep->oldest || number >= sweep->next
                                    : number < sweep->init || number > sweep->next;
}

static void note_init(struct sweep *sweep, const char *name)
{
    enum halo_hls_kind kind;
    int64_t number;
    if (halo_hls_is_name(name, sweep->folder->stem, &kind, &number) && kind == HALO_HLS_INIT &&
        number <= sweep->oldest && number > sweep->init)
        sweep->init = number;
}

/* Removes segments that left the playlist `keep` segments ago, segments that it never listed,
 * headers that no segment needs any longer, and temporary files. Call it while no file is being
 * written. */
static void hls_folder_sweep(const struct halo_hls_folder *folder, const struct halo_hls_list *list)
{
    const int64_t first = list->count ? list->segment[0].number : list->next;
    struct sweep sweep = {folder, first - list->keep, list->next, 0};
    const int fd = openat(folder->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    for (struct dirent *e; dir && (e = readdir(dir));)
        note_init(&sweep, e->d_name);
    if (dir)
        rewinddir(dir);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (is_old(&sweep, e->d_name))
            unlinkat(folder->dir, e->d_name, 0);
    if (dir)
        closedir(dir);
}

/* ---- the output ---- */

enum {
    US = 1000000,
    BUFFER = 65536,
    BOX = 8,         /* bytes of a box's header */
    KEYS = 256,      /* keyframes for which the muxer may wait for audio */
    GAP_US = 5 * US, /* a longer time without a frame is a discontinuity */
    PART = 16,       /* a segment is complete if at most one part of so many is missing */
};

struct hls_place {
    struct halo_place place;
    char *path, *stem;
    int64_t segment_time; /* us */
    const AVOutputFormat *container;
    /* From open to close: */
    struct halo_hls_folder folder;
    struct halo_hls_list list;
    struct halo_mux mux;
    AVIOContext *pb;
    uint8_t *bytes; /* what the muxer has written, and no file has yet */
    unsigned room;
    size_t size;
    bool no_memory, failed;
    int64_t key[KEYS]; /* dts of keyframes whose fragments are not complete, in us; a ring */
    int first_key, keys;
    int64_t newest, step; /* dts of the newest frame, and its distance from the one before */
    int64_t init;
    int64_t length;     /* of the segment that is being written */
    bool discontinuity; /* of the next segment */
};

static int fail(const struct hls_place *h, int code, struct halo_error *err)
{
    if (code == -EEXIST)
        return halo_fail(err, code,
                         "%s: is not a playlist that halod wrote: remove it, or use another name",
                         h->path);
    return halo_fail(err, code, "%s: cannot be written: %s", h->path, strerror(-code));
}

static int code_of(int averror)
{
    return averror < 0 ? halo_av_errno(averror) : 0;
}

/* ---- the muxer's bytes ---- */

static int take_bytes(void *opaque, halo_av_written *bytes, int size)
{
    struct hls_place *h = opaque;
    uint8_t *more = av_fast_realloc(h->bytes, &h->room, h->size + (size_t)size);
    if (!more) {
        h->no_memory = true;
        return AVERROR(ENOMEM);
    }
    h->bytes = more;
    memcpy(h->bytes + h->size, bytes, (size_t)size);
    h->size += (size_t)size;
    return size;
}

static int make_pb(struct hls_place *h)
{
    uint8_t *buffer = av_malloc(BUFFER);
    h->pb = buffer ? avio_alloc_context(buffer, BUFFER, 1, h, NULL, take_bytes, NULL) : NULL;
    if (h->pb)
        return 0;
    av_free(buffer);
    return -ENOMEM;
}

/* The length of the first fragment, which ends with its media data; 0: it is not complete. */
static size_t fragment_size(const struct hls_place *h)
{
    for (size_t at = 0; at + BOX <= h->size;) {
        const uint64_t size = AV_RB32(h->bytes + at);
        if (size < BOX || size > h->size - at)
            return 0;
        const bool last = AV_RB32(h->bytes + at + 4) == MKBETAG('m', 'd', 'a', 't');
        at += size;
        if (last)
            return at;
    }
    return 0;
}

static void drop_bytes(struct hls_place *h, size_t size)
{
    h->size -= size;
    memmove(h->bytes, h->bytes + size, h->size);
}

/* ---- segments ---- */

/* Whether the caller has given this output up: another may be writing to the folder by now. */
static bool is_late(const struct hls_place *h)
{
    const int64_t stop_by = atomic_load(&h->place.stop_by);
    return stop_by && halo_now_us() > stop_by;
}

static int end_segment(struct hls_place *h)
{
    const struct halo_hls_segment segment = {h->list.next, h->init, h->length, h->discontinuity};
    if (is_late(h))
        return -ETIMEDOUT;
    int code = hls_folder_end(&h->folder);
    if (code < 0)
        return code;
    halo_hls_list_add(&h->list, &segment);
    h->discontinuity = false;
    h->length = 0;
    code = hls_folder_publish(&h->folder, &h->list);
    if (code >= 0)
        hls_folder_sweep(&h->folder, &h->list);
    return code;
}

/* The longest segment that the playlist announces: lengths are rounded. */
static int64_t most(const struct hls_place *h)
{
    return h->list.target * (int64_t)US + US / 2 - 1;
}

/* Writes the first fragment to a segment. */
static int add_fragment(struct hls_place *h, size_t size, int64_t length)
{
    int code = 0;
    if (h->folder.fd >= 0 && h->length + length > most(h))
        code = end_segment(h);
    if (code >= 0 && h->folder.fd < 0) {
        code = hls_folder_begin(&h->folder, HALO_HLS_SEGMENT, h->list.next);
        h->place.segments += code >= 0 && h->list.next > h->init; /* open has counted the first */
    }
    if (code >= 0)
        code = hls_folder_write(&h->folder, h->bytes, size);
    if (code < 0)
        return code;
    drop_bytes(h, size);
    h->length += length;
    return h->length >= h->segment_time - h->segment_time / PART ? end_segment(h) : 0;
}

/* `end`: where the last fragment ends, if the muxer has been closed; otherwise INT64_MIN. */
static int take_fragments(struct hls_place *h, int64_t end)
{
    for (size_t size; (size = fragment_size(h)) > 0;) {
        const int64_t *key = h->key;
        if (h->keys < (end == INT64_MIN ? 2 : 1))
            return -EPROTO;
        const int64_t begin = key[h->first_key];
        const int64_t next = h->keys > 1 ? key[(h->first_key + 1) % KEYS] : end;
        h->first_key = (h->first_key + 1) % KEYS;
        h->keys--;
        const int code = add_fragment(h, size, FFMAX(next - begin, 1));
        if (code < 0)
            return code;
    }
    return 0;
}

static int note(struct hls_place *h, const AVPacket *pkt)
{
    if (pkt->stream_index != 0 || pkt->dts == AV_NOPTS_VALUE)
        return 0;
    if (pkt->dts > h->newest && h->newest != INT64_MIN)
        h->step = pkt->dts - h->newest;
    h->newest = pkt->dts;
    if (!halo_output_is_key(pkt))
        return 0;
    if (h->keys == KEYS)
        return -EOVERFLOW;
    h->key[(h->first_key + h->keys++) % KEYS] = pkt->dts;
    return 0;
}

/* ---- operations ---- */

static void release(struct hls_place *h)
{
    hls_folder_close(&h->folder);
    if (h->pb)
        av_freep(&h->pb->buffer);
    avio_context_free(&h->pb);
    av_freep(&h->bytes);
    h->size = h->room = 0;
}

static int open_folder(struct hls_place *h)
{
    int code = hls_folder_open(&h->folder, h->path, h->stem);
    if (code < 0)
        return code;
    code = hls_folder_read(&h->folder, &h->list);
    if (code < 0)
        return code;
    h->init = h->list.next;
    h->discontinuity = h->list.count > 0;
    h->length = 0;
    hls_folder_sweep(&h->folder, &h->list);
    return 0;
}

/* Opens the muxer, and writes the header that it produced. */
static int open_mux(struct hls_place *h, const struct halo_encoding_parameters *begin)
{
    AVFormatContext *format = NULL;
    AVDictionary *options = NULL;
    int code = make_pb(h);
    if (code >= 0)
        code = halo_mux_options(h->container, &options);
    if (code >= 0) /* the index at the end belongs to no segment */
        code = av_dict_set(&options, "movflags", "+skip_trailer", AV_DICT_APPEND);
    if (code >= 0)
        code = avformat_alloc_output_context2(&format, h->container, NULL, NULL);
    if (code >= 0) {
        format->pb = h->pb;
        code = halo_mux_open(&h->mux, format, begin, &options);
    }
    av_dict_free(&options);
    if (code < 0)
        return code;
    /* Times go on while no process writes, for players that ignore the discontinuity. */
    h->mux.base = halo_unix_ns() / 1000;
    avio_flush(h->pb);
    code = h->no_memory ? -ENOMEM : hls_folder_begin(&h->folder, HALO_HLS_INIT, h->init);
    if (code >= 0)
        code = hls_folder_write(&h->folder, h->bytes, h->size);
    if (code >= 0)
        code = hls_folder_end(&h->folder);
    drop_bytes(h, h->size);
    if (code < 0)
        halo_mux_close(&h->mux);
    return code;
}

static int open_hls(struct halo_place *place, const struct halo_encoding_parameters *begin,
                    struct halo_error *err)
{
    struct hls_place *h = (struct hls_place *)place;
    int code = halo_container_check(h->container, h->path, begin->video, err);
    if (code >= 0)
        code = halo_container_check(h->container, h->path, begin->audio, err);
    if (code < 0)
        return code;
    h->no_memory = h->failed = false;
    h->first_key = h->keys = 0;
    h->newest = INT64_MIN;
    h->step = US / HALO_DEFAULT_RATE;
    code = open_folder(h);
    if (code >= 0)
        code = open_mux(h, begin);
    if (code >= 0)
        return 0;
    release(h);
    return fail(h, halo_av_errno(code), err);
}

/* Otherwise the segment before the gap would be as long as the gap, and players would wait for the
 * next one as long. */
static bool is_hls_over(const struct halo_place *place, const AVPacket *key)
{
    const struct hls_place *h = (const struct hls_place *)place;
    return h->newest != INT64_MIN && key->dts - h->newest > GAP_US;
}

static int write_hls(struct halo_place *place, const AVPacket *pkt, struct halo_error *err)
{
    struct hls_place *h = (struct hls_place *)place;
    int code = note(h, pkt);
    if (code >= 0)
        code = code_of(halo_mux_write(&h->mux, pkt));
    if (code >= 0)
        code = h->no_memory ? -ENOMEM : take_fragments(h, INT64_MIN);
    h->failed |= code < 0;
    return code < 0 ? fail(h, code, err) : 0;
}

/* Writes the end of the last segment, which is as long as it happens to be. */
static int close_hls(struct halo_place *place, struct halo_error *err)
{
    struct hls_place *h = (struct hls_place *)place;
    int code = code_of(halo_mux_close(&h->mux));
    if (code >= 0)
        code = h->no_memory ? -ENOMEM : 0;
    if (code >= 0 && !h->failed)
        code = take_fragments(h, h->newest + h->step);
    if (code >= 0 && !h->failed && h->folder.fd >= 0)
        code = end_segment(h);
    release(h);
    return code < 0 && !h->failed ? fail(h, code, err) : 0;
}

static const char *where_is_hls(const struct halo_place *place)
{
    return ((const struct hls_place *)place)->path;
}

static void destroy_hls(struct halo_place *place)
{
    struct hls_place *h = (struct hls_place *)place;
    av_free(h->path);
    av_free(h->stem);
    av_free(h);
}

static const struct halo_place_ops hls_ops = {
    .open = open_hls,
    .is_over = is_hls_over,
    .write = write_hls,
    .close = close_hls,
    .where = where_is_hls,
    .destroy = destroy_hls,
    .most_pause_s = 3, /* as for files */
};

int halo_place_hls_create(struct halo_place **ret, const char *name,
                          const struct halo_output_settings *settings, struct halo_error *err)
{
    (void)name;
    const char *slash = strrchr(settings->target, '/');
    const char *base = slash ? slash + 1 : settings->target, *dot = strrchr(base, '.');
    if (!dot || dot == base || strcmp(dot, ".m3u8"))
        return halo_fail_usage(err, "%s: the name of a playlist must end in .m3u8",
                               settings->target);
    struct hls_place *h = av_mallocz(sizeof *h);
    if (!h)
        return halo_fail(err, -ENOMEM, "out of memory");
    h->place.ops = &hls_ops;
    h->folder.dir = h->folder.fd = -1;
    h->path = av_strdup(settings->target);
    h->stem = av_strndup(base, (size_t)(dot - base));
    h->segment_time = llrint(settings->segment_time * US);
    h->list.keep = av_clip(settings->keep, 1, HALO_MAX_KEEP);
    h->list.target = (int)ceil(settings->segment_time);
    h->container = av_guess_format("mp4", NULL, NULL);
    int code = h->path && h->stem ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0 && !h->container)
        code = halo_fail_usage(err, "%s: FFmpeg has no muxer mp4", h->path);
    if (code < 0) {
        destroy_hls(&h->place);
        return code;
    }
    *ret = &h->place;
    return 0;
}
