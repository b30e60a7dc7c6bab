/* SPDX-License-Identifier: BSD-2-Clause
 * Fuzz target: files of networks, loaded, planned and run. The sum at the end of the head is put
 * right first, or no change would get past it. Built and run as chain.c is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/net/net.h"
#include "tests/fuzz/fuzz.h"

enum { SIDE = 8, MAX_FLOATS = 1 << 20 };

static uint32_t crc(uint32_t sum, const char *bytes, size_t size)
{
    sum = ~sum;
    for (size_t i = 0; i < size; i++) {
        sum ^= (uint8_t)bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 1 ? sum >> 1 ^ UINT32_C(0xedb88320) : sum >> 1;
    }
    return ~sum;
}

/* Writes the right sum over that of the line "weights BYTES CRC32", if there is one. */
static void mend(char *bytes, size_t size)
{
    const char *line = size ? memmem(bytes, size, "\nweights ", 9) : NULL;
    const char *end = line ? memchr(line + 1, '\n', size - (size_t)(line + 1 - bytes)) : NULL;
    if (!end || end - line < 18)
        return;
    const uint32_t head = crc(0, bytes, (size_t)(line + 1 - bytes));
    char sum[9];
    snprintf(sum, sizeof sum, "%08x",
             (unsigned)crc(head, end + 1, size - (size_t)(end + 1 - bytes)));
    memcpy((char *)end - 8, sum, 8);
}

/* Runs a small frame with every strategy: the same bits. */
static void run(const struct halo_net *net)
{
    struct halo_net_runner *first = NULL;
    for (int s = 0; halo_net_strategies[s]; s++) {
        struct halo_net_fault fault;
        const struct halo_net_settings settings = {halo_net_strategies[s],
                                                   net->multiple ? net->multiple : net->width,
                                                   net->multiple ? net->multiple : net->height,
                                                   1,
                                                   1,
                                                   1};
        struct halo_net_plan *plan;
        struct halo_net_runner *r;
        if (!settings.strategy->can() || settings.width > SIDE || settings.height > SIDE ||
            halo_net_plan_create(&plan, net, settings.width, settings.height, 1, &fault))
            continue;
        const bool small = plan->work + (double)(plan->floats + plan->kept_floats) < MAX_FLOATS;
        halo_net_plan_destroy(plan);
        if (!small || halo_net_open(&r, net, &settings, &fault))
            continue;
        const struct halo_net_tensor *in = halo_net_input_shape(r);
        for (size_t i = 0; i < (size_t)in->planes * in->stride; i++)
            halo_net_input(r, 0)[i] = i % 3 ? net->low : net->high;
        if (halo_net_run(r, 1))
            abort();
        for (int o = 0; first && o < net->outputs; o++) {
            const struct halo_net_tensor *out = halo_net_output_shape(r, o);
            for (int p = 0; p < out->planes; p++)
                if (memcmp(halo_net_output(first, 0, o) + (size_t)p * out->stride,
                           halo_net_output(r, 0, o) + (size_t)p * out->stride,
                           (size_t)(out->width * out->height) * sizeof(float)) != 0)
                    abort();
        }
        if (first)
            halo_net_close(r);
        else
            first = r;
    }
    halo_net_close(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct halo_net *net = NULL;
    struct halo_net_fault fault = {""};
    char *bytes = malloc(size + 1);
    if (!bytes)
        return 0;
    if (size)
        memcpy(bytes, data, size);
    mend(bytes, size);
    const int rc = halo_net_load(&net, bytes, size, &fault);
    if (rc ? net || !fault.text[0] || strpbrk(fault.text, "\n\r\033") : !net)
        abort();
    free(bytes);
    if (net)
        run(net);
    halo_net_destroy(net);
    return 0;
}
