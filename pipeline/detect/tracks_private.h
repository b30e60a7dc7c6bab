/* SPDX-License-Identifier: BSD-2-Clause
 * The memory of tracks (tracks.h), shared by the files that implement them: tracks.c follows
 * tracks from frame to frame and fills in the frames before, and tracks_motion.c computes where a
 * track is. */
#ifndef HALO_TRACKS_PRIVATE_H
#define HALO_TRACKS_PRIVATE_H

#include "pipeline/detect/detect_wire.h"
#include "pipeline/detect/tracks.h"
#include "pipeline/region/region_motion.h"

enum {
    TRACKS = 2 * HALO_MAX_SHAPES, /* tracks at one time */
    MARKS = 2 * HALO_MAX_SHAPES,  /* in one frame; if there are more, all of it is hidden */
    SIGHTS = 16,                  /* newest boxes of a track, from which its motion is computed */
    BACK_US = 500000,             /* how long a track is hidden before its first box */
    SURE_US = 200000,             /* for so long, new boxes correct what is hidden before it */
};

/* A box that was reported. */
struct sight {
    int64_t at; /* us */
    struct halo_box box;
};

/* Per second. */
struct speed {
    double x, y;          /* of the middle */
    double width, height; /* how fast it grows */
    double sizes;         /* absolute speed in widths and heights */
    bool known;           /* it was seen often enough */
};

struct track {
    uint64_t id;                /* its number */
    struct sight sight[SIGHTS]; /* oldest first, the last box at the end */
    int sights;
    struct sight first;   /* its first box, or the first after it was missed */
    struct halo_box kept; /* contains the last box, and shrinks slowly */
    int64_t end;          /* if not reported: the last time at which it is hidden */
    int seen;             /* number of frames in which it was reported */
    bool reported;        /* in the newest frame */
    bool before;          /* in the frame before it */
    bool left;            /* in the newest frame, a box near it began another track */
    bool old;             /* from before the last cut */
};

enum mark_kind { MARK_REPORTED, MARK_HELD, MARK_BACK, MARK_BETWEEN };

/* What a frame hides of a track: everything on the way between two boxes. */
struct mark {
    uint64_t track; /* its id */
    enum mark_kind kind;
    struct halo_box from, to;
    int64_t of;          /* BACK: the time of the box before which it lies */
    double growth;       /* added to the margin */
    struct halo_box box; /* REPORTED: the box itself */
    bool strong, sure;   /* REPORTED: it has at least `score`; it can be shown */
};

struct frame {
    int64_t at; /* us */
    bool cut;   /* another scene than the frame before */
    bool full;  /* more marks than there is room for */
    int marks, boxes;
    struct mark mark[MARKS];
    struct sight box[HALO_DETECT_MAX_BOXES]; /* those with at least `low` that no track has */
};

struct halo_tracks {
    struct halo_detector_settings settings;
    enum halo_find find;
    uint64_t *counter;   /* NULL: halo_region_number() */
    struct frame *frame; /* a ring */
    int window, first, frames;
    struct track track[TRACKS];
    int tracks;
    int64_t crowded; /* us: frames until then are hidden, because a track found no room */
    float distance[TRACKS][HALO_DETECT_MAX_BOXES]; /* scratch memory while boxes are matched */
    struct halo_region_now hidden, shown;          /* what halo_tracks_get() returns */
};

/* ---- tracks_motion.c ---- */

struct halo_box halo_box_around(struct halo_box a, struct halo_box b);
/* Computes a track's speed from its boxes. */
struct speed halo_track_speed(const struct track *track);
/* Where a box is after so many seconds, which may be negative. It never becomes smaller. */
struct halo_box halo_box_after(struct halo_box box, const struct speed *speed, double seconds);
/* By which fraction of its size a shape grows after so many seconds without a box. */
double halo_growth_after(const struct speed *speed, double seconds);
/* The distance of the middles of two boxes, in widths or heights of the larger one; or INFINITY if
 * their sizes differ too much to be the same object. */
double halo_box_distance(struct halo_box a, struct halo_box b);
/* The largest distance of what is certainly the same object after so many seconds without a box. */
double halo_near_after(double seconds);
/* The largest distance of what may be the same object. */
double halo_gate_after(double seconds);
/* The last box, as it would be at this time. */
struct mark halo_mark_held(const struct track *track, int64_t at);
void halo_mark_put(struct frame *frame, const struct mark *mark);

#endif
