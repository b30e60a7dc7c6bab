/* SPDX-License-Identifier: BSD-2-Clause
 * Completion for bash (completion.h). */
#include "config/completion.h"

#include <string.h>

void halo_completion_names(const struct halo_option *table, const char *prefix, FILE *to)
{
    for (const struct halo_option *row = table; row->name; row++)
        fprintf(to, "%s%s%s", row == table ? "" : " ", prefix, row->name);
}

/* Prints "a|b" as " | PREFIXa | PREFIXb". */
static void print_aliases(const char *aliases, const char *prefix, FILE *to)
{
    for (const char *at = aliases; at && *at;) {
        const size_t length = strcspn(at, "|");
        fprintf(to, " | %s%.*s", prefix, (int)length, at);
        at += length + (at[length] == '|');
    }
}

void halo_completion_values(const struct halo_option *table, const char *prefix, const char *indent,
                            FILE *to)
{
    for (const struct halo_option *row = table; row->name; row++) {
        if (row->type == HALO_OPTION_FLAG)
            continue;
        fprintf(to, "%s%s%s", indent, prefix, row->name);
        print_aliases(row->alias, prefix, to);
        fprintf(to, ") words='");
        for (int i = 0; row->choices && row->choices[i]; i++)
            fprintf(to, "%s%s", i ? " " : "", row->choices[i]);
        fprintf(to, "'%s ;;\n",
                row->argument && (!strcmp(row->argument, "FILE") || !strcmp(row->argument, "IN"))
                    ? " files=1"
                    : "");
    }
}

void halo_completion_begin(const char *program, FILE *to)
{
    fprintf(to,
            "# Completion of %s for bash; made by %s --completion.\n"
            "_%s() {\n"
            "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]}\n"
            "    local words='' files=''\n",
            program, program, program);
}

void halo_completion_end(const char *program, FILE *to)
{
    fprintf(to,
            "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
            "    [[ ! $files ]] || compopt -o default\n"
            "}\n"
            "complete -F _%s %s\n",
            program, program);
}
