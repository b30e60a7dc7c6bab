/* SPDX-License-Identifier: BSD-2-Clause
 * Fuzz target: the daemon's file, loaded, dumped, loaded again, and each stream sent to an engine
 * and back. The first line of an input "#json" makes it a stream's JSON. Built and run as chain.c
 * is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/error_list.h"
#include "config/daemon.h"
#include "pipeline/filter/privacy.h"
#include "tests/fuzz/fuzz.h"

static const char json_head[] = "#json\n";

static const struct halo_daemon_checks checks = {.filters = halo_chain_check};

static void require(bool fine)
{
    if (!fine)
        abort();
}

static void check_errors(struct halo_error_list *errors, int code)
{
    require(code == -EINVAL && halo_error_list_count(errors) > 0);
    for (int i = 0; i < halo_error_list_count(errors); i++) {
        const char *text = halo_error_list_text(errors, i);
        require(*text && !strpbrk(text, "\n\r\033"));
    }
    halo_error_list_destroy(errors);
}

static void read_stream(const char *text)
{
    struct halo_stream_settings stream;
    struct halo_error err = {0};
    if (halo_stream_settings_read(&stream, text, &err)) {
        require(err.text[0]);
        return;
    }
    char *again = halo_stream_settings_write(&stream);
    struct halo_stream_settings copy;
    require(again && !halo_stream_settings_read(&copy, again, &err));
    require(halo_stream_settings_compare(&stream, &copy) == HALO_CHANGE_NONE);
    free(again);
    halo_stream_settings_finish(&copy);
    halo_stream_settings_finish(&stream);
}

static char *dump(const struct halo_daemon_settings *settings, bool secrets, size_t *size)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, size);
    require(to && !halo_daemon_dump(settings, secrets, to));
    fclose(to);
    return text;
}

static void load_again(const struct halo_daemon_settings *settings)
{
    struct halo_daemon_settings *copy = NULL;
    struct halo_error_list *errors = NULL;
    size_t size;
    free(dump(settings, false, &size));
    char *text = dump(settings, true, &size);
    require(!halo_daemon_load_text(&copy, text, size, "dump", &checks, &errors));
    require(copy->streams == settings->streams);
    for (int i = 0; i < copy->streams; i++) {
        require(halo_stream_settings_compare(&copy->stream[i], &settings->stream[i]) ==
                HALO_CHANGE_NONE);
        char *json = halo_stream_settings_write(&copy->stream[i]);
        require(json != NULL);
        read_stream(json);
        free(json);
    }
    free(text);
    halo_daemon_settings_destroy(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    if (!text)
        return 0;
    struct halo_daemon_settings *settings = NULL;
    struct halo_error_list *errors = NULL;
    if (!strncmp(text, json_head, sizeof json_head - 1)) {
        read_stream(text + sizeof json_head - 1);
    } else {
        const int code = halo_daemon_load_text(&settings, text, size, "f", &checks, &errors);
        if (code)
            check_errors(errors, code);
        else
            load_again(settings);
        halo_daemon_settings_destroy(settings);
    }
    free(text);
    return 0;
}
