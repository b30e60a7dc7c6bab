/* SPDX-License-Identifier: BSD-2-Clause
 * Packets from an engine to the supervisor, through shared memory.
 *
 * One writer and one reader, in two processes. The memory is a memfd whose size cannot change
 * (sealed by the writer, checked by the reader). Positions only grow; records follow one another,
 * each with a header, and wrap around. The reader trusts nothing in the memory: it copies a
 * position or a header first, checks the copy, and then copies the data it describes. If the writer
 * breaks a rule, the reader gives the ring up (-EPROTO); it never reads outside of the ring.
 *
 * If the ring is full, packets are dropped, and the writer continues at the next keyframe. An
 * eventfd tells the reader that there are records.
 *
 *   packet_writer.c   the engine's side
 *   packet_reader.c   the supervisor's side
 *   packet_memory.c   mapping the memory, for both
 */
#ifndef HALO_PACKET_RING_H
#define HALO_PACKET_RING_H

#include <libavcodec/avcodec.h>
#include <stdint.h>

#include "config/error.h"
#include "pipeline/output/begin_wire.h"

struct halo_packet_writer;
struct halo_packet_reader;

/* Flag of a keyframe that is a card (live.h): no packet depends on it. No encoder sets it together
 * with AV_PKT_FLAG_KEY. */
enum { HALO_PACKET_CARD = AV_PKT_FLAG_DISPOSABLE };

/* size: bytes for records, 64 KiB to 1 GiB. The caller owns *ret. The descriptors belong to the
 * writer; the reader is sent copies of them. 0, -EINVAL, -ENOMEM, -EMFILE ... */
int halo_packet_writer_create(struct halo_packet_writer **ret, size_t size, struct halo_error *err);
void halo_packet_writer_destroy(struct halo_packet_writer *writer);
int halo_packet_writer_memory(const struct halo_packet_writer *writer); /* descriptors */
int halo_packet_writer_event(const struct halo_packet_writer *writer);

/* Use these from one thread at a time; they never block. A begin that does not fit is kept and
 * written before the next packet that fits. -EMSGSIZE: extradata of more than 64 KiB, or a card of
 * more than a quarter of the ring; -EINVAL: parameters that no codec has; -ENOMEM. After these
 * errors no packet is accepted until another begin. Packets: -ENOSPC: dropped; -EINVAL: no
 * timestamp, no data, or no begin. Side data is not sent. */
int halo_packet_write_begin(struct halo_packet_writer *writer, const struct halo_live_begin *begin);
int halo_packet_write(struct halo_packet_writer *writer, const AVPacket *pkt);
int64_t halo_packet_writer_dropped(const struct halo_packet_writer *writer);

/* Takes ownership of both descriptors, on failure too. -EPROTO: not such memory, or not sealed. */
int halo_packet_reader_create(struct halo_packet_reader **ret, int memory, int event,
                              struct halo_error *err);
void halo_packet_reader_destroy(struct halo_packet_reader *reader);
int halo_packet_reader_event(const struct halo_packet_reader *reader); /* to poll: readable */

enum halo_packet_kind {
    HALO_PACKET_NONE = 0,  /* no more records for now */
    HALO_PACKET_DATA = 1,  /* *ret_pkt is filled, with its own memory */
    HALO_PACKET_BEGIN = 2, /* *ret_begin is filled; valid until the next call */
};

/* Returns an enum halo_packet_kind, or -EPROTO, -ENOMEM. ret_pkt: an allocated, empty packet. */
int halo_packet_read(struct halo_packet_reader *reader, AVPacket *ret_pkt,
                     struct halo_live_begin *ret_begin);

#endif
