/* SPDX-License-Identifier: BSD-2-Clause
 * Every check of haloctl's doctor, over a few lines of what it may see. */
#include <string.h>

#include "tests/cmocka_all.h"
#include "tools/haloctl/doctor.h"

static const struct {
    const char *check, *seen;
    enum doctor_level level;
    const char *says; /* in what or fix */
} cases[] = {
    {"daemon", "{'connect':'absent','socket':'/run/x'}", DOCTOR_FAILED,
     "no daemon answers at /run"},
    {"daemon", "{'connect':'stale','socket':'/run/x'}", DOCTOR_FAILED, "systemctl start halod"},
    {"daemon", "{'connect':'ok','socket':'/run/x'}", DOCTOR_FAILED, "does not answer"},
    {"daemon", "{'connect':'denied'}", DOCTOR_SKIPPED, ""},
    {"daemon", "{'connect':'ok','facts':{'version':'9.8.7','pid':5}}", DOCTOR_OK, "halod 9.8.7"},
    {"permission", "{'connect':'denied','group':'video'}", DOCTOR_FAILED, "usermod -aG video"},
    {"permission", "{'connect':'denied'}", DOCTOR_FAILED, "GROUP"},
    {"permission", "{'connect':'absent'}", DOCTOR_OK, ""},
    {"sockets", "{}", DOCTOR_SKIPPED, ""},
    {"sockets", "{'stale':[]}", DOCTOR_OK, ""},
    {"sockets", "{'stale':['/run/a.ts','/run/b.ts']}", DOCTOR_WARNING, "/run/a.ts"},
    {"outputs",
     "{'facts':{},'status':{'streams':[{'name':'a','outputs':[{'kind':'unix','target':"
     "'/x.ts','state':'failed','why':'no folder'}]}]}}",
     DOCTOR_FAILED, "the output unix /x.ts fails: no folder"},
    {"outputs",
     "{'facts':{},'status':{'streams':[{'name':'a','outputs':[{'kind':'pipewire',"
     "'state':'stalled','why':'nothing taken'}]}]}}",
     DOCTOR_WARNING, "is stalled: nothing taken"},
    {"outputs", "{'facts':{},'status':{'streams':[{'outputs':[{'kind':'file','state':'idle'}]}]}}",
     DOCTOR_OK, ""},
    {"overload",
     "{'facts':{},'status':{'streams':[{'name':'a','degraded':{'late-detector':"
     "'40 of 50'}}]}}",
     DOCTOR_WARNING, "stream a: 40 of 50"},
    {"driver", "{}", DOCTOR_OK, "CPU"},
    {"driver", "{'driver':'580.1'}", DOCTOR_OK, "580.1"},
    {"driver", "{'facts':{'cuda_streams':['door'],'cuda':'nvcc 13'}}", DOCTOR_FAILED, "modprobe"},
    {"driver", "{'driver':'580.1','facts':{'cuda_streams':['door'],'cuda':'nvcc 13'}}", DOCTOR_OK,
     "580.1"},
    {"driver", "{'driver':'1.2','facts':{'cuda_streams':['door'],'cuda':'without CUDA'}}",
     DOCTOR_FAILED, "build with CUDA"},
    {"library", "{}", DOCTOR_SKIPPED, ""},
    {"library", "{'driver':'580.1','library':'580.1'}", DOCTOR_OK, ""},
    {"library", "{'driver':'580.1','library':'570.9'}", DOCTOR_FAILED, "570.9"},
    {"library", "{'driver':'580.1'}", DOCTOR_FAILED, "libcuda.so.1 was not found"},
    {"devices", "{}", DOCTOR_SKIPPED, ""},
    {"devices", "{'facts':{'devices':[]}}", DOCTOR_OK, ""},
    {"devices", "{'driver':'1.2','facts':{'devices':[]}}", DOCTOR_FAILED, "nvidia-modprobe"},
    {"devices", "{'driver':'1.2','facts':{'devices':[{'path':'/dev/nvidia0','error':'no'}]}}",
     DOCTOR_FAILED, "/dev/nvidia0"},
    {"devices", "{'driver':'1.2','facts':{'devices':[{'path':'/dev/nvidia0'}]}}", DOCTOR_OK, "1"},
    {"encoders", "{'facts':{'encoders':[{'stream':'a','codec':'h265','known':false}]}}",
     DOCTOR_FAILED, "no encoder 'h265'"},
    {"encoders", "{'facts':{'encoders':[{'stream':'a','codec':'libx264','known':true}]}}",
     DOCTOR_OK, ""},
    {"folders", "{'facts':{'folders':[{'stream':'a','path':'/srv','error':'Permission denied'}]}}",
     DOCTOR_FAILED, "ReadWritePaths="},
    {"folders", "{'facts':{'folders':[{'stream':'a','path':'/srv'}]}}", DOCTOR_OK, ""},
    {"disk", "{'facts':{'folders':[{'path':'/s','free_bytes':1000,'size_bytes':9000000000}]}}",
     DOCTOR_FAILED, "keep_size"},
    {"disk", "{'facts':{'folders':[{'path':'/s','free_bytes':900000000,'size_bytes':9e12}]}}",
     DOCTOR_WARNING, "858.3 MiB of"},
    {"disk", "{'facts':{'folders':[{'path':'/s','free_bytes':20000000,'size_bytes':31457280}]}}",
     DOCTOR_FAILED, "19.1 MiB of 30.0 MiB"},
    {"disk", "{'facts':{'folders':[{'path':'/s','free_bytes':4e9,'size_bytes':1e11}]}}",
     DOCTOR_WARNING, "/s"},
    {"disk", "{'facts':{'folders':[{'path':'/s','free_bytes':9e10,'size_bytes':9e12}]}}", DOCTOR_OK,
     ""},
    {"disk", "{'facts':{'folders':[{'path':'/s'}]}}", DOCTOR_OK, ""},
    {"inputs", "{'facts':{'inputs':[{'stream':'a','path':'/x.mp4','error':'No such file'}]}}",
     DOCTOR_FAILED, "/x.mp4"},
    {"inputs", "{'facts':{}}", DOCTOR_OK, ""},
    {"detectors", "{'status':{'streams':[{'name':'a','detectors':{}}]}}", DOCTOR_OK, "no stream"},
    {"detectors", "{'status':{'streams':[{'name':'a','detectors':{'faces':{'why':''}}}]}}",
     DOCTOR_OK, "works"},
    {"detectors", "{'status':{'streams':[{'name':'a','detectors':{'faces':{'why':'gone'}}}]}}",
     DOCTOR_FAILED, "stream a: everything is hidden, because the detector of faces does not work"},
    {"detectors", "{'facts':{'detectors':[{'stream':'a','find':'faces'}]}}", DOCTOR_OK, "works"},
    {"detectors",
     "{'facts':{'detectors':[{'stream':'a','find':'faces','error':'run halo-detect install'}]},"
     "'status':{'streams':[{'name':'a','detectors':{'faces':{'why':'gone'}}}]}}",
     DOCTOR_FAILED,
     "stream a: everything is hidden, because the detector of faces cannot start: run"},
    {"detectors",
     "{'facts':{'detectors':[{'stream':'a','find':'people','error':'run halo-detect install'}]}}",
     DOCTOR_FAILED, "run halo-detect install as root"},
    {"detectors", "{'facts':{'detectors':[{'stream':'a','find':'people','error':'/x: none'}]}}",
     DOCTOR_FAILED, "command: in detectors:"},
    {"virtual-cameras", "{}", DOCTOR_SKIPPED, ""},
    {"virtual-cameras", "{'facts':{'virtual_cameras':[]}}", DOCTOR_OK, "no virtual camera"},
    {"virtual-cameras", "{'facts':{'virtual_cameras':[{'stream':'a','path':'/dev/video9'}]}}",
     DOCTOR_OK, "exists"},
    {"virtual-cameras",
     "{'facts':{'virtual_cameras':[{'stream':'a','path':'/dev/video10','missing':true},"
     "{'stream':'b','path':'/dev/video7'},{'path':'/dev/video11','missing':true}]}}",
     DOCTOR_FAILED, "modprobe v4l2loopback video_nr=10,11 exclusive_caps=1,1"},
    {"virtual-cameras",
     "{'facts':{'virtual_cameras':[{'stream':'a','path':'/dev/v4l/x','missing':true}]}}",
     DOCTOR_FAILED, "modprobe v4l2loopback exclusive_caps=1"},
    {"virtual-cameras",
     "{'facts':{'virtual_cameras':[{'stream':'a','path':'/dev/video1','error':'Permission'}]}}",
     DOCTOR_FAILED, "group video"},
    {"desktop-cameras", "{}", DOCTOR_SKIPPED, ""},
    {"desktop-cameras", "{'facts':{'nodes':[]}}", DOCTOR_OK, "no PipeWire camera"},
    {"desktop-cameras",
     "{'facts':{'nodes':[{'stream':'a','path':'pipewire:x','output':true}],"
     "'pipewire_error':'no session'}}",
     DOCTOR_FAILED, "systemctl --user"},
    {"desktop-cameras",
     "{'facts':{'nodes':[{'stream':'a','path':'pipewire:x','output':true,'missing':true}]}}",
     DOCTOR_FAILED, "haloctl status"},
    {"desktop-cameras",
     "{'facts':{'nodes':[{'stream':'a','path':'pipewire:x','output':false,'missing':true}]}}",
     DOCTOR_FAILED, "halod devices"},
    {"desktop-cameras",
     "{'facts':{'nodes':[{'stream':'a','path':'pipewire:x','output':true,'missing':false}],"
     "'cameras':[{'name':'door','filtered':true},{'name':'Webcam','filtered':false}]}}",
     DOCTOR_OK, "door (filtered), Webcam (not filtered)"},
    {"port", "{}", DOCTOR_SKIPPED, ""},
    {"port", "{'port':'other','port_address':'1.2.3.4:5'}", DOCTOR_WARNING, "1.2.3.4:5"},
    {"port", "{'port':'other','facts':{'http':'1.2.3.4:5'}}", DOCTOR_FAILED, "ss -ltnp"},
    {"port", "{'port':'free','facts':{'http':'1.2.3.4:5'}}", DOCTOR_FAILED, "no process"},
    {"port", "{'port':'ours','facts':{'http':'1.2.3.4:5'}}", DOCTOR_OK, ""},
    {"port", "{'port':'free'}", DOCTOR_OK, ""},
    {"memlock", "{'driver':'1.2','facts':{'memlock_bytes':8388608}}", DOCTOR_WARNING,
     "LimitMEMLOCK"},
    {"memlock", "{'driver':'1.2','facts':{'memlock_bytes':null}}", DOCTOR_OK, ""},
    {"memlock", "{'facts':{'memlock_bytes':8388608}}", DOCTOR_OK, ""},
    {"streams", "{'facts':{},'status':{'streams':[{'name':'a','state':'failed','why':'boo'}]}}",
     DOCTOR_FAILED, "boo"},
    {"streams",
     "{'facts':{},'status':{'streams':[{'name':'a','state':'waiting','why':'away'},"
     "{'name':'b','state':'failed','why':'boo'},{'name':'c','state':'waiting'}]}}",
     DOCTOR_FAILED, "stream b"},
    {"streams", "{'facts':{},'status':{'streams':[{'name':'a','state':'waiting'}]}}",
     DOCTOR_WARNING, "waiting"},
    {"streams", "{'facts':{},'status':{'streams':[{'name':'a','state':'stopped'}]}}", DOCTOR_OK,
     ""},
    {"overload",
     "{'facts':{},'status':{'streams':[{'name':'a','overloaded':true,'why':'overloaded: x'}]}}",
     DOCTOR_FAILED, "overloaded: x"},
    {"overload",
     "{'facts':{},'status':{'streams':[{'name':'a','filtered':100,'dropped':{'late':5}}]},"
     "'later':[{'name':'b'},{'name':'a','filtered':125,'dropped':{'late':10}}]}",
     DOCTOR_WARNING, "5 of 30"},
    {"overload",
     "{'facts':{},'status':{'streams':[{'name':'a','filtered':100,'dropped':{'late':5}}]},"
     "'later':[{'name':'a','filtered':125,'dropped':{'late':5}}]}",
     DOCTOR_OK, ""},
    {"restarts",
     "{'facts':{},'status':{'engines':[{'name':'gpu','state':'paused','restarts':1,"
     "'last_failure':'killed by signal 11'}]}}",
     DOCTOR_FAILED, "signal 11"},
    {"restarts",
     "{'facts':{},'status':{'engines':[{'name':'gpu','state':'running','restarts':7}]}}",
     DOCTOR_WARNING, "7 times"},
    {"restarts", "{'facts':{},'status':{'engines':[{'name':'cpu','restarts':1}]}}", DOCTOR_OK, ""},
    {"clock", "{'clock_synchronised':false,'now':5}", DOCTOR_WARNING, "timedatectl"},
    {"clock", "{'clock_synchronised':true,'now':5}", DOCTOR_OK, ""},
    {"clock", "{'now':1000,'status':{'since':2000}}", DOCTOR_FAILED, "1000 s"},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static const struct doctor_check *find_check(const char *name)
{
    for (const struct doctor_check *c = doctor_checks; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    fail_msg("no check %s", name);
    return NULL;
}

static json_t *read_case(const char *text)
{
    char json[512];
    size_t i = 0;
    for (; text[i] && i + 1 < sizeof json; i++)
        json[i] = text[i] == '\'' ? '"' : text[i];
    json[i] = '\0';
    json_t *seen = json_loads(json, 0, NULL);
    assert_non_null(seen);
    return seen;
}

static void test_cases(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct doctor_finding f = {0};
        json_t *seen = read_case(cases[i].seen);
        find_check(cases[i].check)->judge(seen, &f);
        json_decref(seen);
        json_decref(f.more);
        if (f.level != cases[i].level ||
            (!strstr(f.what, cases[i].says) && !strstr(f.fix, cases[i].says)))
            fail_msg("%s of %s: %s, '%s', '%s'", cases[i].check, cases[i].seen,
                     doctor_levels[f.level], f.what, f.fix);
        assert_true(f.what[0]);
        assert_int_equal(f.fix[0] != '\0', f.level >= DOCTOR_WARNING);
    }
}

/* A check without a case that it finds fault with is not tested. */
static void test_every_check_has_a_bad_case(void **state)
{
    int checks = 0;
    (void)state;
    for (const struct doctor_check *c = doctor_checks; c->name; c++, checks++) {
        int bad = 0;
        for (int i = 0; i < CASES; i++)
            bad += !strcmp(cases[i].check, c->name) && cases[i].level >= DOCTOR_WARNING;
        if (!bad)
            fail_msg("%s has no bad case", c->name);
    }
    assert_true(checks >= 12);
}

static void test_all_cases_are_named(void **state)
{
    struct doctor_finding f = {0};
    json_t *seen =
        read_case("{'facts':{'folders':[{'stream':'a','path':'/1','error':'E'},{'stream':"
                  "'b','path':'/2'},{'stream':'c','path':'/3','error':'E'}]}}");
    (void)state;
    find_check("folders")->judge(seen, &f);
    assert_non_null(strstr(f.what, "/1"));
    assert_int_equal(json_array_size(f.more), 1);
    const json_t *other = json_array_get(f.more, 0);
    assert_non_null(strstr(json_string_value(json_object_get(other, "what")), "/3"));
    assert_string_equal(json_string_value(json_object_get(other, "level")), "failed");
    json_decref(f.more);
    json_decref(seen);
}

/* Whatever a daemon says, no check takes it badly. */
static void test_strange_facts(void **state)
{
    static const char *const strange[] = {
        "{}",
        "{'facts':7,'status':7,'stale':7,'later':7}",
        "{'facts':{'encoders':[7],'folders':7,'inputs':{},'devices':[null],'cuda_streams':[7]}}",
        "{'facts':{'nodes':[7,{'path':7}],'cameras':[7],'pipewire_error':7}}",
        "{'facts':{},'status':{'streams':[7,{}],'engines':{}},'later':[[]],'stale':[7]}",
        "{'facts':{'folders':[{'path':7,'error':7,'free_bytes':'x','size_bytes':[]}]}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        json_t *seen = read_case(strange[i]);
        for (const struct doctor_check *c = doctor_checks; c->name; c++) {
            struct doctor_finding f = {0};
            c->judge(seen, &f);
            json_decref(f.more);
            if (!f.what[0])
                fail_msg("%s says nothing of %s", c->name, strange[i]);
        }
        json_decref(seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_every_check_has_a_bad_case),
        cmocka_unit_test(test_all_cases_are_named),
        cmocka_unit_test(test_strange_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
