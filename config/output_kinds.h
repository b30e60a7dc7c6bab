/* SPDX-License-Identifier: BSD-2-Clause
 * Kinds of outputs. Each is one row, from which loading, checks, the dump, the schema, the status
 * and haloctl doctor get everything that they know about it. */
#ifndef HALO_OUTPUT_KINDS_H
#define HALO_OUTPUT_KINDS_H

#include "config/daemon.h"

struct halo_loader;
struct halo_node;

/* The type of an output's target. */
enum halo_output_target {
    HALO_AT_NOTHING, /* no target: the key's value in the file is true */
    HALO_AT_SOCKET,  /* path of a socket to listen on */
    HALO_AT_ADDRESS, /* ADDRESS:PORT to listen on */
    HALO_AT_FILE,    /* a path, or a path pattern for strftime() */
    HALO_AT_URL,
    HALO_AT_DEVICE, /* the path of a device */
    HALO_AT_NODE, /* the name that a node of the PipeWire graph shows; in the file, the key's value
                     * is a map with this `name` */
};

enum halo_output_writer {
    HALO_WRITER_NONE,
    HALO_WRITER_ENGINE,
    HALO_WRITER_SUPERVISOR, /* receives packets or frames from engines, and serves the viewers */
};

struct halo_output_row {
    const char *key; /* the kind's name in the settings file and in the status */
    const char *help;
    const char *example; /* a target that is accepted, with which tests try every kind */
    enum halo_output_target target;
    enum halo_output_writer writer;
    /* true: receives encoded frames, unless `codec: raw` is set; false: receives unencoded frames,
     * or images in its `format:` */
    bool coded;
    /* can be switched on and off while the stream runs; cards are not written to it */
    bool records;
    /* FFmpeg's name of the container, if neither the target nor `format:` selects it; NULL: they
     * do */
    const char *container;
    /* The keys that have an effect on this output, apart from `key`; NULL-terminated. Others are
     * refused in the file and left out of the dump, whatever their fields contain. */
    const char *const *keys;
    /* The same for keys of `video`; NULL: all of them. */
    const char *const *video_keys;
    /* Adds errors for keys that contradict each other, and fills in this kind's own defaults. node
     * is the output's map; the target is already set. NULL: nothing has to be checked. */
    void (*check)(struct halo_loader *l, struct halo_output_settings *output,
                  struct halo_node *node);
};

extern const struct halo_output_row *const halo_output_rows[HALO_OUTPUT_KINDS];

/* The rows of the table of output kinds; each row is defined in a file of its own. */
#define OUTPUT(kind, name) extern const struct halo_output_row halo_output_##name;
#include "config/outputs.def"
#undef OUTPUT

/* Returns the table row of the output's kind. */
const struct halo_output_row *halo_output_row(const struct halo_output_settings *output);

/* These return whether a key of halo_output_options (or `video`), or one of halo_video_options, has
 * an effect on outputs of this kind. */
bool halo_output_takes(const struct halo_output_row *row, const char *key);
bool halo_output_takes_video(const struct halo_output_row *row, const char *key);

/* Returns whether other programs see the output as a camera. */
bool halo_output_is_camera(const struct halo_output_settings *output);

#endif
