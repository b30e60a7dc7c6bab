/* SPDX-License-Identifier: BSD-2-Clause
 * Sink: one container, written by FFmpeg's muxers; a file is complete or absent (sink_file.h). */
#include "pipeline/output/sink_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "config/base/atomic_file.h"
#include "config/base/error.h"
#include "config/base/thread.h"
#include "config/run.h"
#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/path.h"
#include "pipeline/output/container.h"
#include "pipeline/output/tags.h"

/* ---- the file ---- */

enum halo_target_kind {
    HALO_TARGET_NULL,
    HALO_TARGET_FILE,   /* appears complete or not at all */
    HALO_TARGET_DIRECT, /* URL, pipe or device: receives the bytes as they are produced */
};

/* path, partial and mode are set for files only. */
struct halo_target {
    enum halo_target_kind kind;
    char *path;    /* final name, with symbolic links resolved */
    char *partial; /* NAME.partial.EXT */
    mode_t mode;   /* permissions of the existing file; 0 if there is no file */
};

/* The paths of the files on the command line; NULL: not a file. */
struct names {
    char *in, *out;
    struct side {
        const char *option, *name; /* name NULL: not requested */
        char *path;
    } side[3];
};

/* The path of an open stream, or a copy of the path in name. NULL with errno: ENOMEM, or 0 if there
 * is no path. */
static char *path_of(const char *name, int fd)
{
    char *path = halo_path_of_stream(name, fd);
    if (path || errno != EINVAL)
        return path;
    errno = 0;
    return halo_path_is_url(name) || !strcmp(name, "null:") ? NULL : strdup(halo_path_of(name));
}

/* Standard input that is not a regular file cannot be destroyed: a terminal or a socket may also be
 * the output. */
static bool is_no_file(const char *input, const char *path)
{
    struct stat st;
    return (!strcmp(input, "-") || halo_path_is_url(input)) &&
           !(stat(path, &st) == 0 && S_ISREG(st.st_mode));
}

static int init_names(struct names *names, const struct halo_run_settings *set,
                      struct halo_error *err)
{
    *names = (struct names){.side = {{"-progress", set->progress, NULL},
                                     {"-stats_json", set->stats_json, NULL},
                                     {"-trace", set->trace, NULL}}};
    names->in = path_of(set->source.input, STDIN_FILENO);
    int no_memory = !names->in && errno;
    names->out = path_of(set->output, STDOUT_FILENO);
    no_memory |= !names->out && errno;
    for (size_t i = 0; i < sizeof names->side / sizeof *names->side; i++) {
        struct side *side = &names->side[i];
        const bool open = side->name && !strcmp(side->name, "-");
        if (side->name)
            side->path = open ? halo_path_of_stream(side->name, STDOUT_FILENO)
                              : strdup(halo_path_of(side->name));
        no_memory |= side->name && !side->path;
    }
    if (names->in && is_no_file(set->source.input, names->in)) {
        free(names->in);
        names->in = NULL;
    }
    return no_memory ? halo_fail(err, -ENOMEM, "out of memory") : 0;
}

/* Whether writing to both would destroy or mix data. Terminals and /dev/null are no problem. */
static bool collide(const char *a, const char *b)
{
    struct stat st;
    return halo_path_same(a, b) && !(stat(a, &st) == 0 && S_ISCHR(st.st_mode));
}

static int fail_partial(const struct halo_target *target, const char *out, const char *what,
                        struct halo_error *err)
{
    return halo_fail_usage(err,
                           "%s: if interrupted, halod would leave the unfinished output as %s, "
                           "which is the %s: use another OUT",
                           out, target->partial, what);
}

static int check_side(const struct halo_target *target, const struct names *names,
                      const struct side *side, const char *out, struct halo_error *err)
{
    char what[40];
    snprintf(what, sizeof what, "%s file", side->option);
    if (collide(names->out, side->path))
        return halo_fail_usage(err, "%s: OUT is the same file as the %s: use another one", out,
                               what);
    if (collide(side->path, names->in))
        return halo_fail_usage(err, "%s %s: this is the same file as IN: use another one",
                               side->option, side->name);
    return collide(target->partial, side->path) ? fail_partial(target, out, what, err) : 0;
}

static int compare(const struct halo_target *target, const struct names *names, const char *out,
                   struct halo_error *err)
{
    if (collide(names->out, names->in))
        return halo_fail_usage(err, "%s: OUT is the same file as IN: use another one", out);
    if (collide(target->partial, names->in))
        return fail_partial(target, out, "input", err);
    for (size_t i = 0; i < sizeof names->side / sizeof *names->side; i++) {
        const struct side *side = &names->side[i];
        const int code = check_side(target, names, side, out, err);
        if (code < 0)
            return code;
        for (size_t k = 0; k < i; k++)
            if (collide(side->path, names->side[k].path))
                return halo_fail_usage(err, "%s %s: this is also the %s file: use another one",
                                       side->option, side->name, names->side[k].option);
    }
    return 0;
}

/* No two names on the command line may refer to one file: opening the later one would destroy
 * it. */
static int check_names(const struct halo_target *target, const struct halo_run_settings *set,
                       struct halo_error *err)
{
    struct names names;
    int code = init_names(&names, set, err);
    if (code >= 0)
        code = compare(target, &names, set->output, err);
    free(names.in);
    free(names.out);
    for (size_t i = 0; i < sizeof names.side / sizeof *names.side; i++)
        free(names.side[i].path);
    return code;
}

/* Sets the names of the future file; a symbolic link remains one. */
static int name_file(struct halo_target *target, const char *out, struct halo_error *err)
{
    target->path = halo_path_follow(out);
    if (!target->path)
        return halo_fail(err, -errno, "%s: cannot be written: %s", out, strerror(errno));
    target->partial = halo_path_partial(target->path, 1);
    return target->partial ? 0 : halo_fail(err, -ENOMEM, "out of memory");
}

static int choose_file(struct halo_target *target, const struct halo_run_settings *set,
                       const char *out, struct halo_error *err)
{
    struct stat st;
    const bool exists = stat(out, &st) == 0;
    target->kind = exists && !S_ISREG(st.st_mode) ? HALO_TARGET_DIRECT : HALO_TARGET_FILE;
    if (exists && S_ISDIR(st.st_mode))
        return halo_fail_usage(err, "%s: this is a directory: specify a file in it", out);
    int code = target->kind == HALO_TARGET_FILE ? name_file(target, out, err) : 0;
    if (code >= 0)
        code = check_names(target, set, err);
    if (code < 0 || target->kind == HALO_TARGET_DIRECT)
        return code;
    if (exists && !set->overwrite)
        return halo_fail_usage(err, "%s: this file already exists: use -y to replace it", out);
    if (exists)
        target->mode = st.st_mode & 07777;
    return halo_atomic_file_check(target->path, err);
}

/* Compares OUT, IN and the files of -progress, -stats_json and -trace with each other and with
 * existing files, even if one of them is standard input or output. Opens none of these files.
 * Returns 0, a usage error or -errno, with err filled. Always call target_finish() afterwards,
 * even after a failure. */
static int target_init(struct halo_target *target, const struct halo_run_settings *set,
                       struct halo_error *err)
{
    const char *out = set->output;
    *target = (struct halo_target){.kind = HALO_TARGET_DIRECT};
    if (!strcmp(out, "null:"))
        target->kind = HALO_TARGET_NULL;
    else if (strcmp(out, "-") != 0 && !halo_path_is_url(out))
        return choose_file(target, set, halo_path_of(out), err);
    return check_names(target, set, err);
}

static void target_finish(struct halo_target *target)
{
    free(target->path);
    free(target->partial);
    *target = (struct halo_target){0};
}

/* ---- the sink ---- */

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
    char *temporary;        /* the temporary file; NULL: no such file */
    atomic_bool unfinished; /* the file at `temporary` exists, for halo_sink_abandon */
    atomic_llong bytes;     /* written so far */
    struct halo_mutex lock; /* of the next two fields */
    struct halo_thread writer;
    bool writing; /* `writer` is in a call that may block */
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
    int code = target_init(&sink->target, settings, err);
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

void halo_sink_destroy(struct halo_sink *sink)
{
    if (!sink)
        return;
    if (sink->format && sink->format->pb && !(sink->format->oformat->flags & AVFMT_NOFILE))
        avio_closep(&sink->format->pb);
    halo_sink_abandon(sink);
    avformat_free_context(sink->format);
    target_finish(&sink->target);
    free(sink->temporary);
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
    return sink->temporary && stat(sink->temporary, &st) == 0 ? (int64_t)st.st_ino : 0;
}

static int open_temporary(struct halo_sink *sink, struct halo_error *err)
{
    const char *like = sink->within ? sink->within : sink->target.path;
    const int fd = halo_atomic_file_open(like, sink->target.mode, &sink->temporary);
    if (fd < 0)
        return halo_fail(err, fd, "%s: cannot be written: %s", sink->target.path, strerror(-fd));
    close(fd);
    atomic_store(&sink->unfinished, true);
    return 0;
}

void halo_sink_abandon(struct halo_sink *sink)
{
    if (atomic_exchange(&sink->unfinished, false))
        unlink(sink->temporary);
}

static int open_file(struct halo_sink *sink, struct halo_error *err)
{
    AVFormatContext *of = sink->format;
    const char *out = sink->settings->output;
    if (sink->target.kind == HALO_TARGET_FILE) {
        const int code = open_temporary(sink, err);
        if (code < 0)
            return code;
        of->url = av_asprintf("file:%s", sink->temporary);
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

static void set_writing(struct halo_sink *sink, bool writing)
{
    halo_lock(&sink->lock);
    sink->writer = halo_thread_self();
    sink->writing = writing;
    halo_unlock(&sink->lock);
}

void halo_sink_wake(struct halo_sink *sink)
{
    halo_lock(&sink->lock);
    if (sink->writing)
        halo_thread_wake(sink->writer);
    halo_unlock(&sink->lock);
}

static int start(struct halo_sink *sink, struct halo_error *err)
{
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

int halo_sink_start(struct halo_sink *sink, struct halo_error *err)
{
    if (halo_sink_discards(sink))
        return 0;
    set_writing(sink, true);
    const int code = start(sink, err);
    set_writing(sink, false);
    return code;
}

int halo_sink_write(struct halo_sink *sink, AVPacket *pkt, AVRational tb, struct halo_error *err)
{
    av_packet_rescale_ts(pkt, tb, sink->format->streams[pkt->stream_index]->time_base);
    pkt->pos = -1;
    sink->packets++;
    set_writing(sink, true);
    int code = av_interleaved_write_frame(sink->format, pkt);
    set_writing(sink, false);
    if (sink->format->pb)
        atomic_store(&sink->bytes, avio_tell(sink->format->pb));
    if (code >= 0 && sink->format->pb && sink->format->pb->error < 0)
        code = sink->format->pb->error;
    return code < 0 ? fail_write(sink, code, err) : 0;
}

int64_t halo_sink_bytes(const struct halo_sink *sink)
{
    return atomic_load(&sink->bytes);
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
    if (!replace && renameat2(AT_FDCWD, sink->temporary, AT_FDCWD, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (!replace && errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (!replace && lstat(name, &st) == 0) /* the file system has no atomic check and rename */
        return -EEXIST;
    return halo_atomic_file_replace(sink->temporary, name);
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
    int code = sync_path(sink->temporary);
    if (code >= 0 && sink->check && !partial) {
        const int checked = sink->check(sink->check_arg, sink->temporary, err);
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
    halo_sync_folder(name);
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
        /* A muxer may have gone back, to complete its header. */
        const int64_t at = avio_tell(of->pb);
        atomic_store(&sink->bytes, FFMAX(atomic_load(&sink->bytes), at));
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
