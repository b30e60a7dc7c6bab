/* SPDX-License-Identifier: BSD-2-Clause
 * The supervisor's side of a packet ring (packet_ring.h): trusts nothing that is in it. */
#include <errno.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pipeline/output/packet_memory.h"
#include "pipeline/output/packet_ring.h"

enum { HUGE_PAGES = 0x958458f6 }; /* hugetlbfs: an access may raise SIGBUS */

struct halo_packet_reader {
    struct halo_packet_memory m;
    uint64_t tail;
    struct halo_parameters_copy begin;
    bool begun, broken;
};

/* Ensures that the copied bytes are the ones checked: after the barrier the compiler cannot read
 * the ring, which may have changed, instead of the copy. */
static void copy_out(const struct halo_packet_memory *m, void *to, uint64_t from, size_t size)
{
    const size_t at = from % m->size, first = FFMIN(size, m->size - at);
    memcpy(to, m->bytes + at, first);
    memcpy((uint8_t *)to + first, m->bytes, size - first);
    __asm__ volatile("" : : "r"(to) : "memory");
}

/* After this check the memory's properties cannot change any more. */
static int check_memory(struct halo_packet_memory *m)
{
    struct stat st;
    struct statfs fs;
    const int seals = fcntl(m->fd, F_GET_SEALS);
    if (seals < 0 || (seals & HALO_PACKET_SEALS) != HALO_PACKET_SEALS || fstatfs(m->fd, &fs) < 0 ||
        (uint32_t)fs.f_type == HUGE_PAGES || fstat(m->fd, &st) < 0)
        return -EPROTO;
    if (st.st_size < HALO_PACKET_PAGE + HALO_PACKET_LEAST - 7 ||
        st.st_size > (off_t)HALO_PACKET_PAGE + HALO_PACKET_MAX || st.st_size % 8)
        return -EPROTO;
    m->size = st.st_size - HALO_PACKET_PAGE;
    return 0;
}

/* Accepts only an eventfd: reading from anything else may block. Without /proc that cannot be
 * checked. */
static int check_event(int fd)
{
    char path[40], what[40] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(path, what, sizeof what - 1);
    if (fcntl(fd, F_GETFD) < 0 || (length >= 0 && !strstr(what, "[eventfd]")))
        return -EPROTO;
    const int flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -EPROTO : 0;
}

int halo_packet_reader_create(struct halo_packet_reader **ret, int memory, int event,
                              struct halo_error *err)
{
    struct halo_packet_reader *reader = av_mallocz(sizeof *reader);
    if (!reader) {
        close(memory);
        close(event);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    reader->m = (struct halo_packet_memory){.fd = memory, .event = event};
    int code = check_memory(&reader->m);
    if (code >= 0)
        code = check_event(event);
    if (code >= 0)
        code = halo_packet_memory_map(&reader->m);
    if (code < 0) {
        halo_packet_reader_destroy(reader);
        return code == -EPROTO
                   ? halo_fail(err, code,
                               "not a packet ring: its memory or event descriptor lacks a required "
                               "property")
                   : halo_fail(err, code, "cannot use a packet ring: %s", strerror(-code));
    }
    *ret = reader;
    return 0;
}

void halo_packet_reader_destroy(struct halo_packet_reader *reader)
{
    if (!reader)
        return;
    halo_packet_memory_finish(&reader->m);
    halo_parameters_copy_finish(&reader->begin);
    av_free(reader);
}

int halo_packet_reader_event(const struct halo_packet_reader *reader)
{
    return reader->m.event;
}

/* Never blocks, even if the writer has made the eventfd blocking again. */
static void drain_event(int fd)
{
    uint64_t count;
    struct iovec iov = {&count, sizeof count};
    if (preadv2(fd, &iov, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP &&
        read(fd, &count, sizeof count) < 0)
        return;
}

/* Bytes available according to the writer, or -EPROTO. */
static int64_t available(const struct halo_packet_reader *reader)
{
    const uint64_t head = atomic_load_explicit(&reader->m.shared->head, memory_order_acquire);
    const uint64_t there = head - reader->tail;
    return there <= reader->m.size && there % 8 == 0 ? (int64_t)there : -EPROTO;
}

static int read_data(struct halo_packet_reader *reader, uint64_t at, size_t size, AVPacket *ret_pkt)
{
    struct halo_packet_fields fields;
    if (!reader->begun || size < sizeof fields)
        return -EPROTO;
    copy_out(&reader->m, &fields, at, sizeof fields);
    if (!halo_packet_fields_is_good(&fields) || fields.size != size - sizeof fields ||
        (fields.stream && !reader->begin.audio))
        return -EPROTO;
    if (av_new_packet(ret_pkt, fields.size) < 0)
        return -ENOMEM;
    copy_out(&reader->m, ret_pkt->data, at + sizeof fields, fields.size);
    halo_packet_fields_apply(&fields, ret_pkt);
    return HALO_PACKET_DATA;
}

static int read_begin(struct halo_packet_reader *reader, uint64_t at, size_t size,
                      struct halo_encoding_parameters *ret_begin)
{
    struct halo_parameters_copy begin;
    uint8_t *bytes = av_malloc(size ? size : 1);
    if (!bytes)
        return -ENOMEM;
    copy_out(&reader->m, bytes, at, size);
    const int code = halo_begin_read(&begin, bytes, size, reader->m.size / 4);
    av_free(bytes);
    if (code < 0)
        return code;
    halo_parameters_copy_finish(&reader->begin);
    reader->begin = begin;
    reader->begun = true;
    *ret_begin = halo_parameters_view(&reader->begin);
    return HALO_PACKET_BEGIN;
}

static int read_record(struct halo_packet_reader *reader, size_t there, AVPacket *ret_pkt,
                       struct halo_encoding_parameters *ret_begin)
{
    struct halo_packet_header header;
    if (there < sizeof header)
        return -EPROTO;
    copy_out(&reader->m, &header, reader->tail, sizeof header);
    if (header.size > there - sizeof header ||
        halo_packet_padded(header.size) > there - sizeof header)
        return -EPROTO;
    const uint64_t at = reader->tail + sizeof header;
    int code = -EPROTO;
    if (header.kind == HALO_PACKET_DATA)
        code = read_data(reader, at, header.size, ret_pkt);
    else if (header.kind == HALO_PACKET_BEGIN)
        code = read_begin(reader, at, header.size, ret_begin);
    if (code < 0)
        return code;
    reader->tail = at + halo_packet_padded(header.size);
    atomic_store_explicit(&reader->m.shared->tail, reader->tail, memory_order_release);
    return code;
}

int halo_packet_read(struct halo_packet_reader *reader, AVPacket *ret_pkt,
                     struct halo_encoding_parameters *ret_begin)
{
    if (reader->broken)
        return -EPROTO;
    int64_t there = available(reader);
    if (!there) {
        drain_event(reader->m.event); /* first: later packets signal again */
        there = available(reader);
    }
    if (!there)
        return HALO_PACKET_NONE;
    const int code = there < 0 ? (int)there : read_record(reader, there, ret_pkt, ret_begin);
    reader->broken = code == -EPROTO;
    return code;
}
