/* SPDX-License-Identifier: BSD-2-Clause
 * Lists of events that say what they expect: calls and requests with any parameters, and what their
 * answers, the status, the log, viewers and files must be like at a moment of played time. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/supervisor/supervisor.h"
#include "tests/world/world.h"

enum { KEPT = 16, LINE = 1200, ANSWER_MS = 20000, LINES = 4096, NAMED = 8 };

struct told {
    json_t *answer; /* parameters, or the body of an answer by HTTP; NULL: there is none */
    char *error;    /* of a call, with its parameters; NULL: it went well */
    char *http;     /* head and body; NULL: there is none */
    bool waits;     /* for an answer */
    int client;     /* of a call with a name */
    char name[24];
};

static struct {
    struct told newest, named[NAMED];
    struct told *of;    /* what is expected something of */
    char headers[LINE]; /* of the next request */
    struct {
        char name[24], value[400];
    } kept[KEPT];
    int keeps;
    char *line[LINES]; /* of the log */
    int lines;
} told;

/* ---- words ---- */

/* Takes the next word from *rest. */
static char *word(char **rest)
{
    char *begin = *rest + strspn(*rest, " ");
    char *end = begin + strcspn(begin, " ");
    *rest = end + (*end != '\0');
    *end = '\0';
    return begin;
}

/* Puts what was remembered in the place of $NAME. */
void expect_fill_in(const char *text, char *ret, size_t size)
{
    size_t n = 0;
    if (told.keeps == 0 && getcwd(told.kept[0].value, sizeof told.kept[0].value)) {
        strcpy(told.kept[0].name, "FOLDER");
        told.keeps = 1;
    }
    while (*text && n + 1 < size) {
        const size_t length =
            *text == '$' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
                         : 0;
        int i = 0;
        while (i < told.keeps && (strlen(told.kept[i].name) != length ||
                                  strncmp(told.kept[i].name, text + 1, length) != 0))
            i++;
        if (length == 0 || i == told.keeps) {
            ret[n++] = *text++;
            continue;
        }
        n += (size_t)snprintf(ret + n, size - n, "%s", told.kept[i].value);
        text += 1 + length;
    }
    if (n + 1 >= size)
        world_fail("too long: %.40s", ret);
    ret[n] = '\0';
}

/* ---- calls ---- */

static void take(struct told *of, json_t *answer, char *error, char *http)
{
    json_decref(of->answer);
    free(of->error);
    free(of->http);
    of->answer = answer;
    of->error = error;
    of->http = http;
    of->waits = false;
}

/* "@NAME", or "": the newest. */
static struct told *told_of(const char *name)
{
    int i = 0;
    if (!name[0])
        return &told.newest;
    while (i < NAMED && told.named[i].name[0] && strcmp(told.named[i].name, name + 1) != 0)
        i++;
    if (i == NAMED)
        world_fail("too many calls have names");
    snprintf(told.named[i].name, sizeof told.named[i].name, "%s", name + 1);
    return &told.named[i];
}

static void take_answer(const char *text)
{
    json_t *answer = json_loads(text, 0, NULL);
    json_t *parameters = json_object_get(answer, "parameters");
    const char *error = json_string_value(json_object_get(answer, "error"));
    char *whole = NULL;
    if (error) {
        char *more = json_dumps(parameters, JSON_COMPACT);
        if (asprintf(&whole, "%s %s", error, more ? more : "") < 0)
            abort();
        free(more);
    }
    struct told *of = &told.newest;
    for (int i = 0; i < NAMED; i++)
        if (told.named[i].client == client_number())
            of = &told.named[i];
    take(of, error ? NULL : json_incref(parameters), whole, NULL);
    json_decref(answer);
}

/* call METHOD PARAMETERS, call@NAME METHOD PARAMETERS */
static void call(char *rest, bool more)
{
    struct told *of = told_of(rest[0] == '@' ? word(&rest) : "");
    const char *method = word(&rest);
    json_t *parameters = *rest ? json_loads(rest, 0, NULL) : json_object();
    if (!parameters)
        world_fail("call %s: this is not JSON: %s", method, rest);
    take(of, NULL, NULL, NULL);
    of->waits = client_call_then(method, parameters, more, ANSWER_MS, take_answer);
    of->client = of == &told.newest ? 0 : client_number();
}

static void play_call(char *rest)
{
    call(rest, false);
}

static void play_subscribed_call(char *rest)
{
    call(rest, true);
}

/* ---- requests ---- */

static void take_response(const char *text)
{
    const char *body = strstr(text, "\r\n\r\n");
    take(&told.newest, body ? json_loads(body + 4, JSON_DECODE_ANY, NULL) : NULL, NULL,
         strdup(text));
}

static void ask(const char *method, char *rest)
{
    char text[2 * LINE + 200];
    const char *path = word(&rest);
    int n =
        snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s",
                 method, path, told.headers);
    if (*rest)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(rest));
    snprintf(text + n, sizeof text - (size_t)n, "\r\n%s", rest);
    told.headers[0] = '\0';
    take(&told.newest, NULL, NULL, NULL);
    told.newest.waits = client_ask(text, ANSWER_MS, take_response);
}

static void play_get(char *rest)
{
    ask("GET", rest);
}

static void play_post(char *rest)
{
    ask("POST", rest);
}

static void play_put(char *rest)
{
    ask("PUT", rest);
}

static void play_delete(char *rest)
{
    ask("DELETE", rest);
}

static void play_header(char *rest)
{
    const size_t used = strlen(told.headers);
    snprintf(told.headers + used, sizeof told.headers - used, "%s\r\n", rest);
}

/* ---- JSON ---- */

/* A path is keys and numbers, with dots between them; in lists of objects, names are keys as well.
 * "." is the whole. */
static const json_t *find(const json_t *at, const char *path)
{
    char copy[200], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *key = strtok_r(copy, ".", &rest); key && at; key = strtok_r(NULL, ".", &rest)) {
        const json_t *in = at;
        char *end;
        const size_t number = strtoul(key, &end, 10);
        at = json_object_get(in, key);
        if (json_is_array(in))
            at = *end ? NULL : json_array_get(in, number);
        for (size_t i = 0; !at && i < json_array_size(in); i++) {
            const json_t *one = json_array_get(in, i);
            const char *name = json_string_value(json_object_get(one, "name"));
            at = name && !strcmp(name, key) ? one : NULL;
        }
    }
    return at;
}

static void write_value(const json_t *value, char *ret, size_t size)
{
    char *text = json_is_string(value) ? strdup(json_string_value(value))
                 : value               ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT)
                                       : strdup("nothing");
    snprintf(ret, size, "%s", text);
    free(text);
}

static bool is_like(const json_t *found, const char *wanted)
{
    char text[8 * LINE];
    const double number = json_number_value(found);
    if (!strcmp(wanted, "missing"))
        return !found;
    write_value(found, text, sizeof text);
    if (!strncmp(wanted, "~ ", 2))
        return found && strstr(text, wanted + 2);
    if (!strncmp(wanted, "!~ ", 3))
        return found && !strstr(text, wanted + 3);
    if (wanted[0] == '<' || wanted[0] == '>')
        return json_is_number(found) &&
               (wanted[0] == '<' ? number < atof(wanted + 1) : number > atof(wanted + 1));
    json_t *value = json_loads(wanted, JSON_DECODE_ANY, NULL);
    if (!value)
        world_fail("this is neither JSON nor a comparison: %s", wanted);
    const bool equal = json_is_number(value) && json_is_number(found)
                           ? json_number_value(value) == number
                           : json_equal(value, found);
    json_decref(value);
    return equal;
}

/* PATH has {"KEY": VALUE, ...}: keys may be paths from there on. */
static void expect_values(const json_t *in, const char *what, const char *text)
{
    const char *key;
    json_t *wanted = json_loads(text, 0, NULL), *value;
    if (!json_object_size(wanted))
        world_fail("%s: this is no object: %s", what, text);
    json_object_foreach (wanted, key, value) {
        char is[400], must[400];
        const json_t *found = find(in, key);
        const bool equal = json_is_number(value) && json_is_number(found)
                               ? json_number_value(value) == json_number_value(found)
                               : json_equal(value, found);
        write_value(found, is, sizeof is);
        write_value(value, must, sizeof must);
        if (!equal)
            world_fail("%s %s: %s was expected, but it is %s", what, key, must, is);
    }
    json_decref(wanted);
}

static void expect_value(const json_t *in, const char *what, char *rest)
{
    char is[160];
    const char *path = word(&rest);
    if (!*rest) /* it is the whole that is missing */
        rest = (char *)path, path = ".";
    const json_t *found = find(in, path);
    if (!strncmp(rest, "has ", 4)) {
        expect_values(found, what, rest + 4);
        return;
    }
    write_value(found, is, sizeof is);
    if (!is_like(found, rest))
        world_fail("%s %s: %s was expected, but it is %s", what, path, rest, is);
}

/* ---- expectations ---- */

static void expect_text(const char *what, const char *text, const char *wanted)
{
    const bool not = wanted[0] == '!';
    if (strncmp(wanted + not, "~ ", 2) != 0)
        world_fail("%s: '~ TEXT' or '!~ TEXT' is missing", what);
    if (!strstr(text, wanted + not +2) != not )
        world_fail("%s: '%s' was expected, but it is '%.120s'", what, wanted, text);
}

static void must_have_come(const char *what)
{
    if (told.of->waits || (!told.of->answer && !told.of->error && !told.of->http))
        world_fail("%s: there is none yet", what);
}

static void expect_answer(char *rest)
{
    must_have_come("answer");
    if (told.of->error)
        world_fail("an answer was expected, but it is %s", told.of->error);
    expect_value(told.of->answer, "answer", rest);
}

static void expect_error(char *rest)
{
    must_have_come("error");
    if (!told.of->error)
        world_fail("an error was expected (%s), but it went well", rest);
    expect_text("error", told.of->error, rest);
}

static void expect_http(char *rest)
{
    must_have_come("http");
    const int wanted = rest[0] >= '0' && rest[0] <= '9' ? atoi(word(&rest)) : 0;
    const int status = told.of->http && strlen(told.of->http) > 12 ? atoi(told.of->http + 9) : 0;
    if (wanted && status != wanted)
        world_fail("http: %d was expected, but it is %d: %.120s", wanted, status,
                   told.of->http ? told.of->http : "");
    if (*rest)
        expect_text("http", told.of->http ? told.of->http : "", rest);
}

static void expect_status(char *rest)
{
    if (world_code() >= 0)
        world_fail("status: halod has ended");
    json_t *status = halo_supervisor_status(world_supervisor());
    const char *stream = word(&rest);
    const json_t *of =
        strcmp(stream, ".") ? find(json_object_get(status, "streams"), stream) : status;
    char what[100];
    snprintf(what, sizeof what, "status of %s", stream);
    expect_value(of, what, rest);
    json_decref(status);
}

/* expect log ~ TEXT, expect log N ~ TEXT, expect log < N ~ TEXT */
static void expect_log(char *rest)
{
    const bool less = rest[0] == '<' && *word(&rest);
    const int wanted = rest[0] >= '0' && rest[0] <= '9' ? atoi(word(&rest)) : -1;
    int found = 0;
    if (strncmp(rest, "~ ", 2) != 0)
        world_fail("log: '~ TEXT' is missing: %s", rest);
    for (int i = 0; i < told.lines; i++)
        found += strstr(told.line[i], rest + 2) != NULL;
    if (wanted < 0 ? found == 0 : less ? found >= wanted : found != wanted)
        world_fail("log: %d lines have '%s'", found, rest + 2);
}

/* Cuts "@NAME" off; from now on things are expected of that call's answer. */
static void look_at(char *what)
{
    char *name = what + strcspn(what, "@");
    told.of = told_of(name);
    *name = '\0';
}

/* expect no log ~ TEXT, expect no answer */
static void expect_no(char *rest)
{
    char *what = word(&rest);
    look_at(what);
    if (!strcmp(what, "answer") && !told.of->waits)
        world_fail("no answer was expected, but there is one");
    if (strcmp(what, "log") != 0)
        return;
    char none[LINE];
    snprintf(none, sizeof none, "0 %s", rest);
    expect_log(none);
}

static void expect_viewer(char *rest)
{
    const char *socket = word(&rest), *sees = viewer_sees(socket);
    if (strcmp(sees, rest) != 0)
        world_fail("viewer of %s: %s was expected, but it is %s", socket, rest, sees);
}

/* expect topic TOPIC TEXT, which it retains; or missing, ~ TEXT, or has {"KEY": VALUE, ...} */
static void expect_topic(char *rest)
{
    const char *topic = word(&rest), *found = broker_retained(topic);
    if (!strncmp(rest, "has ", 4)) {
        json_t *all = json_loads(found ? found : "", 0, NULL);
        expect_values(all, topic, rest + 4);
        json_decref(all);
    } else if (rest[0] == '~' || rest[0] == '!')
        expect_text(topic, found ? found : "", rest);
    else if (strcmp(rest, "missing") ? !found || strcmp(found, rest) : !!found)
        world_fail("%s: %s was expected, but it is %s", topic, rest, found ? found : "missing");
}

/* expect published TOPIC < N */
static void expect_published(char *rest)
{
    const char *topic = word(&rest);
    const int count = broker_published(topic);
    if (rest[0] != '<' || count == 0 || count >= atoi(rest + 1))
        world_fail("%s was published %d times, not %s", topic, count, rest);
}

static void expect_manager(char *rest)
{
    expect_text("manager", manager_status(), rest);
}

static void expect_file(char *rest)
{
    char text[8 * LINE];
    const char *path = word(&rest);
    struct stat is;
    const bool there = lstat(path, &is) == 0; /* also a socket, which nobody can open */
    if (!strcmp(rest, "missing") == there)
        world_fail("%s: '%s' was expected, but it is %s", path, rest, there ? "there" : "missing");
    FILE *file = there && strcmp(rest, "there") ? fopen(path, "r") : NULL;
    if (!file)
        return;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    expect_text(path, text, rest);
}

/* expect end CODE */
static void expect_end_of_halod(char *rest)
{
    world_allow_code(atoi(rest));
    if (world_code() != atoi(rest))
        world_fail("halod was expected to have ended with %s, but %s %d", rest,
                   world_code() < 0 ? "it runs" : "it is", world_code());
}

/* expect mode PATH 600 */
static void expect_mode(char *rest)
{
    struct stat found;
    const char *path = word(&rest);
    const int mode = stat(path, &found) < 0 ? 0 : (int)found.st_mode & 0777;
    if (mode != (int)strtol(rest, NULL, 8))
        world_fail("%s: the mode is %o, not %s", path, (unsigned)mode, rest);
}

static const struct {
    const char *what;
    void (*check)(char *rest);
} expectations[] = {
    {"answer", expect_answer},       {"error", expect_error},     {"http", expect_http},
    {"status", expect_status},       {"log", expect_log},         {"no", expect_no},
    {"viewer", expect_viewer},       {"file", expect_file},       {"end", expect_end_of_halod},
    {"mode", expect_mode},           {"manager", expect_manager}, {"topic", expect_topic},
    {"published", expect_published},
};

static void play_expect(char *rest)
{
    char *what = word(&rest);
    size_t i = 0;
    look_at(what);
    while (i < sizeof expectations / sizeof *expectations &&
           strcmp(expectations[i].what, what) != 0)
        i++;
    if (i == sizeof expectations / sizeof *expectations)
        world_fail("nobody can expect a '%s'", what);
    expectations[i].check(rest);
}

/* remember NAME answer PATH, also of answer@CALL; remember NAME header NAME; remember NAME file
 * PATH: its first word */
static void play_remember(char *rest)
{
    if (told.keeps == KEPT)
        world_fail("too much to remember");
    const int at = told.keeps++;
    snprintf(told.kept[at].name, sizeof told.kept[at].name, "%s", word(&rest));
    char *from = word(&rest);
    look_at(from);
    char *value = told.kept[at].value;
    const size_t size = sizeof told.kept[at].value;
    if (!strcmp(from, "file")) {
        FILE *file = fopen(rest, "r");
        if (!file || fscanf(file, "%399s", value) != 1)
            world_fail("%s cannot be read", rest);
        fclose(file);
        return;
    }
    must_have_come("remember");
    if (!strcmp(from, "answer")) {
        write_value(find(told.of->answer, rest), value, size);
        return;
    }
    const char *header = told.of->http ? strcasestr(told.of->http, rest) : NULL;
    if (!header || sscanf(header + strlen(rest), ": %399[^;\r]", value) != 1)
        world_fail("there is no header %s", rest);
}

/* ---- files ---- */

/* The block follows the name. A folder is made for it. */
static void play_write(char *rest)
{
    char *block = strchr(rest, '\n'), *folder = strchr(rest, '/');
    *block = '\0';
    if (folder) {
        *folder = '\0';
        mkdir(rest, 0700);
        *folder = '/';
    }
    FILE *file = fopen(rest, "w");
    if (!file || fputs(block + 1, file) < 0 || fclose(file) != 0)
        world_fail("%s cannot be written", rest);
}

/* change FILE OLD => NEW: in its first place. */
static void play_change(char *rest)
{
    char text[8 * LINE];
    const char *path = word(&rest), *new = strstr(rest, " => ");
    FILE *file = fopen(path, "r");
    if (!file || !new)
        world_fail("%s cannot be changed: %s", path, rest);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    rest[new - rest] = '\0';
    const char *old = strstr(text, rest);
    file = fopen(path, "w");
    if (!old || !file ||
        fprintf(file, "%.*s%s%s", (int)(old - text), text, new + 4, old + strlen(rest)) < 0 ||
        fclose(file) != 0)
        world_fail("%s: '%s' is not there, or it cannot be written", path, rest);
}

static void play_remove(char *rest)
{
    if (remove(rest) < 0)
        world_fail("%s cannot be removed", rest);
}

static const struct {
    const char *name;
    void (*play)(char *rest);
} kinds[] = {
    {"call", play_call},     {"call+", play_subscribed_call},
    {"get", play_get},       {"post", play_post},
    {"put", play_put},       {"delete", play_delete},
    {"header", play_header}, {"expect", play_expect},
    {"write", play_write},   {"remember", play_remember},
    {"remove", play_remove}, {"change", play_change},
};

bool expect_play(const char *event)
{
    char text[64 * LINE];
    expect_fill_in(event, text, sizeof text);
    const size_t length = strcspn(text, " @");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == length && !strncmp(text, kinds[i].name, length)) {
            kinds[i].play(text + length + (text[length] == ' '));
            return true;
        }
    return false;
}

void expect_take_log(const char *line)
{
    if (play.settings && told.lines < LINES)
        told.line[told.lines++] = strdup(line);
}

void expect_end(void)
{
    take(&told.newest, NULL, NULL, NULL);
    for (int i = 0; i < NAMED; i++)
        take(&told.named[i], NULL, NULL, NULL);
    for (int i = 0; i < told.lines; i++)
        free(told.line[i]);
}
