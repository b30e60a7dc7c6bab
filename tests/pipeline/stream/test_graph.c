/* SPDX-License-Identifier: BSD-2-Clause
 * The chains of a live stream's renditions, and their gates. */
#include <errno.h>
#include <string.h>

#include "pipeline/stream/graph.h"
#include "tests/cmocka_all.h"

/* Only renditions that say the same share their frames. */
static void renditions(void **state)
{
    static const char *const chains[] = {"pixelize=w=8", "solid=black", "pixelize=w=8",
                                         "pixelize=w=16"};
    enum { CHAINS = sizeof chains / sizeof *chains };
    static const int gates[CHAINS] = {0, 1, 0, 2};
    const struct halo_ring_settings settings = {.backend = "cpu", .depth = 1, .locked = -1};
    const struct halo_gate_input input = {.format = AV_PIX_FMT_YUV420P, .width = 64, .height = 48};
    struct halo_graph *graph;
    struct halo_ring *ring;
    struct halo_error err = {0};
    (void)state;
    assert_int_equal(halo_ring_create(&ring, &settings, &err), 0);
    assert_int_equal(halo_graph_parse(&graph, chains, CHAINS, HALO_PRIVACY_STRICT, &err), 0);
    assert_int_equal(halo_graph_build(graph, ring, &input, NULL, &err), 0);
    assert_int_equal(graph->gates, 3);
    for (int i = 0; i < CHAINS; i++)
        assert_int_equal(graph->of[i], gates[i]);
    halo_graph_destroy(graph);
    halo_ring_destroy(ring);
}

/* Each of them must filter, not only the first. */
static void all_filter(void **state)
{
    static const char *const chains[][2] = {{"pixelize=w=16", "null"}, {"null", "pixelize=w=16"}};
    struct halo_graph *graph;
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct halo_error err = {0};
        assert_int_equal(halo_graph_parse(&graph, chains[i], 2, HALO_PRIVACY_STRICT, &err),
                         -EINVAL);
        assert_non_null(strstr(err.text, "privacy: off"));
        assert_int_equal(halo_graph_parse(&graph, chains[i], 2, HALO_PRIVACY_OFF, &err), 0);
        halo_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(renditions), cmocka_unit_test(all_filter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
