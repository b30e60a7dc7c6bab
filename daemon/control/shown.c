/* SPDX-License-Identifier: BSD-2-Clause
 * Every text is searched for paths, so that a new field cannot show one. */
#include "daemon/control/shown.h"
#include "config/base/secrets.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum what { TEXT, ADDRESS, CHAIN, DESCRIPTION };

/* The fields that need more than a search; those of objects are for all that is in them. */
static const struct {
    const char *key;
    enum what what;
} keys[] = {
    {"input", ADDRESS}, {"target", ADDRESS}, {"path", ADDRESS},     {"filters", CHAIN},
    {"base", CHAIN},    {"hides", CHAIN},    {"renditions", CHAIN}, {"description", DESCRIPTION},
};

/* The text with "***" for the files of masks, whose names may have blanks. */
static char *without_masks(const char *chain, const char *word)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    for (const char *mask; (mask = strstr(chain, word));) {
        const char *name = mask + strlen(word);
        fprintf(to, "%.*s***", (int)(name - chain), chain);
        chain = name + strcspn(name, ",:+'");
    }
    fputs(chain, to);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

static json_t *show_text(const char *text, enum what what, enum halo_role role)
{
    if (what == DESCRIPTION || (what == CHAIN && role >= HALO_ROLE_OPERATE))
        return json_string(text);
    char *copy = without_masks(text, what == CHAIN ? "mask " : "region=mask ");
    if (!copy)
        return NULL;
    halo_hide_paths(copy);
    json_t *shown = json_string(what == ADDRESS && strcmp(copy, text) != 0 ? "***" : copy);
    free(copy);
    return shown;
}

static enum what what_of(const char *key, enum what around)
{
    for (size_t i = 0; around == TEXT && i < sizeof keys / sizeof keys[0]; i++)
        if (!strcmp(key, keys[i].key))
            return keys[i].what;
    return around;
}

/* The same JSON, or what is left of it; a new reference. */
static json_t *show(const json_t *json, enum what what, enum halo_role role)
{
    if (json_is_string(json))
        return show_text(json_string_value(json), what, role);
    if (!json_is_object(json) && !json_is_array(json))
        return json_incref((json_t *)json);
    const bool list = json_is_array(json);
    json_t *ret = list ? json_array() : json_object(), *value;
    const char *key;
    size_t i;
    int code = 0;
    json_array_foreach (json, i, value)
        code |= json_array_append_new(ret, show(value, what, role));
    if (!list)
        json_object_foreach ((json_t *)json, key, value)
            code |= json_object_set_new(ret, key, show(value, what_of(key, what), role));
    if (code == 0)
        return ret;
    json_decref(ret);
    return NULL;
}

json_t *halo_show(json_t *json, enum halo_role role)
{
    if (!json || role >= HALO_ROLE_ADMIN)
        return json;
    json_t *ret = show(json, TEXT, role);
    json_decref(json);
    return ret;
}
