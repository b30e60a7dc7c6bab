/* SPDX-License-Identifier: BSD-2-Clause
 * Fuzz target: messages of the control socket, one after the other with NULs between. Built and run
 * as chain.c is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/methods.h"
#include "daemon/control/varlink.h"
#include "daemon/link/regions.h"
#include "tests/fuzz/fuzz.h"

/* What goes back must be one clean line and fit for the wire. */
static void check_error(json_t *error)
{
    const json_t *parameters = json_object_get(error, "parameters");
    const char *what = json_string_value(json_object_get(parameters, HALO_ERROR_WHAT));
    char *text = json_dumps(error, JSON_COMPACT);
    if (!text || !json_is_string(json_object_get(error, "error")) || !what || !*what ||
        strpbrk(what, "\n\r\033"))
        abort();
    free(text);
}

static void check_list(const json_t *list)
{
    static struct halo_regions regions;
    struct halo_error err = {0};
    const int read = halo_regions_read(&regions, list, &err);
    if (read < 0 && (read != -EINVAL || !err.text[0]))
        abort();
    if (read == 0 &&
        halo_region_check(5000000000, regions.update, regions.count, 5000000000000, &err) < 0 &&
        !err.text[0])
        abort();
}

static void check_call(const struct halo_call *call)
{
    for (const struct halo_parameter *p = call->method->in; p->name; p++) {
        const json_t *value = json_object_get(call->parameters, p->name);
        if (!value || json_is_null(value)) {
            if (!p->optional)
                abort();
        } else if (p->type == HALO_PARAMETER_STRING && !json_is_string(value)) {
            abort();
        } else if (p->type == HALO_PARAMETER_BOOL && !json_is_boolean(value)) {
            abort();
        } else if (p->type == HALO_PARAMETER_INT && !json_is_integer(value)) {
            abort();
        } else if (p->type == HALO_PARAMETER_LIST) {
            check_list(value);
        } else if (p->type == HALO_PARAMETER_REAL &&
                   !(json_number_value(value) >= p->min && json_number_value(value) <= p->max)) {
            abort();
        }
    }
}

static void parse(const char *text, size_t length)
{
    struct halo_call call = {0};
    json_t *error = NULL;
    if (halo_call_parse(&call, halo_methods, text, length, &error)) {
        if (call.method || call.parameters)
            abort();
        if (error)
            check_error(error);
        json_decref(error);
        return;
    }
    if (error || !call.method)
        abort();
    check_call(&call);
    halo_call_finish(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *const end = at + size;
    while (at < end) {
        const char *nul = memchr(at, 0, (size_t)(end - at));
        const size_t length = (size_t)((nul ? nul : end) - at);
        parse(at, length);
        at += length + 1;
    }
    return 0;
}
