/* SPDX-License-Identifier: BSD-2-Clause
 * Encodings: what a stream's outputs need to be computed, each once. Supervisor and engine both
 * make this list from the same settings, and speak of an encoding by its number in it. */
#ifndef HALO_ENCODING_H
#define HALO_ENCODING_H

#include "config/daemon.h"
#include "config/viewer_format.h"

enum { HALO_MAX_ENCODINGS = HALO_MAX_OUTPUTS + 1 };

enum halo_encoding_kind {
    HALO_ENCODING_CODED,
    HALO_ENCODING_RAW,  /* pictures one after the other */
    HALO_ENCODING_JPEG, /* one image for each picture: for HTTP, and for virtual cameras */
};

struct halo_encoding {
    enum halo_encoding_kind kind;
    int rendition;                           /* 0: the stream's own chain; else 1 + index */
    const struct halo_video_settings *video; /* of an output; NULL: HTTP's */
    const char *format; /* RAW: FFmpeg's pixel format; NULL: as the gate gives them */
    const char *audio;  /* encoder or "copy"; NULL: none */
    bool feeds;         /* viewers of the supervisor take it (unix sockets, HTTP) */
    bool writes;        /* outputs of the engine do (files, URLs): it runs always */
};

/* What virtual cameras can be fed with: "yuyv", the default, ...; NULL-terminated. */
extern const char *const halo_camera_formats[];

/* The encoder's name, or "raw"; what is not given is libx264. */
const char *halo_video_codec(const struct halo_video_settings *video);

/* What viewers of a socket or an address get; NULL: of other outputs, and where its suffix or its
 * format is none. */
const struct halo_viewer_format *halo_output_format(const struct halo_output_settings *output);

/* Fills ret, HALO_MAX_ENCODINGS long, and of, HALO_MAX_OUTPUTS long: the encoding of each output,
 * or -1 for null. The last one is always HTTP's: JPEG of the stream's own chain. Returns how many
 * there are. Points into stream. */
int halo_encodings(const struct halo_stream_settings *stream, struct halo_encoding *ret, int *of);

/* Index of the stream's rendition of that name; -1: there is none. */
int halo_rendition_find(const struct halo_stream_settings *stream, const char *name);

bool halo_is_same_text(const char *a, const char *b); /* NULL: not given, as two can be */

/* Number of the rendition that output shows, as in struct halo_encoding; -1: there is none so. */
int halo_output_rendition(const struct halo_stream_settings *stream,
                          const struct halo_output_settings *output);

#endif
