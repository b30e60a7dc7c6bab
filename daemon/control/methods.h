/* SPDX-License-Identifier: BSD-2-Clause
 * The methods of the control socket, one table row each. The rows are used to check parameters and
 * to write the description of the interface.
 *
 * Loop thread only, but halo_call_parse() and the functions that it calls need no loop
 * (tests/fuzz/control.c). */
#ifndef HALO_METHODS_H
#define HALO_METHODS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum halo_parameter_type {
    HALO_PARAMETER_STRING,
    HALO_PARAMETER_REAL, /* min .. max */
    HALO_PARAMETER_BOOL,
    HALO_PARAMETER_INT,  /* not negative */
    HALO_PARAMETER_LIST, /* a list of type type_text; the method checks its elements */
};

struct halo_parameter {
    const char *name; /* NULL: the end */
    enum halo_parameter_type type;
    bool optional;
    double min, max;
    const char *const *choices; /* for a string: allowed values; NULL: any */
    const char *type_text;      /* for a list: its type as in the description: "[]float" */
};

enum { HALO_METHOD_PARAMETERS = 3 };

enum halo_answers {
    HALO_ANSWERS_ONE,    /* "more" changes nothing */
    HALO_ANSWERS_MAYBE,  /* several if the call has "more" */
    HALO_ANSWERS_SEVERAL /* the call must have "more" */
};

struct halo_client;

struct halo_method {
    const char *interface, *name;
    const char *help;
    struct halo_parameter in[HALO_METHOD_PARAMETERS + 1];
    const char *out; /* result type as in the description: "(name: string)" */
    enum halo_answers answers;
    bool changes; /* the call is sent to subscribers as an event that names the caller */
    /* parameters: an object that fits `in`; borrowed. Must answer once, now or later, with the
     * functions of client.h. */
    void (*run)(struct halo_client *client, json_t *parameters);
};

extern const struct halo_method halo_methods[]; /* ends with a NULL name */

struct halo_call {
    const struct halo_method *method;
    json_t *parameters; /* an object; a new reference */
    bool more, oneway;
};

/* Parses one message, without its NUL. 0: a valid call, to be released with halo_call_finish().
 * -EINVAL: *ret_error is the complete answer, a new reference; NULL if none is wanted (oneway) or
 * out of memory. -ENOMEM. */
int halo_call_parse(struct halo_call *ret, const char *text, size_t length, json_t **ret_error);
void halo_call_finish(struct halo_call *call);

/* Returns {"error": name, "parameters": {"what": what, key: value}}; key may be NULL. A new
 * reference; NULL: out of memory. */
json_t *halo_call_error(const char *name, const char *what, const char *key, const char *value);

/* The description of the interface "io.halod.Control" or "org.varlink.service" in the Varlink
 * definition language; malloc'ed. NULL: no such interface, or out of memory. */
char *halo_interface_description(const char *interface);

#endif
