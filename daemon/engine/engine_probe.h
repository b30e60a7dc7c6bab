/* SPDX-License-Identifier: BSD-2-Clause
 * For tests: tries what an attacker who has taken over this process would try (engine_probe.c). */
#ifndef HALO_ENGINE_PROBE_H
#define HALO_ENGINE_PROBE_H

void engine_probe(void);

#endif
