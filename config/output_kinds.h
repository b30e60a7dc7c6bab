/* SPDX-License-Identifier: BSD-2-Clause
 * Kinds of outputs: one row each, which is all that loading, checks, the dump, the schema, the
 * status and the doctor know of them. */
#ifndef HALO_OUTPUT_KINDS_H
#define HALO_OUTPUT_KINDS_H

#include "config/daemon.h"

struct halo_loader;
struct halo_node;

/* What the target of an output is. */
enum halo_output_target {
    HALO_AT_NOTHING, /* there is none: the file says true */
    HALO_AT_SOCKET,  /* a path to listen at */
    HALO_AT_ADDRESS, /* ADDRESS:PORT to listen at */
    HALO_AT_FILE,    /* a path, or strftime's pattern of paths */
    HALO_AT_URL,
    HALO_AT_DEVICE, /* the path of a device */
};

enum halo_output_writer {
    HALO_WRITER_NONE,
    HALO_WRITER_ENGINE,
    HALO_WRITER_SUPERVISOR, /* it gets what engines make, and has the viewers */
};

struct halo_output_row {
    const char *key; /* its name, in the file and in status */
    const char *help;
    enum halo_output_target target;
    enum halo_output_writer writer;
    bool coded;   /* gets encoded pictures, but for codec: raw; else pictures in its format: */
    bool records; /* can be switched while the stream runs, and shows no cards */
    const char *const *keys; /* those beside its own that have an effect; NULL-terminated */
    /* Says which keys contradict each other, and fills in defaults of its own. node: the output's
     * map. The target is given. NULL: there is nothing to check. */
    void (*check)(struct halo_loader *l, struct halo_output_settings *output,
                  struct halo_node *node);
};

extern const struct halo_output_row *const halo_output_rows[HALO_OUTPUT_KINDS];

/* The rows, each from a file of its own. */
#define OUTPUT(kind, name) extern const struct halo_output_row halo_output_##name;
#include "config/outputs.def"
#undef OUTPUT

/* That of the output's kind. */
const struct halo_output_row *halo_output_row(const struct halo_output_settings *output);

#endif
