/* SPDX-License-Identifier: BSD-2-Clause
 * From trees to settings: shared by load*.c and their callers. One thread at a time. */
#ifndef HALO_LOAD_H
#define HALO_LOAD_H

#include "config/daemon.h"
#include "config/tree.h"

/* A path or URL that an output or socket uses for itself alone. */
struct halo_claim {
    const char *text; /* borrowed from the settings */
    bool is_path;
    char *place; /* owned: normalised for comparison; NULL until then */
    const struct halo_node *node;
    char path[256]; /* of the key, for messages */
};

struct halo_loader {
    struct halo_error_list *errors;          /* the caller's */
    const struct halo_daemon_checks *checks; /* may be NULL */
    char path[256];                          /* of the current key: "streams.door.outputs[0]" */
    bool scratch;                            /* a trial run of `defaults:`: claims are not recorded,
                                              * and keys may be missing */
    bool no_memory;
    struct halo_claim *claim;
    int claims, claims_room;
};

void halo_loader_say(struct halo_loader *l, const struct halo_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with the line of the node's key. */
void halo_loader_say_key(struct halo_loader *l, const struct halo_node *node, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

/* The same for a key of the map, with the line of its value, or of the map if the key is
 * missing. */
void halo_loader_say_of(struct halo_loader *l, const struct halo_node *map, const char *key,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Returns whether a check of the node's value succeeded (code is 0). Otherwise adds the reason
 * `why`, which may repeat part of the value; if the value contains expanded ${}, only that it is
 * refused. */
bool halo_loader_passes(struct halo_loader *l, const struct halo_node *node, int code,
                        const char *why);

/* Appends ".name" to the path, or "[index]" if name is NULL; returns the mark that _leave needs. */
size_t halo_loader_enter(struct halo_loader *l, const char *name, int index);
void halo_loader_leave(struct halo_loader *l, size_t mark);

/* Returns whether the node is of that kind; adds an error if not. */
bool halo_loader_is(struct halo_loader *l, struct halo_node *node, enum halo_node_kind kind);

/* The scalar's text; NULL: an error was added. */
const char *halo_loader_text(struct halo_loader *l, struct halo_node *node);
void halo_loader_string(struct halo_loader *l, char **field, struct halo_node *node);
void halo_loader_row(struct halo_loader *l, const struct halo_option *row, void *settings,
                     struct halo_node *node);

/* The keys of a map: rows, and keys that have their own functions. */
struct halo_section {
    const struct halo_option *rows;
    struct halo_key {
        const char *name;
        /* settings: of the section. NULL: the caller reads this key. */
        void (*load)(struct halo_loader *l, void *settings, struct halo_node *node);
        const char *refused; /* instead of load: the reason why this known key is refused */
    } key[16];               /* ends with a name of NULL */
};
/* Reads the map `node`, and from the map `defaults` the keys that node lacks. Either may be
 * NULL. */
void halo_loader_section(struct halo_loader *l, const struct halo_section *section, void *settings,
                         struct halo_node *node, struct halo_node *defaults);

/* Records that the current key uses this path or URL exclusively. text is borrowed. */
void halo_loader_claim(struct halo_loader *l, const struct halo_node *node, bool is_path,
                       const char *text);
/* The same for a socket's path; also checks its length. */
void halo_loader_claim_socket(struct halo_loader *l, const struct halo_node *node,
                              const char *path);
/* Adds an error for each place that is claimed twice. Resolves paths in the file system; may
 * block. */
void halo_loader_compare(struct halo_loader *l);

/* Frees everything that the loader owns. Returns 0; -EINVAL: the list has errors; -ENOMEM, also if
 * errors is NULL. */
int halo_loader_finish(struct halo_loader *l);

/* How a user requests a chain without filters. */
#define HALO_HOW_TO_PASS "none, with privacy: off, passes frames unchanged"

/* The chain's text, malloc'ed, from a scalar or from a list of scalars and maps. NULL: an error was
 * added. */
char *halo_load_chain(struct halo_loader *l, struct halo_node *node);

/* settings: struct halo_stream_settings. */
void halo_load_capture(struct halo_loader *l, void *settings, struct halo_node *node);
void halo_load_output(struct halo_loader *l, struct halo_output_settings *output,
                      struct halo_node *node);
/* Only the name of stream is set before the call. */
void halo_load_stream(struct halo_loader *l, struct halo_stream_settings *stream,
                      struct halo_node *node, struct halo_node *defaults);

#endif
