/* SPDX-License-Identifier: BSD-2-Clause
 * The engine's side of a packet ring (packet_ring.h): creates the memory, and drops packets that do
 * not fit. */
#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pipeline/output/packet_memory.h"
#include "pipeline/output/packet_ring.h"

struct halo_packet_writer {
    struct halo_packet_memory m;
    uint64_t head;
    uint8_t *begin; /* a description that did not fit yet; it is written first */
    size_t begin_size;
    bool begun, sound, waiting; /* waiting: for a keyframe */
    atomic_llong dropped;
};

static void copy_in(const struct halo_packet_memory *m, uint64_t to, const void *from, size_t size)
{
    if (!size)
        return;
    const size_t at = to % m->size, first = FFMIN(size, m->size - at);
    memcpy(m->bytes + at, from, first);
    memcpy(m->bytes, (const uint8_t *)from + first, size - first);
}

static int create_memory(struct halo_packet_memory *m)
{
    m->fd = memfd_create("halod packets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (m->fd < 0 || ftruncate(m->fd, HALO_PACKET_PAGE + (off_t)m->size) < 0 ||
        fcntl(m->fd, F_ADD_SEALS, HALO_PACKET_SEALS) < 0)
        return -errno;
    m->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->event < 0)
        return -errno;
    return halo_packet_memory_map(m);
}

int halo_packet_writer_create(struct halo_packet_writer **ret, size_t size, struct halo_error *err)
{
    if (size < HALO_PACKET_LEAST || size > HALO_PACKET_MAX)
        return halo_fail(err, -EINVAL,
                         "cannot create a packet ring of %zu bytes: the size must be from %d to %d",
                         size, HALO_PACKET_LEAST, HALO_PACKET_MAX);
    struct halo_packet_writer *writer = av_mallocz(sizeof *writer);
    if (!writer)
        return halo_fail(err, -ENOMEM, "out of memory");
    writer->m = (struct halo_packet_memory){.fd = -1, .event = -1, .size = size & ~(size_t)7};
    const int code = create_memory(&writer->m);
    if (code < 0) {
        halo_packet_writer_destroy(writer);
        return halo_fail(err, code, "cannot create shared memory for packets: %s", strerror(-code));
    }
    *ret = writer;
    return 0;
}

void halo_packet_writer_destroy(struct halo_packet_writer *writer)
{
    if (!writer)
        return;
    halo_packet_memory_finish(&writer->m);
    av_free(writer->begin);
    av_free(writer);
}

int halo_packet_writer_memory(const struct halo_packet_writer *writer)
{
    return writer->m.fd;
}

int halo_packet_writer_event(const struct halo_packet_writer *writer)
{
    return writer->m.event;
}

int64_t halo_packet_writer_dropped(const struct halo_packet_writer *writer)
{
    return atomic_load(&writer->dropped);
}

/* If the reader breaks the rules, the ring looks full. */
static bool has_room(const struct halo_packet_writer *writer, size_t size)
{
    const uint64_t tail = atomic_load_explicit(&writer->m.shared->tail, memory_order_acquire);
    const uint64_t used = writer->head - tail;
    return used <= writer->m.size && size <= writer->m.size - used;
}

static int put(struct halo_packet_writer *writer, enum halo_packet_kind kind, const void *first,
               size_t first_size, const void *second, size_t second_size)
{
    const struct halo_packet_memory *m = &writer->m;
    const struct halo_packet_header header = {kind, first_size + second_size};
    const size_t whole = sizeof header + halo_packet_padded(header.size);
    if (!has_room(writer, whole))
        return -ENOSPC;
    copy_in(m, writer->head, &header, sizeof header);
    copy_in(m, writer->head + sizeof header, first, first_size);
    copy_in(m, writer->head + sizeof header + first_size, second, second_size);
    writer->head += whole;
    atomic_store_explicit(&m->shared->head, writer->head, memory_order_release);
    const uint64_t one = 1;
    (void)!write(m->event, &one, sizeof one); /* if the counter is full, the reader is signalled
                                                 anyway */
    return 0;
}

static int put_begin(struct halo_packet_writer *writer)
{
    if (!writer->begin)
        return 0;
    const int code = put(writer, HALO_PACKET_BEGIN, writer->begin, writer->begin_size, NULL, 0);
    if (code >= 0)
        av_freep(&writer->begin);
    return code;
}

int halo_packet_write_begin(struct halo_packet_writer *writer,
                            const struct halo_encoding_parameters *begin)
{
    av_freep(&writer->begin);
    writer->begun = false;
    const int code =
        halo_begin_write(begin, writer->m.size / 4, &writer->begin, &writer->begin_size);
    if (code < 0)
        return code;
    if (writer->begin_size + sizeof(struct halo_packet_header) + 8 > writer->m.size) {
        av_freep(&writer->begin);
        return -EMSGSIZE;
    }
    writer->begun = writer->waiting = true;
    writer->sound = begin->audio;
    put_begin(writer);
    return 0;
}

int halo_packet_write(struct halo_packet_writer *writer, const AVPacket *pkt)
{
    struct halo_packet_fields fields;
    int code = halo_packet_fields_init(&fields, pkt);
    if (code < 0)
        return code;
    if (!writer->begun || (fields.stream && !writer->sound))
        return -EINVAL;
    const bool video = !fields.stream, key = video && fields.flags & AV_PKT_FLAG_KEY;
    code = put_begin(writer);
    if (code >= 0 && video && writer->waiting && !key)
        code = -ENOSPC;
    if (code >= 0)
        code = put(writer, HALO_PACKET_DATA, &fields, sizeof fields, pkt->data, fields.size);
    if (video)
        writer->waiting = code < 0;
    if (code < 0)
        atomic_fetch_add(&writer->dropped, 1);
    return code;
}
