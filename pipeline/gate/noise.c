/* SPDX-License-Identifier: BSD-2-Clause
 * Discrete Laplace noise (noise.h). */
#include "pipeline/gate/noise.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

static int fill_from_kernel(void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = getrandom((char *)to + done, size - done, 0);
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

void halo_random_finish(struct halo_random *random)
{
    explicit_bzero(random->bytes, sizeof random->bytes);
    random->left = 0;
}

static int draw_word(struct halo_random *random, uint64_t *ret)
{
    int code = 0;
    if (random->left < sizeof *ret) {
        code = random->fill ? random->fill(random->arg, random->bytes, sizeof random->bytes)
                            : fill_from_kernel(random->bytes, sizeof random->bytes);
        random->left = code < 0 ? 0 : sizeof random->bytes;
    }
    if (code < 0)
        return code;
    random->left -= sizeof *ret;
    memcpy(ret, random->bytes + random->left, sizeof *ret);
    return 0;
}

/* 0 to below - 1, all equally likely: words past the last multiple of `below` are drawn again. */
static int draw_below(struct halo_random *random, uint64_t below, uint64_t *ret)
{
    const uint64_t past = UINT64_MAX - UINT64_MAX % below;
    int code;
    do
        code = draw_word(random, ret);
    while (code == 0 && *ret >= past);
    *ret %= below;
    return code;
}

/* True with the probability exp(-a / b); a is 0 to b. */
static int draw_exp(struct halo_random *random, uint64_t a, uint64_t b, bool *ret)
{
    uint64_t k = 1, u;
    int code;
    while ((code = draw_below(random, b * k, &u)) == 0 && u < a)
        k++;
    *ret = k % 2 == 1;
    return code;
}

/* How often in succession something happens whose probability is exp(-1). */
static int draw_times(struct halo_random *random, uint64_t *ret)
{
    bool again = true;
    int code = 0;
    *ret = 0;
    while (code == 0 && (code = draw_exp(random, 1, 1, &again)) == 0 && again)
        ++*ret;
    return code;
}

int halo_noise_draw(struct halo_random *random, uint64_t s, uint64_t t, int64_t *ret)
{
    for (;;) {
        uint64_t u, times = 0, sign = 0;
        bool take = false;
        int code = draw_below(random, t, &u);
        if (code == 0)
            code = draw_exp(random, u, t, &take);
        if (code == 0 && !take)
            continue;
        if (code == 0)
            code = draw_times(random, &times);
        if (code == 0)
            code = draw_below(random, 2, &sign);
        if (code < 0)
            return code;
        const int64_t size = (int64_t)((u + t * times) / s);
        if (sign && size == 0)
            continue; /* 0 has no sign, and must not be twice as likely */
        *ret = sign ? -size : size;
        return 0;
    }
}
