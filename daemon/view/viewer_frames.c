/* SPDX-License-Identifier: BSD-2-Clause
 * A viewer that gets filtered frames by descriptor, in the wire format of GStreamer's unixfdsink
 * (1.24), so that unixfdsrc can read them. On a stream socket, in the machine's byte order:
 *
 *   u32 command, u32 size of what follows
 *   0 new buffer:     u64 id, pts, dts, duration, offset, offset_end (ns; all ones: none),
 *                     u32 flags, u8 type of memory (0: fd), u8 memories, u16 0,
 *                     for each memory u64 size, u64 offset; its descriptor goes with the header
 *   1 release buffer: u64 id; from the viewer, when it is done with it
 *   2 caps:           text, with its NUL
 *   3 end of stream
 *
 * Times are of CLOCK_MONOTONIC. Frames that are sent in place of missing ones have GStreamer's flag
 * for a gap: programs that analyse video must not use them. Sound is not sent. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/link/send_fds.h"
#include "daemon/view/frames.h"
#include "daemon/view/viewer.h"
#include "pipeline/output/packet_ring.h"

enum {
    NEW_BUFFER = 0,
    RELEASE_BUFFER = 1,
    CAPS = 2,
    END = 3,
    GAP = 1 << 11,   /* GST_BUFFER_FLAG_GAP */
    HELD = 8,        /* frames that a viewer may hold at a time; more are dropped */
    MAX_SAID = 4096, /* bytes of an unknown command */
};

struct command {
    uint32_t type, size;
};

struct new_buffer {
    uint64_t id, pts, dts, duration, offset, offset_end;
    uint32_t flags;
    uint8_t memory_type, memories;
    uint16_t none;
    uint64_t memory_size, memory_offset;
};

_Static_assert(sizeof(struct command) == 8 && sizeof(struct new_buffer) == 72, "no padding");

struct taking {
    uint64_t held[HELD]; /* ids; 0: free */
    int count;
    bool needs_caps;
    uint8_t heard[sizeof(struct command) + sizeof(uint64_t)]; /* the received part of a command */
    size_t heard_size, skip; /* skip: bytes left of an unknown command */
};

/* 0; -EAGAIN: nothing was sent; other errors: the viewer must be closed. Commands are small, so a
 * socket accepts them completely or not at all. */
static int send_command(struct halo_viewer *viewer, uint32_t type, const void *payload, size_t size,
                        int fd)
{
    struct command command = {type, (uint32_t)size};
    struct iovec parts[] = {{&command, sizeof command}, {(void *)payload, size}};
    const ssize_t sent = halo_send_fds(viewer->fd, parts, size ? 2 : 1, &fd, fd >= 0);
    if (sent < 0)
        return sent == -ENOBUFS || sent == -ETOOMANYREFS ? -EAGAIN : (int)sent;
    viewer->shared->sent += sent;
    return (size_t)sent == sizeof command + size ? 0 : -EPIPE;
}

static int send_caps(struct halo_viewer *viewer)
{
    struct taking *taking = viewer->own;
    const char *caps = halo_frames_caps(viewer->shared->frames);
    const int code = send_command(viewer, CAPS, caps, strlen(caps) + 1, -1);
    taking->needs_caps = code < 0;
    return code;
}

static int frames_begin(struct halo_viewer *viewer, const struct halo_encoding_parameters *begin,
                        struct halo_error *err)
{
    if (!viewer->shared->frames)
        viewer->shared->frames = halo_frames_create();
    if (!viewer->shared->frames)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = halo_frames_begin(viewer->shared->frames, begin, err);
    if (code == 0)
        code = send_caps(viewer);
    if (code == -EAGAIN)
        return 0;
    return code < 0 ? halo_fail(err, code, "%s", strerror(-code)) : 0;
}

static int send_frame(struct halo_viewer *viewer, const AVPacket *pkt)
{
    struct taking *taking = viewer->own;
    struct halo_frames *frames = viewer->shared->frames;
    struct new_buffer buffer = {
        .pts = (uint64_t)(viewer->shared->origin + pkt->pts) * 1000, /* nanoseconds */
        .dts = UINT64_MAX,
        .duration = pkt->duration > 0 ? (uint64_t)pkt->duration * 1000 : UINT64_MAX,
        .offset = UINT64_MAX,
        .offset_end = UINT64_MAX,
        .flags = pkt->flags & HALO_PACKET_CARD ? GAP : 0,
        .memories = 1,
        .memory_size = halo_frames_size(frames),
    };
    int free_place = 0;
    while (taking->held[free_place])
        free_place++;
    const int fd = halo_frames_take(frames, pkt, &buffer.id);
    if (fd < 0)
        return -EAGAIN;
    const int code = send_command(viewer, NEW_BUFFER, &buffer, sizeof buffer, fd);
    if (code < 0) {
        halo_frames_release(frames, buffer.id);
        return code;
    }
    taking->held[free_place] = buffer.id;
    taking->count++;
    return 0;
}

static int frames_packet(struct halo_viewer *viewer, const AVPacket *pkt, struct halo_error *err)
{
    struct taking *taking = viewer->own;
    if (pkt->stream_index != 0)
        return 0;
    int status = taking->needs_caps ? send_caps(viewer) : 0;
    if (status == 0)
        status = taking->count < HELD ? send_frame(viewer, pkt) : -EAGAIN;
    halo_viewer_waits(viewer, status == -EAGAIN, false);
    if (status == -EAGAIN)
        viewer->shared->dropped++;
    else if (status < 0)
        return halo_fail(err, status, "%s", strerror(-status));
    return 0;
}

static int release(struct halo_viewer *viewer, uint64_t id, struct halo_error *err)
{
    struct taking *taking = viewer->own;
    for (int i = 0; i < HELD; i++) {
        if (!id || taking->held[i] != id)
            continue;
        taking->held[i] = 0;
        taking->count--;
        halo_frames_release(viewer->shared->frames, id);
        halo_viewer_waits(viewer, false, false);
        return 0;
    }
    return halo_fail(err, -EPROTO, "the viewer released a frame that it does not hold");
}

/* Whether the rest of a command has arrived after its header. */
static bool is_whole(const struct taking *taking, const struct command *command)
{
    return command->type != RELEASE_BUFFER ||
           taking->heard_size >= sizeof *command + sizeof(uint64_t);
}

static int obey(struct halo_viewer *viewer, struct halo_error *err)
{
    struct taking *taking = viewer->own;
    struct command command;
    uint64_t id;
    memcpy(&command, taking->heard, sizeof command);
    if (command.type == NEW_BUFFER || command.type == CAPS || command.size > MAX_SAID ||
        (command.type == RELEASE_BUFFER && command.size < sizeof id))
        return halo_fail(err, -EPROTO, "unknown command");
    if (!is_whole(taking, &command))
        return 0;
    taking->heard_size = 0;
    taking->skip = command.size;
    if (command.type != RELEASE_BUFFER)
        return 0;
    taking->skip -= sizeof id;
    memcpy(&id, taking->heard + sizeof command, sizeof id);
    return release(viewer, id, err);
}

static int frames_receive(struct halo_viewer *viewer, const uint8_t *data, size_t size,
                          struct halo_error *err)
{
    struct taking *taking = viewer->own;
    for (size_t i = 0; i < size; i++) {
        if (taking->skip > 0) {
            taking->skip--;
            continue;
        }
        taking->heard[taking->heard_size++] = data[i];
        if (taking->heard_size < sizeof(struct command))
            continue;
        const int code = obey(viewer, err);
        if (code < 0)
            return code;
    }
    return 0;
}

static int frames_flush(struct halo_viewer *viewer, struct halo_error *err)
{
    (void)viewer, (void)err;
    return 0; /* nothing is queued: a frame that the socket does not accept is dropped */
}

static void frames_end(struct halo_viewer *viewer)
{
    send_command(viewer, END, NULL, 0, -1);
}

static void frames_close(struct halo_viewer *viewer)
{
    struct taking *taking = viewer->own;
    for (int i = 0; taking && i < HELD; i++)
        if (taking->held[i])
            halo_frames_release(viewer->shared->frames, taking->held[i]);
    free(taking);
}

static int frames_open(struct halo_viewer *viewer)
{
    viewer->own = calloc(1, sizeof(struct taking));
    return viewer->own ? 0 : -ENOMEM;
}

const struct halo_viewer_ops halo_viewer_frames = {
    .open = frames_open,
    .begin = frames_begin,
    .packet = frames_packet,
    .flush = frames_flush,
    .receive = frames_receive,
    .end = frames_end,
    .close = frames_close,
};
