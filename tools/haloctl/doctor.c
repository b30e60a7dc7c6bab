/* SPDX-License-Identifier: BSD-2-Clause
 * haloctl doctor: every check, a line for each case, with the fix if there is one. */
#include "tools/haloctl/doctor.h"

#include <string.h>

#include "config/base/error.h"

static void print_case(const char *mark, const char *name, const char *what, const char *fix)
{
    printf("%-5s %-11s %s\n", mark, name, what);
    if (*fix)
        printf("%18sfix: %s\n", "", fix);
}

/* Cases with the same fix follow each other, and the last one has it. */
static void print_finding(const struct doctor_check *check, const struct doctor_finding *f)
{
    static const char *const marks[] = {"ok", "-", "WARN", "FAIL"};
    const char *fix = f->fix;
    json_t *one;
    size_t i;
    const json_t *first = json_array_get(f->more, 0);
    const bool same = first && !strcmp(ctl_text(first, "fix"), fix);
    print_case(marks[f->level], check->name, f->what, same ? "" : fix);
    json_array_foreach (f->more, i, one) {
        const json_t *next = json_array_get(f->more, i + 1);
        const bool failed = !strcmp(ctl_text(one, "level"), doctor_levels[DOCTOR_FAILED]);
        fix = ctl_text(one, "fix");
        print_case(marks[failed ? DOCTOR_FAILED : DOCTOR_WARNING], check->name,
                   ctl_text(one, "what"), next && !strcmp(ctl_text(next, "fix"), fix) ? "" : fix);
    }
}

static json_t *finding_json(const struct doctor_check *check, const struct doctor_finding *f)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:O*}", "name", check->name, "about", check->about,
                     "level", doctor_levels[f->level], "what", f->what, "fix", f->fix, "more",
                     f->more);
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
        failed += finding.level == DOCTOR_FAILED;
        warnings += finding.level == DOCTOR_WARNING;
        if (ctl->json)
            json_array_append_new(list, finding_json(check, &finding));
        else
            print_finding(check, &finding);
        json_decref(finding.more);
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
