/* SPDX-License-Identifier: BSD-2-Clause
 * Sink: one container, written by FFmpeg's muxers; a file is complete or absent (sink_file.h). */
#include "pipeline/output/sink_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/beside.h"
#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/path.h"
#include "pipeline/output/container.h"
#include "pipeline/output/tags.h"
#include "pipeline/output/target.h"

enum {
    MAX_PARTIALS = 9999,
    GRACE_US = 2000000, /* time for a reader, after a stop request */
};

struct halo_sink {
    const struct halo_run_settings *settings;
    const atomic_int *stop;
    AVFormatContext *format;
    struct halo_target target;
    const char *within;     /* begin of the temporary name; NULL: as the file's */
    halo_sink_check *check; /* NULL: none */
    void *check_arg;
    char *beside;           /* the temporary file; NULL: no such file */
    atomic_bool unfinished; /* the file at `beside` exists, for halo_sink_abandon */
    int64_t bytes;          /* set when the file is closed */
    bool started;
    int64_t packets;     /* passed to the muxer */
    int64_t waits_at;    /* progress, in packets and bytes, at waits_since; see is_stuck */
    int64_t waits_since; /* us, monotonic; 0: not stopped yet */
};

/* Formats that open files themselves would bypass the temporary name, and most write several. */
static int refuse_container(const AVOutputFormat *of, struct halo_error *err)
{
    static const char *const several[] = {
        "hls",        "dash", "segment", "stream_segment,ssegment",
        "image2",     "tee",  "hds",     "smoothstreaming",
        "webm_chunk", "fifo", NULL};
    for (int i = 0; several[i]; i++)
        if (!strcmp(of->name, several[i]))
            return halo_fail_usage(err,
                                   "the format %s writes several files, but halod run writes only "
                                   "one: use .mp4, .mkv, .ts or another single-file format",
                                   several[i]);
    return 0;
}

static int choose_container(struct halo_sink *sink, struct halo_error *err)
{
    const struct halo_run_settings *set = sink->settings;
    const char *name =
        sink->target.kind == HALO_TARGET_NULL && !set->output_format ? "null" : set->output_format;
    const AVOutputFormat *of = av_guess_format(name, name ? NULL : set->output, NULL);
    if (!of && name)
        return halo_fail_usage(err, "-f %s: FFmpeg has no such muxer (see ffmpeg -muxers)", name);
    if (!of && halo_path_is_url(set->output))
        return halo_fail_usage(err, "%s: specify its format with -f (mpegts, nut, ...)",
                               set->output);
    if (!of)
        return halo_fail_usage(
            err, "%s: its suffix is not a known format: use .mp4, .mkv, .ts ... or -f",
            set->output);
    const int code = refuse_container(of, err);
    if (code < 0)
        return code;
    if (avformat_alloc_output_context2(&sink->format, of, NULL, NULL) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    return 0;
}

/* FFmpeg calls this before each write, and whenever a signal interrupts one. A reader that still
 * accepts data gets everything; if nothing is open yet, there is nothing to finish. */
static int is_stuck(void *opaque)
{
    struct halo_sink *sink = opaque;
    if (!atomic_load(sink->stop))
        return 0;
    if (!sink->started)
        return 1;
    const int64_t now = halo_now_us();
    const int64_t at = sink->packets + (sink->format->pb ? sink->format->pb->pos : 0);
    if (!sink->waits_since || at != sink->waits_at) {
        sink->waits_since = now;
        sink->waits_at = at;
    }
    return now - sink->waits_since > GRACE_US;
}

int halo_sink_create(struct halo_sink **ret, const struct halo_run_settings *settings,
                     const atomic_int *stop, struct halo_error *err)
{
    struct halo_sink *sink = av_mallocz(sizeof *sink);
    if (!sink)
        return halo_fail(err, -ENOMEM, "out of memory");
    sink->settings = settings;
    sink->stop = stop;
    int code = halo_target_init(&sink->target, settings, err);
    if (code >= 0)
        code = choose_container(sink, err);
    if (code < 0) {
        halo_sink_destroy(sink);
        return code;
    }
    if (sink->target.kind == HALO_TARGET_DIRECT)
        sink->format->interrupt_callback = (AVIOInterruptCB){is_stuck, sink};
    *ret = sink;
    return 0;
}

static void close_file(struct halo_sink *sink)
{
    if (sink->format && sink->format->pb && !(sink->format->oformat->flags & AVFMT_NOFILE))
        avio_closep(&sink->format->pb);
}

void halo_sink_destroy(struct halo_sink *sink)
{
    if (!sink)
        return;
    close_file(sink);
    halo_sink_abandon(sink);
    avformat_free_context(sink->format);
    halo_target_finish(&sink->target);
    free(sink->beside);
    av_free(sink);
}

bool halo_sink_discards(const struct halo_sink *sink)
{
    return sink->target.kind == HALO_TARGET_NULL && !sink->settings->video_codec;
}

bool halo_sink_is_file(const struct halo_sink *sink)
{
    return sink->target.kind == HALO_TARGET_FILE;
}

AVFormatContext *halo_sink_format(const struct halo_sink *sink)
{
    return sink->format;
}

static int fail_write(const struct halo_sink *sink, int averror, struct halo_error *err)
{
    char why[400];
    const int code = halo_av_errno(averror);
    if (averror == AVERROR_EXIT)
        return halo_fail(err, code,
                         "%s: this output accepted no data for %d seconds, so writing was "
                         "stopped, and the end of the output is missing",
                         sink->settings->output, GRACE_US / 1000000);
    return halo_fail(err, code, "%s: cannot be written: %s%s", sink->settings->output,
                     halo_av_reason(averror, NULL, why, sizeof why),
                     sink->target.kind == HALO_TARGET_FILE ? "; no file with that name remains"
                                                           : "");
}

/* Writing the header fails if the streams do not fit the container, or because of the disk. */
static int fail_header(const struct halo_sink *sink, int averror, struct halo_error *err)
{
    char why[400];
    const char *out = sink->settings->output, *container = sink->format->oformat->name;
    const AVIOContext *pb = sink->format->pb;
    if (pb && !(pb->seekable & AVIO_SEEKABLE_NORMAL) && halo_container_seeks(sink->format->oformat))
        return halo_fail_usage(
            err, "%s: %s needs a seekable output: use -f nut, -f matroska or -f mpegts", out,
            container);
    if (averror != AVERROR(EINVAL) && averror != AVERROR(EPERM) && averror != AVERROR_INVALIDDATA &&
        averror != AVERROR_PATCHWELCOME && averror != AVERROR(ENOSYS))
        return fail_write(sink, averror, err);
    return halo_fail_usage(
        err, "%s: %s does not accept these streams: %s: choose %s%s", out, container,
        halo_av_reason(averror, NULL, why, sizeof why),
        sink->settings->source.no_audio
            ? "another codec with -c:v"
            : "other codecs with -c:v and -c:a, or omit the audio with -an",
        halo_container_advice(sink->format->oformat, ", or use .mkv, which supports nearly all"));
}

void halo_sink_write_in(struct halo_sink *sink, const char *path)
{
    sink->within = path;
}

void halo_sink_set_check(struct halo_sink *sink, halo_sink_check *check, void *arg)
{
    sink->check = check;
    sink->check_arg = arg;
}

int64_t halo_sink_inode(const struct halo_sink *sink)
{
    struct stat st;
    return sink->beside && stat(sink->beside, &st) == 0 ? (int64_t)st.st_ino : 0;
}

static int make_beside(struct halo_sink *sink, struct halo_error *err)
{
    const char *like = sink->within ? sink->within : sink->target.path;
    const int fd = halo_beside_make(like, sink->target.mode, &sink->beside);
    if (fd < 0)
        return halo_fail(err, fd, "%s: cannot be written: %s", sink->target.path, strerror(-fd));
    close(fd);
    atomic_store(&sink->unfinished, true);
    return 0;
}

void halo_sink_abandon(struct halo_sink *sink)
{
    if (atomic_exchange(&sink->unfinished, false))
        unlink(sink->beside);
}

static int open_file(struct halo_sink *sink, struct halo_error *err)
{
    AVFormatContext *of = sink->format;
    const char *out = sink->settings->output;
    if (sink->target.kind == HALO_TARGET_FILE) {
        const int code = make_beside(sink, err);
        if (code < 0)
            return code;
        of->url = av_asprintf("file:%s", sink->beside);
    } else if (!strcmp(out, "-")) {
        of->url = av_strdup("pipe:1");
    } else {
        of->url =
            halo_path_is_url(out) ? av_strdup(out) : av_asprintf("file:%s", halo_path_of(out));
    }
    if (!of->url)
        return halo_fail(err, -ENOMEM, "out of memory");
    if (of->oformat->flags & AVFMT_NOFILE)
        return 0;
    const int code = avio_open2(&of->pb, of->url, AVIO_FLAG_WRITE, &of->interrupt_callback, NULL);
    return code < 0 ? fail_write(sink, code, err) : 0;
}

int halo_sink_start(struct halo_sink *sink, struct halo_error *err)
{
    if (halo_sink_discards(sink))
        return 0;
    int code = sink->target.kind == HALO_TARGET_NULL ? 0 : open_file(sink, err);
    if (code < 0)
        return code;
    AVDictionary *options = NULL;
    code = halo_container_options(sink->format->oformat, &options);
    if (code >= 0)
        code = halo_tags_options(sink->format, &options);
    if (code >= 0)
        code = avformat_write_header(sink->format, &options);
    av_dict_free(&options);
    if (code < 0)
        return fail_header(sink, code, err);
    sink->started = true;
    return 0;
}

int halo_sink_write(struct halo_sink *sink, AVPacket *pkt, AVRational tb, struct halo_error *err)
{
    av_packet_rescale_ts(pkt, tb, sink->format->streams[pkt->stream_index]->time_base);
    pkt->pos = -1;
    sink->packets++;
    int code = av_interleaved_write_frame(sink->format, pkt);
    if (code >= 0 && sink->format->pb && sink->format->pb->error < 0)
        code = sink->format->pb->error;
    return code < 0 ? fail_write(sink, code, err) : 0;
}

int64_t halo_sink_bytes(const struct halo_sink *sink)
{
    return sink->format->pb ? avio_tell(sink->format->pb) : sink->bytes;
}

static int sync_path(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    const int code = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return code == -EINVAL ? 0 : code; /* some files cannot be synced */
}

/* Without -y, a file that has appeared since then must not be replaced. */
static int rename_to(const struct halo_sink *sink, const char *name)
{
    const bool replace = sink->settings->overwrite;
    struct stat st;
    if (!replace && renameat2(AT_FDCWD, sink->beside, AT_FDCWD, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (!replace && errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (!replace && lstat(name, &st) == 0) /* the file system has no atomic check and rename */
        return -EEXIST;
    return halo_beside_rename(sink->beside, name);
}

/* Files that earlier interruptions left must not be replaced either: uses the next free name. */
static int rename_to_partial(struct halo_sink *sink)
{
    int code = rename_to(sink, sink->target.partial);
    for (int n = 2; code == -EEXIST && n <= MAX_PARTIALS; n++) {
        free(sink->target.partial);
        sink->target.partial = halo_path_partial(sink->target.path, n);
        code = sink->target.partial ? rename_to(sink, sink->target.partial) : -ENOMEM;
    }
    return code;
}

static int commit(struct halo_sink *sink, bool partial, const char **ret_path,
                  struct halo_error *err)
{
    int code = sync_path(sink->beside);
    if (code >= 0 && sink->check && !partial) {
        const int checked = sink->check(sink->check_arg, sink->beside, err);
        if (checked < 0)
            return checked;
    }
    if (code >= 0)
        code = partial ? rename_to_partial(sink) : rename_to(sink, sink->target.path);
    const char *name = partial ? sink->target.partial : sink->target.path;
    if (code < 0)
        return halo_fail(err, code,
                         "%s: cannot sync the completed file or rename it to this name: %s",
                         name ? name : sink->target.path, strerror(-code));
    atomic_store(&sink->unfinished, false);
    halo_beside_sync_folder(name);
    *ret_path = name;
    return 0;
}

int halo_sink_finish(struct halo_sink *sink, enum halo_sink_end how, const char **ret_path,
                     struct halo_error *err)
{
    *ret_path = NULL;
    if (how == HALO_SINK_DISCARD || !sink->started)
        return 0;
    AVFormatContext *of = sink->format;
    int code = av_write_trailer(of);
    if (of->pb) {
        avio_flush(of->pb);
        sink->bytes = avio_tell(of->pb);
        if (code >= 0 && of->pb->error < 0)
            code = of->pb->error;
        const int closed = avio_closep(&of->pb);
        if (code >= 0)
            code = closed;
    }
    sink->started = false;
    if (code < 0)
        return fail_write(sink, code, err);
    return sink->target.kind == HALO_TARGET_FILE
               ? commit(sink, how == HALO_SINK_PARTIAL, ret_path, err)
               : 0;
}
