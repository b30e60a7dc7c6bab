/* SPDX-License-Identifier: BSD-2-Clause
 * Packets through shared memory (packet_ring.h).
 *
 *   memfd: | head, tail, to a page's end | size bytes of records, round and round |
 *   record: | kind, bytes of what follows | struct halo_packet_form, data   or   begin_form.h |
 *
 * head and tail are counts of bytes since the beginning, multiples of 8, as records are. */
#include "pipeline/packet_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/mem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pipeline/begin_form.h"

enum {
    PAGE = 4096,
    LEAST = 65536,
    MOST = 1 << 30,
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
    HUGE_PAGES = 0x958458f6, /* hugetlbfs: a touch may be SIGBUS */
};

struct shared {
    _Alignas(64) _Atomic uint64_t head; /* the writer's */
    _Alignas(64) _Atomic uint64_t tail; /* the reader's */
};

struct header {
    uint32_t kind; /* enum halo_packet_kind */
    uint32_t size;
};
_Static_assert(sizeof(struct header) == 8 && sizeof(struct halo_packet_form) == 32, "no holes");

struct memory {
    int fd, event;
    size_t size; /* of the records */
    struct shared *shared;
    uint8_t *bytes; /* PAGE behind shared */
};

static size_t padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static int map_memory(struct memory *m)
{
    void *at = mmap(NULL, PAGE + m->size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    m->shared = at;
    m->bytes = (uint8_t *)at + PAGE;
    return 0;
}

static void finish_memory(struct memory *m)
{
    if (m->shared)
        munmap(m->shared, PAGE + m->size);
    if (m->fd >= 0)
        close(m->fd);
    if (m->event >= 0)
        close(m->event);
}

static void copy_in(const struct memory *m, uint64_t to, const void *from, size_t size)
{
    if (!size)
        return;
    const size_t at = to % m->size, first = FFMIN(size, m->size - at);
    memcpy(m->bytes + at, from, first);
    memcpy(m->bytes, (const uint8_t *)from + first, size - first);
}

/* What is copied is what is checked: after the barrier the compiler cannot look at the ring, which
 * may have changed, in the place of the copy. */
static void copy_out(const struct memory *m, void *to, uint64_t from, size_t size)
{
    const size_t at = from % m->size, first = FFMIN(size, m->size - at);
    memcpy(to, m->bytes + at, first);
    memcpy((uint8_t *)to + first, m->bytes, size - first);
    __asm__ volatile("" : : "r"(to) : "memory");
}

/* ---- writer ---- */

struct halo_packet_writer {
    struct memory m;
    uint64_t head;
    uint8_t *begin; /* a begin that found no room yet: it goes first */
    size_t begin_size;
    bool begun, sound, waiting; /* waiting: for a key frame */
    atomic_llong dropped;
};

static int create_memory(struct memory *m)
{
    m->fd = memfd_create("halod packets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (m->fd < 0 || ftruncate(m->fd, PAGE + (off_t)m->size) < 0 ||
        fcntl(m->fd, F_ADD_SEALS, SEALS) < 0)
        return -errno;
    m->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->event < 0)
        return -errno;
    return map_memory(m);
}

int halo_packet_writer_create(struct halo_packet_writer **ret, size_t size, struct halo_error *err)
{
    if (size < LEAST || size > MOST)
        return halo_fail(err, -EINVAL, "a ring of %zu bytes for packets: %d to %d are possible",
                         size, LEAST, MOST);
    struct halo_packet_writer *writer = av_mallocz(sizeof *writer);
    if (!writer)
        return halo_fail(err, -ENOMEM, "out of memory");
    writer->m = (struct memory){.fd = -1, .event = -1, .size = size & ~(size_t)7};
    const int r = create_memory(&writer->m);
    if (r < 0) {
        halo_packet_writer_destroy(writer);
        return halo_fail(err, r, "no shared memory for packets: %s", strerror(-r));
    }
    *ret = writer;
    return 0;
}

void halo_packet_writer_destroy(struct halo_packet_writer *writer)
{
    if (!writer)
        return;
    finish_memory(&writer->m);
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

/* A reader that breaks the rules finds a ring that is full. */
static bool has_room(const struct halo_packet_writer *writer, size_t size)
{
    const uint64_t tail = atomic_load_explicit(&writer->m.shared->tail, memory_order_acquire);
    const uint64_t used = writer->head - tail;
    return used <= writer->m.size && size <= writer->m.size - used;
}

static int put(struct halo_packet_writer *writer, enum halo_packet_kind kind, const void *first,
               size_t first_size, const void *second, size_t second_size)
{
    const struct memory *m = &writer->m;
    const struct header header = {kind, first_size + second_size};
    const size_t whole = sizeof header + padded(header.size);
    if (!has_room(writer, whole))
        return -ENOSPC;
    copy_in(m, writer->head, &header, sizeof header);
    copy_in(m, writer->head + sizeof header, first, first_size);
    copy_in(m, writer->head + sizeof header + first_size, second, second_size);
    writer->head += whole;
    atomic_store_explicit(&m->shared->head, writer->head, memory_order_release);
    const uint64_t one = 1;
    (void)!write(m->event, &one, sizeof one); /* that it cannot count further is a signal too */
    return 0;
}

static int put_begin(struct halo_packet_writer *writer)
{
    if (!writer->begin)
        return 0;
    const int r = put(writer, HALO_PACKET_BEGIN, writer->begin, writer->begin_size, NULL, 0);
    if (r >= 0)
        av_freep(&writer->begin);
    return r;
}

int halo_packet_write_begin(struct halo_packet_writer *writer, const struct halo_live_begin *begin)
{
    av_freep(&writer->begin);
    writer->begun = false;
    const int r = halo_begin_write(begin, writer->m.size / 4, &writer->begin, &writer->begin_size);
    if (r < 0)
        return r;
    if (writer->begin_size + sizeof(struct header) + 8 > writer->m.size) {
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
    struct halo_packet_form form;
    int r = halo_packet_form_init(&form, pkt);
    if (r < 0)
        return r;
    if (!writer->begun || (form.stream && !writer->sound))
        return -EINVAL;
    const bool video = !form.stream, key = video && form.flags & AV_PKT_FLAG_KEY;
    r = put_begin(writer);
    if (r >= 0 && video && writer->waiting && !key)
        r = -ENOSPC;
    if (r >= 0)
        r = put(writer, HALO_PACKET_DATA, &form, sizeof form, pkt->data, form.size);
    if (video)
        writer->waiting = r < 0;
    if (r < 0)
        atomic_fetch_add(&writer->dropped, 1);
    return r;
}

/* ---- reader ---- */

struct halo_packet_reader {
    struct memory m;
    uint64_t tail;
    struct halo_begin_copy begin;
    bool begun, broken;
};

/* What the memory is cannot change any more once this has seen it. */
static int check_memory(struct memory *m)
{
    struct stat st;
    struct statfs fs;
    const int seals = fcntl(m->fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstatfs(m->fd, &fs) < 0 ||
        (uint32_t)fs.f_type == HUGE_PAGES || fstat(m->fd, &st) < 0)
        return -EPROTO;
    if (st.st_size < PAGE + LEAST - 7 || st.st_size > (off_t)PAGE + MOST || st.st_size % 8)
        return -EPROTO;
    m->size = st.st_size - PAGE;
    return 0;
}

/* Only an eventfd: reading from anything else may block. Without /proc nobody knows. */
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
    reader->m = (struct memory){.fd = memory, .event = event};
    int r = check_memory(&reader->m);
    if (r >= 0)
        r = check_event(event);
    if (r >= 0)
        r = map_memory(&reader->m);
    if (r < 0) {
        halo_packet_reader_destroy(reader);
        return r == -EPROTO ? halo_fail(err, r, "not a ring of packets: no sealed memory")
                            : halo_fail(err, r, "a ring of packets: %s", strerror(-r));
    }
    *ret = reader;
    return 0;
}

void halo_packet_reader_destroy(struct halo_packet_reader *reader)
{
    if (!reader)
        return;
    finish_memory(&reader->m);
    halo_begin_copy_finish(&reader->begin);
    av_free(reader);
}

int halo_packet_reader_event(const struct halo_packet_reader *reader)
{
    return reader->m.event;
}

/* Never blocks, though the writer may have made the eventfd a blocking one again. */
static void drain_event(int fd)
{
    uint64_t count;
    struct iovec iov = {&count, sizeof count};
    if (preadv2(fd, &iov, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP &&
        read(fd, &count, sizeof count) < 0)
        return;
}

/* Bytes that the writer says are there, or -EPROTO. */
static int64_t available(const struct halo_packet_reader *reader)
{
    const uint64_t head = atomic_load_explicit(&reader->m.shared->head, memory_order_acquire);
    const uint64_t there = head - reader->tail;
    return there <= reader->m.size && there % 8 == 0 ? (int64_t)there : -EPROTO;
}

static int read_data(struct halo_packet_reader *reader, uint64_t at, size_t size, AVPacket *ret_pkt)
{
    struct halo_packet_form form;
    if (!reader->begun || size < sizeof form)
        return -EPROTO;
    copy_out(&reader->m, &form, at, sizeof form);
    if (!halo_packet_form_is_good(&form) || form.size != size - sizeof form ||
        (form.stream && !reader->begin.audio))
        return -EPROTO;
    if (av_new_packet(ret_pkt, form.size) < 0)
        return -ENOMEM;
    copy_out(&reader->m, ret_pkt->data, at + sizeof form, form.size);
    halo_packet_form_apply(&form, ret_pkt);
    return HALO_PACKET_DATA;
}

static int read_begin(struct halo_packet_reader *reader, uint64_t at, size_t size,
                      struct halo_live_begin *ret_begin)
{
    struct halo_begin_copy begin;
    uint8_t *bytes = av_malloc(size ? size : 1);
    if (!bytes)
        return -ENOMEM;
    copy_out(&reader->m, bytes, at, size);
    const int r = halo_begin_read(&begin, bytes, size, reader->m.size / 4);
    av_free(bytes);
    if (r < 0)
        return r;
    halo_begin_copy_finish(&reader->begin);
    reader->begin = begin;
    reader->begun = true;
    *ret_begin = halo_begin_view(&reader->begin);
    return HALO_PACKET_BEGIN;
}

static int read_record(struct halo_packet_reader *reader, size_t there, AVPacket *ret_pkt,
                       struct halo_live_begin *ret_begin)
{
    struct header header;
    if (there < sizeof header)
        return -EPROTO;
    copy_out(&reader->m, &header, reader->tail, sizeof header);
    if (header.size > there - sizeof header || padded(header.size) > there - sizeof header)
        return -EPROTO;
    const uint64_t at = reader->tail + sizeof header;
    int r = -EPROTO;
    if (header.kind == HALO_PACKET_DATA)
        r = read_data(reader, at, header.size, ret_pkt);
    else if (header.kind == HALO_PACKET_BEGIN)
        r = read_begin(reader, at, header.size, ret_begin);
    if (r < 0)
        return r;
    reader->tail = at + padded(header.size);
    atomic_store_explicit(&reader->m.shared->tail, reader->tail, memory_order_release);
    return r;
}

int halo_packet_read(struct halo_packet_reader *reader, AVPacket *ret_pkt,
                     struct halo_live_begin *ret_begin)
{
    if (reader->broken)
        return -EPROTO;
    int64_t there = available(reader);
    if (!there) {
        drain_event(reader->m.event); /* first: what comes from here on signals anew */
        there = available(reader);
    }
    if (!there)
        return HALO_PACKET_NONE;
    const int r = there < 0 ? (int)there : read_record(reader, there, ret_pkt, ret_begin);
    reader->broken = r == -EPROTO;
    return r;
}
