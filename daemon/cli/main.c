/* SPDX-License-Identifier: BSD-2-Clause
 * halod: the command table. */
#include <errno.h>
#include <fcntl.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "config/base/error.h"
#include "config/base/log.h"
#include "config/option.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/job/job.h"
#include "daemon/cli/run/run.h"
#include "daemon/control/build.h"
#include "daemon/detector/become.h"
#include "daemon/engine/engine.h"
#include "kernels/backend.h"
#include "kernels/version.h"
#include "pipeline/filter/filter.h"
#include "pipeline/filter/disclosure.h"

/* ---- versions ---- */

static void print_library(const char *name, unsigned version)
{
    printf("%-12s %u.%u.%u\n", name, AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version),
           AV_VERSION_MICRO(version));
}

static void print_version(void)
{
    printf("halod %s\n", HALO_VERSION);
    for (int i = 0; halo_backends[i]; i++) {
        char text[256];
        const int devices = halo_backends[i]->describe(text, sizeof text);
        printf("%-12s %s%s\n", halo_backends[i]->name, text, devices ? "" : " (not usable here)");
    }
    printf("%-12s %s\n", "CUDA build", HALO_CUDA_BUILD);
    printf("%-12s %s\n", "FFmpeg", av_version_info());
    print_library("libavcodec", avcodec_version());
    print_library("libavformat", avformat_version());
    printf("%-12s %s\n", "libuv", uv_version_string());
}

/* ---- commands ---- */

static int list_filters(int argc, char **argv)
{
    if (argc > 0) {
        halo_log(
            HALO_LOG_ERROR,
            "'filters' accepts no arguments, got '%s': to show one filter, use halod filter NAME",
            argv[0]);
        return HALO_EXIT_USAGE;
    }
    halo_filters_print(stdout);
    return halo_end_print();
}

static int show_filter(int argc, char **argv)
{
    struct halo_error err = {0};
    if (argc != 1) {
        halo_log(HALO_LOG_ERROR, "'filter' requires the name of one filter: see halod filters");
        return HALO_EXIT_USAGE;
    }
    if (halo_filter_print(argv[0], stdout, &err) < 0) {
        halo_log(HALO_LOG_ERROR, "%s", err.text);
        return HALO_EXIT_USAGE;
    }
    return halo_end_print();
}

/* Exit code 1: a region is not bounded. */
static int report_hidden(int argc, char **argv)
{
    struct halo_error err = {0};
    if (argc != 1) {
        halo_log(HALO_LOG_ERROR, "'hide-report' requires one chain, as -vf of halod run");
        return HALO_EXIT_USAGE;
    }
    const int bounded = halo_disclosure_print(argv[0], "", stdout, &err);
    if (bounded < 0) {
        halo_log(HALO_LOG_ERROR, "%s", err.text);
        return HALO_EXIT_USAGE;
    }
    const int code = halo_end_print();
    return code ? code : bounded ? 0 : HALO_EXIT_FAILED;
}

static const struct halo_command commands[] = {
    {"run", "-i IN -vf CHAIN [options] OUT", "filter one file, URL or pipe into another",
     halo_command_run, true},
    {"plan", "-i IN -vf CHAIN [options] OUT", "show what halod run would do, and how fast",
     halo_command_plan, true},
    {"job", "split|segment|join|status|submit|watch", "encode one file on many machines",
     halo_command_job, true},
    {"devices", "[--json]", "list the cameras: formats, sizes, rates, controls",
     halo_command_devices, false},
    {"filters", "", "list the filters", list_filters, false},
    {"filter", "NAME", "show a filter's options, ranges and defaults", show_filter, false},
    {"hide-report", "CHAIN", "show what is left of the regions that a chain hides", report_hidden,
     false},
    {NULL, NULL, NULL, NULL, false},
};

static void print_help(void)
{
    printf("halod filters every channel of every frame of a video; no frame passes "
           "unfiltered.\n\nusage:\n");
    for (const struct halo_command *c = commands; c->name; c++)
        printf("  halod %-14s %-29s %s\n", c->name, c->words, c->help);
    for (const struct halo_command *c = halo_config_commands; c->name; c++)
        printf("  halod %-14s %-29s %s\n", c->name, c->words, c->help);
    printf("  halod %-14s %-29s %s\n", "--help", "", "show this text; see also halod run --help");
    printf("  halod %-14s %-29s %s\n", "--version", "",
           "show the version, backends, devices and libraries");
    printf("\nexample:\n  halod run -i holiday.mp4 -vf gblur=sigma=12 blurred.mp4\n"
           "\nexit codes: 0 done, 1 failed, 64 usage, 75 the GPU failed, 78 configuration,\n"
           "129, 130 and 143 interrupted. See halod(8).\n");
}

static int unknown_command(const char *word)
{
    const char *names[16];
    size_t count = 0;
    for (const struct halo_command *c = commands; c->name; c++)
        names[count++] = c->name;
    for (const struct halo_command *c = halo_config_commands; c->name; c++)
        names[count++] = c->name;
    char near[HALO_NEAREST_WORDS];
    halo_log(HALO_LOG_ERROR, "unknown command '%s'%s: see halod --help", word,
             halo_nearest_words(near, word, names, count));
    return HALO_EXIT_USAGE;
}

/* If a standard stream is closed, the next file to be opened would get its number, and log lines
 * would be written into that file. So it is opened on /dev/null, but for the wrong direction, so
 * that its use fails as with a closed stream. */
static void fill_standard_streams(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", modes[fd]); /* gets the lowest free number: fd */
}

/* Runs a command; --help is the same for all that have no help of their own. */
static int run_command(const struct halo_command *c, int argc, char **argv)
{
    if (argc == 0 || c->own_help || (strcmp(argv[0], "--help") != 0 && strcmp(argv[0], "-h") != 0))
        return c->run(argc, argv);
    printf("usage: halod %s%s%s\n\nhalod %s: %s. See halod(8).\n", c->name, *c->words ? " " : "",
           c->words, c->name, c->help);
    return halo_end_print();
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe makes write() fail */
    signal(SIGXFSZ, SIG_IGN); /* so does a file at its size limit */
    if (argc < 2) {
        halo_log(HALO_LOG_ERROR, "nothing to do: see halod --help");
        return HALO_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
        print_help();
        return halo_end_print();
    }
    if (!strcmp(word, "--version") || !strcmp(word, "-V") || !strcmp(word, "version")) {
        print_version();
        return halo_end_print();
    }
    if (!strcmp(word, "--completion"))
        return halo_print_completion(commands);
    if (!strcmp(word, "engine"))
        return halo_command_engine(argc - 2, argv + 2);
    if (!strcmp(word, "detector"))
        return halo_command_detector(argc - 2, argv + 2);
    for (const struct halo_command *c = commands; c->name; c++)
        if (!strcmp(word, c->name))
            return run_command(c, argc - 2, argv + 2);
    for (const struct halo_command *c = halo_config_commands; c->name; c++)
        if (!strcmp(word, c->name))
            return run_command(c, argc - 2, argv + 2);
    return unknown_command(word);
}
