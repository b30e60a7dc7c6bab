/* SPDX-License-Identifier: BSD-2-Clause
 * Packets from an engine to the supervisor, through shared memory.
 *
 * There is one writer and one reader, in two processes. The memory is a memfd whose size cannot
 * change (sealed by the writer, checked by the reader). Positions only grow; records follow one
 * another, each with a header, and wrap around. The reader does not trust anything in the memory:
 * it copies a position or a header first, checks the copy, and then copies the data that it
 * describes. If the writer breaks a rule, the reader stops using the ring (-EPROTO); it never reads
 * outside the ring.
 *
 * If the ring is full, packets are dropped, and the writer continues at the next keyframe. An
 * eventfd notifies the reader of new records.
 *
 *   packet_writer.c   the engine's side
 *   packet_reader.c   the supervisor's side
 *   packet_memory.c   mapping the memory, for both */
#ifndef HALO_PACKET_RING_H
#define HALO_PACKET_RING_H

#include <libavcodec/avcodec.h>
#include <stdint.h>

#include "config/base/error.h"
#include "pipeline/output/parameters_wire.h"

struct halo_packet_writer;
struct halo_packet_reader;

/* Flag that marks a keyframe as a card (live.h), on which no other packet depends. No encoder sets
 * it together with AV_PKT_FLAG_KEY. */
enum { HALO_PACKET_CARD = AV_PKT_FLAG_DISPOSABLE };

/* Creates a ring with size bytes for records (64 KiB to 1 GiB). The caller owns *ret. The
 * descriptors belong to the writer; copies of them are sent to the reader. Returns 0, -EINVAL,
 * -ENOMEM, -EMFILE or another -errno. */
int halo_packet_writer_create(struct halo_packet_writer **ret, size_t size, struct halo_error *err);
void halo_packet_writer_destroy(struct halo_packet_writer *writer);
int halo_packet_writer_memory(const struct halo_packet_writer *writer); /* the memfd */
int halo_packet_writer_event(const struct halo_packet_writer *writer);  /* the eventfd */

/* Writes a description of the packets that follow. If the description does not fit into the ring,
 * it is kept and written later, before the next packet that fits. Returns 0; -EMSGSIZE if the
 * extradata has more than 64 KiB or a card more than a quarter of the ring; -EINVAL if begin
 * contains values that no codec has; or -ENOMEM. After an error no packet is accepted until another
 * description is written. halo_packet_write_begin() and halo_packet_write() never block; only one
 * thread at a time may call them. */
int halo_packet_write_begin(struct halo_packet_writer *writer,
                            const struct halo_encoding_parameters *begin);
/* Writes a packet without its side data. Returns 0; -ENOSPC if the packet was dropped; or -EINVAL
 * if the packet has no timestamp or no data, or if no description was written before it. */
int halo_packet_write(struct halo_packet_writer *writer, const AVPacket *pkt);
int64_t halo_packet_writer_dropped(const struct halo_packet_writer *writer);

/* Takes ownership of both descriptors, even on failure. Returns 0; -EPROTO if the descriptors are
 * not those of a packet ring or the memory is not sealed; or another -errno. */
int halo_packet_reader_create(struct halo_packet_reader **ret, int memory, int event,
                              struct halo_error *err);
void halo_packet_reader_destroy(struct halo_packet_reader *reader);
int halo_packet_reader_event(const struct halo_packet_reader *reader); /* to be polled */

enum halo_packet_kind {
    HALO_PACKET_NONE = 0,  /* no more records for now */
    HALO_PACKET_DATA = 1,  /* *ret_pkt is filled, with its own memory */
    HALO_PACKET_BEGIN = 2, /* *ret_begin is filled; valid until the next call */
};

/* Reads the next record. Returns an enum halo_packet_kind, -EPROTO or -ENOMEM. ret_pkt must be an
 * allocated, empty packet. */
int halo_packet_read(struct halo_packet_reader *reader, AVPacket *ret_pkt,
                     struct halo_encoding_parameters *ret_begin);

#endif
