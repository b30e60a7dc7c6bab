/* SPDX-License-Identifier: BSD-2-Clause
 * halod -c, --check-config, --dump-config and --schema. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/base/error_list.h"
#include "config/base/log.h"
#include "config/output_kinds.h"
#include "daemon/cli/commands.h"
#include "daemon/daemon.h"
#include "daemon/detector/probe.h"
#include "daemon/supervisor/checks.h"
#include "daemon/view/listen.h"
#include "daemon/view/listen_tcp.h"
#include "pipeline/filter/disclosure.h"

enum { DETECTORS_MS = 20000 }; /* for the checks of all detectors */

/* Returns the option's only argument, a file name. NULL: the error has been logged. */
static const char *file_of(const char *option, int argc, char **argv)
{
    if (argc == 1 && *argv[0] && *argv[0] != '-')
        return argv[0];
    if (argc < 1 || !*argv[0])
        halo_log(HALO_LOG_ERROR, "%s: the argument FILE is missing", option);
    else if (argc > 1)
        halo_log(HALO_LOG_ERROR, "%s accepts only one FILE, but was also given '%s'", option,
                 argv[1]);
    else
        halo_log(HALO_LOG_ERROR,
                 "%s: '%s' does not look like a file name (if it is one, write ./%s)", option,
                 argv[0], argv[0]);
    return NULL;
}

/* Loads the file that is the option's only argument. Returns the exit code; unless it is 0, all
 * errors have been logged. A lack of memory is no error of the settings: services are not started
 * again after HALO_EXIT_CONFIG. */
static int load(const char *option, int argc, char **argv, const char **ret_path,
                struct halo_daemon_settings **ret)
{
    const char *path = *ret_path = file_of(option, argc, argv);
    struct halo_error_list *errors = NULL;
    if (!path)
        return HALO_EXIT_USAGE;
    const int code = halo_daemon_load(ret, path, &halo_checks, &errors);
    if (!code)
        return HALO_EXIT_OK;
    for (int i = 0; i < halo_error_list_count(errors); i++)
        halo_log(HALO_LOG_ERROR, "%s", halo_error_list_text(errors, i));
    if (!errors)
        halo_log(HALO_LOG_ERROR, "%s: %s", path, strerror(-code));
    halo_error_list_destroy(errors);
    return code == -ENOMEM ? HALO_EXIT_FAILED : HALO_EXIT_CONFIG;
}

static int run_daemon(int argc, char **argv)
{
    const char *path;
    struct halo_daemon_settings *settings = NULL;
    const int loaded = load("-c", argc, argv, &path, &settings);
    if (loaded)
        return loaded;
    return halo_command_daemon(settings, path);
}

/* The settings may be for another machine, so this is no error of theirs. */
static void check_detectors(const struct halo_daemon_settings *settings)
{
    json_t *list = halo_checks_detectors(settings), *one;
    size_t i;
    halo_detector_probe(list, DETECTORS_MS);
    json_array_foreach (list, i, one) {
        const char *error = json_string_value(json_object_get(one, "error"));
        if (error)
            halo_log(HALO_LOG_WARNING, "stream %s: the detector of %s cannot be started: %s",
                     json_string_value(json_object_get(one, "stream")),
                     json_string_value(json_object_get(one, "find")), error);
    }
    json_decref(list);
}

/* Service managers create folders there when they start the daemon. */
static bool is_made_later(const char *path)
{
    return !strncmp(path, "/run/", 5) || !strncmp(path, "/var/run/", 9);
}

static void check_socket(const char *stream, const struct halo_output_settings *output)
{
    const enum halo_output_target target = halo_output_row(output)->target;
    struct halo_error err = {0};
    int fd = -1;
    if (target == HALO_AT_SOCKET && !is_made_later(output->target))
        (void)halo_listen_check(output->target, &err);
    else if (target == HALO_AT_ADDRESS)
        fd = halo_listen_tcp(output->target, &err);
    if (fd >= 0)
        close(fd);
    if (err.code && err.code != -EADDRINUSE) /* the running daemon's, probably */
        halo_log(HALO_LOG_WARNING, "stream %s: %s", stream, err.text);
}

/* Whether this user could open outputs here and now; the daemon runs without those that fail. */
static void check_sockets(const struct halo_daemon_settings *settings)
{
    for (int i = 0; i < settings->streams; i++)
        for (int o = 0; o < settings->stream[i].outputs; o++)
            check_socket(settings->stream[i].name, &settings->stream[i].output[o]);
}

static void print_disclosure(const char *stream, const char *rendition, const char *filters)
{
    char prefix[200];
    snprintf(prefix, sizeof prefix, "stream %s%s%s: what is left of ", stream,
             rendition ? ", rendition " : "", rendition ? rendition : "");
    (void)halo_disclosure_print(strcmp(filters, "none") ? filters : "null", prefix, stdout, NULL);
}

static void print_all_disclosures(const struct halo_daemon_settings *settings)
{
    for (int i = 0; i < settings->streams; i++) {
        const struct halo_stream_settings *stream = &settings->stream[i];
        print_disclosure(stream->name, NULL, stream->filters);
        for (int r = 0; r < stream->renditions; r++)
            print_disclosure(stream->name, stream->rendition[r].name, stream->rendition[r].filters);
    }
}

static int check_config(int argc, char **argv)
{
    const char *path;
    struct halo_daemon_settings *settings = NULL;
    const int loaded = load("--check-config", argc, argv, &path, &settings);
    if (loaded)
        return loaded;
    printf("%s: ok, %d stream%s\n", path, settings->streams, settings->streams == 1 ? "" : "s");
    json_t *coverage = halo_checks_coverage(settings), *row;
    size_t i;
    json_array_foreach (coverage, i, row) {
        const char *rendition = json_string_value(json_object_get(row, "rendition"));
        printf("stream %s%s%s: hides %s\n", json_string_value(json_object_get(row, "stream")),
               rendition ? ", rendition " : "", rendition ? rendition : "",
               json_string_value(json_object_get(json_object_get(row, "coverage"), "words")));
    }
    json_decref(coverage);
    print_all_disclosures(settings);
    fflush(stdout);
    check_sockets(settings);
    check_detectors(settings);
    halo_daemon_settings_destroy(settings);
    return halo_end_print();
}

static int dump_config(int argc, char **argv)
{
    const bool secrets = argc > 0 && !strcmp(argv[0], "--secrets");
    const char *path;
    struct halo_daemon_settings *settings = NULL;
    const int loaded = load("--dump-config", argc - secrets, argv + secrets, &path, &settings);
    if (loaded)
        return loaded;
    const int code = halo_daemon_dump(settings, secrets, stdout);
    halo_daemon_settings_destroy(settings);
    if (code && !ferror(stdout)) {
        halo_log(HALO_LOG_ERROR, "out of memory");
        return HALO_EXIT_FAILED;
    }
    return halo_end_print();
}

static int print_schema(int argc, char **argv)
{
    if (argc > 0) {
        halo_log(HALO_LOG_ERROR, "--schema accepts no arguments, got '%s'", argv[0]);
        return HALO_EXIT_USAGE;
    }
    if (halo_daemon_print_schema(stdout) && !ferror(stdout)) {
        halo_log(HALO_LOG_ERROR, "out of memory");
        return HALO_EXIT_FAILED;
    }
    return halo_end_print();
}

const struct halo_command halo_config_commands[] = {
    {"-c", "FILE", "run the daemon on the streams of FILE", run_daemon, false},
    {"--check-config", "FILE", "check FILE and report all errors", check_config, false},
    {"--dump-config", "[--secrets] FILE",
     "print FILE with all defaults and with *** for what is secret", dump_config, false},
    {"--schema", "", "print a JSON Schema for FILE, for use in editors", print_schema, false},
    {NULL, NULL, NULL, NULL, false},
};
