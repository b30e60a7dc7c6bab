/* SPDX-License-Identifier: BSD-2-Clause
 * Packets from an engine to the supervisor, through shared memory.
 *
 * One writer, one reader, two processes. The memory is a memfd that cannot change its size (sealed
 * by who makes it, checked by who gets it). Positions only grow; records lie one after the other,
 * each with a header, and wrap. The reader trusts nothing that it finds: it copies a position or a
 * header first, checks the copy, and copies what it describes; a writer that breaks the rules gets
 * its ring given up (-EPROTO), and never more than the ring is read.
 *
 * A ring that is full drops: the writer goes on at the next key frame. An eventfd tells the reader
 * that there is something.
 *
 *   packet_writer.c   the engine's side
 *   packet_reader.c   the supervisor's side
 *   packet_memory.c   what both map
 */
#ifndef HALO_PACKET_RING_H
#define HALO_PACKET_RING_H

#include <libavcodec/avcodec.h>
#include <stdint.h>

#include "config/error.h"
#include "pipeline/output/begin_wire.h"

struct halo_packet_writer;
struct halo_packet_reader;

/* Flag of a key frame that is a card (live.h): nothing refers to it. No encoder sets it with
 * AV_PKT_FLAG_KEY. */
enum { HALO_PACKET_CARD = AV_PKT_FLAG_DISPOSABLE };

/* size: bytes for records, 64 KiB to 1 GiB. The caller owns *ret; the descriptors stay the
 * writer's and are sent to the reader, who gets copies. 0, -EINVAL, -ENOMEM, -EMFILE ... */
int halo_packet_writer_create(struct halo_packet_writer **ret, size_t size, struct halo_error *err);
void halo_packet_writer_destroy(struct halo_packet_writer *writer);
int halo_packet_writer_memory(const struct halo_packet_writer *writer); /* descriptors */
int halo_packet_writer_event(const struct halo_packet_writer *writer);

/* From one thread at a time; never block. A begin that finds no room is kept and goes before the
 * next packet that does. -EMSGSIZE: extradata of more than 64 KiB, or a card of more than a quarter
 * of the ring; -EINVAL: parameters that no codec has; -ENOMEM. No packet is taken then until
 * another begin. Packets: -ENOSPC: dropped; -EINVAL: no time, no data, or no begin. Side data does
 * not travel. */
int halo_packet_write_begin(struct halo_packet_writer *writer, const struct halo_live_begin *begin);
int halo_packet_write(struct halo_packet_writer *writer, const AVPacket *pkt);
int64_t halo_packet_writer_dropped(const struct halo_packet_writer *writer);

/* Takes both descriptors over, on failure too. -EPROTO: no such memory, or not sealed. */
int halo_packet_reader_create(struct halo_packet_reader **ret, int memory, int event,
                              struct halo_error *err);
void halo_packet_reader_destroy(struct halo_packet_reader *reader);
int halo_packet_reader_event(const struct halo_packet_reader *reader); /* to poll: readable */

enum halo_packet_kind {
    HALO_PACKET_NONE = 0,  /* nothing more for now */
    HALO_PACKET_DATA = 1,  /* *ret_pkt is filled, with memory of its own */
    HALO_PACKET_BEGIN = 2, /* *ret_begin is filled; valid until the next call */
};

/* enum halo_packet_kind, or -EPROTO, -ENOMEM. ret_pkt: an allocated, empty packet. */
int halo_packet_read(struct halo_packet_reader *reader, AVPacket *ret_pkt,
                     struct halo_live_begin *ret_begin);

#endif
