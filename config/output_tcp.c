/* SPDX-License-Identifier: BSD-2-Clause
 * tcp: an address that viewers connect to. Viewers are not authenticated, so other machines may
 * connect only if the file allows it. */
#include <string.h>

#include "config/address.h"
#include "config/encoding.h"
#include "config/load.h"
#include "config/output_kinds.h"

static void check(struct halo_loader *l, struct halo_output_settings *output,
                  struct halo_node *node)
{
    struct sockaddr_storage address;
    const char *port = strrchr(output->target, ':');
    char list[64];
    if (!halo_address_parse(output->target, &address) || strspn(port + 1, "0") == strlen(port + 1))
        halo_loader_say_of(l, node, "tcp",
                           "must be ADDRESS:PORT, such as 127.0.0.1:9000 or [::1]:9000");
    else if (!halo_address_is_loopback(&address) &&
             (!output->reach || strcmp(output->reach, "network") != 0))
        halo_loader_say_of(l, node, "tcp",
                           "other machines could connect without a password: use 127.0.0.1 or "
                           "[::1], or allow this with 'reach: network'");
    if (!halo_output_format(output))
        halo_loader_say_of(
            l, node, "format", "must be %s",
            halo_viewer_format_list(list, sizeof list, HALO_VIEWER_FORMATS_NAMES, "or"));
}

const struct halo_output_row halo_output_tcp = {
    .key = "tcp",
    .help = "ADDRESS:PORT that viewers connect to; the key 'format' selects the stream format",
    .example = "127.0.0.1:9000",
    .target = HALO_AT_ADDRESS,
    .writer = HALO_WRITER_SUPERVISOR,
    .coded = true,
    .keys = (const char *const[]){"rendition", "video", "audio", "format", "reach", NULL},
    .check = check,
};
