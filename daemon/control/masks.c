/* SPDX-License-Identifier: BSD-2-Clause
 * Mask images in chains, found in their text: parsing would open them. */
#include "daemon/control/masks.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/control/varlink.h"

#define ENDS ",:+" /* what ends the name of an image in a chain */

/* A copy without quotes and backslashes, which could hide a word. NULL: out of memory. */
static char *plain(const char *text)
{
    char *copy = strdup(text), *to = copy;
    for (const char *from = text; copy && *from; from++)
        if (*from != '\'' && *from != '\\')
            *to++ = *from;
    if (copy)
        *to = '\0';
    return copy;
}

/* Whether the chain has this "mask FILE", and not only one that begins like it: the difference
 * would tell which files exist. */
static bool has(const char *chain, const char *wanted)
{
    const size_t length = strlen(wanted);
    for (const char *at = chain; (at = strstr(at, wanted)); at++)
        if (!at[length] || strchr(ENDS, at[length]))
            return true;
    return false;
}

/* Whether one of the stream's chains has this "mask FILE". */
static bool is_used(const json_t *stream, const char *mask, size_t length)
{
    char *wanted = strndup(mask, length);
    const char *name;
    json_t *chain, *renditions = json_object_get(stream, "renditions");
    char *own = plain(json_string_value(json_object_get(stream, HALO_FIELD_FILTERS)));
    bool used = wanted && own && has(own, wanted);
    json_object_foreach (renditions, name, chain) {
        char *text = plain(json_string_value(chain));
        used |= wanted && text && has(text, wanted);
        free(text);
    }
    free(own);
    free(wanted);
    return used;
}

static bool has_others(const json_t *stream, const char *filters)
{
    char *text = plain(filters);
    bool others = !text;
    for (const char *at = text; at && (at = strstr(at, "mask")); at += strlen("mask"))
        others |= !is_used(stream, at, strcspn(at, ENDS));
    free(text);
    return others;
}

bool halo_masks_refuse(struct halo_client *client, const json_t *parameters)
{
    const char *name = json_string_value(json_object_get(parameters, HALO_FIELD_NAME));
    const char *filters = json_string_value(json_object_get(parameters, HALO_FIELD_FILTERS));
    struct halo_error err = {0};
    if (halo_client_role(client) >= HALO_ROLE_ADMIN || !strstr(filters, "m"))
        return false;
    json_t *stream = halo_supervisor_stream(halo_client_all(client)->host.supervisor, name, &err);
    const bool refused = stream && has_others(stream, filters);
    json_decref(stream);
    if (refused)
        halo_client_refuse(client, HALO_ERROR_REFUSED,
                           "only an administrator can use another mask image", NULL, NULL);
    return refused;
}
