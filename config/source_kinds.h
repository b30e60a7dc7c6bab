/* SPDX-License-Identifier: BSD-2-Clause
 * Kinds of sources: one row each, which is all that loading, the dump, the doctor, what an engine
 * may open and the clock of a live stream know of them. Any thread. */
#ifndef HALO_SOURCE_KINDS_H
#define HALO_SOURCE_KINDS_H

#include <stdbool.h>

enum halo_source_kind {
    HALO_SOURCE_CAMERA,
    HALO_SOURCE_TEST,
    HALO_SOURCE_STDIN,
    HALO_SOURCE_HTTP,
    HALO_SOURCE_URL,
    HALO_SOURCE_FILE, /* every other name */
    HALO_SOURCE_KINDS,
};

/* Where frames come from, and so what an engine has to reach. */
enum halo_source_place {
    HALO_FROM_NOTHING, /* they are made here, or an open descriptor has them */
    HALO_FROM_FILE,
    HALO_FROM_DEVICE,
    HALO_FROM_NETWORK, /* its sender may end, or fall silent without a word: input_timeout */
};

/* Whether a live stream holds frames back until their time. */
enum halo_source_pace {
    HALO_PACE_NEVER, /* they come when they are due */
    HALO_PACE_ASKED, /* where the settings say realtime */
    HALO_PACE_ALWAYS,
};

struct halo_source_row {
    enum halo_source_kind kind;
    bool (*is)(const char *input); /* the first row that says so has it */
    const char *refused;           /* why streams do not have it; NULL: they do */
    enum halo_source_place place;
    enum halo_source_pace pace;
    bool live; /* bounded delay: late frames are dropped; else where the settings say realtime */
    bool captures; /* has `capture` settings and controls, and its frames the size they ask for */
    bool fails;    /* can be away: cards are shown meanwhile */
};

/* That of an input's name; there always is one. */
const struct halo_source_row *halo_source_row(const char *input);

/* The path of what it is read from, in that name; NULL: it names none. */
const char *halo_source_path(const char *input);

/* Whether the name means a camera, or a virtual one: "/dev/video...", "/dev/v4l/..." or
 * "v4l2:...". */
bool halo_is_camera(const char *name);

#endif
