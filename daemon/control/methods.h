/* SPDX-License-Identifier: BSD-2-Clause
 * The methods of the control socket, each with one table row. The rows are used to check parameters
 * and to write the description of the interface.
 *
 * Loop thread only, although halo_call_parse() and the functions that it calls need no loop
 * (tests/fuzz/control.c). */
#ifndef HALO_METHODS_H
#define HALO_METHODS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/role.h"

enum halo_parameter_type {
    HALO_PARAMETER_STRING,
    HALO_PARAMETER_REAL, /* min .. max */
    HALO_PARAMETER_BOOL,
    HALO_PARAMETER_INT,    /* not negative */
    HALO_PARAMETER_LIST,   /* a list; the method itself checks the elements */
    HALO_PARAMETER_OBJECT, /* an object; the method itself checks its members */
};

struct halo_parameter {
    const char *name; /* NULL: the end */
    enum halo_parameter_type type;
    bool optional;
    double min, max;            /* of a number; of a string, the least length */
    const char *const *choices; /* for a string: the allowed values; NULL: any value */
    /* for a list: its type in the interface description, such as "[]float" */
    const char *type_text;
};

enum { HALO_METHOD_PARAMETERS = 4 };

enum halo_answers {
    HALO_ANSWERS_ONE,    /* "more" changes nothing */
    HALO_ANSWERS_MAYBE,  /* several answers if the call has "more" */
    HALO_ANSWERS_SEVERAL /* several answers; the call must have "more" */
};

struct halo_client;

struct halo_method {
    const char *interface, *name;
    enum halo_role role; /* the least role that may call it */
    const char *help;
    struct halo_parameter in[HALO_METHOD_PARAMETERS + 1];
    const char *out; /* result type in the interface description, such as "(name: string)" */
    enum halo_answers answers;
    bool changes; /* subscribers receive an event for each call, with the method and the caller */
    /* Runs the method. parameters is a borrowed object that matches `in`. The method must answer
     * the call exactly once, now or later, with the functions in client.h. */
    void (*run)(struct halo_client *client, json_t *parameters);
};

extern const struct halo_method halo_methods[]; /* the last row's name is NULL */

struct halo_call {
    const struct halo_method *method;
    json_t *parameters; /* an object; owned by the call */
    bool more, oneway;
};

/* Parses one message, a call of one of these methods; text does not include the NUL that ends it.
 * Returns 0 if the message is a valid call; the caller must then release *ret with
 * halo_call_finish(). Returns -ENOMEM if out of memory. If the message is invalid, returns -EINVAL
 * and sets *ret_error to a new reference to the complete answer. *ret_error is NULL if the call has
 * "oneway", which means that no answer is wanted, or if out of memory. */
int halo_call_parse(struct halo_call *ret, const struct halo_method *methods, const char *text,
                    size_t length, json_t **ret_error);
void halo_call_finish(struct halo_call *call);
/* Checks that the parameters, an object, match the method's. Returns 0, or -EINVAL with *ret_error
 * as above. */
int halo_call_check(const struct halo_method *method, json_t *parameters, json_t **ret_error);

/* Returns {"error": name, "parameters": {"what": what, key: value}}; key may be NULL. The result is
 * a new reference, or NULL if out of memory. */
json_t *halo_call_error(const char *name, const char *what, const char *key, const char *value);

/* Returns the description of the interface "io.halod.Control" or "org.varlink.service" in the
 * Varlink definition language. The caller frees the result. Returns NULL if there is no such
 * interface, or if out of memory. */
char *halo_interface_description(const struct halo_method *methods, const char *interface);

#endif
