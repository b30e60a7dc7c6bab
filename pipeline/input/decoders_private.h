/* SPDX-License-Identifier: BSD-2-Clause
 * Groups of frames and their workers (decoders.h). */
#ifndef HALO_DECODERS_PRIVATE_H
#define HALO_DECODERS_PRIVATE_H

#include "pipeline/base/damage.h"
#include "pipeline/base/thread.h"
#include "pipeline/input/decode_cuts.h"
#include "pipeline/input/decoders.h"

enum halo_group_state {
    HALO_GROUP_GATHERING, /* its packets arrive */
    HALO_GROUP_WAITING,   /* for a worker */
    HALO_GROUP_TAKEN,     /* by a worker */
    HALO_GROUP_WHOLE,     /* all of its frames are decoded */
    HALO_GROUP_SPOILED,   /* one decoder must decode it */
};

struct halo_group {
    struct halo_group *next; /* the group after it in the stream */
    struct halo_group *then; /* the group that the same worker took after it */
    enum halo_group_state state;
    AVPacket **packet;
    int packets, room;
    int due;                         /* number of packets whose frames are shown */
    int64_t bytes;                   /* of its packets */
    int64_t first;                   /* earliest time of a frame */
    struct halo_raw_picture **frame; /* decoded; frames up to `returned` are NULL */
    int frames, frame_room, returned;
    int64_t newest; /* time of the newest frame */
};

struct halo_decode_worker {
    struct halo_decoders *all;
    struct halo_decoder *decoder;
    struct halo_damage damage;
    struct halo_group *oldest, *newest; /* groups that it took and that are not whole; linked by
                                           `then` */
    struct halo_thread thread;
    bool running;
};

struct halo_decoders {
    const char *name;
    AVStream *stream;
    struct halo_damage *damage;
    struct halo_decoders_settings settings;
    bool counts; /* each packet has one frame */
    int64_t frame_bytes;
    /* Used by the caller's thread only: */
    struct halo_cuts cuts;
    struct halo_decoder *single; /* the one decoder; NULL while the stream is cut */
    int64_t from, until;
    int64_t clean; /* packets of groups that were returned whole */
    int groups;    /* number of these groups */
    int skip;      /* frames of the one decoder that were already returned */
    int replayed;  /* packets of the first group that were sent to the one decoder */
    bool ended, sent_end;
    const char *reason;
    /* Guarded by lock: */
    struct halo_mutex lock;
    struct halo_cond changed;          /* any of the following */
    struct halo_group *first, *last;   /* last: gathering, until the end */
    int64_t waiting_bytes;             /* of frames of all groups but the first */
    bool works;                        /* a decoder accepted a packet */
    bool stop;                         /* workers end */
    struct halo_decode_worker *worker; /* settings.most of them */
};

/* Opens the worker's decoder, with the errors of halo_decoder_open(). The first worker's is opened
 * before any thread runs. */
int halo_decode_worker_open(struct halo_decode_worker *w, struct halo_error *err);

/* The main function of a worker's thread. */
void *halo_decode_worker_main(void *arg);

#endif
