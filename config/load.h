/* SPDX-License-Identifier: BSD-2-Clause
 * Converts trees to settings; shared by load*.c and their callers. One thread at a time. */
#ifndef HALO_LOAD_H
#define HALO_LOAD_H

#include "config/daemon.h"
#include "config/tree.h"

/* A path or URL that an output or socket uses exclusively. */
struct halo_claim {
    const char *text; /* borrowed from the settings */
    bool is_path;
    char *place; /* normalised text, compared with other claims; owned; NULL until it is made */
    const struct halo_node *node;
    char path[256]; /* path of the key, for messages */
};

struct halo_loader {
    struct halo_error_list *errors;          /* the caller's */
    const struct halo_daemon_checks *checks; /* may be NULL */
    char path[256];                          /* path of the current key, such as
                                              * "streams.door.outputs[0]" */
    /* `defaults` is loaded by itself to check it: claims are not recorded, and keys may be
     * missing */
    bool scratch;
    bool no_memory;
    struct halo_node *detectors; /* `detectors` of the file, which applies to every stream; NULL:
                                  * none */
    struct halo_claim *claim;
    int claims, claims_room;
};

void halo_loader_say(struct halo_loader *l, const struct halo_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds an error like halo_loader_say(), but with the line of the node's key. */
void halo_loader_say_key(struct halo_loader *l, const struct halo_node *node, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

/* Adds an error for a key of the map, with the line of its value or, if the key is missing, the
 * line of the map. */
void halo_loader_say_of(struct halo_loader *l, const struct halo_node *map, const char *key,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Returns whether a check of the node's value succeeded, that is, whether code is 0. If the check
 * failed, adds an error with the reason `why`. If the value contains expanded ${}, which may be
 * secret, the error only states that the value is refused, because `why` may quote a part of the
 * value. */
bool halo_loader_passes(struct halo_loader *l, const struct halo_node *node, int code,
                        const char *why);

/* Appends ".name" to the path, or "[index]" if name is NULL. Returns a mark that must be passed to
 * halo_loader_leave(). */
size_t halo_loader_enter(struct halo_loader *l, const char *name, int index);
void halo_loader_leave(struct halo_loader *l, size_t mark);

/* Returns whether the node is of the given kind; if it is not, adds an error. */
bool halo_loader_is(struct halo_loader *l, struct halo_node *node, enum halo_node_kind kind);

/* Returns the text of the scalar `node`. If `node` is empty or not a scalar, adds an error and
 * returns NULL. */
const char *halo_loader_text(struct halo_loader *l, struct halo_node *node);
void halo_loader_string(struct halo_loader *l, char **field, struct halo_node *node);

/* The keys of a map: those defined by the rows of a table, and those loaded by functions. */
struct halo_section {
    const struct halo_option *rows;
    struct halo_key {
        const char *name;
        /* Loads the key's value into the section's settings, to which `settings` points. NULL: the
         * caller loads this key. */
        void (*load)(struct halo_loader *l, void *settings, struct halo_node *node);
        /* the reason why this key, although known, is refused without calling `load`; NULL: the key
         * is accepted */
        const char *refused;
    } key[16]; /* the last entry has the name NULL */
};
/* Reads the keys of the map `node` and, from the map `defaults`, the keys that `node` lacks. `node`
 * and `defaults` may be NULL. */
void halo_loader_section(struct halo_loader *l, const struct halo_section *section, void *settings,
                         struct halo_node *node, struct halo_node *defaults);

/* Records that the current key uses this path or URL exclusively. text is borrowed. */
void halo_loader_claim(struct halo_loader *l, const struct halo_node *node, bool is_path,
                       const char *text);
/* Records that the current key uses this path for a socket, and checks the path's length. */
void halo_loader_claim_socket(struct halo_loader *l, const struct halo_node *node,
                              const char *path);
/* Adds an error for each path or URL that more than one key uses. Resolves paths in the file
 * system; may block. */
void halo_loader_compare(struct halo_loader *l);

/* Frees everything that the loader owns. Returns 0, -EINVAL if the error list is not empty, or
 * -ENOMEM (also if the list itself could not be allocated). */
int halo_loader_finish(struct halo_loader *l);

/* Explains to the user how to request a chain without filters. */
#define HALO_HOW_TO_PASS "to pass frames unchanged, set filters: none and privacy: off"

/* Loads the map `detectors` into settings, which points to a struct halo_stream_settings. Keys that
 * the map lacks keep their values. */
void halo_load_detectors(struct halo_loader *l, void *settings, struct halo_node *node);
/* Loads a stream, using `defaults` for keys that `node` lacks. Before the call, only the stream's
 * name is set. */
void halo_load_stream(struct halo_loader *l, struct halo_stream_settings *stream,
                      struct halo_node *node, struct halo_node *defaults);

#endif
