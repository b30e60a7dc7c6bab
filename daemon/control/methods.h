/* SPDX-License-Identifier: BSD-2-Clause
 * The methods of the control socket: one row each. The check of parameters and the interface's
 * description are made from the rows.
 *
 * Loop thread only; halo_call_parse() and what it calls need no loop (tests/fuzz/control.c). */
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
    HALO_PARAMETER_LIST, /* of `form`; the method looks at what is in it */
};

struct halo_parameter {
    const char *name; /* NULL: the end */
    enum halo_parameter_type type;
    bool optional;
    double min, max;
    const char *const *choices; /* of a string; NULL: any */
    const char *type_text;      /* of a list, as in the description: "[]float" */
};

enum { HALO_METHOD_PARAMETERS = 3 };

enum halo_answers {
    HALO_ANSWERS_ONE,    /* "more" changes nothing */
    HALO_ANSWERS_MAYBE,  /* several, if "more" */
    HALO_ANSWERS_SEVERAL /* "more" is needed */
};

struct halo_client;

struct halo_method {
    const char *interface, *name;
    const char *help;
    struct halo_parameter in[HALO_METHOD_PARAMETERS + 1];
    const char *out; /* as in the description: "(name: string)" */
    enum halo_answers answers;
    bool changes; /* told to subscribers of events, with who asked */
    /* parameters is borrowed, an object that fits `in`. Answers by client.h's functions, once, now
     * or later. */
    void (*run)(struct halo_client *client, json_t *parameters);
};

extern const struct halo_method halo_methods[]; /* ends with a row without name */

struct halo_call {
    const struct halo_method *method;
    json_t *parameters; /* an object; a new reference */
    bool more, oneway;
};

/* One message without its NUL. 0: fits the table; release with halo_call_finish(). -EINVAL:
 * *ret_error is the whole answer, a new reference; NULL where none is wanted (oneway) or memory is
 * out. -ENOMEM. */
int halo_call_parse(struct halo_call *ret, const char *text, size_t length, json_t **ret_error);
void halo_call_finish(struct halo_call *call);

/* {"error": name, "parameters": {"what": what, key: value}}; key may be NULL. A new reference,
 * NULL: no memory. */
json_t *halo_call_error(const char *name, const char *what, const char *key, const char *value);

/* Of "io.halod.Control" or "org.varlink.service", in Varlink's language; malloc'ed. NULL: no such
 * interface, or no memory. */
char *halo_interface_description(const char *interface);

#endif
