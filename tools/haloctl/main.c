/* SPDX-License-Identifier: BSD-2-Clause
 * haloctl: options, help, completion. */
#include <getopt.h>
#include <math.h>
#include <string.h>

#include "config/base/error.h"
#include "config/base/number.h"
#include "config/option.h"
#include "kernels/version.h"
#include "tools/haloctl/haloctl.h"

enum { OPTIONS = 7 };

static const struct {
    const char *name, *argument, *help;
    int letter;
    bool everywhere; /* else only for commands that say so */
} options[OPTIONS] = {
    {"socket", "PATH", "the daemon's control socket", 's', true},
    {"json", NULL, "print answers as JSON, one object per line", 'j', true},
    {"watch", NULL, "status: update continuously until q is pressed", 'w', false},
    {"interval", "SECONDS", "status --watch: time between updates (default 1)", 'n', false},
    {"check", NULL, "reload: only check the settings", 'c', false},
    {"help", NULL, "this text", 'h', true},
    {"version", NULL, "the version", 'V', true},
};

static void print_help(void)
{
    puts("haloctl controls the daemon halod.\n\nusage: haloctl [OPTIONS] COMMAND [ARGUMENTS]\n");
    for (const struct ctl_command *c = ctl_commands; c->name; c++)
        printf("  %-9s %-19s %s\n", c->name, c->words, c->help);
    puts("\noptions:");
    for (int i = 0; i < OPTIONS; i++)
        printf("  -%c, --%-10s %-8s %s\n", options[i].letter, options[i].name,
               options[i].argument ? options[i].argument : "", options[i].help);
    puts("\nexamples:\n  haloctl status --watch\n  haloctl set door filters=gblur=sigma=12\n"
         "  haloctl snapshot door now.png\n"
         "\nexit codes: 0 success, 1 failure, 64 wrong usage, 69 no answer from a daemon. "
         "See haloctl(1).");
}

/* A script for bash, from the same tables: words of commands, names of streams as the daemon tells
 * them. */
static int print_completion(void)
{
    puts("# Completion of haloctl for bash; made by haloctl --completion.\n_haloctl() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} command='' words='' at=0 i socket=()\n"
         "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "        case ${COMP_WORDS[i]} in\n"
         "        -s | --socket) [[ ${COMP_WORDS[i + 1]} != = ]] || ((i++)) # --socket=PATH\n"
         "            socket=(--socket \"${COMP_WORDS[++i]}\") ;;\n"
         "        -n | --interval) ((i++)) ;;\n"
         "        -*) ;;\n"
         "        *) if [[ $command ]]; then ((at++)); else command=${COMP_WORDS[i]}; fi ;;\n"
         "        esac\n    done\n    case $command in");
    printf("    '') words='");
    for (const struct ctl_command *c = ctl_commands; c->name; c++)
        printf("%s%s", c == ctl_commands ? "" : " ", c->name);
    puts("' ;;");
    for (const struct ctl_command *c = ctl_commands; c->name; c++)
        printf("    %s) words='%s' ;;\n", c->name, c->complete);
    puts("    esac\n    if [[ $command ]]; then\n        read -ra words <<<\"$words\"\n"
         "        words=${words[at]-}\n    fi\n    case $words in\n"
         "    stream) words=$(haloctl \"${socket[@]}\" list 2>/dev/null | cut -d' ' -f1) ;;\n"
         "    FILE) compopt -o default ;;\n    esac\n    [[ $word != -* ]] || words='");
    for (int i = 0; i < OPTIONS; i++)
        printf("%s--%s", i ? " " : "", options[i].name);
    puts("'\n    mapfile -t COMPREPLY < <(compgen -W \"${words//|/ }\" -- \"$word\")\n"
         "    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n}\n"
         "complete -F _haloctl haloctl");
    return ctl_end_print();
}

static int unknown(const char *what, const char *word, const char *const *names, size_t count)
{
    char near[HALO_NEAREST_WORDS];
    ctl_say("unknown %s '%s'%s: see haloctl --help", what, word,
            halo_nearest_words(near, word, names, count));
    return HALO_EXIT_USAGE;
}

static int unknown_option(const char *word)
{
    const char *names[OPTIONS];
    for (int i = 0; i < OPTIONS; i++)
        names[i] = options[i].name;
    return unknown("option", word + strspn(word, "-"), names, OPTIONS);
}

static const struct ctl_command *find_command(const char *name)
{
    for (const struct ctl_command *c = ctl_commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[32];
    size_t count = 0;
    for (const struct ctl_command *c = ctl_commands; c->name; c++)
        names[count++] = c->name;
    return unknown("command", name, names, count);
}

static bool takes(const struct ctl_command *command, const char *option)
{
    const char *at = command->options ? strstr(command->options, option) : NULL;
    return at != NULL;
}

static int run_command(struct ctl *ctl, char **words, int count)
{
    const struct ctl_command *command = find_command(words[0]);
    if (!command)
        return unknown_command(words[0]);
    if (count - 1 < command->least || count - 1 > command->most) {
        ctl_say("usage: haloctl %s%s%s", command->name, *command->words ? " " : "", command->words);
        return HALO_EXIT_USAGE;
    }
    if ((ctl->watch && !takes(command, "watch")) || (ctl->check && !takes(command, "check")) ||
        (ctl->interval > 0 && !takes(command, "interval"))) {
        ctl_say("%s does not accept this option: see haloctl --help", command->name);
        return HALO_EXIT_USAGE;
    }
    const int code = command->run(ctl, words + 1, count - 1);
    ctl_close(ctl);
    return code;
}

static int set_interval(struct ctl *ctl, const char *text)
{
    if (halo_parse_real(text, &ctl->interval) == 0 && ctl->interval >= 0.1 && ctl->interval <= 3600)
        return 0;
    ctl_say("--interval %s: must be a number of seconds between 0.1 and 3600", text);
    return HALO_EXIT_USAGE;
}

/* -1: go on; else the exit code. */
static int take_option(struct ctl *ctl, int letter)
{
    switch (letter) {
    case 's':
        ctl->socket = optarg;
        return -1;
    case 'j':
        ctl->json = true;
        return -1;
    case 'w':
        ctl->watch = true;
        return -1;
    case 'c':
        ctl->check = true;
        return -1;
    case 'n':
        return set_interval(ctl, optarg) ? HALO_EXIT_USAGE : -1;
    case 'C':
        return print_completion();
    case 'h':
        print_help();
        return ctl_end_print();
    default:
        printf("haloctl %s\n", HALO_VERSION);
        return ctl_end_print();
    }
}

int main(int argc, char **argv)
{
    struct ctl ctl = {.fd = -1, .received = -1};
    struct option table[OPTIONS + 2] = {{0}};
    char letters[2 * OPTIONS + 2] = ":";
    for (int i = 0; i < OPTIONS; i++) {
        table[i] =
            (struct option){options[i].name, options[i].argument ? 1 : 0, NULL, options[i].letter};
        const size_t at = strlen(letters);
        letters[at] = (char)options[i].letter;
        letters[at + 1] = options[i].argument ? ':' : '\0';
    }
    table[OPTIONS] = (struct option){"completion", 0, NULL, 'C'}; /* for packagers */
    opterr = 0;
    for (int letter; (letter = getopt_long(argc, argv, letters, table, NULL)) != -1;) {
        if (letter == ':') {
            ctl_say("%s requires a value: see haloctl --help", argv[optind - 1]);
            return HALO_EXIT_USAGE;
        }
        if (letter == '?')
            return unknown_option(argv[optind - 1]);
        const int code = take_option(&ctl, letter);
        if (code >= 0)
            return code;
    }
    if (optind == argc) {
        ctl_say("no command was given: see haloctl --help");
        return HALO_EXIT_USAGE;
    }
    return run_command(&ctl, argv + optind, argc - optind);
}
