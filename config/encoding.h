/* SPDX-License-Identifier: BSD-2-Clause
 * Encodings: everything that has to be encoded for a stream's outputs, each only once. The
 * supervisor and the engine both derive this list from the same settings, and identify an encoding
 * by its index in it. */
#ifndef HALO_ENCODING_H
#define HALO_ENCODING_H

#include "config/daemon.h"
#include "config/pipewire.h"
#include "config/viewer_format.h"

/* The encodings for HTTP that every stream has, of its own chain. */
enum halo_view {
    HALO_VIEW_JPEG, /* each frame as an image */
    HALO_VIEW_TILE, /* small images, a few per second */
    HALO_VIEW_LIVE, /* H.264 and AAC, as browsers play them */
    HALO_VIEWS,
};

enum {
    HALO_MAX_ENCODINGS = HALO_MAX_OUTPUTS + HALO_VIEWS + HALO_MAX_NODES * (HALO_DESKTOP_FORMATS - 1)
};

enum halo_encoding_kind {
    HALO_ENCODING_CODED,
    HALO_ENCODING_RAW,  /* unencoded frames */
    HALO_ENCODING_JPEG, /* one image per frame, for HTTP and virtual cameras */
};

struct halo_encoding {
    enum halo_encoding_kind kind;
    /* 1 + the rendition's index, or 0 for the stream's own chain */
    int rendition;
    /* settings of an output or a view; NULL for HALO_VIEW_JPEG */
    const struct halo_video_settings *video;
    const char *format; /* RAW: FFmpeg's pixel format; NULL: the one in which the gate outputs
                         * frames */
    const char *audio;  /* an encoder's name or "copy"; NULL: no audio */
    bool view;          /* one of enum halo_view */
    bool feeds;         /* used by the supervisor's viewers (sockets, HTTP) */
    bool writes;        /* used by outputs of the engine (files, URLs), so it is always running */
};

/* The formats that virtual cameras accept, beginning with the default, "yuyv"; NULL-terminated. */
extern const char *const halo_camera_formats[];

/* The formats of PipeWire cameras, with FFmpeg's names, the preferred one first. */
extern const char *const halo_desktop_formats[HALO_DESKTOP_FORMATS];

/* Returns the encoder's name or "raw"; if no codec is given, returns "libx264". */
const char *halo_video_codec(const struct halo_video_settings *video);

/* Returns the format in which the output serves its viewers, or NULL if the output is neither a
 * socket nor an address, or if its suffix or format is unknown. */
const struct halo_viewer_format *halo_output_format(const struct halo_output_settings *output);

/* Fills ret (HALO_MAX_ENCODINGS entries) with the stream's encodings, and `of` (HALO_MAX_OUTPUTS
 * entries) with the index of each output's encoding, or -1 for HALO_OUTPUT_NULL. A camera of the
 * desktop has HALO_DESKTOP_FORMATS encodings from this index on. The last encodings are always
 * those of enum halo_view. Returns the number of encodings. The encodings point into stream. */
int halo_encodings(const struct halo_stream_settings *stream, struct halo_encoding *ret, int *of);

/* Returns the number of encodings of an output, which follow each other. */
int halo_output_formats(const struct halo_output_settings *output);

/* Returns the index of the stream's rendition with this name, or -1 if there is none. */
int halo_rendition_find(const struct halo_stream_settings *stream, const char *name);

/* Returns whether the texts are equal. NULL means "not given" and is equal only to NULL. */
bool halo_is_same_text(const char *a, const char *b);

/* Returns the number of the output's rendition (halo_encoding.rendition), or -1 if the stream has
 * no such rendition. */
int halo_output_rendition(const struct halo_stream_settings *stream,
                          const struct halo_output_settings *output);

#endif
