# SPDX-License-Identifier: BSD-2-Clause
"""Real browsers without a screen, for tests of the page: Chromium through chromedriver (WebDriver over
HTTP), and Firefox through Marionette (the same commands over a TCP connection of its own)."""
import base64
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from halotest import PATIENCE, free_port, wait_until

KEYS = {'Backspace': '\ue003', 'Tab': '\ue004', 'Enter': '\ue007', 'Shift': '\ue008',
        'Escape': '\ue00c', 'Space': ' ', 'Left': '\ue012', 'Up': '\ue013', 'Right': '\ue014',
        'Down': '\ue015', 'Delete': '\ue017'}
ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'  # how both refer to an element
PASSING = ('stale element reference', 'element click intercepted', 'element not interactable',
           'no such element')  # the page is just being changed

# What a user sees: in the dialog that is on top, if there is one.
FIND = '''
const [how, what] = arguments;
const root = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
const seen = (e) => e.getClientRects().length > 0;
const text = (e) => (e.getAttribute('aria-label') ?? e.textContent).trim();
const found = (css) => [...root.querySelectorAll(css)].filter(seen);
if (how === 'css')
    return found(what)[0] ?? null;
if (how === 'label') {
    const label = found('label').find((e) => e.textContent.trim() === what);
    return label ? document.getElementById(label.htmlFor) ?? label.querySelector('input')
        : found('input, select, textarea').find((e) => text(e) === what) ?? null;
}
return found('button, a, summary, [role=button]').find(
    (e) => !e.disabled && text(e) === what) ?? null;
'''


class BrowserError(Exception):
    """What a browser answered; .error is its name."""

    def __init__(self, error, message):
        super().__init__(f'{error}: {message}')
        self.error = error


class Browser:
    """What is the same for both. A text is the label of a button, a link or a field; everything
    that looks for something waits for it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='halotest-browser-')
        self.process = None

    def begin(self, words):
        """A process group, so that everything can be ended."""
        with open(os.path.join(self.folder, 'log'), 'wb') as log:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, 'HOME': self.folder, 'XDG_CACHE_HOME': self.folder,
                     'XDG_CONFIG_HOME': self.folder, 'LANG': 'C.UTF-8', 'LANGUAGE': 'en'})

    def logged(self):
        with open(os.path.join(self.folder, 'log'), errors='replace') as file:
            return file.read()[-3000:]

    def close(self):
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)
            wait_until(lambda: self.process.poll() is not None, 5)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- scripts ----

    def wait(self, condition, what='', timeout=60):
        """Until an expression is true in the page; returns its value."""
        value = None

        def holds():
            nonlocal value
            value = self.script(f'return {condition}')
            return value
        if not wait_until(holds, timeout):
            raise AssertionError(f'{what or condition}: not within {timeout} s\n{self.text()}')
        return value

    def text(self):
        """What the page shows, as text."""
        return self.script('return `${location.href}\\n${document.body?.innerText ?? ""}`')[:3000]

    def wait_text(self, words, timeout=60):
        self.wait(f'document.body.innerText.includes({json.dumps(words)})', words, timeout)

    # ---- what a user does ----

    def find(self, text=None, css=None, label=None):
        how, what = ('css', css) if css else ('label', label) if label else ('text', text)
        found = []
        if not wait_until(lambda: found.append(self.script(FIND, how, what)) or found[-1], 60):
            raise AssertionError(f'there is no {what!r} to be seen:\n{self.text()}')
        return found[-1]

    def act(self, action, **which):
        """On an element that the page may just be replacing."""
        end = time.monotonic() + 60 * PATIENCE
        while True:
            try:
                element = self.find(**which)
                self.script('arguments[0].scrollIntoView({block: "nearest"})', element)
                return action(element)
            except BrowserError as error:
                if error.error not in PASSING or time.monotonic() > end:
                    raise

    def click(self, text=None, **which):
        self.act(self.click_element, text=text, **which)

    def type(self, label, words):
        """Replaces what is in a field."""
        def enter(element):
            self.script('arguments[0].focus(); arguments[0].select()', element)
            self.send_keys(element, words or KEYS['Delete'])
        self.act(enter, label=label)

    def choose(self, label, value):
        """An option of a list."""
        option = 'return [...arguments[0].options].find((o) => o.value === arguments[1])'
        self.act(lambda select: self.click_element(self.script(option, select, value)),
                 label=label)

    def press(self, *names):
        """Keys, one after the other; `Shift+Tab` is two at once."""
        steps = []
        for name in names:
            keys = [KEYS.get(key, key) for key in name.split('+')]
            steps += [{'type': 'keyDown', 'value': key} for key in keys]
            steps += [{'type': 'keyUp', 'value': key} for key in reversed(keys)]
        self.perform([{'type': 'key', 'id': 'keyboard', 'actions': steps}])

    def point(self, steps, css):
        """The pointer over an element, by (x, y, then): a part of it, and what the button does."""
        box = self.script('''const e = arguments[0];
            e.scrollIntoView({block: 'nearest'});
            const {left, top, width, height} = e.getBoundingClientRect();
            return [left, top, width, height];''', self.find(css=css))
        actions = []
        for x, y, then in steps:
            actions.append({'type': 'pointerMove', 'duration': 20, 'origin': 'viewport',
                            'x': round(box[0] + x * box[2]), 'y': round(box[1] + y * box[3])})
            actions += [{'type': kind, 'button': 0} for kind in then]
        self.perform([{'type': 'pointer', 'id': 'mouse', 'parameters': {'pointerType': 'mouse'},
                       'actions': actions}])

    def drag(self, css, x1, y1, x2, y2):
        self.point([(x1, y1, ['pointerDown']), ((x1 + x2) / 2, (y1 + y2) / 2, []),
                    (x2, y2, ['pointerUp'])], css)

    def tap(self, css, *points):
        self.point([(x, y, ['pointerDown', 'pointerUp']) for x, y in points], css)

    def screenshot(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.take()))


class Chromium(Browser):
    FLAGS = ['--headless=new', '--no-sandbox', '--autoplay-policy=no-user-gesture-required',
             '--window-size=1280,800', '--hide-scrollbars', '--mute-audio', '--disable-gpu',
             '--disable-dev-shm-usage', '--no-proxy-server', '--no-first-run',
             '--disable-background-networking']

    @staticmethod
    def missing():
        return '' if shutil.which('chromium') and shutil.which('chromedriver') \
            else 'chromium and chromium-driver are not installed'

    def __init__(self, *flags):
        super().__init__()
        self.port, self.session = free_port(), ''
        self.begin(['chromedriver', f'--port={self.port}'])
        try:
            self.ask_until_ready()
            answer = self.ask('POST', '/session', capabilities={'alwaysMatch': {
                'browserName': 'chrome', 'goog:loggingPrefs': {'browser': 'ALL'},
                'timeouts': {'script': round(60000 * PATIENCE)},
                'goog:chromeOptions': {'binary': shutil.which('chromium'),
                                       'args': [*self.FLAGS, *flags]}}})
        except BaseException as error:
            error.args = (f'{error}\n{self.logged()}',)
            super().close()
            raise
        self.session = f'/session/{answer["sessionId"]}'

    def ask_until_ready(self):
        def ready():
            with contextlib.suppress(OSError):
                return self.ask('GET', '/status')['ready']
        if not wait_until(ready, 60):
            raise AssertionError('chromedriver does not start')

    def ask(self, method, path, **body):
        client = http.client.HTTPConnection('127.0.0.1', self.port, timeout=90 * PATIENCE)
        try:
            client.request(method, path, json.dumps(body) if method == 'POST' else None,
                           {'Content-Type': 'application/json'})
            value = json.loads(client.getresponse().read())['value']
        finally:
            client.close()
        if isinstance(value, dict) and 'error' in value:
            raise BrowserError(value['error'], value['message'])
        return value

    def post(self, path, **body):
        return self.ask('POST', self.session + path, **body)

    def close(self):
        if self.session:
            with contextlib.suppress(OSError, BrowserError):
                self.ask('DELETE', self.session)
        super().close()

    def devtools(self, method, **parameters):
        return self.post('/goog/cdp/execute', cmd=method, params=parameters)

    def go(self, url):
        self.post('/url', url=url)

    def script(self, text, *arguments):
        """A function's body; a promise that it returns is waited for."""
        return self.post('/execute/sync', script=text, args=arguments)

    def click_element(self, element):
        self.post(f'/element/{element[ELEMENT]}/click')

    def send_keys(self, element, text):
        self.post(f'/element/{element[ELEMENT]}/value', text=text)

    def perform(self, actions):
        self.post('/actions', actions=actions)

    def take(self):
        return self.ask('GET', self.session + '/screenshot')

    def resize(self, width, height):
        """Of the visible part of the page."""
        self.devtools('Emulation.setDeviceMetricsOverride', width=width, height=height,
                      deviceScaleFactor=1, mobile=False)

    def new_tab(self):
        """Everything after this happens in the new tab; returns its handle."""
        handle = self.post('/window/new', type='tab')['handle']
        self.switch_to(handle)
        return handle

    def tab(self):
        return self.ask('GET', self.session + '/window')

    def tabs(self):
        return self.ask('GET', self.session + '/window/handles')

    def switch_to(self, handle):
        self.post('/window', handle=handle)

    def close_tab(self):
        return self.ask('DELETE', self.session + '/window')

    def enter_frame(self, frame):
        """From then on scripts run in this frame: an element, or None for the whole page."""
        self.post('/frame', id=frame)

    def forget_cookies(self):
        self.ask('DELETE', self.session + '/cookie')

    def errors(self):
        """What scripts and the content security policy complained of since the last call. Answers
        such as 401 are logged as well, and are no errors of the page."""
        return [entry['message'] for entry in self.post('/se/log', type='browser')
                if entry['level'] == 'SEVERE' and entry.get('source') != 'network']


class Firefox(Browser):
    PREFERENCES = {
        'media.autoplay.default': 0, 'media.autoplay.blocking_policy': 0, 'network.proxy.type': 0,
        'browser.startup.page': 0, 'browser.shell.checkDefaultBrowser': False,
        'browser.aboutwelcome.enabled': False, 'datareporting.policy.dataSubmissionEnabled': False,
        'toolkit.telemetry.reportingpolicy.firstRun': False, 'app.normandy.enabled': False,
        'browser.sessionstore.resume_from_crash': False, 'intl.accept_languages': 'en',
        'accessibility.tabfocus': 7}

    @staticmethod
    def missing():
        return '' if shutil.which('firefox-esr') else 'firefox-esr is not installed'

    def __init__(self):
        super().__init__()
        self.port, self.number, self.socket = free_port(), 0, None
        with open(os.path.join(self.folder, 'user.js'), 'w') as file:
            for name, value in {**self.PREFERENCES, 'marionette.port': self.port}.items():
                file.write(f'user_pref("{name}", {json.dumps(value)});\n')
        self.begin(['firefox-esr', '--headless', '--marionette', '--no-remote', '--width', '1280',
                    '--height', '800', '--profile', self.folder])
        try:
            if not wait_until(self.connect, 60):
                raise AssertionError('firefox-esr does not start')
            self.receive()
            self.ask('WebDriver:NewSession', strictFileInteractability=False)
            self.ask('WebDriver:SetTimeouts', script=round(60000 * PATIENCE))
        except BaseException as error:
            error.args = (f'{error}\n{self.logged()}',)
            super().close()
            raise

    def connect(self):
        try:
            self.socket = socket.create_connection(('127.0.0.1', self.port), 90 * PATIENCE)
            self.reader = self.socket.makefile('rb')
            return True
        except OSError:
            return False

    def receive(self):
        """LENGTH:JSON"""
        length = b''
        while (byte := self.reader.read(1)) != b':':
            if not byte:
                raise EOFError('Firefox has closed the connection')
            length += byte
        return json.loads(self.reader.read(int(length)))

    def ask(self, command, **parameters):
        self.number += 1
        data = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(b'%d:%s' % (len(data), data))
        kind, number, error, result = self.receive()
        assert (kind, number) == (1, self.number), (kind, number)
        if error:
            raise BrowserError(error['error'], error['message'])
        return result['value'] if isinstance(result, dict) and 'value' in result else result

    def close(self):
        if self.socket:
            with contextlib.suppress(OSError, EOFError, BrowserError):
                self.ask('Marionette:Quit', flags=['eForceQuit'])
            self.socket.close()
        super().close()

    def go(self, url):
        self.ask('WebDriver:Navigate', url=url)

    def script(self, text, *arguments):
        return self.ask('WebDriver:ExecuteScript', script=text, args=arguments)

    def click_element(self, element):
        self.ask('WebDriver:ElementClick', id=element[ELEMENT])

    def send_keys(self, element, text):
        self.ask('WebDriver:ElementSendKeys', id=element[ELEMENT], text=text)

    def perform(self, actions):
        self.ask('WebDriver:PerformActions', actions=actions)

    def take(self):
        return self.ask('WebDriver:TakeScreenshot', full=False)

    def resize(self, width, height):
        frame = self.script('return [outerWidth - innerWidth, outerHeight - innerHeight]')
        self.ask('WebDriver:SetWindowRect', width=width + frame[0], height=height + frame[1])

    def new_tab(self):
        handle = self.ask('WebDriver:NewWindow', type='tab')['handle']
        self.switch_to(handle)
        return handle

    def tab(self):
        return self.ask('WebDriver:GetWindowHandle')

    def tabs(self):
        return self.ask('WebDriver:GetWindowHandles')

    def switch_to(self, handle):
        self.ask('WebDriver:SwitchToWindow', handle=handle)

    def close_tab(self):
        return self.ask('WebDriver:CloseWindow')

    def enter_frame(self, frame):
        self.ask('WebDriver:SwitchToFrame', **({'element': frame[ELEMENT]} if frame else {}))

    def forget_cookies(self):
        self.ask('WebDriver:DeleteAllCookies')

    def errors(self):
        """Marionette does not tell."""
        return []
