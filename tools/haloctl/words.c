/* SPDX-License-Identifier: BSD-2-Clause
 * Words to the user, and out of JSON. */
#include <stdarg.h>
#include <string.h>

#include "config/base/error.h"
#include "tools/haloctl/haloctl.h"

enum { TEXTS = 8 };

int ctl_say(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    halo_sanitise(text);
    fprintf(stderr, "haloctl: %s\n", text);
    return HALO_EXIT_FAILED;
}

int ctl_end_print(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return HALO_EXIT_OK;
    return ctl_say("cannot write to standard output");
}

int ctl_print_json(json_t *value)
{
    json_dumpf(value, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(value);
    return ctl_end_print();
}

const char *ctl_text(const json_t *object, const char *key)
{
    static char texts[TEXTS][1024];
    static int next;
    const char *value = json_string_value(json_object_get(object, key));
    char *text = texts[next++ % TEXTS];
    snprintf(text, sizeof texts[0], "%s", value ? value : "");
    halo_sanitise(text);
    return text;
}

const char *ctl_coverage(const json_t *stream, bool parts_only)
{
    const json_t *coverage = json_object_get(stream, "coverage"), *part;
    const json_t *planes = json_object_get(coverage, "planes");
    bool whole = json_array_size(planes) > 0;
    size_t i;
    json_array_foreach (planes, i, part)
        whole = whole && json_number_value(part) >= 1;
    return parts_only && whole ? "" : ctl_text(coverage, "words");
}

const char *ctl_why(const json_t *stream)
{
    static char text[2][2200];
    static int next;
    const char *why = ctl_text(stream, "why");
    const bool off = !strcmp(ctl_text(stream, "privacy"), "off");
    const char *hides = ctl_coverage(stream, true);
    char *ret = text[next++ % 2];
    snprintf(ret, sizeof text[0], "%s%s%s%s%s%s", off ? "privacy off" : "",
             off && (*hides || *why) ? "; " : "", *hides ? "hides " : "", hides,
             *hides && *why ? "; " : "", why);
    return ret;
}

double ctl_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

json_t *ctl_field(const json_t *object, const char *a, const char *b)
{
    return json_object_get(json_object_get(object, a), b);
}
