/* SPDX-License-Identifier: BSD-2-Clause
 * Known causes of trouble, a row each: when it is one, and what helps. */
#include <stdarg.h>
#include <string.h>

#include "config/base/error.h"
#include "tools/haloctl/doctor.h"

#define GIB 1073741824.0
#define MIB 1048576.0

enum { RESTARTS = 3 };

const char *const doctor_levels[] = {"ok", "skipped", "warning", "failed"};

static void find(struct doctor_finding *f, enum doctor_level level, const char *fix,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static void add_case(struct doctor_finding *f, enum doctor_level level, const char *what,
                     const char *fix)
{
    if (!f->more)
        f->more = json_array();
    json_array_append_new(f->more, json_pack("{s:s, s:s, s:s}", "level", doctor_levels[level],
                                             "what", what, "fix", fix));
}

/* The worst case comes first, of equals the first one found. That all is well is no case. */
static void find(struct doctor_finding *f, enum doctor_level level, const char *fix,
                 const char *format, ...)
{
    char what[sizeof f->what];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    halo_sanitise(what);
    if (f->what[0] && level < DOCTOR_WARNING)
        return;
    if (f->what[0] && level <= f->level) {
        add_case(f, level, what, fix);
        return;
    }
    if (f->level >= DOCTOR_WARNING)
        add_case(f, f->level, f->what, f->fix);
    f->level = level;
    memcpy(f->what, what, sizeof what);
    snprintf(f->fix, sizeof f->fix, "%s", fix);
}

static json_t *facts_of(const json_t *seen, struct doctor_finding *f)
{
    json_t *facts = json_object_get(seen, "facts");
    if (json_is_object(facts))
        return facts;
    find(f, DOCTOR_SKIPPED, "", "this check needs a running daemon");
    return NULL;
}

static bool is_connected(const json_t *seen)
{
    return !strcmp(ctl_text(seen, "connect"), "ok");
}

static void daemon_runs(const json_t *seen, struct doctor_finding *f)
{
    const char *connect = ctl_text(seen, "connect"), *path = ctl_text(seen, "socket");
    const json_t *facts = json_object_get(seen, "facts");
    if (facts)
        find(f, DOCTOR_OK, "", "halod %s answers at %s (process %.0f)", ctl_text(facts, "version"),
             path, ctl_number(facts, "pid"));
    else if (is_connected(seen))
        find(f, DOCTOR_FAILED, "the log shows what the daemon is doing (journalctl -u halod)",
             "the process that listens at %s does not answer", path);
    else if (!strcmp(connect, "denied"))
        find(f, DOCTOR_SKIPPED, "", "%s cannot be opened", path);
    else
        find(f, DOCTOR_FAILED,
             "start the daemon: systemctl start halod, or halod -c FILE; journalctl -u halod shows "
             "why it ended; --socket selects another path",
             "no daemon answers at %s", path);
}

static void permission(const json_t *seen, struct doctor_finding *f)
{
    const char *group = ctl_text(seen, "group");
    char fix[200];
    if (strcmp(ctl_text(seen, "connect"), "denied")) {
        find(f, DOCTOR_OK, "", "you can open the control socket");
        return;
    }
    snprintf(fix, sizeof fix, "run usermod -aG %s YOU and log in again, or run haloctl as root",
             *group ? group : "GROUP");
    find(f, DOCTOR_FAILED, fix, "you have no permission to open %s (its group is %s)",
         ctl_text(seen, "socket"), *group ? group : "unknown");
}

static void stale_sockets(const json_t *seen, struct doctor_finding *f)
{
    const json_t *stale = json_object_get(seen, "stale");
    if (!stale)
        find(f, DOCTOR_SKIPPED, "", "haloctl cannot see which sockets are listening");
    else if (json_array_size(stale) == 0)
        find(f, DOCTOR_OK, "", "every socket has a listening process");
    for (size_t i = 0; i < json_array_size(stale); i++)
        find(f, DOCTOR_WARNING,
             "you can remove the file; halod replaces its own stale sockets when it starts, and "
             "other stale sockets do no harm",
             "no process is listening on %s", json_string_value(json_array_get(stale, i)));
}

static void driver(const json_t *seen, struct doctor_finding *f)
{
    const char *version = ctl_text(seen, "driver");
    const json_t *facts = json_object_get(seen, "facts");
    const json_t *wanting = json_object_get(facts, "cuda_streams");
    const bool built = strcmp(ctl_text(facts, "cuda"), "without CUDA") != 0;
    json_t *stream;
    size_t i;
    json_array_foreach (wanting, i, stream)
        if (!built)
            find(f, DOCTOR_FAILED, "use a build with CUDA, or set backend: auto",
                 "stream %s requires CUDA, but this halod was built without it",
                 json_string_value(stream));
        else if (!*version)
            find(f, DOCTOR_FAILED,
                 "install NVIDIA's driver and load it (modprobe nvidia), or set backend: auto",
                 "stream %s requires CUDA, but no NVIDIA driver is loaded",
                 json_string_value(stream));
    if (*version)
        find(f, DOCTOR_OK, "", "NVIDIA's driver %s is loaded", version);
    else
        find(f, DOCTOR_OK, "", "no NVIDIA driver is loaded: filters run on the CPU");
}

static void library(const json_t *seen, struct doctor_finding *f)
{
    const char *kernel = ctl_text(seen, "driver"), *user = ctl_text(seen, "library");
    if (!*kernel)
        find(f, DOCTOR_SKIPPED, "", "no NVIDIA driver is loaded");
    else if (!*user)
        find(f, DOCTOR_FAILED,
             "install the libraries that belong to this version of the driver (libcuda1; in a "
             "container, NVIDIA's container toolkit)",
             "the driver %s is loaded, but libcuda.so.1 was not found", kernel);
    else if (strcmp(kernel, user))
        find(f, DOCTOR_FAILED, "restart the machine, or reload NVIDIA's kernel modules",
             "the loaded driver has version %s, but its library has version %s: an update is "
             "incomplete",
             kernel, user);
    else
        find(f, DOCTOR_OK, "", "the driver and libcuda both have version %s", kernel);
}

static void devices(const json_t *seen, struct doctor_finding *f)
{
    const json_t *list = json_object_get(facts_of(seen, f), "devices");
    json_t *device;
    size_t i;
    if (!list) {
        find(f, DOCTOR_SKIPPED, "", "this check needs a running daemon");
        return;
    }
    json_array_foreach (list, i, device)
        if (json_object_get(device, "error"))
            find(f, DOCTOR_FAILED,
                 "add the daemon's user to the device's group (ls -l /dev/nvidia*), or allow the "
                 "device in the unit (DeviceAllow=)",
                 "the daemon cannot use %s: %s", ctl_text(device, "path"),
                 ctl_text(device, "error"));
    if (*ctl_text(seen, "driver") && json_array_size(list) == 0)
        find(f, DOCTOR_FAILED, "run nvidia-smi once as root, or nvidia-modprobe -u -c 0",
             "the driver is loaded, but /dev/nvidia* does not exist");
    find(f, DOCTOR_OK, "", "the daemon can use all of NVIDIA's %zu device files",
         json_array_size(list));
}

static void encoders(const json_t *seen, struct doctor_finding *f)
{
    json_t *one;
    size_t i;
    const json_t *facts = facts_of(seen, f);
    if (!facts)
        return;
    json_array_foreach (json_object_get(facts, "encoders"), i, one)
        if (json_is_false(json_object_get(one, "known")))
            find(f, DOCTOR_FAILED,
                 "use an encoder that ffmpeg -encoders lists, or install a build of FFmpeg that "
                 "has this encoder",
                 "stream %s: FFmpeg %s has no encoder '%s'", ctl_text(one, "stream"),
                 ctl_text(facts, "ffmpeg"), ctl_text(one, "codec"));
    find(f, DOCTOR_OK, "", "FFmpeg %s has all encoders that the settings name",
         ctl_text(facts, "ffmpeg"));
}

static void folders(const json_t *seen, struct doctor_finding *f)
{
    json_t *one;
    size_t i;
    const json_t *facts = facts_of(seen, f);
    if (!facts)
        return;
    json_array_foreach (json_object_get(facts, "folders"), i, one)
        if (json_object_get(one, "error"))
            find(f, DOCTOR_FAILED,
                 "create the folder for the daemon's user (install -d -o halod FOLDER); under "
                 "systemd, also set ReadWritePaths=",
                 "stream %s: the daemon cannot write to %s: %s", ctl_text(one, "stream"),
                 ctl_text(one, "path"), ctl_text(one, "error"));
    find(f, DOCTOR_OK, "", "every output folder is writable");
}

struct amount {
    char text[24];
};

static struct amount amount_of(double bytes)
{
    struct amount ret;
    const bool large = bytes >= GIB;
    snprintf(ret.text, sizeof ret.text, "%.1f %s", bytes / (large ? GIB : MIB),
             large ? "GiB" : "MiB");
    return ret;
}

static void disk(const json_t *seen, struct doctor_finding *f)
{
    json_t *one;
    size_t i;
    const json_t *facts = facts_of(seen, f);
    if (!facts)
        return;
    json_array_foreach (json_object_get(facts, "folders"), i, one) {
        const double left = ctl_number(one, "free_bytes"), size = ctl_number(one, "size_bytes");
        if (size <= 0 || (left >= GIB && left >= size / 20) || left >= 50 * GIB)
            continue;
        find(f, left < 100 * MIB ? DOCTOR_FAILED : DOCTOR_WARNING,
             "free some space, or set keep_size in the output's settings",
             "%s: only %s of %s is free", ctl_text(one, "path"), amount_of(left).text,
             amount_of(size).text);
    }
    find(f, DOCTOR_OK, "", "the disks of all outputs have free space");
}

static void inputs(const json_t *seen, struct doctor_finding *f)
{
    json_t *one;
    size_t i;
    const json_t *facts = facts_of(seen, f);
    if (!facts)
        return;
    json_array_foreach (json_object_get(facts, "inputs"), i, one)
        if (json_object_get(one, "error"))
            find(f, DOCTOR_FAILED,
                 "use an absolute path, and give the daemon's user read access to the file and its "
                 "folders",
                 "stream %s: the daemon cannot read %s: %s", ctl_text(one, "stream"),
                 ctl_text(one, "path"), ctl_text(one, "error"));
    find(f, DOCTOR_OK, "", "every input file can be read");
}

/* A detector that does not run has a reason; one that has not answered yet has none. */
static void detectors(const json_t *seen, struct doctor_finding *f)
{
    json_t *stream, *one;
    const char *name;
    size_t i;
    int count = 0;
    json_array_foreach (json_object_get(json_object_get(seen, "facts"), "detectors"), i, one) {
        count++;
        const char *error = ctl_text(one, "error");
        if (*error)
            find(f, DOCTOR_FAILED,
                 strstr(error, "halo-detect install")
                     ? "run halo-detect install as root, or as the user who runs halod"
                     : "install the program, or correct command: in detectors:",
                 "stream %s: everything is hidden, because the detector of %s cannot start: %s",
                 ctl_text(one, "stream"), ctl_text(one, "find"), error);
    }
    json_array_foreach (json_object_get(json_object_get(seen, "status"), "streams"), i, stream) {
        json_object_foreach (json_object_get(stream, "detectors"), name, one) {
            count++;
            if (*ctl_text(one, "why"))
                find(
                    f, DOCTOR_FAILED,
                    "if it is halo-detect, run halo-detect install as root; otherwise see its "
                    "lines "
                    "in the log",
                    "stream %s: everything is hidden, because the detector of %s does not work: %s",
                    ctl_text(stream, "name"), name, ctl_text(one, "why"));
        }
    }
    find(f, DOCTOR_OK, "", count ? "every detector works" : "no stream needs a detector");
}

/* The line that makes every device that is missing, with their numbers. */
static void say_how(const json_t *list, char *ret, size_t size)
{
    char numbers[120] = "", each[120] = "";
    json_t *one;
    size_t i;
    json_array_foreach ((json_t *)list, i, one) {
        const char *path = ctl_text(one, "path");
        const size_t used = strlen(numbers), more = strlen(each);
        if (!json_is_true(json_object_get(one, "missing")) || strncmp(path, "/dev/video", 10) != 0)
            continue;
        snprintf(numbers + used, sizeof numbers - used, "%s%.4s", used ? "," : "", path + 10);
        snprintf(each + more, sizeof each - more, "%s1", more ? "," : "");
    }
    snprintf(
        ret, size,
        "modprobe v4l2loopback%s%s exclusive_caps=%s (as root; the package is v4l2loopback-dkms; "
        "if the module is already loaded, first run modprobe -r v4l2loopback)",
        *numbers ? " video_nr=" : "", numbers, *each ? each : "1");
}

static void virtual_cameras(const json_t *seen, struct doctor_finding *f)
{
    char fix[400];
    json_t *one;
    size_t i;
    const json_t *facts = facts_of(seen, f);
    if (!facts)
        return;
    const json_t *list = json_object_get(facts, "virtual_cameras");
    say_how(list, fix, sizeof fix);
    json_array_foreach ((json_t *)list, i, one)
        if (json_is_true(json_object_get(one, "missing")))
            find(f, DOCTOR_FAILED, fix, "stream %s: %s does not exist", ctl_text(one, "stream"),
                 ctl_text(one, "path"));
        else if (json_object_get(one, "error"))
            find(f, DOCTOR_FAILED,
                 "add the daemon's user to the group video, or allow the device in the unit "
                 "(DeviceAllow=)",
                 "stream %s: the daemon cannot use %s: %s", ctl_text(one, "stream"),
                 ctl_text(one, "path"), ctl_text(one, "error"));
    find(f, DOCTOR_OK, "",
         json_array_size(list) ? "every virtual camera exists"
                               : "the settings contain no virtual camera");
}

/* What programs of the session see. */
static void list_cameras(const json_t *cameras, char *ret, size_t size)
{
    json_t *one;
    size_t i, used = 0;
    *ret = '\0';
    json_array_foreach ((json_t *)cameras, i, one) {
        if (used >= size)
            return;
        used += (size_t)snprintf(
            ret + used, size - used, "%s%s (%s)", i ? ", " : "", ctl_text(one, "name"),
            json_is_true(json_object_get(one, "filtered")) ? "filtered" : "not filtered");
    }
}

static void desktop_cameras(const json_t *seen, struct doctor_finding *f)
{
    char list[400];
    json_t *one;
    size_t i;
    const json_t *facts = facts_of(seen, f);
    if (!facts)
        return;
    if (json_array_size(json_object_get(facts, "nodes")) == 0) {
        find(f, DOCTOR_OK, "", "the settings contain no PipeWire camera");
        return;
    }
    if (*ctl_text(facts, "pipewire_error"))
        find(f, DOCTOR_FAILED,
             "run halod in the user's session, where PipeWire is (systemctl --user enable --now "
             "pipewire wireplumber halod)",
             "%s", ctl_text(facts, "pipewire_error"));
    json_array_foreach (json_object_get(facts, "nodes"), i, one)
        if (json_is_true(json_object_get(one, "missing")))
            find(f, DOCTOR_FAILED,
                 json_is_true(json_object_get(one, "output"))
                     ? "haloctl status NAME says why"
                     : "halod devices lists the nodes that exist",
                 "stream %s: %s does not exist", ctl_text(one, "stream"), ctl_text(one, "path"));
    list_cameras(json_object_get(facts, "cameras"), list, sizeof list);
    find(f, DOCTOR_OK, "", "programs see %s", *list ? list : "no camera");
}

static void port(const json_t *seen, struct doctor_finding *f)
{
    const char *state = ctl_text(seen, "port"), *address = ctl_text(seen, "port_address");
    const bool wanted = *ctl_text(json_object_get(seen, "facts"), "http");
    static const char *const fix =
        "use another port in http: {listen: ...}, or stop the other program (ss -ltnp shows it)";
    if (!*state)
        find(f, DOCTOR_SKIPPED, "", "the settings contain no port");
    else if (!strcmp(state, "ours"))
        find(f, DOCTOR_OK, "", "%s is served by halod", address);
    else if (!strcmp(state, "other"))
        find(f, wanted ? DOCTOR_FAILED : DOCTOR_WARNING, fix, "%s is served by another program",
             address);
    else if (wanted)
        find(f, DOCTOR_FAILED, "the daemon's log shows why HTTP is off (journalctl -u halod)",
             "no process answers at %s", address);
    else
        find(f, DOCTOR_OK, "", "%s is free", address);
}

static void memlock(const json_t *seen, struct doctor_finding *f)
{
    const json_t *facts = facts_of(seen, f);
    const double bytes = ctl_number(facts, "memlock_bytes");
    if (!facts)
        return;
    if (!*ctl_text(seen, "driver"))
        find(f, DOCTOR_OK, "", "no GPU is used, so no locked memory is needed");
    else if (json_is_integer(json_object_get(facts, "memlock_bytes")) && bytes < 64 * MIB)
        find(f, DOCTOR_WARNING,
             "set LimitMEMLOCK=infinity in the unit, or run ulimit -l unlimited before halod",
             "the daemon can lock only %.0f KiB of memory: buffers for the GPU may be refused",
             bytes / 1024);
    else
        find(f, DOCTOR_OK, "", "enough memory can be locked for the GPU");
}

/* Of a list that has elements with names. */
static json_t *named(const json_t *list, const char *name)
{
    json_t *one;
    size_t i;
    json_array_foreach ((json_t *)list, i, one)
        if (!strcmp(ctl_text(one, "name"), name))
            return one;
    return NULL;
}

static void overload(const json_t *seen, struct doctor_finding *f)
{
    static const char *const fix =
        "use fewer streams, a smaller size, a lower fps, a cheaper chain (see halod filters), or a "
        "GPU; haloctl status NAME shows the slow stage";
    json_t *stream;
    size_t i;
    if (!facts_of(seen, f))
        return;
    json_array_foreach (ctl_field(seen, "status", "streams"), i, stream) {
        const char *name = ctl_text(stream, "name");
        const json_t *later = named(json_object_get(seen, "later"), name);
        const double late = ctl_number(json_object_get(later, "dropped"), "late") -
                            ctl_number(json_object_get(stream, "dropped"), "late");
        const double passed = ctl_number(later, "filtered") - ctl_number(stream, "filtered");
        const char *slow = ctl_text(json_object_get(stream, "degraded"), "late-detector");
        if (*slow)
            find(
                f, DOCTOR_WARNING,
                "use a faster detector or a smaller size, or raise wait: in detectors: (frames are "
                "then shown later)",
                "stream %s: %s", name, slow);
        if (json_is_true(json_object_get(stream, "overloaded")))
            find(f, DOCTOR_FAILED, fix, "stream %s: %s", name, ctl_text(stream, "why"));
        else if (late > 0 && late * 50 > passed)
            find(f, DOCTOR_WARNING, fix, "stream %s: %.0f of %.0f frames were too late", name, late,
                 late + passed);
    }
    find(f, DOCTOR_OK, "", "no stream is overloaded");
}

static void streams(const json_t *seen, struct doctor_finding *f)
{
    json_t *stream;
    size_t i;
    if (!facts_of(seen, f))
        return;
    json_array_foreach (ctl_field(seen, "status", "streams"), i, stream) {
        const char *state = ctl_text(stream, "state"), *why = ctl_text(stream, "why");
        if (!strcmp(state, "failed") || !strcmp(state, "waiting"))
            find(f, !strcmp(state, "failed") ? DOCTOR_FAILED : DOCTOR_WARNING,
                 "fix the problem, then run: haloctl restart NAME", "stream %s is %s: %s",
                 ctl_text(stream, "name"), state, *why ? why : "no reason is known");
    }
    find(f, DOCTOR_OK, "", "no stream has failed");
}

/* An output that is only waiting for its first packet is well. */
static void outputs(const json_t *seen, struct doctor_finding *f)
{
    json_t *stream, *one;
    size_t i, k;
    if (!facts_of(seen, f))
        return;
    json_array_foreach (ctl_field(seen, "status", "streams"), i, stream) {
        json_array_foreach (json_object_get(stream, "outputs"), k, one) {
            const char *failed = ctl_text(one, "encoding_failed"), *why = ctl_text(one, "why");
            const char *state = ctl_text(one, "state");
            const bool fails = !strcmp(state, "failed");
            if (fails || *failed)
                find(f, DOCTOR_FAILED, "the reason says what to change in the output's settings",
                     "stream %s: the output %s %s fails: %s", ctl_text(stream, "name"),
                     ctl_text(one, "kind"), ctl_text(one, "target"),
                     fails && *why ? why
                     : *failed     ? failed
                                   : "no reason is known");
            else if (*why && strcmp(state, "writing") != 0 && strcmp(state, "idle") != 0)
                find(f, DOCTOR_WARNING, "haloctl status NAME shows whether it has recovered",
                     "stream %s: the output %s %s is %s: %s", ctl_text(stream, "name"),
                     ctl_text(one, "kind"), ctl_text(one, "target"), state, why);
        }
    }
    find(f, DOCTOR_OK, "", "no output fails");
}

static void restarts(const json_t *seen, struct doctor_finding *f)
{
    json_t *engine;
    size_t i;
    if (!facts_of(seen, f))
        return;
    json_array_foreach (ctl_field(seen, "status", "engines"), i, engine) {
        const char *why = ctl_text(engine, "last_failure");
        const double count = ctl_number(engine, "restarts");
        if (!strcmp(ctl_text(engine, "state"), "paused") || count >= RESTARTS)
            find(f, strcmp(ctl_text(engine, "state"), "paused") ? DOCTOR_WARNING : DOCTOR_FAILED,
                 "see the engine's last messages in the log (journalctl -u halod); a stream with "
                 "own_engine: true cannot affect others",
                 "engine %s was restarted %.0f times: %s", ctl_text(engine, "name"), count,
                 *why ? why : "no reason is known");
    }
    find(f, DOCTOR_OK, "", "no engine was restarted often");
}

static void clock_set(const json_t *seen, struct doctor_finding *f)
{
    const double begun = ctl_number(json_object_get(seen, "status"), "since");
    if (begun > ctl_number(seen, "now") + 1)
        find(f, DOCTOR_FAILED, "set the clock, then run haloctl reload",
             "the clock has been set back by %.0f s since halod started, so file names and file "
             "times can repeat",
             begun - ctl_number(seen, "now"));
    else if (json_is_false(json_object_get(seen, "clock_synchronised")))
        find(f, DOCTOR_WARNING, "run timedatectl set-ntp true, or run chrony",
             "the clock is not synchronized: times in file names may be wrong");
    else
        find(f, DOCTOR_OK, "", "the clock is set");
}

const struct doctor_check doctor_checks[] = {
    {"daemon", "a daemon answers", daemon_runs},
    {"permission", "you can open the control socket", permission},
    {"sockets", "no socket is stale", stale_sockets},
    {"driver", "NVIDIA's driver is loaded, if it is needed", driver},
    {"library", "the driver and libcuda have the same version", library},
    {"devices", "the GPU's device files are usable", devices},
    {"encoders", "FFmpeg has all encoders that are used", encoders},
    {"folders", "output folders are writable", folders},
    {"disk", "the disks of all outputs have free space", disk},
    {"inputs", "input files can be read", inputs},
    {"detectors", "detectors run", detectors},
    {"virtual-cameras", "devices of virtual cameras exist", virtual_cameras},
    {"desktop-cameras", "PipeWire cameras exist, and programs see them", desktop_cameras},
    {"port", "the HTTP port is available", port},
    {"memlock", "enough memory can be locked", memlock},
    {"streams", "no stream has failed", streams},
    {"outputs", "no output fails", outputs},
    {"overload", "no stream is overloaded", overload},
    {"restarts", "no engine was restarted often", restarts},
    {"clock", "the clock is set", clock_set},
    {NULL},
};
