/* SPDX-License-Identifier: BSD-2-Clause
 * Events from the threads of live streams: packets go to rings and outputs, messages to the
 * loop. */
#include <errno.h>
#include <fcntl.h>
#include <libavutil/imgutils.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "daemon/engine/engine_private.h"
#include "kernels/clock.h"

enum {
    RING_CODED = 8 << 20,
    RING_FRAMES = 8, /* frames, of raw video */
    RING_MAX = 1 << 30,
    RING_ROOM = 64 << 10, /* for headers */
    NOTES_MAX = 4096,     /* a loop that is so late has failed anyway */
};

/* ---- messages ---- */

json_t *engine_message(const char *what, const char *stream)
{
    return json_pack("{s:s, s:s}", "tell", what, "stream", stream);
}

/* A live stream has one video stream: next to the stream's name, its number in the input adds
 * nothing. */
static const char *words_of(const struct halo_error *err)
{
    return err && err->code ? halo_log_skip_number(err->text) : "";
}

static void free_note(struct engine_note *note)
{
    halo_link_close_fds(note->fds, note->count);
    json_decref(note->message);
    free(note);
}

static bool append(struct engine *engine, struct engine_note *note)
{
    halo_lock(&engine->lock);
    const bool room = engine->notes < NOTES_MAX;
    if (room) {
        *engine->last = note;
        engine->last = &note->next;
        engine->notes++;
        engine->noted++;
    }
    halo_unlock(&engine->lock);
    return room;
}

void engine_note(struct engine *engine, json_t *message, const int *fds, int count, bool device)
{
    struct engine_note *note = calloc(1, sizeof *note);
    if (!note) {
        json_decref(message);
        return;
    }
    note->message = message;
    note->device = device;
    for (; note->count < count; note->count++) {
        note->fds[note->count] = fcntl(fds[note->count], F_DUPFD_CLOEXEC, HALO_LINK_FD);
        if (note->fds[note->count] < 0)
            break;
    }
    if (note->count < count || !append(engine, note))
        free_note(note);
    else
        uv_async_send(&engine->wake);
}

/* Waits for at most a second until the loop has sent everything queued so far. Must not be called
 * on the loop thread. */
static void engine_wait_sent(struct engine *engine)
{
    const int64_t until = halo_now_ns() + 1000000000;
    halo_lock(&engine->lock);
    const int64_t wanted = engine->noted;
    while (engine->sent < wanted && halo_cond_wait(&engine->passed, &engine->lock, until))
        ;
    halo_unlock(&engine->lock);
}

static json_t *coverage_of(const struct engine_stream *stream)
{
    static struct halo_live_stats stats; /* large */
    if (!engine_stream_runs(stream))
        return json_array();
    halo_live_stats(stream->live, &stats);
    return halo_coverages_write(stats.coverage);
}

/* Confirmed filters and what they cover arrive together. */
static void add_coverage(struct engine *engine, json_t *message)
{
    const char *name = json_string_value(json_object_get(message, "stream"));
    const char *tell = json_string_value(json_object_get(message, "tell"));
    if (!name || !tell || strcmp(tell, "set") != 0 || json_object_get(message, "why"))
        return;
    for (struct engine_stream *s = engine->streams; s; s = s->next)
        if (!strcmp(s->name, name))
            json_object_set_new(message, "coverage", coverage_of(s));
}

void engine_send_notes(struct engine *engine)
{
    halo_lock(&engine->lock);
    struct engine_note *note = engine->first;
    engine->first = NULL;
    engine->last = &engine->first;
    const int count = engine->notes;
    engine->notes = 0;
    halo_unlock(&engine->lock);
    bool device = false;
    while (note) {
        struct engine_note *next = note->next;
        device |= note->device;
        add_coverage(engine, note->message);
        if (engine->link)
            halo_link_send(engine->link, json_incref(note->message), note->fds, note->count);
        free_note(note);
        note = next;
    }
    halo_lock(&engine->lock);
    engine->sent += count;
    halo_cond_broadcast(&engine->passed);
    halo_unlock(&engine->lock);
    if (device)
        _exit(HALO_EXIT_TRY_AGAIN);
}

void engine_report_state(struct engine_stream *stream, enum halo_live_state state,
                         const struct halo_error *err)
{
    const bool device = err && halo_error_is_lost(err) && state == HALO_LIVE_FAILED;
    json_t *message = engine_message("state", stream->name);
    json_object_set_new(message, "state", json_string(halo_live_state_names[state]));
    json_object_set_new(message, "why", json_string(words_of(err)));
    json_object_set_new(message, "device", json_boolean(device));
    if (err && err->scarce)
        json_object_set_new(message, "lack",
                            json_string(halo_degradation_names[HALO_DEGRADED_GPU_MEMORY]));
    engine_note(stream->engine, message, NULL, 0, device);
}

/* For failures that the live stream cannot report itself. */
static json_t *report_failed(const struct engine_stream *stream, const struct halo_error *err)
{
    json_t *message = engine_message("state", stream->name);
    json_object_set_new(message, "state", json_string(halo_live_state_names[HALO_LIVE_FAILED]));
    json_object_set_new(message, "why", json_string(words_of(err)));
    json_object_set_new(message, "device", json_boolean(err->device));
    return message;
}

void engine_report_stall(struct engine_stream *stream, const struct halo_error *err)
{
    json_t *message = report_failed(stream, err);
    json_object_set_new(message, "stands", json_boolean(!err->device));
    engine_note(stream->engine, message, NULL, 0, false);
}

void engine_report_stalled_source(struct engine_stream *stream, const struct halo_error *err)
{
    json_t *message = report_failed(stream, err);
    json_object_set_new(message, "stalled", json_true());
    engine_note(stream->engine, message, NULL, 0, false);
}

static void on_state(void *arg, enum halo_live_state state, const struct halo_error *err)
{
    engine_report_state(arg, state, err);
}

static void on_camera(void *arg, const char *id)
{
    struct engine_stream *stream = arg;
    json_t *message = engine_message("camera", stream->name);
    json_object_set_new(message, "is", json_string(id));
    engine_note(stream->engine, message, NULL, 0, false);
}

static void on_set(void *arg, uint64_t id, const struct halo_error *err)
{
    struct engine_stream *stream = arg;
    json_t *message = engine_message("set", stream->name);
    json_object_set_new(message, "id", json_integer((json_int_t)id));
    if (err && err->code)
        json_object_set_new(message, "why", json_string(words_of(err)));
    if (err && err->code == -ECANCELED)
        json_object_set_new(message, "ended", json_true());
    engine_note(stream->engine, message, NULL, 0, false);
}

/* Returns a sealed memfd with the bytes, or -errno. */
static int seal(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    size_t done = 0;
    while (done < size) {
        const ssize_t n = write(fd, data + done, size - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    if (done == size && fcntl(fd, F_ADD_SEALS, seals) == 0)
        return fd;
    const int ret = errno ? -errno : -EIO;
    close(fd);
    return ret;
}

static void on_snapshot(void *arg, uint64_t id, const AVPacket *image, const struct halo_error *err)
{
    struct engine_stream *stream = arg;
    json_t *message = engine_message("snapshot", stream->name);
    json_object_set_new(message, "id", json_integer((json_int_t)id));
    const int fd = image ? seal(image->data, (size_t)image->size) : -1;
    if (fd < 0)
        json_object_set_new(message, "why",
                            json_string(err && err->code ? words_of(err) : strerror(-fd)));
    engine_note(stream->engine, message, &fd, fd >= 0, false);
    if (fd >= 0)
        close(fd);
}

static void ask_for_detector(struct engine_stream *stream, enum halo_find find, const char *ask,
                             uint64_t id, const char *why)
{
    json_t *message = engine_message("detector", stream->name);
    json_object_set_new(message, "find", json_string(halo_find_names[find]));
    json_object_set_new(message, "ask", json_string(ask));
    json_object_set_new(message, "id", json_integer((json_int_t)id));
    if (why)
        json_object_set_new(message, "why", json_string(why));
    engine_note(stream->engine, message, NULL, 0, false);
}

static void on_want(void *arg, enum halo_find find)
{
    struct engine_stream *stream = arg;
    ask_for_detector(stream, find, "want", atomic_fetch_add(&stream->wanted[find], 1) + 1, NULL);
}

static void on_broken(void *arg, enum halo_find find, const char *why)
{
    struct engine_stream *stream = arg;
    ask_for_detector(stream, find, "broken", atomic_load(&stream->wanted[find]), why);
}

static void on_unwanted(void *arg, enum halo_find find)
{
    struct engine_stream *stream = arg;
    ask_for_detector(stream, find, "unwanted", atomic_fetch_add(&stream->wanted[find], 1) + 1,
                     NULL);
}

/* Only this encoding has failed; the stream's other encodings go on. */
static void on_failed(void *arg, int encoding, const struct halo_error *err)
{
    struct engine_stream *stream = arg;
    json_t *message = engine_message("encoding", stream->name);
    json_object_set_new(message, "encoding", json_integer(encoding));
    json_object_set_new(message, "why", json_string(words_of(err)));
    engine_note(stream->engine, message, NULL, 0, false);
}

void engine_report_finished(void *arg, const char *path)
{
    const struct engine_finished *of = arg;
    json_t *message = engine_message("finished", of->stream->name);
    json_object_set_new(message, "output", json_integer(of->output));
    json_object_set_new(message, "path", json_string(path));
    engine_note(of->stream->engine, message, NULL, 0, false);
}

/* ---- packets ---- */

static size_t ring_size(const struct engine_stream *stream, int encoding,
                        const struct halo_encoding_parameters *begin)
{
    if (stream->encoding[encoding].kind != HALO_ENCODING_RAW)
        return RING_CODED;
    const int frame = av_image_get_buffer_size(begin->video->format, begin->video->width,
                                               begin->video->height, 1);
    if (frame <= 0)
        return RING_CODED;
    const size_t size = RING_FRAMES * ((size_t)frame + 256) + RING_ROOM;
    return size < RING_CODED ? RING_CODED : size > RING_MAX ? RING_MAX : size;
}

/* Larger frames need a larger ring: the supervisor replaces the old ring by the new one. */
static void make_ring(struct engine_stream *stream, int encoding, size_t size)
{
    struct engine_ring *ring = &stream->ring[encoding];
    struct halo_packet_writer *writer;
    struct halo_error err = {0};
    if (halo_packet_writer_create(&writer, size, &err) < 0) {
        halo_log(HALO_LOG_ERROR, "stream %s: cannot create the packet ring for its viewers: %s",
                 stream->name, err.text);
        return;
    }
    struct halo_packet_writer *old = ring->writer;
    halo_lock(&stream->rings);
    if (old)
        ring->dropped += halo_packet_writer_dropped(old);
    ring->writer = writer;
    ring->size = size;
    halo_unlock(&stream->rings);
    halo_packet_writer_destroy(old);
    json_t *message = engine_message("ring", stream->name);
    json_object_set_new(message, "encoding", json_integer(encoding));
    const int fds[] = {halo_packet_writer_memory(writer), halo_packet_writer_event(writer)};
    engine_note(stream->engine, message, fds, 2, false);
}

/* Reports that frames for viewers do not fit into a ring. */
static void say_unserved(struct engine_stream *stream, int encoding,
                         const struct halo_encoding_parameters *begin, int code)
{
    struct halo_error err = {0};
    if (code == -ENOMEM)
        halo_fail(&err, code, "out of memory: packets cannot be passed to viewers");
    else
        halo_fail(
            &err, code,
            "frames of %dx%d are too large for viewers: set a smaller size (video: {size: ...})",
            begin->video->width, begin->video->height);
    halo_log(HALO_LOG_ERROR, "stream %s: %s", stream->name, err.text);
    on_failed(stream, encoding, &err);
}

static bool is_written_by(const struct engine_stream *stream, int output, int encoding)
{
    return stream->output[output] && stream->of[output] == encoding;
}

static void on_begin(void *arg, int encoding, const struct halo_encoding_parameters *begin)
{
    struct engine_stream *stream = arg;
    struct engine_ring *ring = &stream->ring[encoding];
    json_t *message = engine_message("encoding", stream->name);
    json_object_set_new(message, "encoding", json_integer(encoding));
    engine_note(stream->engine, message, NULL, 0, false);
    if (stream->encoding[encoding].feeds) {
        const size_t size = ring_size(stream, encoding, begin);
        if (!ring->writer || size > ring->size)
            make_ring(stream, encoding, size);
        const int code = ring->writer ? halo_packet_write_begin(ring->writer, begin) : -ENOMEM;
        if (code < 0)
            say_unserved(stream, encoding, begin, code);
        /* if this process dies now, viewers find the cards there */
        engine_wait_sent(stream->engine);
    }
    for (int i = 0; i < stream->settings.outputs; i++)
        if (is_written_by(stream, i, encoding))
            halo_output_begin(stream->output[i], begin);
}

static void on_packet(void *arg, int encoding, const AVPacket *pkt)
{
    struct engine_stream *stream = arg;
    if (stream->ring[encoding].writer)
        halo_packet_write(stream->ring[encoding].writer, pkt); /* it counts dropped packets */
    for (int i = 0; i < stream->settings.outputs; i++)
        if (is_written_by(stream, i, encoding))
            halo_output_packet(stream->output[i], pkt);
}

/* Viewers get the card, marked as one, and so do URLs and live playlists; recordings contain only
 * frames. */
static void on_card(void *arg, int encoding, const AVPacket *pkt)
{
    struct engine_stream *stream = arg;
    AVPacket *card = stream->ring[encoding].writer ? av_packet_clone(pkt) : NULL;
    if (card) {
        card->flags |= HALO_PACKET_CARD;
        halo_packet_write(stream->ring[encoding].writer, card);
    }
    av_packet_free(&card);
    for (int i = 0; i < stream->settings.outputs; i++)
        if (is_written_by(stream, i, encoding) &&
            !halo_output_row(&stream->settings.output[i])->records)
            halo_output_packet(stream->output[i], pkt);
}

const struct halo_live_events engine_events = {
    .state = on_state,
    .begin = on_begin,
    .packet = on_packet,
    .card = on_card,
    .failed = on_failed,
    .set = on_set,
    .camera = on_camera,
    .snapshot = on_snapshot,
    .detector = {on_want, on_broken, on_unwanted},
};
