/* SPDX-License-Identifier: BSD-2-Clause
 * Chains that let the raw picture through: which ones they are, and that a live stream has them
 * only where privacy is off. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/gate.h"
#include "pipeline/live.h"
#include "pipeline/privacy.h"
#include "tests/unit/cmocka_all.h"

static int admit(const char *text, enum halo_privacy privacy, struct halo_error *err)
{
    struct halo_chain *chain = NULL;
    const int code = halo_chain_admit(&chain, text, privacy, err);
    assert_true((code == 0) == (chain != NULL));
    halo_chain_destroy(chain);
    return code;
}

static void open_chains(void **state)
{
    static const char *const chains[] = {
        "null",
        "none",
        "null,null",
        " null ",
        "gblur=sigma=0",
        "gblur=sigma=5:planes=0",
        "gblur=sigma=5:planes=8",
        "null,gblur=sigma=0,null",
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct halo_error err = {0};
        assert_int_equal(admit(chains[i], HALO_PRIVACY_STRICT, &err), -EINVAL);
        assert_true(err.usage);
        assert_non_null(strstr(err.text, "privacy: off"));
        assert_int_equal(admit(chains[i], HALO_PRIVACY_OFF, NULL), 0);
    }
}

static void closed_chains(void **state)
{
    static const char *const chains[] = {
        "gblur=sigma=5",
        "null,gblur=sigma=5",
        "gblur=sigma=5,null",
        "gblur=sigma=5:planes=4",
        "convolution=0m='0 0 0 0 1 0 0 1 0'",
        "pixelize=w=8",
        "sobel",
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct halo_error err = {0};
        if (admit(chains[i], HALO_PRIVACY_STRICT, &err))
            fail_msg("%s: %s", chains[i], err.text);
    }
}

static void wrong_chains(void **state)
{
    struct halo_error err = {0};
    (void)state;
    assert_int_equal(admit("nul", HALO_PRIVACY_OFF, &err), -EINVAL);
    assert_non_null(strstr(err.text, "null"));
    assert_int_equal(admit("gblur,none", HALO_PRIVACY_OFF, NULL), -EINVAL);
    assert_int_equal(admit("", HALO_PRIVACY_OFF, NULL), -EINVAL);
}

static void long_chains(void **state)
{
    static const char chain[] = "sobel";
    static char text[HALO_MOST_CHAIN + 2];
    struct halo_error err = {0};
    (void)state;
    memset(text, ' ', HALO_MOST_CHAIN);
    memcpy(text, chain, strlen(chain));
    assert_int_equal(halo_chain_check(text, HALO_PRIVACY_STRICT, NULL), 0);
    text[HALO_MOST_CHAIN] = ' ';
    assert_int_equal(halo_chain_check(text, HALO_PRIVACY_STRICT, &err), -EINVAL);
    assert_string_equal(err.text, "the chain is longer than 65536 bytes");
}

static int create(struct halo_live **ret, const char *filters, const char *rendition,
                  enum halo_privacy privacy, struct halo_error *err)
{
    static const struct halo_live_events none;
    static struct halo_stream_settings settings;
    settings = (struct halo_stream_settings){.name = (char *)"one",
                                             .input = (char *)"test:size=64x48",
                                             .filters = (char *)filters,
                                             .privacy = privacy,
                                             .depth = 1,
                                             .gpu_timeout = 10};
    if (rendition) {
        settings.rendition[0].name = (char *)"r";
        settings.rendition[0].filters = (char *)rendition;
        settings.renditions = 1;
    }
    return halo_live_create(ret, &settings, &none, NULL, err);
}

/* The engine looks for itself, whatever it is sent. */
static void live_streams(void **state)
{
    const char *const open[] = {"null"}, *const good[] = {"sobel"};
    struct halo_live *live;
    struct halo_error err = {0};
    (void)state;
    assert_int_equal(create(&live, "null", NULL, HALO_PRIVACY_STRICT, &err), -EINVAL);
    assert_non_null(strstr(err.text, "raw picture"));
    assert_int_equal(create(&live, "sobel", "none", HALO_PRIVACY_STRICT, NULL), -EINVAL);
    assert_int_equal(create(&live, NULL, NULL, HALO_PRIVACY_OFF, NULL), -EINVAL);

    assert_int_equal(create(&live, "sobel", NULL, HALO_PRIVACY_STRICT, NULL), 0);
    assert_int_equal(halo_live_set(live, 1, open, NULL), -EINVAL);
    assert_int_equal(halo_live_set(live, 2, good, NULL), 0);
    halo_live_destroy(live);

    assert_int_equal(create(&live, "none", "null", HALO_PRIVACY_OFF, NULL), 0);
    halo_live_destroy(live);
    assert_int_equal(create(&live, "sobel", NULL, HALO_PRIVACY_OFF, NULL), 0);
    assert_int_equal(halo_live_set(live, 1, open, NULL), 0);
    halo_live_destroy(live);
}

/* The last one to look: what a chain does is known when the pictures are. */
static int open_gate(const char *text, enum AVPixelFormat format, bool may_pass)
{
    const struct halo_ring_settings settings = {.backend = "cpu", .depth = 1, .locked = -1};
    const struct halo_gate_input input = {
        .format = format, .width = 64, .height = 48, .may_pass = may_pass};
    struct halo_ring *ring;
    struct halo_chain *chain;
    struct halo_gate *gate = NULL;
    struct halo_error err = {0};
    assert_int_equal(halo_ring_create(&ring, &settings, &err), 0);
    assert_int_equal(halo_chain_parse(&chain, text, &err), 0);
    const int code = halo_gate_create(&gate, chain, ring, &input, &err);
    assert_true((code == 0) == (gate != NULL));
    halo_gate_destroy(gate);
    halo_chain_destroy(chain);
    halo_ring_destroy(ring);
    return code;
}

static void gates(void **state)
{
    (void)state;
    assert_int_equal(open_gate("null", AV_PIX_FMT_YUV420P, false), -EINVAL);
    assert_int_equal(open_gate("null", AV_PIX_FMT_YUV420P, true), 0);
    assert_int_equal(open_gate("sobel=planes=6", AV_PIX_FMT_YUV420P, false), 0);
    assert_int_equal(open_gate("sobel=planes=6", AV_PIX_FMT_GRAY8, false), -EINVAL);
    assert_int_equal(open_gate("sobel", AV_PIX_FMT_GRAY8, false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_chains),  cmocka_unit_test(closed_chains),
        cmocka_unit_test(wrong_chains), cmocka_unit_test(live_streams),
        cmocka_unit_test(gates),        cmocka_unit_test(long_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
