# SPDX-License-Identifier: BSD-2-Clause
# The page in real browsers before the real daemon: what users see, in pixels, and what they do.
import contextlib
import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time
import unittest

from halotest import alone
from halotest.browser import Chromium, Firefox
from halotest.daemon import FFMPEG, PATIENCE, DaemonTest, free_port, main, wait_until

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
PAGE = os.path.join(ROOT, 'daemon', 'page')
AXE = os.environ.get('HALOTEST_AXE', '')  # axe.min.js, which checks accessibility
PASSWORD = 'correct horse'
BASE = 'gblur=sigma=2'
COLUMNS, ROWS = 12, 8
BLACK = 24  # the luma of a black region is less, also after H.264

# The mean luma of COLUMNS x ROWS parts of each <video> or <canvas> that a selector finds.
LUMA = '''
const [css, columns, rows] = arguments;
return [...document.querySelectorAll(css)].map((from) => {
    const [w, h] = [from.videoWidth ?? from.width, from.videoHeight ?? from.height];
    if (!w || !h)
        return null;
    const context = new OffscreenCanvas(w, h).getContext('2d', {willReadFrequently: true});
    context.drawImage(from, 0, 0, w, h);
    const {data} = context.getImageData(0, 0, w, h);
    const [sums, counts] = [0, 0].map(() => new Array(columns * rows).fill(0));
    for (let y = 0; y < h; y++)
        for (let x = 0; x < w; x++) {
            const part = Math.floor(y * rows / h) * columns + Math.floor(x * columns / w);
            const at = 4 * (y * w + x);
            sums[part] += 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2];
            counts[part]++;
        }
    return sums.map((sum, i) => Math.round(sum / counts[i]));
});
'''

# What the large view shows from now on, in window.seen: 'card', 'stream' or 'nothing'. A card is
# of one colour above and below its words.
RECORD = '''
const luma = (...arguments) => { %s };
window.seen = [];
window.loadedOnce = true;
setInterval(() => {
    const video = document.querySelector('video');
    const [picture] = luma(video.classList.contains('playing') ? 'video' : '.frame canvas', 12, 8);
    const edges = picture ? [...picture.slice(0, 12), ...picture.slice(-12)] : [];
    const what = !picture ? 'nothing' : Math.max(...edges) - Math.min(...edges) <= 8 ? 'card'
        : 'stream';
    if (seen.at(-1) !== what)
        seen.push(what);
}, 40);
''' % LUMA

# Which go by themselves, and the test may be late.
NOTICES_STAY = '''
const own = setTimeout;
window.setTimeout = (call, ms, ...more) => own(call, ms === 6000 ? 1e9 : ms, ...more);
'''

# Whatever a user can act on and that has no name, and images without a word of what they are.
NAMELESS = '''
const seen = (e) => e.checkVisibility();
const text = (id) => document.getElementById(id)?.textContent ?? '';
const nameOf = (e) => (e.getAttribute('aria-label') ?? '') || text(e.getAttribute('aria-labelledby'))
    || [...e.labels ?? []].map((l) => l.textContent).join('') || (e.title ?? '')
    || (/^(INPUT|SELECT|TEXTAREA)$/.test(e.tagName) ? '' : e.textContent);
const controls = document.querySelectorAll('a[href], button, input, select, textarea, summary, ' +
    '[role=button], [tabindex="0"], [role=img], video, dialog, nav, aside');
return [...controls].filter((e) => seen(e) && !nameOf(e).trim()).concat(
    [...document.images].filter((e) => !e.hasAttribute('alt'))).map((e) => e.outerHTML);
'''

# What the Tab key must reach, numbered.
REACHABLE = '''
const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, ' +
    '[tabindex="0"]')].filter((e) => e.checkVisibility() && !e.disabled);
all.forEach((e, i) => e.dataset.number = i);
return all.map((e) => e.outerHTML.slice(0, 160));
'''
FOCUS = '''
const e = document.activeElement;
const marked = (part) => {
    const {outlineStyle, outlineWidth} = getComputedStyle(e, part);
    return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1;
};
const edge = e.matches('.region-shape') ? e.querySelector('.under') : null;
const {left, top, width, height} = e.getBoundingClientRect();
const above = document.elementFromPoint(left + width / 2, top + height / 2);
const open = e === above || e.contains(above) || above?.contains(e);
return [e.dataset?.number ?? null,
    open && (marked() || marked('::after') || edge && getComputedStyle(edge).strokeWidth === '7px'),
    (e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? e.textContent).trim()];
'''


def inside(picture, left, top, right, bottom):
    """The parts of a picture that lie within; 0 to 1."""
    return [picture[y * COLUMNS + x] for y in range(ROWS) for x in range(COLUMNS)
            if x >= left * COLUMNS and x + 1 <= right * COLUMNS
            and y >= top * ROWS and y + 1 <= bottom * ROWS]


class PageTest(DaemonTest):
    """Each test has a tab of its own in the browser of its class."""

    kind = Chromium

    @classmethod
    def setUpClass(cls):
        if cls.kind.missing():
            raise unittest.SkipTest(cls.kind.missing())
        cls.page = cls.kind()
        cls.addClassCleanup(cls.page.close)

    def setUp(self):
        super().setUp()
        self.first = self.page.tab()
        self.page.new_tab()
        self.page.forget_cookies()
        self.page.errors()
        self.addCleanup(self.leave)

    def leave(self):
        for handle in self.page.tabs():
            if handle != self.first:
                self.page.switch_to(handle)
                self.page.close_tab()
        self.page.switch_to(self.first)

    def small(self, name='door', **more):
        return self.stream(name, filters=more.pop('filters', BASE), **more)

    def begin(self, streams=None, http=None, **users):
        """A daemon with these users; NAME=ROLE."""
        self.host, self.streams = f'127.0.0.1:{free_port()}', streams or {'door': self.small()}
        self.http = {'listen': self.host, 'page': True, **(http or {})}
        os.makedirs(self.path('state'), exist_ok=True)
        daemon = self.begin_again()
        for name, role in users.items():
            daemon.control('SetUser', name=name, role=role, password=PASSWORD)
        return daemon

    def settings(self):
        return {'http': self.http, 'state': self.path('state')}

    def begin_again(self):
        daemon = self.start(self.streams, environment={'HALOD_PAGE': PAGE}, **self.settings())
        for name in self.streams:
            daemon.wait_state(name, 'running')
        return daemon

    def go(self, address=''):
        self.page.go(f'http://{self.host}/{address}')
        self.page.script(NOTICES_STAY)

    def log_in(self, user, password=PASSWORD):
        self.page.type('User', user)
        self.page.type('Password', password)
        self.page.click('Log in')

    def enter(self, user, address='#/stream/door'):
        self.go(address)
        self.log_in(user)
        self.page.wait(f'document.querySelector(".user")?.textContent === "{user}"')

    def pictures(self, css='video'):
        return self.page.script(LUMA, css, COLUMNS, ROWS)

    def wait_playing(self):
        self.page.wait('document.querySelector("video.playing")?.currentTime > 0', 'a video')

    def wait_moving(self, css='video'):
        """All that the selector finds."""
        before = self.pictures(css)
        self.assertTrue(before)
        still = set(range(len(before)))

        def moved():
            now = self.pictures(css)
            still.difference_update({i for i in still if before[i] and now[i] != before[i]})
            before[:] = [old or new for old, new in zip(before, now)]
            return not still
        self.assertTrue(wait_until(moved, 60), f'{css}: {still} do not move\n{self.page.text()}')

    def wait_video(self, condition, what, css='video'):
        """Until it is true of what the element shows."""
        last = []

        def holds():
            last[:] = self.pictures(css)
            return last and last[0] and condition(last[0])
        self.assertTrue(wait_until(holds, 60), f'{what}: {last}\n{self.page.text()}')

    def wait_black(self, *box, black=True):
        self.wait_video(lambda picture: (max(inside(picture, *box)) < BLACK) == black and
                        max(picture) > 2 * BLACK, f'{box} is {"" if black else "not "}black')

    def begin_at_top(self):
        """With the keyboard. After blur(), Firefox would have no focus for keys at all."""
        self.page.script('document.querySelector(".skip").focus()')

    def assert_no_errors(self):
        self.assertEqual(self.page.errors(), [])


class Playing:
    """In both browsers."""

    def test_first_visit(self):
        daemon = self.begin({'door': self.small(), 'yard': self.small('yard')})
        self.go()
        self.page.wait('document.querySelectorAll(".tile").length === 2')
        self.page.wait_text('2 streams, all running')
        self.wait_moving('.tile canvas')
        self.page.click('Set up the first administrator')
        with open(self.path('state/setup-code')) as file:
            self.page.type('One-time code', file.read())
        self.page.type('User', 'anna')
        self.page.type('Password', PASSWORD)
        self.page.type('Password again', 'another horse')
        self.page.click('Create the administrator')
        self.page.wait_text('The two passwords differ.')
        self.page.type('Password again', PASSWORD)
        self.page.click('Create the administrator')
        self.page.wait('document.querySelector(".user")?.textContent === "anna"')
        self.page.wait('!document.querySelector("dialog")')
        self.assertEqual(daemon.control('Users')['users'], [{'name': 'anna', 'role': 'admin'}])
        self.page.find('Add a camera')
        self.wait_moving('.tile canvas')
        self.assert_no_errors()

    def test_large_view_plays(self):
        """What is hidden, and while an engine dies, too."""
        daemon = self.begin(vera='view')
        self.enter('vera', '')
        self.page.click('door')
        self.wait_playing()
        self.wait_moving()
        self.wait_black(0, 0, .5, 1, black=False)
        daemon.control('Hide', name='door', id='half', filters='solid=region=rect 0 0 50% 100%')
        self.wait_black(0, 0, .5, 1)
        self.wait_moving()
        self.assertFalse(self.page.script('return Boolean(document.querySelector(".tools"))'),
                         'who may only look is shown no tools')
        self.page.script(RECORD)
        self.page.wait('seen.at(-1) === "stream"')
        daemon.kill_engine_of('door', signal.SIGSTOP)  # dead, for the page
        self.page.wait('seen.includes("card")', 'a card')
        daemon.kill_engine_of('door')
        self.assertTrue(wait_until(lambda: daemon.engines()['cpu']['restarts'] > 0))
        self.page.wait('seen.lastIndexOf("stream") > seen.indexOf("card")', 'the stream again')
        self.wait_playing()
        self.wait_moving()
        self.wait_black(0, 0, .5, 1)
        self.assertTrue(self.page.script('return loadedOnce'), 'without loading the page again')
        self.assert_no_errors()


class InChromium(Playing, PageTest):
    pass


class InFirefox(Playing, PageTest):
    kind = Firefox


class Editing(PageTest):
    def choose_black(self):
        self.page.choose('Filter', 'solid')

    def apply(self):
        self.page.click('Apply')
        self.page.wait_text('are in force.')
        self.page.script('document.querySelector(".notice.good button")?.click()')  # goes by itself

    def draw(self, *corners):
        self.page.click('Polygon')
        self.page.tap('.overlay', *corners)

    def wait_output(self, watcher, *box, black=True):
        """What the stream's own output shows."""
        since = len(watcher.pictures)

        def holds():
            return any((max(inside(picture, *box)) < BLACK) == black and max(picture) > 2 * BLACK
                       for _, picture in watcher.pictures[since:])
        self.assertTrue(wait_until(holds, 60), watcher.pictures[-1:])

    def tab_to(self, name):
        for _ in range(100):
            self.page.press('Tab')
            if self.page.script(FOCUS)[2] == name:
                return
        self.fail(f'the Tab key does not reach {name}\n{self.page.text()}')

    def test_polygon_by_pointer(self):
        daemon = self.begin(otto='operate')
        watcher = self.watcher('door.ts')
        self.enter('otto')
        self.wait_playing()
        box = .3, .3, .7, .7
        self.wait_black(*box, black=False)
        self.draw((.25, .2), (.75, .2), (.8, .8), (.2, .8), (.25, .2))
        self.page.type('Name', 'table')
        self.choose_black()
        self.page.wait_text('With your changes')
        self.page.click('Preview')
        self.wait_video(lambda picture: max(inside(picture, *box)) < BLACK, 'the preview',
                        css='.preview canvas')
        self.wait_output(watcher, *box, black=False)
        self.assertEqual(daemon.status('door')['hides'], {}, 'drawing alone changes nothing')
        self.apply()
        self.page.wait('document.querySelector(".preview").hidden', 'the end of the preview')
        self.assertRegex(daemon.status('door')['hides']['table'], r'^solid=.*region=.*polygon')
        self.wait_black(*box)
        self.wait_output(watcher, *box)
        self.page.click('Remove table')
        self.apply()
        self.assertEqual(daemon.status('door')['hides'], {})
        self.wait_black(*box, black=False)
        self.wait_output(watcher, *box, black=False)
        self.assert_no_errors()

    def test_rectangle_by_keyboard(self):
        daemon = self.begin(otto='operate')
        watcher = self.watcher('door.ts')
        self.enter('otto')
        self.wait_playing()
        self.begin_at_top()
        self.tab_to('Rectangle')
        self.page.press('Enter')
        self.page.wait('document.activeElement.matches(".region-shape")', 'focus on the shape')
        before = self.page.script('return document.activeElement.getAttribute("aria-label")')
        self.page.press('Shift+Right', 'Down')
        self.page.wait(
            f'document.activeElement.getAttribute("aria-label") !== {json.dumps(before)}')
        for side in 'Width', 'Height':
            self.tab_to(f'{side}, rectangle 1, percent')
            self.page.press('4', '0')
        self.begin_at_top()
        self.tab_to('Filter')
        for _ in range(100):  # letters would have to follow each other within a second
            if self.page.script('return document.activeElement.value === "solid"'):
                break
            self.page.press('Down')
        self.page.wait('document.activeElement.value === "solid"')
        self.tab_to('Apply')
        self.page.press('Enter')
        self.page.wait_text('are in force.')
        self.page.wait('document.querySelector(".panel").contains(document.activeElement)',
                       'focus where it was, or near')
        found = re.search(r'rect ([\d.]+)% ([\d.]+)% ([\d.]+)% ([\d.]+)%',
                          ''.join(daemon.status('door')['hides'].values()))
        x, y, width, height = [float(number) / 100 for number in found.groups()]
        self.wait_black(x, y, x + width, y + height)
        self.wait_output(watcher, x, y, x + width, y + height)
        self.assert_no_errors()

    def test_keep(self):
        daemon = self.begin(anna='admin')
        self.enter('anna')
        self.wait_playing()
        self.page.script('window.loadedOnce = true')
        self.page.click(css='.panel .layer-toggle')
        self.page.type('As text', 'solid=region=rect 0 0 50% 100%,gblur=sigma=5')
        self.apply()
        self.wait_black(0, 0, .5, 1)
        self.page.click('Keep')
        self.page.wait_text('The filters will survive a restart of halod.')
        self.assertTrue(daemon.status('door')['kept'])
        daemon.stop()
        self.page.wait_text('Not connected')
        self.begin_again()
        self.page.wait_text('The session has ended.')
        self.log_in('anna')
        self.page.wait('!document.querySelector(".banner:not([hidden])")', 'a connection')
        self.wait_playing()
        self.wait_moving()
        self.wait_black(0, 0, .5, 1)
        self.page.wait_text('What was kept is used')
        self.assertTrue(self.page.script('return loadedOnce'), 'without loading the page again')
        self.assert_no_errors()

    def test_only_what_was_drawn(self):
        """A new camera is filtered everywhere; then a part of it."""
        daemon = self.begin({'door': self.small(filters='solid')}, anna='admin')
        self.enter('anna')
        self.wait_playing()
        box = .3, .3, .7, .7
        self.assertNotIn('Hide only these', self.page.text(), 'nothing was drawn')
        self.draw((.25, .2), (.75, .2), (.8, .8), (.2, .8), (.25, .2))
        self.page.wait('document.querySelector(".filter select")?.value === "hide"')
        self.choose_black()
        self.page.click('Hide only these')
        self.apply()
        self.wait_black(*box)
        status = daemon.status('door')
        self.assertEqual((status['base'], status['hides']), (status['filters'], {}))
        self.assertRegex(status['base'], r'^solid=.*region=.*polygon')
        daemon.stop()
        self.assertEqual(self.begin_again().status('door')['base'], status['base'], 'it was kept')

    def test_session_that_ends_while_drawing(self):
        daemon = self.begin(otto='operate', anna='admin')
        self.enter('otto')
        self.wait_playing()
        self.draw((.3, .2), (.8, .2), (.8, .8))
        for role in 'view', 'operate':
            daemon.control('SetUser', name='otto', role=role)
        self.page.wait_text('Log in to go on: nothing is lost.')
        self.log_in('otto')
        self.page.wait('!document.querySelector("dialog")')
        self.page.tap('.overlay', (.3, .8))
        self.page.click('Finish')
        self.choose_black()
        for role in 'view', 'operate':
            daemon.control('SetUser', name='otto', role=role)
        self.page.wait_text('Log in to go on: nothing is lost.')
        self.log_in('otto')
        self.page.wait('!document.querySelector("dialog")')
        self.apply()
        self.wait_playing()
        self.wait_black(.35, .25, .75, .75)
        self.assert_no_errors()

    def test_two_editors(self):
        daemon = self.begin(otto='operate')
        self.enter('otto')
        first = self.page.tab()
        self.draw((.1, .1), (.5, .1), (.5, .9), (.1, .9), (.1, .1))
        second = self.page.new_tab()
        self.go('#/stream/door')
        self.wait_playing()
        self.draw((.5, .1), (.9, .1), (.9, .9), (.5, .9), (.5, .1))
        self.choose_black()
        self.apply()
        self.page.switch_to(first)
        self.choose_black()
        self.apply()
        self.assertEqual(len(daemon.status('door')['hides']), 2, 'both are kept')
        for tab in first, second:
            self.page.switch_to(tab)
            self.wait_playing()
            self.wait_black(.15, .2, .45, .8)
            self.wait_black(.55, .2, .85, .8)
        self.assert_no_errors()

    def test_load_theirs(self):
        daemon = self.begin(otto='operate')
        self.enter('otto')
        self.wait_playing()
        self.draw((.1, .1), (.5, .1), (.5, .9), (.1, .9), (.1, .1))
        self.apply()
        [mine] = daemon.status('door')['hides']
        self.choose_black()
        theirs = 'pixelize=w=64:h=64:region=rect 0 0 50% 100%'
        daemon.control('Hide', name='door', id=mine, filters=theirs)
        self.page.wait_text('Somebody else has changed the same filters.')
        self.page.click('Apply')
        self.page.click('Load theirs')
        self.page.wait('document.querySelector(".layer-summary")?.textContent === "Pixelized"')
        self.page.wait('document.querySelector(".badge").hidden', 'no change')
        self.assertEqual(daemon.status('door')['hides'], {mine: theirs})
        self.assert_no_errors()


class EditingInFirefox(Editing):
    kind = Firefox


class Troubles(PageTest):
    @alone
    def test_wrong_passwords(self):
        self.begin(anna='admin')
        self.go()
        for _ in range(4):
            self.log_in('anna', 'wrong horse')
            self.page.wait('!document.querySelector("dialog [type=submit]").disabled')
            self.page.wait('document.querySelector("dialog .error[role=alert]").textContent')
        self.log_in('anna', 'wrong horse')
        self.page.wait('/Try again in 1?[0-9] s/.test(document.querySelector("dialog").innerText)',
                       'how long to wait')
        self.assert_no_errors()

    def test_camera_with_a_name_that_is_taken(self):
        daemon = self.begin(anna='admin')
        self.enter('anna', '')
        self.page.click('Add a camera')
        self.page.type('Input', 'test:size=64x48')
        self.page.type('Name', 'door')
        self.page.click('Add the camera')
        self.page.wait_text('There is a stream with this name.')
        self.page.type('Name', 'yard')
        self.page.click('Add the camera')
        daemon.wait_state('yard', 'running')
        self.assertEqual(daemon.status('door')['base'], BASE)
        self.page.wait('!document.querySelector("dialog")')
        self.assert_no_errors()

    def test_stream_is_removed(self):
        daemon = self.begin({'door': self.small(), 'yard': self.small('yard')}, vera='view')
        self.enter('vera')
        self.wait_playing()
        del self.streams['door']
        daemon.write(self.streams, **self.settings())
        self.assertEqual(daemon.control('Reload')['removed'], ['door'])
        self.page.wait_text('The stream door does not exist, or was removed.')
        self.page.click('Streams')
        self.page.wait('document.querySelectorAll(".tile").length === 1')
        self.wait_moving('.tile canvas')
        self.streams['door'] = self.small()
        daemon.write(self.streams, **self.settings())
        daemon.control('Reload')
        self.page.click('door')
        self.wait_playing()
        self.wait_moving()
        self.assert_no_errors()

    def test_daemon_starts_again(self):
        daemon = self.begin()
        self.go('#/stream/door')
        self.wait_playing()
        self.page.script('window.loadedOnce = true')
        daemon.stop()
        self.page.wait_text('Not connected: this page is out of date.')
        self.begin_again()
        self.page.wait('!document.body.innerText.includes("Not connected")', 'a connection')
        self.wait_playing()
        self.wait_moving()
        self.assertTrue(self.page.script('return loadedOnce'), 'without loading the page again')
        self.assert_no_errors()

    @alone
    def test_many_tiles(self):
        """Two tabs, and a browser that opens six connections to a host."""
        streams = {f's{i}': {'input': 'test:size=160x120:rate=5', 'filters': BASE,
                             'backend': 'cpu', 'outputs': [{'null': True}]} for i in range(16)}
        self.begin(streams)
        tabs = []
        for _ in range(2):
            tabs.append(self.page.tab())
            self.go()
            self.page.wait('document.querySelectorAll(".tile").length === 16')
            self.wait_moving('.tile canvas')
            self.page.new_tab()
        for tab in tabs:
            self.page.switch_to(tab)
            self.wait_moving('.tile canvas')
            self.page.wait('!document.querySelector(".picture.stale")')
        self.assert_no_errors()


class Attacker(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.end_headers()
        self.wfile.write(b'<!DOCTYPE html><title>foreign</title><body>')

    def log_message(self, *_):
        pass


# Everything that one page can ask of another server. Answers with what it was shown.
ATTACK = '''
const [base, ms, sure] = arguments; // sure: what comes, however late
const found = [];
const outcome = (name, event) => new Promise((resolve) => {
    const done = (what) => () => { found.push(`${name}: ${what}`); resolve(); };
    event(done);
    setTimeout(resolve, name === sure ? 100 * ms : ms);
});
const posts = [['text/plain', {}], ['application/json', {}], ['application/json',
    {'X-Halod-Token': '0'}]];
const paths = ['/', '/api/streams', '/api/session', '/api/live?video=door', '/door/snapshot.jpg',
    '/door/stream.mjpeg', '/door/live.mp4', '/page/app.js', '/metrics'];
async function ask(path, options) {
    try {
        const answer = await fetch(base + path, {credentials: 'include', ...options,
            signal: AbortSignal.timeout(ms)});
        if (answer.type !== 'opaque')
            found.push(`${path} ${JSON.stringify(options)}: ${answer.status}`);
    } catch {
    }
}
function element(tag, path, good, more = {}) {
    return outcome(`${tag} ${path}`, (done) => {
        const e = Object.assign(document.createElement(tag), more);
        e.addEventListener(good, done(good));
        e[tag === 'link' ? 'href' : 'src'] = base + path;
        document.body.append(e);
    });
}
function form(path) {
    const target = document.createElement('iframe');
    target.name = `target${document.forms.length}`;
    const e = Object.assign(document.createElement('form'), {method: 'post', action: base + path,
        target: target.name, enctype: 'text/plain'});
    const field = Object.assign(document.createElement('input'),
        {name: '{"name":"door","x":"', value: '"}'});
    e.append(field);
    document.body.append(target, e);
    e.submit();
}
const tries = [];
for (const path of paths)
    for (const mode of ['cors', 'no-cors'])
        tries.push(ask(path, {mode}));
for (const method of ['Stop', 'Hide', 'Set', 'SetUser'])
    for (const [type, headers] of posts)
        for (const mode of ['cors', 'no-cors'])
            tries.push(ask(`/api/call/${method}`, {mode, method: 'POST',
                headers: {'Content-Type': type, ...headers},
                body: JSON.stringify({name: 'door', id: 'x', filters: 'solid', role: 'admin',
                    password: 'correct horse'})}));
for (const path of ['/api/call/Stop', '/api/logout', '/api/login', '/api/setup'])
    form(path);
navigator.sendBeacon(`${base}/api/logout`, '{}');
for (const path of ['/door/snapshot.jpg', '/door/stream.mjpeg', '/?action=snapshot',
    '/page/icon.svg'])
    tries.push(element('img', path, 'load'));
for (const path of ['/door/live.mp4', '/door/stream.mjpeg'])
    tries.push(element('video', path, 'loadeddata', {muted: true, autoplay: true}));
tries.push(element('script', '/page/app.js', 'load', {type: 'module'}),
    element('script', '/page/format.js', 'load'),
    element('link', '/page/page.css', 'load', {rel: 'stylesheet'}),
    outcome('WebSocket', (done) => {
        new WebSocket(base.replace('http', 'ws') + '/api/live').onopen = done('open');
    }),
    outcome('EventSource', (done) => {
        new EventSource(`${base}/api/events`, {withCredentials: true}).onopen = done('open');
    }));
for (const path of ['/', '/door/snapshot.jpg', '/api/streams'])
    document.body.append(Object.assign(document.createElement('iframe'), {className: 'attack',
        src: base + path}));
await Promise.all(tries);
return found;
'''


# Everything by which words can become a program. Answers with what ran.
INJECTED = '''
window.ran = [];
const script = (more) => document.body.append(Object.assign(document.createElement('script'), more));
script({textContent: 'ran.push("inline script")'});
script({src: 'data:text/javascript,ran.push("data: script")'});
script({src: URL.createObjectURL(new Blob(['ran.push("blob: script")']))});
script({src: `http://localhost:${arguments[0]}/`});
const box = document.createElement('div');
box.innerHTML = '<img src="/nothing" onerror="ran.push(1)"><svg onload="ran.push(2)"></svg>' +
    '<iframe srcdoc="<script>parent.ran.push(3)</script>"></iframe>' +
    '<a href="javascript:ran.push(4)">x</a><form action="http://localhost:1/"></form>';
document.body.append(box);
box.querySelector('a').click();
return new Promise((resolve) => setTimeout(() => resolve(ran), arguments[1]));
'''


class Foreign(PageTest):
    def setUp(self):
        super().setUp()
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Attacker)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        for end in thread.join, server.server_close, server.shutdown:
            self.addCleanup(end)
        self.port = server.server_port

    def attack(self, daemon, origin, sure=''):
        """What the page of another origin is shown of the daemon that anna administers."""
        self.enter('anna', '')
        self.page.find(css='.tile')
        self.page.go(origin)
        shown = self.page.script(f'return (async (...arguments) => {{ {ATTACK} }})(...arguments)',
                                 f'http://{self.host}', 3000, sure)
        status = daemon.status('door')
        self.assertEqual((status['hides'], status['base'], status['restarts']), ({}, BASE, 0))
        self.assertIn(status['state'], ('running', 'overloaded'))  # as the machine may be busy
        self.assertEqual(daemon.control('Users')['users'], [{'name': 'anna', 'role': 'admin'}])
        return shown

    def assert_still_logged_in(self):
        self.page.errors()  # most of it was refused, and the browser says so
        self.go('#/stream/door')
        self.wait_playing()
        self.assertEqual(self.page.script('return document.querySelector(".user").textContent'),
                         'anna')

    def test_foreign_pages(self):
        daemon = self.begin(anna='admin')
        for host in '127.0.0.1', 'localhost':  # the same site, to which cookies are sent; another
            with self.subTest(host):
                self.assertEqual(self.attack(daemon, f'http://{host}:{self.port}'), [])
                for frame in self.page.script('return [...document.querySelectorAll("iframe")]'):
                    self.page.enter_frame(frame)
                    self.page.wait('location.href.startsWith("chrome-error:")')
                    self.page.enter_frame(None)
                self.assertTrue(wait_until(lambda: daemon.status('door')['viewers'] == 0))
                self.assert_still_logged_in()
                self.page.forget_cookies()

    def test_words_are_no_programs(self):
        """Not those of a camera, and not even if the page forgot to show them as text."""
        words = '<img src=x onerror="window.hurt=1"><b id=bold>'
        daemon = self.begin(anna='admin')
        daemon.control('Keep', name='yard', settings={
            'input': f'http://127.0.0.1:9/{words}', 'filters': BASE})
        self.enter('anna', '')
        self.page.click('yard')
        self.page.wait_text('onerror')
        self.assertEqual(self.page.script(
            'return [window.hurt ?? null, document.getElementById("bold")]'), [None, None])
        self.page.errors()
        self.assertEqual(self.page.script(INJECTED, self.port, 1000), [])
        self.assertIn('Content Security Policy', ' '.join(self.page.errors()))

    def test_embedding_page(self):
        """It may show pictures, and do no more; so it is no accident that others show nothing."""
        origin = f'http://127.0.0.1:{self.port}'
        daemon = self.begin(http={'embed': [origin]}, anna='admin')
        shown = self.attack(daemon, origin, 'img /door/snapshot.jpg')
        self.assertIn('img /door/snapshot.jpg: load', shown)
        self.assertEqual([what for what in shown if re.match(r'/|WebSocket', what)], [])
        self.assert_still_logged_in()


class Accessible(PageTest):
    def everywhere(self):
        """Each page and dialog, in turn."""
        self.begin({'door': self.small(), 'yard': self.small('yard')}, anna='admin')
        self.go()
        self.page.find(label='User')
        yield 'login'
        self.log_in('anna')
        self.page.find(css='.tile')
        yield 'streams'
        self.page.click('Add a camera')
        self.page.find(label='Input')
        yield 'camera'
        self.page.click('Cancel')
        self.page.click('door')
        self.wait_playing()
        yield 'stream'
        self.page.click('Ellipse')
        self.page.drag('.overlay', .2, .2, .6, .6)
        self.page.find(label='Filter')
        yield 'editor'
        self.page.click('Discard')
        self.page.click('Activity')
        self.page.wait_text('Memory of halod')
        yield 'activity'
        self.page.click('Users')
        self.page.find(css='tbody tr')
        yield 'users'

    def test_names_and_keyboard(self):
        for place in self.everywhere():
            with self.subTest(place):
                self.assertEqual(self.page.script(NAMELESS), [])
                if not self.page.script('return Boolean(document.querySelector("dialog"))'):
                    self.assert_reachable()
        self.assert_no_errors()

    def assert_reachable(self):
        self.begin_at_top()
        wanted = self.page.script(REACHABLE)
        reached, unseen = set(), []
        for _ in range(len(wanted) + 5):
            self.page.press('Tab')
            number, seen, name = self.page.script(FOCUS)
            if number is not None:
                reached.add(int(number))
                unseen += [] if seen else [name]
        self.assertEqual([wanted[i] for i in range(len(wanted)) if i not in reached], [])
        self.assertEqual(unseen, [], 'the focus is not to be seen')

    @unittest.skipUnless(AXE, 'HALOTEST_AXE does not name axe.min.js')
    def test_axe(self):
        with open(AXE) as file:
            axe = file.read()
        for place in self.everywhere():
            for scheme in 'light', 'dark':
                self.page.devtools('Emulation.setEmulatedMedia', features=[
                    {'name': 'prefers-color-scheme', 'value': scheme}])
                with self.subTest(place, scheme=scheme):
                    self.page.script(axe)
                    self.assertEqual(self.page.script('''
                        return axe.run(document).then(({violations}) => violations.map(
                            (v) => [v.id, v.help, v.nodes.map((n) => n.html)]))'''), [])


BITS = 24  # of milliseconds; each is a bar of a clock's picture, white or black


class Clock(threading.Thread):
    """Paints the time into H.264, as a camera would, and sends it over UDP."""

    WIDTH, HEIGHT, RATE = 16 * BITS, 96, 25

    def __init__(self, port):
        super().__init__(daemon=True)
        self.ffmpeg = subprocess.Popen(
            [FFMPEG, '-nostdin', '-v', 'error', '-fflags', 'nobuffer', '-probesize', '32', '-f',
             'rawvideo', '-pix_fmt', 'gray', '-s', f'{self.WIDTH}x{self.HEIGHT}', '-framerate',
             str(self.RATE), '-i', 'pipe:0', '-c:v', 'libx264', '-preset', 'ultrafast', '-tune',
             'zerolatency', '-threads', '1', '-g', str(self.RATE), '-pix_fmt', 'yuv420p',
             '-flush_packets', '1', '-muxdelay', '0', '-f', 'mpegts',
             f'udp://127.0.0.1:{port}?pkt_size=1316'],
            stdin=subprocess.PIPE)
        self.ended = threading.Event()
        self.start()

    def paint(self):
        now = int(time.time() * 1000) % (1 << BITS)
        row = b''.join((b'\xff' if now >> bit & 1 else b'\0') * 16 for bit in range(BITS))
        return row * self.HEIGHT

    def run(self):
        due = time.monotonic()
        with contextlib.suppress(OSError):
            while not self.ended.is_set():
                self.ffmpeg.stdin.write(self.paint())
                self.ffmpeg.stdin.flush()
                due = max(due + 1 / self.RATE, time.monotonic())
                self.ended.wait(due - time.monotonic())

    def close(self):
        self.ended.set()
        self.join()
        self.ffmpeg.stdin.close()
        self.ffmpeg.wait()


# Reads the clock from each frame of the video that is presented; resolves to their ages in ms.
AGES = '''
const [bits, count] = arguments;
const video = document.querySelector('video');
const context = new OffscreenCanvas(bits, 1).getContext('2d', {willReadFrequently: true});
return new Promise((resolve) => {
    const ages = [];
    function look() {
        context.drawImage(video, 0, 0, video.videoWidth, video.videoHeight, 0, 0, bits, 1);
        const {data} = context.getImageData(0, 0, bits, 1);
        let painted = 0;
        for (let bit = 0; bit < bits; bit++)
            painted += data[4 * bit] > 127 ? 2 ** bit : 0;
        ages.push((Date.now() - painted + 2 ** bits) % 2 ** bits);
        if (ages.length === count)
            return resolve(ages);
        video.requestVideoFrameCallback(look);
    }
    video.requestVideoFrameCallback(look);
});
'''


@alone
class Latency(PageTest):
    def test_from_painting_to_pixels(self):
        port = free_port()
        clock = Clock(port)
        self.addCleanup(clock.close)
        self.begin({'door': self.small(filters='null', privacy='off',
                                       input=f'udp://127.0.0.1:{port}')}, vera='view')
        self.enter('vera')
        self.wait_playing()
        for _ in range(3):  # again if the machine was busy
            self.page.script(AGES, BITS, 50)  # until it plays smoothly
            ages = sorted(self.page.script(AGES, BITS, 250))
            half, most = ages[len(ages) // 2], ages[len(ages) * 95 // 100]
            print(f'from painting to pixels: p50 {half} ms, p95 {most} ms')
            if most <= 1000 * PATIENCE:
                break
        self.assertLessEqual(most, 1000 * PATIENCE)


if __name__ == '__main__':
    main()
