/* SPDX-License-Identifier: BSD-2-Clause
 * The memory of a judge (judge.h), shared by the files that implement it: judge.c keeps the frames
 * and counts for `enter`, judge_live.c and judge_file.c decide what is next. */
#ifndef HALO_JUDGE_PRIVATE_H
#define HALO_JUDGE_PRIVATE_H

#include "pipeline/detect/detect_wire.h"
#include "pipeline/detect/judge.h"
#include "pipeline/detect/tracks.h"

/* A frame that has arrived and has neither passed nor been dropped. */
struct slot {
    int64_t n;
    int64_t at;             /* us: its time, made to increase */
    bool cut, sent, judged; /* judged: files: its verdicts are in the tracks */
    halo_find_set to;       /* the finds to which it was sent */
    halo_find_set again;    /* files: those whose detector was lost before it answered */
    halo_find_set answered; /* those that judged it; */
    halo_find_set masked;   /* with a mask; */
    halo_find_set clear;    /* and of which `enter` frames agreed */
};

/* Files: boxes until their frame's turn comes. */
struct answer {
    int64_t n;
    int count;
    struct halo_detect_box box[HALO_DETECT_MAX_BOXES];
};

struct find {
    const struct halo_detector_settings *settings;
    struct halo_tracks *tracks;
    bool ready, silent;
    int unanswered;
    int64_t n, at, sent; /* live: the unanswered frame, its time (us), and when it was sent (ns) */

    /* `enter`: consecutive frames that agreed, of those that were judged since the beginning. */
    int agreed, judged;
    bool settled, restarted; /* restarted: not for the first time */
    int64_t run_n;           /* the first of the frames that agreed */
    int64_t since_n;         /* verdicts about older frames do not count */
    bool cut;                /* the next verdict that counts follows a cut */

    /* The newest verdict. */
    int64_t newest_n, newest_at, step; /* step: us from the verdict before it; 0: none */
    bool any, masked;

    struct answer answer[2];
};

struct halo_judge {
    bool live, ended;
    uint64_t *tracks; /* NULL: numbers of this process */
    halo_find_set finds;
    struct find find[HALO_FINDS];
    struct slot slot[HALO_JUDGE_FRAMES]; /* a ring */
    int first, count;
    int64_t last_us, last_at, shift; /* us: of the newest frame; at = frame's time + shift */
    int64_t last_n, frames;          /* of all frames: the newest number, and how many */
    int64_t judged_at;               /* files: us, the newest frame whose verdicts are in tracks */
};

struct slot *halo_judge_slot(struct halo_judge *judge, int index);      /* 0: the oldest */
struct slot *halo_judge_find_slot(struct halo_judge *judge, int64_t n); /* NULL: not held */
void halo_judge_remove(struct halo_judge *judge, int index);

/* `enter`: counts a judged frame, or begins again. */
void halo_judge_count(struct find *find, int64_t n, bool agrees);
void halo_judge_restart(struct find *find);
/* The same, where the next frames will not be judged: those that wait for them (`ahead`) are not
 * known. */
void halo_judge_lose(struct halo_judge *judge, enum halo_find find);
/* Fills the step with the oldest frame, passed or hidden, and removes it. */
void halo_judge_pass(struct halo_judge *judge, struct halo_judge_step *ret);
/* Records that a frame is sent, and fills the step. */
void halo_judge_send(struct halo_judge *judge, struct slot *slot, halo_find_set to, int64_t now,
                     struct halo_judge_step *ret);

/* ---- judge_live.c ---- */

void halo_judge_live_answer(struct halo_judge *judge, enum halo_find find, int64_t n,
                            const struct answer *boxes /* NULL: a mask */, int64_t now);
void halo_judge_live_next(struct halo_judge *judge, int64_t now, struct halo_judge_step *ret);

/* ---- judge_file.c ---- */

void halo_judge_file_answer(struct halo_judge *judge, enum halo_find find, int64_t n,
                            const struct answer *boxes /* NULL: a mask */);
void halo_judge_file_next(struct halo_judge *judge, int64_t now, struct halo_judge_step *ret);

#endif
