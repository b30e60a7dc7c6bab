/* SPDX-License-Identifier: BSD-2-Clause
 * ${NAME} in values of the configuration. */
#include "config/expand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/read_file.h"

enum {
    LONGEST_NAME = 128,
    LONGEST_VALUE = 65536,
    LONGEST = 1 << 20,
};

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

/* Reads the credential into value; -ENOENT if it does not exist. */
static int read_credential(const char *name, char *value, struct halo_error *err)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    char path[4096];
    if (!folder || !*folder ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return -ENOENT;
    char *text = NULL;
    size_t used = 0;
    const int code = halo_read_file(path, O_NONBLOCK, LONGEST_VALUE, &text, &used);
    if (code == -ENOENT || code == -ENOMEM)
        return code;
    if (code)
        return halo_fail(err, -EINVAL, "${%s}: cannot read the credential: %s", name,
                         strerror(-code));
    const bool nul = memchr(text, '\0', used) != NULL;
    memcpy(value, text, used + 1);
    free(text);
    if (used > LONGEST_VALUE)
        return halo_fail(err, -EINVAL, "${%s}: longer than %d bytes", name, LONGEST_VALUE);
    if (nul)
        return halo_fail(err, -EINVAL, "${%s}: the credential contains a NUL byte", name);
    if (used > 0 && value[used - 1] == '\n')
        value[used - 1] = '\0';
    return 0;
}

/* value: LONGEST_VALUE + 2 bytes. */
static int find_value(const char *name, char *value, struct halo_error *err)
{
    int code = read_credential(name, value, err);
    if (code == -ENOENT) {
        const char *variable = getenv(name);
        if (!variable)
            return halo_fail(
                err, -EINVAL,
                "${%s}: there is no such credential or environment variable (write $${ for ${)",
                name);
        if (strlen(variable) > LONGEST_VALUE)
            return halo_fail(err, -EINVAL, "${%s}: longer than %d bytes", name, LONGEST_VALUE);
        strcpy(value, variable);
        code = 0;
    }
    if (code)
        return code;
    char *copy = strdup(value);
    if (!copy)
        return -ENOMEM;
    halo_sanitise(copy);
    const int dirty = strcmp(copy, value);
    free(copy);
    return dirty ? halo_fail(err, -EINVAL, "${%s}: its value is not one line of UTF-8 text", name)
                 : 0;
}

/* Reads the name at "${"; returns the position after its '}', or NULL with err filled. */
static const char *read_name(const char *at, char *name, struct halo_error *err)
{
    const char *begin = at + 2;
    size_t length = strspn(begin, LETTERS "0123456789.-");
    if (!strspn(begin, LETTERS) || begin[length] != '}' || length >= LONGEST_NAME) {
        halo_fail(err, -EINVAL, "%.40s: must be ${NAME} (write $${ for ${)", at);
        return NULL;
    }
    memcpy(name, begin, length);
    name[length] = '\0';
    return begin + length + 1;
}

static int expand_to(FILE *to, const char *text, char *value, struct halo_error *err)
{
    char name[LONGEST_NAME];
    while (*text) {
        if (!strncmp(text, "$${", 3)) {
            fputs("${", to);
            text += 3;
        } else if (!strncmp(text, "${", 2)) {
            text = read_name(text, name, err);
            const int code = text ? find_value(name, value, err) : -EINVAL;
            if (code)
                return code;
            fputs(value, to);
            if (ftell(to) > LONGEST)
                return halo_fail(err, -EINVAL, "${%s}: the resulting text is too long", name);
        } else {
            fputc(*text++, to);
        }
    }
    return 0;
}

int halo_expand(char **ret, const char *text, struct halo_error *err)
{
    char *result = NULL, *value = malloc(LONGEST_VALUE + 2);
    size_t size;
    FILE *to = value ? open_memstream(&result, &size) : NULL;
    int code = to ? expand_to(to, text, value, err) : -ENOMEM;
    if (to && (fflush(to) || ferror(to)) && !code)
        code = -ENOMEM;
    if (to)
        fclose(to);
    free(value);
    if (code) {
        free(result);
        return code;
    }
    *ret = result;
    return 0;
}
