/* SPDX-License-Identifier: BSD-2-Clause
 * What the files of a live stream (live.h) share, and nobody else.
 *
 *   live.c          the commands: create, start, set, watch, stop ...
 *   live_source.c   the source thread: the life of a stream, sessions, pauses
 *   live_stages.c   the threads behind it, begun and ended
 *   live_input.c    one session: open, demux, decode
 *   live_loop.c     files that begin again
 *   live_camera.c   the same with a camera, and what is between sessions
 *   live_controls.c its controls
 *   live_camera_form.c   what its pictures are
 *   live_clock.c    its times on the stream's line, and when a picture is due
 *   live_shape.c    the shape of the pictures
 *   live_lineup.c   the gates for it; live_lineups.c: all that are in use
 *   live_filter.c   the filter and the collect thread
 *   live_encodings.c  all encodings, as other threads see them
 *   live_encode.c   the thread of an encoding; live_codec.c: its encoders
 *   live_cards.c    the thread that makes cards
 *   live_sound.c    its sound
 *   live_aside.c    the thread that builds new lineups and writes snapshots
 *   live_stats.c    what it tells of itself: live_figures.c counts, live_load.c judges
 *   live_stands.c   whether a stage of it stands
 */
#ifndef HALO_LIVE_PRIVATE_H
#define HALO_LIVE_PRIVATE_H

#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <pthread.h>
#include <stdatomic.h>

#include "kernels/clock.h"
#include "pipeline/base/damage.h"
#include "pipeline/camera/camera.h"
#include "pipeline/gate/gate.h"
#include "pipeline/gate/queue.h"
#include "pipeline/input/decode.h"
#include "pipeline/input/source_file.h"
#include "pipeline/input/source_test.h"
#include "pipeline/live/live.h"
#include "pipeline/live/live_aside.h"
#include "pipeline/live/live_camera.h"
#include "pipeline/live/live_cards.h"
#include "pipeline/live/live_controls.h"
#include "pipeline/live/live_encodings.h"
#include "pipeline/live/live_figures.h"
#include "pipeline/live/live_lineups.h"
#include "pipeline/live/live_listener.h"
#include "pipeline/live/live_shape.h"
#include "pipeline/live/live_stages.h"
#include "pipeline/live/live_stands.h"
#include "pipeline/live/live_status.h"
#include "pipeline/output/adts.h"
#include "pipeline/output/audio.h"
#include "pipeline/output/encode.h"

/* By which a file that was rewound shows that it begins as it did. */
struct halo_live_first {
    bool known;
    int64_t pts, dts;
    int size, flags;
};

/* Which file has a name, and how it is; all zero: none. */
struct halo_live_file {
    uint64_t device, number;
    int64_t size, changed; /* bytes; ns */
};

/* A session with the source: from opening it to its end. */
struct halo_live_input {
    struct halo_source *source; /* NULL: test, or a camera */
    struct halo_camera *camera;
    struct halo_camera_counts counted; /* of it, that the stream has counted */
    struct halo_orient *orient;        /* NULL: pictures stay as they are */
    struct halo_decoder *decoder;
    struct halo_test_source *test;
    AVFormatContext *own; /* of test and cameras: describes */
    AVFormatContext *format;
    AVStream *video, *sound; /* sound NULL: none, or not wanted */
    AVBSFContext *adts;      /* takes the headers off copied AAC; NULL: it has none */
    struct halo_adts coded;  /* what the first of those said */
    bool unlike;             /* the sound is not what outputs began with, and told */
    AVPacket *pkt;
    bool again;                   /* it can be opened beside itself: halo_path_opens_again() */
    bool timeless;                /* its times say nothing */
    bool refused;                 /* by the GPU's decoder, and told */
    bool absolute;                /* its times are CLOCK_MONOTONIC's */
    bool unsure;                  /* as of halo_gate_input */
    bool draining;                /* the end was reached: the decoder gives what it holds */
    bool rewound;                 /* its first packet is still to be compared */
    bool goes_on;                 /* its decoder can take that behind the last one */
    struct halo_live_first first; /* packet of the pictures, when it was opened */
    struct halo_live_file file;   /* that was opened */
    int64_t shift;                /* added to times: in the pictures' time base */
    int64_t turn, last; /* in the same: where this turn begins; the latest picture that was read */
    int64_t before;     /* pictures given before this turn */
    int64_t spent;      /* ns that the decoder took since the last picture */
    int64_t pictures;   /* given */
};

struct halo_live_clock {
    bool set;         /* this session has had a picture */
    bool joined;      /* it goes on where the one before it ended */
    int64_t first;    /* its time in the source ... */
    int64_t origin;   /* ... and on the line */
    int64_t last;     /* of the pictures so far; 0: there was none */
    int64_t duration; /* of that one */
    int64_t turn;     /* of a file that loops: its halo_live_input.turn */
};

struct halo_live {
    struct halo_live_listener *listener;
    struct halo_live_stands *stands;
    struct halo_stream_settings settings; /* a copy */
    struct halo_live_figures *figures;
    struct halo_source_settings source; /* of them, its input called by that name: */
    char *name; /* of the input, for messages: without what is secret in an URL */
    struct halo_live_encodings *encodings;
    bool live;                       /* bounded delay: late pictures are dropped */
    bool paced;                      /* a picture waits for its time */
    bool local;                      /* a file, test: or a camera: no time limit of URLs holds */
    struct halo_live_camera *camera; /* NULL: the input is none */
    struct halo_live_controls *controls;

    bool rewinds_badly; /* a file that has to be opened anew for each turn; the source thread's */
    bool may_make_up;   /* a shape, where the source is away at first (live_settings.c) */

    pthread_t source_thread;
    bool started;
    atomic_int stop;         /* 1: asked for, 2: failed */
    atomic_bool done, ready; /* ready: the ring is there */

    struct halo_source_limits limits;
    struct halo_damage damage;
    struct halo_ring *ring;
    struct halo_region_feed *region_feed; /* NULL: it has none; all gates ask it */
    struct halo_live_stages *stages;
    struct halo_live_shape *shape;
    struct halo_live_lineups *lineups;
    struct halo_live_aside *aside;
    struct halo_live_status *status;
    struct halo_live_cards *cards;
    struct halo_live_clock clock;
};

/* ---- live.c ---- */

/* The end: the state is FAILED and every thread ends. Any thread. */
void halo_live_fail(struct halo_live *live, const struct halo_error *err);
static inline bool halo_live_stopped(const struct halo_live *live)
{
    return atomic_load(&live->stop) != 0;
}

/* ---- live_settings.c ---- */
/* What can be known without opening anything. 0 or a usage error. */
int halo_live_check(struct halo_live *live, struct halo_error *err);
/* The size that "WxH", "Wx-1", "-1xH" or one of FFmpeg's names means for frames of width x height.
 * 0, or -EINVAL: it is none. */
int halo_live_size(const char *text, int width, int height, int *ret_width, int *ret_height);

/* ---- live_source.c ---- */
void *halo_live_source_main(void *arg);
/* The shape as far as settings say what it is, where there is none yet. Card thread. */
void halo_live_make_up(struct halo_live *live);

/* ---- live_input.c ---- */
int halo_live_input_open(struct halo_live *live, struct halo_live_input *in,
                         struct halo_error *err);
void halo_live_input_close(struct halo_live_input *in); /* zeroed or half-open ones too */
/* A packet to the session's decoder; the damage that it meets is counted. 0 or -errno. */
int halo_live_input_send(struct halo_live *live, struct halo_live_input *in, const AVPacket *pkt,
                         struct halo_error *err);
/* 1: one of *ret_raw and *ret_sound is the caller's, the other NULL; 0: the end, a stop or the time
 * limit; -errno with err filled. */
int halo_live_input_read(struct halo_live *live, struct halo_live_input *in,
                         struct halo_raw_picture **ret_raw, AVPacket **ret_sound,
                         struct halo_error *err);

/* ---- live_loop.c; source thread ---- */

/* Before it is opened: which file it is. */
void halo_live_loop_begin(const struct halo_live *live, struct halo_live_input *in);
/* Every packet that was read, then those of the pictures; false: the file does not begin as it did,
 * and is at its end. */
void halo_live_loop_shift(const struct halo_live_input *in, AVPacket *pkt);
bool halo_live_loop_pass(struct halo_live *live, struct halo_live_input *in);
/* At the end of the file: true: it has begun again, and the decoder goes on. */
bool halo_live_loop_on(struct halo_live *live, struct halo_live_input *in);
/* The same, once the decoder has given all; false: it has to be opened anew. */
bool halo_live_loop_again(struct halo_live *live, struct halo_live_input *in);

/* ---- live_clock.c; source thread ---- */

/* The picture's time on the line, in its place; waits until it is due. */
void halo_live_clock_pass(struct halo_live *live, const struct halo_live_input *in,
                          struct halo_raw_picture *raw);
int64_t halo_live_clock_map(const struct halo_live_clock *clock, int64_t ts, AVRational tb);

#endif
