/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs to files, in segments. All containers begin at time 0 in each segment. If the process is
 * killed, they contain everything written except the last group of frames.
 *
 * halod writes the file itself, through a descriptor: errors are known by number, and the file can
 * be synced. After a failure such as a full disk, the file is cut back to the last point at which
 * the muxer had completed an element: a cluster, a fragment or a packet, because what it writes for
 * one packet ends with one of these. */
#include <errno.h>
#include <fcntl.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/atomic_file.h"
#include "config/base/log.h"
#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/output/container.h"
#include "pipeline/output/output_mux.h"
#include "pipeline/output/output_names.h"
#include "pipeline/output/output_place.h"

enum {
    BUFFER = 65536,
    SLACK_US = 10000, /* a keyframe may be this much earlier than the end of its segment */
};

struct file_place {
    struct halo_place place;
    char *pattern;
    double segment_time;
    int64_t keep_size;
    const AVOutputFormat *container;
    /* For the current segment: */
    struct halo_mux mux;
    AVIOContext *pb;
    int fd, error;     /* error: errno of the first failed write */
    int64_t at, whole; /* whole: bytes up to which the muxer had completed an element */
    int64_t header;    /* bytes before the first frame */
    int64_t start;     /* dts of its first keyframe */
    bool begun;
    char path[PATH_MAX];
};

static int write_bytes(void *opaque, halo_av_written *bytes, int size)
{
    struct file_place *f = opaque;
    if (f->error)
        return AVERROR(f->error);
    for (int done = 0; done < size;) {
        const ssize_t n = write(f->fd, bytes + done, size - done);
        if (n < 0 && errno != EINTR) {
            f->error = errno;
            return AVERROR(f->error);
        }
        done += n > 0 ? (int)n : 0;
        f->at += n > 0 ? n : 0;
    }
    return size;
}

static int64_t seek(void *opaque, int64_t to, int whence)
{
    struct file_place *f = opaque;
    struct stat st;
    if (whence & AVSEEK_SIZE)
        return fstat(f->fd, &st) < 0 ? AVERROR(errno) : st.st_size;
    const int64_t at = lseek(f->fd, to, whence & ~AVSEEK_FORCE);
    if (at < 0)
        return AVERROR(errno);
    f->at = at;
    return at;
}

static int make_pb(struct file_place *f)
{
    uint8_t *buffer = av_malloc(BUFFER);
    f->pb = buffer ? avio_alloc_context(buffer, BUFFER, 1, f, NULL, write_bytes, seek) : NULL;
    if (!f->pb) {
        av_free(buffer);
        return -ENOMEM;
    }
    return 0;
}

/* Removes a segment without a frame, and cuts an incomplete end off. If that fails (a file system
 * may need space for it, too), players have to cope: the data before it is valid. */
static void take_back(struct file_place *f)
{
    if (f->whole <= f->header)
        unlink(f->path);
    else
        (void)!ftruncate(f->fd, f->whole);
}

static void close_segment(struct file_place *f)
{
    if (f->pb)
        av_freep(&f->pb->buffer);
    avio_context_free(&f->pb);
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    f->path[0] = 0;
}

static int fail(const struct file_place *f, int code, const char *words, struct halo_error *err)
{
    return halo_fail(err, code, "%s: cannot be written: %s", f->path[0] ? f->path : f->pattern,
                     words ? words : strerror(-code));
}

static int open_file(struct halo_place *place, const struct halo_encoding_parameters *begin,
                     struct halo_error *err)
{
    struct file_place *f = (struct file_place *)place;
    int code = halo_container_check(f->container, f->pattern, begin->video, err);
    if (code >= 0)
        code = halo_container_check(f->container, f->pattern, begin->audio, err);
    if (code < 0)
        return code;
    f->error = 0;
    f->at = f->whole = f->header = 0;
    f->begun = false;
    f->path[0] = 0;
    f->fd = halo_names_open(f->pattern, halo_unix_seconds(), f->path);
    if (f->fd < 0)
        return fail(f, f->fd, NULL, err);
    AVFormatContext *format = NULL;
    AVDictionary *options = NULL;
    code = make_pb(f);
    if (code >= 0)
        code = halo_mux_options(f->container, &options);
    if (code >= 0)
        code = avformat_alloc_output_context2(&format, f->container, NULL, f->path);
    if (code >= 0) {
        format->pb = f->pb;
        code = halo_mux_open(&f->mux, format, begin, &options);
    }
    av_dict_free(&options);
    if (code >= 0) {
        avio_flush(f->pb);
        f->whole = f->header = f->at;
        if (!f->error)
            return 0;
        halo_mux_close(&f->mux);
    }
    char why[400];
    if (f->error)
        fail(f, -f->error, NULL, err);
    else
        fail(f, halo_av_errno(code), halo_av_reason(code, NULL, why, sizeof why), err);
    unlink(f->path);
    close_segment(f);
    return f->error ? -f->error : halo_av_errno(code);
}

static bool is_file_over(const struct halo_place *place, const AVPacket *key)
{
    const struct file_place *f = (const struct file_place *)place;
    return f->begun && f->segment_time > 0 &&
           (key->dts - f->start + SLACK_US) / 1e6 >= f->segment_time;
}

static int write_file(struct halo_place *place, const AVPacket *pkt, struct halo_error *err)
{
    struct file_place *f = (struct file_place *)place;
    if (!f->begun)
        f->start = pkt->dts;
    f->begun = true;
    const int code = halo_mux_write(&f->mux, pkt);
    if (code >= 0 && !f->error) {
        f->whole = f->at;
        return 0;
    }
    char why[400];
    return f->error
               ? fail(f, -f->error, NULL, err)
               : fail(f, halo_av_errno(code), halo_av_reason(code, NULL, why, sizeof why), err);
}

/* After a failure the muxer's trailer is not written: the first error is kept. */
static int close_file(struct halo_place *place, struct halo_error *err)
{
    struct file_place *f = (struct file_place *)place;
    int code = halo_mux_close(&f->mux);
    code = f->error ? -f->error : code < 0 ? halo_av_errno(code) : 0;
    if (code < 0)
        take_back(f);
    if (fsync(f->fd) < 0 && errno != EINVAL && code >= 0)
        code = -errno;
    if (code < 0)
        fail(f, code, NULL, err);
    halo_sync_folder(f->path);
    if (place->finished && access(f->path, F_OK) == 0)
        place->finished(place->output, f->path);
    if (f->keep_size > 0)
        halo_names_keep(f->pattern, f->keep_size, f->path);
    close_segment(f);
    return code;
}

static const char *where_is_file(const struct halo_place *place)
{
    const struct file_place *f = (const struct file_place *)place;
    return f->path[0] ? f->path : f->pattern;
}

static void destroy_file(struct halo_place *place)
{
    struct file_place *f = (struct file_place *)place;
    av_free(f->pattern);
    av_free(f);
}

static const struct halo_place_ops file_ops = {
    .open = open_file,
    .is_over = is_file_over,
    .write = write_file,
    .close = close_file,
    .where = where_is_file,
    .destroy = destroy_file,
    .most_pause_s = 3, /* so that output continues within five seconds once there is space again */
};

/* Files in other formats cannot be read if they were not finished. */
static int choose_container(struct file_place *f, const struct halo_output_settings *set,
                            struct halo_error *err)
{
    const char *target = set->target;
    f->container = halo_container_guess(set->format, target);
    if (!f->container)
        return halo_fail_usage(err, "%s: no container has this suffix: use .mkv, .mp4, .ts or .nut",
                               target);
    if (!av_match_name(f->container->name, "matroska,webm,mp4,mov,mpegts,nut"))
        return halo_fail_usage(err,
                               "%s: files in this format cannot be read until they are finished: "
                               "use the suffix .mkv, .mp4, .ts or .nut",
                               target);
    return 0;
}

static int check_pattern(const struct file_place *f, struct halo_error *err)
{
    char path[PATH_MAX];
    const int code = halo_names_format(f->pattern, halo_unix_seconds(), path);
    if (code < 0)
        return halo_fail_usage(err, "%s: the %% conversions do not produce a file name: %s",
                               f->pattern, strerror(-code));
    if (f->keep_size > 0 && !halo_names_match(f->pattern, path))
        return halo_fail_usage(err,
                               "%s: keep_size cannot distinguish files with such names from other "
                               "files: use only %%Y, %%m, %%d, %%H, %%M, %%S, %%j or %%s",
                               f->pattern);
    return 0;
}

int halo_place_file_create(struct halo_place **ret, const char *name,
                           const struct halo_output_settings *settings, struct halo_error *err)
{
    (void)name;
    struct file_place *f = av_mallocz(sizeof *f);
    if (!f)
        return halo_fail(err, -ENOMEM, "out of memory");
    f->place.ops = &file_ops;
    f->fd = -1;
    f->pattern = av_strdup(settings->target);
    f->segment_time = settings->segment_time;
    f->keep_size = settings->keep_size;
    int code = f->pattern ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0)
        code = choose_container(f, settings, err);
    if (code >= 0)
        code = check_pattern(f, err);
    if (code < 0) {
        destroy_file(&f->place);
        return code;
    }
    *ret = &f->place;
    return 0;
}
