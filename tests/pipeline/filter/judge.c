/* SPDX-License-Identifier: BSD-2-Clause
 * What a gate on the CPU says to a chain (judge.h). */
#include "tests/pipeline/filter/judge.h"

#include "tests/cmocka_all.h"

int judge(const char *text, const struct halo_gate_input *input, struct halo_coverage *ret_coverage,
          struct halo_error *err)
{
    const struct halo_ring_settings settings = {.backend = "cpu", .depth = 1, .locked = -1};
    struct halo_ring *ring;
    struct halo_chain *chain;
    struct halo_gate *gate = NULL;
    assert_int_equal(halo_ring_create(&ring, &settings, err), 0);
    assert_int_equal(halo_chain_parse(&chain, text, err), 0);
    assert_int_equal(halo_chain_load(chain, err), 0);
    const int code = halo_gate_create(&gate, chain, ring, input, err);
    assert_true((code == 0) == (gate != NULL));
    if (gate && ret_coverage)
        *ret_coverage = *halo_gate_coverage(gate);
    halo_gate_destroy(gate);
    halo_chain_destroy(chain);
    halo_ring_destroy(ring);
    return code;
}
