/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SUP_ENVIRONMENT_H
#define HALO_SUP_ENVIRONMENT_H

/* Returns the environment for programs that the supervisor starts, or NULL if out of memory. The
 * result is the supervisor's own environment without the variables that are meant only for the
 * supervisor. The result is never freed. Loop thread only. */
char **sv_environment(void);

#endif
