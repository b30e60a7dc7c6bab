/* SPDX-License-Identifier: BSD-2-Clause
 * From trees to settings: what load*.c and their callers share. One thread at a time. */
#ifndef HALO_LOAD_H
#define HALO_LOAD_H

#include "config/daemon.h"
#include "config/tree.h"

/* A place that something writes or listens at. */
struct halo_claim {
    const char *text; /* borrowed from the settings */
    bool is_path;
    char *place; /* owned: as it is compared; NULL before */
    const struct halo_node *node;
    char path[256]; /* of the key, for messages */
};

struct halo_loader {
    struct halo_error_list *errors;          /* the caller's */
    const struct halo_daemon_checks *checks; /* may be NULL */
    char path[256];                          /* of the key at hand: "streams.door.outputs[0]" */
    bool scratch;                            /* defaults: on trial: nothing is claimed or missing */
    bool no_memory;
    struct halo_claim *claim;
    int claims, claims_room;
};

void halo_loader_say(struct halo_loader *l, const struct halo_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, of the node's key. */
void halo_loader_say_key(struct halo_loader *l, const struct halo_node *node, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

/* The same, of a key of the map, or of the map where that key is not there. */
void halo_loader_say_of(struct halo_loader *l, const struct halo_node *map, const char *key,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* True where a check of the node's value returned 0. Else it is said why, which may repeat some of
 * the value; where ${} brought that, only that it is refused. */
bool halo_loader_passes(struct halo_loader *l, const struct halo_node *node, int code,
                        const char *why);

/* Appends ".name" to the path, or "[index]" where name is NULL; leave takes enter's result. */
size_t halo_loader_enter(struct halo_loader *l, const char *name, int index);
void halo_loader_leave(struct halo_loader *l, size_t mark);

/* True where the node is of that kind; else it is said. */
bool halo_loader_is(struct halo_loader *l, struct halo_node *node, enum halo_node_kind kind);

/* The scalar's text, or NULL: said. */
const char *halo_loader_text(struct halo_loader *l, struct halo_node *node);
void halo_loader_string(struct halo_loader *l, char **field, struct halo_node *node);
void halo_loader_row(struct halo_loader *l, const struct halo_option *row, void *settings,
                     struct halo_node *node);

/* A map: rows, and keys that are read by functions of their own. */
struct halo_section {
    const struct halo_option *rows;
    struct halo_key {
        const char *name;
        /* settings: of the section. May be NULL: the caller reads it. */
        void (*load)(struct halo_loader *l, void *settings, struct halo_node *node);
        const char *refused; /* instead: known, but not to be had, and why */
    } key[16];               /* ends with a name of NULL */
};
/* node may be NULL: nothing is given. defaults, too: keys that node lacks. */
void halo_loader_section(struct halo_loader *l, const struct halo_section *section, void *settings,
                         struct halo_node *node, struct halo_node *defaults);

/* Notes that the key at hand has this place for itself; text is a path or a URL, and borrowed. */
void halo_loader_claim(struct halo_loader *l, const struct halo_node *node, bool is_path,
                       const char *text);
/* The same for a socket's path, whose length is checked. */
void halo_loader_claim_socket(struct halo_loader *l, const struct halo_node *node,
                              const char *path);
/* Says what is claimed twice. Looks at the file system; may block. */
void halo_loader_compare(struct halo_loader *l);

/* Frees what the loader owns. 0; -EINVAL: there are errors; -ENOMEM, also where errors is NULL. */
int halo_loader_finish(struct halo_loader *l);

/* What who wants no filter at all has to write. */
#define HALO_HOW_TO_PASS "none, with privacy: off, passes frames unchanged"

/* The chain's text, malloc'ed: from a scalar, or a list of scalars and maps. NULL: said. */
char *halo_load_chain(struct halo_loader *l, struct halo_node *node);

/* settings: a stream's. */
void halo_load_capture(struct halo_loader *l, void *settings, struct halo_node *node);
void halo_load_output(struct halo_loader *l, struct halo_output_settings *output,
                      struct halo_node *node);
/* stream has its name, and nothing else. */
void halo_load_stream(struct halo_loader *l, struct halo_stream_settings *stream,
                      struct halo_node *node, struct halo_node *defaults);

#endif
