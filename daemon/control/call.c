/* SPDX-License-Identifier: BSD-2-Clause
 * Parses and checks calls, and writes the table of methods in the Varlink definition language. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/error.h"
#include "config/option.h"
#include "daemon/control/methods.h"
#include "daemon/control/varlink.h"

static const char *const type_names[] = {"string", "float", "bool", "int", "list", "object"};

json_t *halo_call_error(const char *name, const char *what, const char *key, const char *value)
{
    /* The text may contain a part of the client's message, perhaps truncated inside a character. */
    char text[sizeof(((struct halo_error *)0)->text)];
    snprintf(text, sizeof text, "%s", what);
    halo_sanitise(text);
    json_t *error = json_pack("{s:s, s:{s:s}}", "error", name, "parameters", HALO_ERROR_WHAT, text);
    if (error && key)
        json_object_set_new(json_object_get(error, "parameters"), key, json_string(value));
    return error;
}

static int wrong_parameter(json_t **ret_error, const char *name, const char *format,
                           const char *more)
{
    char what[256];
    snprintf(what, sizeof what, format, name, more);
    *ret_error = halo_call_error(HALO_ERROR_PARAMETER, what, "parameter", name);
    return -EINVAL;
}

static int check_choice(const struct halo_parameter *p, const char *text, json_t **ret_error)
{
    char all[128] = "";
    size_t used = 0;
    for (int i = 0; p->choices[i]; i++) {
        if (!strcmp(p->choices[i], text))
            return 0;
        used +=
            (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", p->choices[i]);
        if (used >= sizeof all)
            break;
    }
    return wrong_parameter(ret_error, p->name, "%s must be one of %s", all);
}

static int check_value(const struct halo_parameter *p, const json_t *value, json_t **ret_error)
{
    char range[64];
    switch (p->type) {
    case HALO_PARAMETER_STRING:
        if (!json_is_string(value))
            return wrong_parameter(ret_error, p->name, "%s must be a %s", "string");
        if ((double)json_string_length(value) < p->min)
            return wrong_parameter(ret_error, p->name, "%s must not be empty%s", "");
        return p->choices ? check_choice(p, json_string_value(value), ret_error) : 0;
    case HALO_PARAMETER_BOOL:
        return json_is_boolean(value)
                   ? 0
                   : wrong_parameter(ret_error, p->name, "%s must be true or false%s", "");
    case HALO_PARAMETER_REAL:
        if (json_is_number(value) && json_number_value(value) >= p->min &&
            json_number_value(value) <= p->max)
            return 0;
        snprintf(range, sizeof range, "%g and %g", p->min, p->max);
        return wrong_parameter(ret_error, p->name, "%s must be a number between %s", range);
    case HALO_PARAMETER_INT:
        return json_is_integer(value) && json_integer_value(value) >= 0
                   ? 0
                   : wrong_parameter(ret_error, p->name, "%s must be a whole number%s", "");
    case HALO_PARAMETER_OBJECT:
        return json_is_object(value)
                   ? 0
                   : wrong_parameter(ret_error, p->name, "%s must be an object%s", "");
    case HALO_PARAMETER_LIST:
        return json_is_array(value)
                   ? 0
                   : wrong_parameter(ret_error, p->name, "%s must be a list%s", "");
    }
    return -EINVAL;
}

/* Whether a number with a fraction has none. */
static bool is_whole(const json_t *value)
{
    const double number = json_real_value(value);
    return json_is_real(value) && number >= 0 && number < 9e15 && floor(number) == number;
}

static int refuse_unknown(const struct halo_method *method, const char *key, json_t **ret_error)
{
    const char *names[HALO_METHOD_PARAMETERS];
    size_t count = 0;
    for (; method->in[count].name; count++)
        names[count] = method->in[count].name;
    char what[256], near[HALO_NEAREST_WORDS];
    snprintf(what, sizeof what, "%s has no parameter '%.64s'%s", method->name, key,
             halo_nearest_words(near, key, names, count));
    *ret_error = halo_call_error(HALO_ERROR_PARAMETER, what, "parameter", key);
    return -EINVAL;
}

int halo_call_check(const struct halo_method *method, json_t *parameters, json_t **ret_error)
{
    const char *key;
    json_t *value;
    json_object_foreach (parameters, key, value) {
        const struct halo_parameter *p = method->in;
        while (p->name && strcmp(p->name, key))
            p++;
        if (!p->name)
            return refuse_unknown(method, key, ret_error);
        if (json_is_null(value) && p->optional)
            continue;
        if (p->type == HALO_PARAMETER_INT && is_whole(value)) { /* 3.0 */
            json_object_set_new(parameters, key, json_integer((json_int_t)json_real_value(value)));
            continue;
        }
        const int code = check_value(p, value, ret_error);
        if (code)
            return code;
    }
    for (const struct halo_parameter *p = method->in; p->name; p++)
        if (!p->optional && !json_object_get(parameters, p->name))
            return wrong_parameter(ret_error, p->name, "%s is missing%s", "");
    return 0;
}

static int unknown_method(const struct halo_method *methods, const char *full, json_t **ret_error)
{
    const char *dot = strrchr(full, '.');
    const size_t length = dot ? (size_t)(dot - full) : 0;
    const char *names[32];
    size_t count = 0;
    bool interface = false;
    for (const struct halo_method *m = methods; m->name; m++) {
        interface |= strlen(m->interface) == length && !memcmp(m->interface, full, length);
        if (count < sizeof names / sizeof names[0])
            names[count++] = m->name;
    }
    char what[256];
    if (!interface) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)(length < 127 ? length : 127), full);
        halo_sanitise(name);
        snprintf(what, sizeof what, "there is no interface '%s': use %s", name,
                 HALO_VARLINK_CONTROL);
        *ret_error = halo_call_error(HALO_ERROR_INTERFACE, what, HALO_FIELD_INTERFACE, name);
        return -EINVAL;
    }
    char near[HALO_NEAREST_WORDS];
    snprintf(what, sizeof what, "no method '%.64s'%s", dot + 1,
             halo_nearest_words(near, dot + 1, names, count));
    *ret_error = halo_call_error(HALO_ERROR_METHOD, what, "method", dot + 1);
    return -EINVAL;
}

static const struct halo_method *find_method(const struct halo_method *methods, const char *full)
{
    for (const struct halo_method *m = methods; m->name; m++) {
        const size_t length = strlen(m->interface);
        if (!strncmp(full, m->interface, length) && full[length] == '.' &&
            !strcmp(full + length + 1, m->name))
            return m;
    }
    return NULL;
}

static int bad_message(json_t **ret_error, const char *what)
{
    *ret_error = halo_call_error(HALO_ERROR_MESSAGE, what, NULL, NULL);
    return -EINVAL;
}

/* Reads a flag of the call itself. */
static int read_flag(const json_t *message, const char *name, bool *ret)
{
    const json_t *value = json_object_get(message, name);
    *ret = json_is_true(value);
    return !value || json_is_boolean(value) ? 0 : -EINVAL;
}

static int check_message(struct halo_call *call, const struct halo_method *methods, json_t *message,
                         json_t **ret_error)
{
    bool upgrade;
    const char *name = json_string_value(json_object_get(message, "method"));
    json_t *parameters = json_object_get(message, "parameters");
    if (read_flag(message, "oneway", &call->oneway) || read_flag(message, "more", &call->more) ||
        read_flag(message, "upgrade", &upgrade))
        return bad_message(ret_error, "\"more\", \"oneway\" and \"upgrade\" must be true or false");
    if (!name)
        return bad_message(ret_error,
                           "\"method\" is missing: a call must be an object that names its method");
    if (upgrade)
        return bad_message(ret_error, "no method supports \"upgrade\"");
    if (parameters && !json_is_object(parameters) && !json_is_null(parameters))
        return bad_message(ret_error, "\"parameters\" must be an object");
    call->method = find_method(methods, name);
    if (!call->method)
        return unknown_method(methods, name, ret_error);
    if (call->method->answers == HALO_ANSWERS_SEVERAL && !call->more) {
        *ret_error =
            halo_call_error(HALO_ERROR_MORE, "this method needs \"more\": true", NULL, NULL);
        return -EINVAL;
    }
    call->parameters = json_is_object(parameters) ? json_incref(parameters) : json_object();
    if (!call->parameters)
        return -ENOMEM;
    const int code = halo_call_check(call->method, call->parameters, ret_error);
    if (code)
        halo_call_finish(call);
    return code;
}

int halo_call_parse(struct halo_call *ret, const struct halo_method *methods, const char *text,
                    size_t length, json_t **ret_error)
{
    struct halo_call call = {0};
    json_error_t at;
    *ret_error = NULL;
    json_t *message = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
    if (!message) {
        char what[JSON_ERROR_TEXT_LENGTH + 64];
        snprintf(what, sizeof what, "the message is not valid JSON: %s (at byte %d)", at.text,
                 at.position);
        return bad_message(ret_error, what);
    }
    const int code = json_is_object(message)
                         ? check_message(&call, methods, message, ret_error)
                         : bad_message(ret_error, "a call must be a JSON object, {...}");
    json_decref(message);
    if (!code) {
        *ret = call;
    } else if (call.oneway) {
        json_decref(*ret_error);
        *ret_error = NULL;
    }
    return code;
}

void halo_call_finish(struct halo_call *call)
{
    json_decref(call->parameters);
    call->parameters = NULL;
}

static void describe_method(const struct halo_method *method, FILE *to)
{
    fprintf(to, "\n# %s\nmethod %s(", method->help, method->name);
    for (const struct halo_parameter *p = method->in; p->name; p++) {
        fprintf(to, "%s%s: %s", p == method->in ? "" : ", ", p->name, p->optional ? "?" : "");
        if (!p->choices) {
            fputs(p->type_text ? p->type_text : type_names[p->type], to);
            continue;
        }
        for (int i = 0; p->choices[i]; i++)
            fprintf(to, "%s%s", i ? ", " : "(", p->choices[i]);
        fputc(')', to);
    }
    fprintf(to, ") -> %s\n", method->out);
}

static const char control_errors[] =
    "\nerror BadMessage(what: string)\n"
    "error NoSuchStream(what: string, name: string)\n"
    "error Refused(what: string, field: ?string)\n"
    "error Changed(what: string, revision: int, base: string, "
    "hides: object)\n"
    "error BadConfig(what: string, errors: []string, field: ?string)\n"
    "error Failed(what: string)\n";
static const char service_errors[] = "\nerror InterfaceNotFound(interface: string)\n"
                                     "error MethodNotFound(method: string)\n"
                                     "error MethodNotImplemented(method: string)\n"
                                     "error InvalidParameter(parameter: string)\n"
                                     "error PermissionDenied()\n"
                                     "error ExpectedMore()\n";

char *halo_interface_description(const struct halo_method *methods, const char *interface)
{
    const bool control = !strcmp(interface, HALO_VARLINK_CONTROL);
    char *text = NULL;
    size_t size;
    if (!control && strcmp(interface, HALO_VARLINK_SERVICE))
        return NULL;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "# %s\ninterface %s\n",
            control ? "Shows and controls the streams of halod."
                    : "The interface that every Varlink service provides.",
            interface);
    for (const struct halo_method *m = methods; m->name; m++)
        if (!strcmp(m->interface, interface))
            describe_method(m, to);
    fputs(control ? control_errors : service_errors, to);
    if (fclose(to)) {
        free(text);
        return NULL;
    }
    return text;
}
