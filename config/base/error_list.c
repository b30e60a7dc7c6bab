/* SPDX-License-Identifier: BSD-2-Clause
 * All errors of a file. */
#include "config/base/error_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/error.h"

enum {
    LIMIT = 200,    /* errors, at most: nobody reads more */
    LONGEST = 1200, /* bytes of an error */
};

struct entry {
    char *text;
    int file, line, order;
};

struct halo_error_list {
    struct entry entry[LIMIT + 1];
    int count, more;
    bool is_short;
    char rest[64];
};

struct halo_error_list *halo_error_list_create(void)
{
    return calloc(1, sizeof(struct halo_error_list));
}

static char *make_text(const char *name, int line, const char *path, const char *format,
                       va_list arguments)
{
    char *text = malloc(LONGEST);
    if (!text)
        return NULL;
    if (line > 0)
        snprintf(text, LONGEST, "%.500s:%d: ", name, line);
    else
        snprintf(text, LONGEST, "%.500s: ", name);
    size_t used = strlen(text);
    if (*path)
        snprintf(text + used, LONGEST - used, "%.200s: ", path);
    used += strlen(text + used);
    vsnprintf(text + used, LONGEST - used, format, arguments);
    halo_sanitise(text);
    return text;
}

void halo_error_list_add(struct halo_error_list *list, const struct halo_settings_file *source,
                         int line, const char *path, const char *format, ...)
{
    if (list->count == LIMIT) {
        list->more++;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    char *text = make_text(source->name, line, path, format, arguments);
    va_end(arguments);
    if (!text) {
        list->is_short = true;
        return;
    }
    list->entry[list->count] = (struct entry){text, source->number, line, list->count};
    list->count++;
}

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void halo_error_list_sort(struct halo_error_list *list)
{
    qsort(list->entry, (size_t)list->count, sizeof list->entry[0], compare);
    if (list->more)
        snprintf(list->rest, sizeof list->rest, "and %d more", list->more);
}

bool halo_error_list_is_short(const struct halo_error_list *list)
{
    return list->is_short;
}

int halo_error_list_count(const struct halo_error_list *list)
{
    return list ? list->count + (list->more > 0) : 0;
}

const char *halo_error_list_text(const struct halo_error_list *list, int index)
{
    return index < list->count ? list->entry[index].text : list->rest;
}

void halo_error_list_destroy(struct halo_error_list *list)
{
    if (!list)
        return;
    for (int i = 0; i < list->count; i++)
        free(list->entry[i].text);
    free(list);
}
