/* SPDX-License-Identifier: BSD-2-Clause
 * haloctl doctor: every check, a line each, with the fix where there is something to fix. */
#include "tools/haloctl/doctor.h"

#include "config/error.h"

static void print_finding(const struct doctor_check *check, const struct doctor_finding *f)
{
    static const char *const marks[] = {"ok", "-", "WARN", "FAIL"};
    printf("%-5s %-11s %s\n", marks[f->level], check->name, f->what);
    if (f->fix[0])
        printf("%18sfix: %s\n", "", f->fix);
}

static json_t *finding_json(const struct doctor_check *check, const struct doctor_finding *f)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", check->name, "about", check->about,
                     "level", doctor_levels[f->level], "what", f->what, "fix", f->fix);
}

int ctl_doctor(struct ctl *ctl, char **words, int count)
{
    json_t *seen = doctor_gather(ctl), *list = json_array();
    int failed = 0, warnings = 0;
    (void)words;
    (void)count;
    for (const struct doctor_check *check = doctor_checks; check->name; check++) {
        struct doctor_finding finding = {0};
        check->judge(seen, &finding);
        halo_sanitise(finding.what);
        failed += finding.level == DOCTOR_FAILED;
        warnings += finding.level == DOCTOR_WARNING;
        if (ctl->json)
            json_array_append_new(list, finding_json(check, &finding));
        else
            print_finding(check, &finding);
    }
    json_decref(seen);
    if (ctl->json) {
        ctl_print_json(
            json_pack("{s:o, s:i, s:i}", "checks", list, "failed", failed, "warnings", warnings));
    } else {
        json_decref(list);
        printf("%d failed, %d warning%s\n", failed, warnings, warnings == 1 ? "" : "s");
    }
    const int code = ctl_end_print();
    return code ? code : failed ? HALO_EXIT_FAILED : HALO_EXIT_OK;
}
