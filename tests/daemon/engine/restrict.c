/* SPDX-License-Identifier: BSD-2-Clause
 * restrict [-u UID] CALLS PROGRAM [ARGUMENT ...]
 *
 * Runs a program under what halod's units have systemd make of seccomp: MemoryDenyWriteExecute=,
 * RestrictAddressFamilies=AF_UNIX, NoNewPrivileges=, and of SystemCallFilter= the names that the
 * file CALLS lists, one a line. Any other call ends the process by SIGSYS, so that none goes
 * unseen; with RESTRICT=errno it fails with EPERM, as in the units. */
#include <errno.h>
#include <grp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

static void check(int ret, const char *what)
{
    if (ret == 0)
        return;
    fprintf(stderr, "restrict: %s: %s\n", what, strerror(ret < 0 ? -ret : ret));
    exit(1);
}

static void load_arguments(void)
{
    const uint32_t deny = SCMP_ACT_ERRNO(EPERM);
    const scmp_datum_t both = PROT_WRITE | PROT_EXEC;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    check(
        seccomp_rule_add(filter, deny, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, both, both)),
        "mmap");
    check(seccomp_rule_add(filter, deny, SCMP_SYS(mprotect), 1,
                           SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC)),
          "mprotect");
    check(seccomp_rule_add(filter, deny, SCMP_SYS(pkey_mprotect), 1,
                           SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC)),
          "pkey_mprotect");
    check(seccomp_rule_add(filter, deny, SCMP_SYS(shmat), 1,
                           SCMP_A2(SCMP_CMP_MASKED_EQ, SHM_EXEC, SHM_EXEC)),
          "shmat");
    check(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                           SCMP_A0_32(SCMP_CMP_NE, AF_UNIX)),
          "socket");
    check(seccomp_load(filter), "load");
    seccomp_release(filter);
}

static void load_calls(const char *path)
{
    char line[128];
    const char *how = getenv("RESTRICT");
    const bool fails = how && !strcmp(how, "errno");
    FILE *file = fopen(path, "re");
    scmp_filter_ctx filter = seccomp_init(fails ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS);
    if (!file)
        check(-errno, path);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const int call = seccomp_syscall_resolve_name(line);
        if (call != __NR_SCMP_ERROR && call >= 0)
            check(seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0), line);
    }
    fclose(file);
    check(seccomp_load(filter), "load");
    seccomp_release(filter);
}

int main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "-u")) {
        const unsigned user = (unsigned)atoi(argv[2]);
        if (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user))
            check(-errno, "the user");
        argv += 2;
        argc -= 2;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: restrict [-u UID] CALLS PROGRAM [ARGUMENT ...]\n");
        return 64;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        check(-errno, "no new privileges");
    load_arguments();
    load_calls(argv[1]);
    execv(argv[2], argv + 2);
    fprintf(stderr, "restrict: %s: %s\n", argv[2], strerror(errno));
    return 1;
}
