/* SPDX-License-Identifier: BSD-2-Clause
 * The chains of a live stream with their gates. */
#include "pipeline/stream/live_lineup.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "pipeline/gate/gate.h"

int halo_lineup_parse(struct halo_lineup **ret, const char *const *chains, int count,
                      enum halo_privacy privacy, struct halo_error *err)
{
    struct halo_lineup *lineup = av_mallocz(sizeof *lineup);
    if (!lineup)
        return halo_fail(err, -ENOMEM, "out of memory");
    for (int i = 0; i < count; i++) {
        const int code = halo_chain_admit(&lineup->chain[i], chains[i], privacy, err);
        if (code < 0) {
            halo_lineup_destroy(lineup);
            return code;
        }
        lineup->chains++;
    }
    *ret = lineup;
    return 0;
}

int halo_lineup_load(struct halo_lineup *lineup, const struct halo_region_feed *feed,
                     struct halo_error *err)
{
    int code = 0;
    for (int i = 0; i < lineup->chains && code == 0; i++) {
        code = feed ? 0 : halo_chain_refuse_feed(lineup->chain[i], err);
        if (code == 0)
            code = halo_chain_load(lineup->chain[i], err);
    }
    return code;
}

void halo_lineup_strip(struct halo_lineup *lineup)
{
    for (int i = 0; i < lineup->gates; i++)
        halo_gate_destroy(lineup->gate[i]);
    lineup->gates = 0;
    lineup->next = NULL;
}

void halo_lineup_destroy(struct halo_lineup *lineup)
{
    if (!lineup)
        return;
    halo_lineup_strip(lineup);
    for (int i = 0; i < lineup->chains; i++)
        halo_chain_destroy(lineup->chain[i]);
    av_free(lineup);
}

int halo_lineup_build(struct halo_lineup *lineup, struct halo_ring *ring,
                      const struct halo_gate_input *input, struct halo_region_feed *feed,
                      struct halo_error *err)
{
    struct halo_gate_input own = *input;
    own.epoch = lineup->epoch;
    for (int i = 0; i < lineup->chains; i++) {
        int same = 0;
        while (same < i && strcmp(lineup->chain[same]->text, lineup->chain[i]->text) != 0)
            same++;
        lineup->of[i] = same < i ? lineup->of[same] : lineup->gates;
        if (same < i)
            continue;
        const int code =
            halo_gate_create(&lineup->gate[lineup->gates], lineup->chain[i], ring, &own, err);
        if (code < 0)
            return code;
        halo_gate_set_feed(lineup->gate[lineup->gates++], feed);
    }
    return 0;
}
