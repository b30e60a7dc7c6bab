# SPDX-License-Identifier: BSD-2-Clause
# The part of a proof (tools/prove-privacy) that asks the daemon itself, as its users meet it.
"""A daemon with painted pictures and faults by chance; viewers of every kind of output, whose pictures
halo-prove looks at; and somebody who changes filters, reloads, and kills and stops engines."""
import array
import json
import mmap
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

PLANS = ('heap:p=0.001,time:p=0.002', 'code:p=0.001', 'submit:p=0.001,finish:p=0.001',
         'upload:p=0.001,download:p=0.001,launch:p=0.001', 'alloc:p=0.002,memory:p=0.01',
         'heap:p=0.0005,code:p=0.0005,skip:p=0.01', 'kill:%d', 'hang:%d', 'illegal:p=0.001', '')
# Pixel formats as YUV4MPEG2 has them, bytes of a sample, log2 of luma pixels of a chroma sample.
FORMATS = {'yuv420p': ('420mpeg2', 1, 1, 1), 'yuv422p': ('422', 1, 1, 0),
           'yuv444p': ('444', 1, 0, 0), 'yuv420p10le': ('420p10', 2, 1, 1),
           'yuv422p12le': ('422p12', 2, 1, 0), 'yuv444p10le': ('444p10', 2, 0, 0),
           'gray': ('mono', 1, None, None)}
SIZES = ((96, 64), (97, 65), (130, 72), (63, 81))
NEW_BUFFER, RELEASE_BUFFER, CAPS, END = range(4)


class Form:
    """What a stream's pictures are, as their source has them; exam: for halo-prove, or None."""

    def __init__(self, pixels='yuv420p', size=SIZES[0], exam=None):
        self.pixels, (self.width, self.height), self.exam = pixels, size, exam
        self.tag, self.sample, self.right, self.down = FORMATS[pixels]

    def packed(self, memory):
        """A picture without gaps, from one as halod-sockets(7) has it."""
        ret, at = b'', 0
        for plane in range(1 if self.right is None else 3):
            line = self.sample * (-(-self.width >> self.right) if plane else self.width)
            rows = -(-self.height >> self.down) if plane else self.height
            stride = -(-line // 4) * 4
            deep422 = self.right == 1 and self.down == 0 and self.sample > 1
            even = deep422 or (plane == 0 and self.down == 1)
            ret += b''.join(memory[at + y * stride:at + y * stride + line] for y in range(rows))
            at += stride * (rows + rows % 2 if even else rows)
        return ret


class Figures:
    """Sums of what programs have printed, and faults by their points."""

    def __init__(self):
        self.pictures = self.judged = self.hidden = self.blank = 0
        self.cards = self.broken = self.leaks = 0
        self.cell = self.block = 0.0
        self.points, self.kinds = {}, {}

    def add(self, text, kind='engine'):
        """text: what halo-prove has printed; False where it has not come to its end."""
        found = re.search(r'^figures: (.*)$', text, re.M)
        if not found:
            return False
        values = dict(word.split('=') for word in found.group(1).split())
        for name in ('pictures', 'judged', 'hidden', 'blank', 'cards', 'broken', 'leaks'):
            setattr(self, name, getattr(self, name) + int(values[name]))
        self.kinds[kind] = self.kinds.get(kind, 0) + int(values['pictures'])
        self.cell = max(self.cell, float(values['cell']))
        self.block = max(self.block, float(values['block']))
        return True

    def fault(self, point, count=1):
        self.points[point] = self.points.get(point, 0) + count

    def add_log(self, path):
        if os.path.exists(path):
            with open(path, encoding='utf-8') as file:
                for line in file:
                    self.fault(line.strip())

    def faults(self):
        return sum(self.points.values())


class Eye(threading.Thread):
    """halo-prove at an output, begun again whenever it ends, until close()."""

    def __init__(self, proof, source, form):
        super().__init__(daemon=True)
        self.proof, self.source, self.closed, self.process = proof, source, False, None
        self.form, self.so_far = form, 0
        self.start()

    def run(self):
        while not self.closed:
            self.look()
            time.sleep(0.05)

    def look(self):
        self.process = self.proof.looker([self.source], self.form)
        out = b''
        for line in self.process.stdout:
            out += line
            if line.startswith(b'so far: '):
                self.so_far = int(line.split()[2])
        self.process.wait()
        self.so_far = 0
        self.proof.take(out, self.source[-3:])

    def close(self):
        """Once the daemon has ended."""
        self.closed = True
        self.join(20 * self.proof.patience)
        if self.is_alive():
            self.process.kill()
            self.join()


class PipedEye(Eye):
    """One that gets pictures through this program, as YUV4MPEG2."""

    CAMERA = False

    def look(self):
        try:
            self.pictures = self.connect()
        except OSError:
            return
        self.process = self.proof.looker(['pipe:0'], self.form, stdin=subprocess.PIPE)
        tag = '422' if self.CAMERA else self.form.tag
        try:
            self.process.stdin.write(f'YUV4MPEG2 W{self.form.width} H{self.form.height} F25:1 Ip A1:1 '
                                     f'C{tag}\n'.encode())
            for picture in self.pictures:
                self.process.stdin.write(b'FRAME\n' + picture)
        except OSError:
            pass
        self.proof.take(self.process.communicate()[0],
                        'virtual camera' if self.CAMERA else '.fd')


class FrameEye(PipedEye):
    """A viewer of a .fd socket (halod-sockets(7))."""

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.connect(self.source)
        client.settimeout(20)
        return self.frames(client)

    @staticmethod
    def exactly(client, size):
        data = b''
        while len(data) < size:
            part = client.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def frames(self, client):
        with client:
            while True:
                fds = array.array('i')
                try:
                    head, control, _, _ = client.recvmsg(8, socket.CMSG_SPACE(16))
                    for _, _, data in control:
                        fds.frombytes(data[:len(data) - len(data) % 4])
                    kind, size = struct.unpack('=II', head + self.exactly(client, 8 - len(head)))
                    payload = self.exactly(client, size)
                except (OSError, EOFError):
                    return
                for fd in fds:
                    number, length = struct.unpack('=Q', payload[:8])[0], os.fstat(fd).st_size
                    with mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ) as memory:
                        picture = self.form.packed(memory)
                    os.close(fd)
                    client.sendall(struct.pack('=IIQ', RELEASE_BUFFER, 8, number))
                    yield picture
                if kind == END:
                    return


class CameraEye(PipedEye):
    """A reader of a virtual camera that is played (tests/standin/loopback.c)."""

    CAMERA = True

    def __init__(self, proof, source, form):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(source)
        self.listener.listen()
        self.listener.settimeout(0.5)
        super().__init__(proof, source, form)

    def connect(self):
        opened, _ = self.listener.accept()
        opened.setblocking(True)
        opened.recv(100)
        return self.read(opened)

    def read(self, opened):
        while picture := opened.recv(1 << 20):
            if len(picture) == self.form.width * self.form.height * 2:
                yield picture[0::2] + picture[1::4] + picture[3::4]


class Served:
    """Rounds with a daemon. programs: finds halod, haloctl and halo-prove by their names."""

    def __init__(self, programs, folder, seed=1, backend='cpu', loopback=None):
        self.programs, self.folder, self.backend, self.loopback = programs, folder, backend, loopback
        self.random, self.seed = random.Random(seed), seed
        self.figures, self.failures, self.rounds = Figures(), [], 0
        self.rate, self.patience = 200, 1
        self.lock, self.opened = threading.Lock(), []

    # ---- halo-prove ----

    def looker(self, sources, form, **more):
        return subprocess.Popen([self.programs('halo-prove'), 'look', '--out', self.folder,
                                 *(['--exam', form.exam] if form.exam else []), *sources],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more)

    def take(self, out, kind):
        with self.lock:
            self.figures.add(out.decode(errors='replace'), kind)
            for leak in re.findall(r'^LEAK.*\n(?: .*\n)*', out.decode(errors='replace'), re.M):
                print(f'from {kind}: {leak}', end='', flush=True)

    # ---- the daemon ----

    def path(self, name):
        return os.path.join(self.place, name)

    def ask_chains(self, *options):
        done = subprocess.run([self.programs('halo-prove'), 'chains', *options],
                              stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().splitlines()

    def choose_format(self):
        """Of stream c, and its chains: with regions, so that its pictures are judged sample by
        sample."""
        pixels, size = self.random.choice(sorted(FORMATS)), self.random.choice(SIZES)
        exam = f'{self.random.randrange(1000000)}:{pixels}:{size[0]}x{size[1]}:{12 * 4096}'
        whole = self.ask_chains()
        self.chains = {'a': whole, 'b': whole, 'c': self.ask_chains('--exam', exam, '--out', self.place)}
        self.forms = {'a': Form(), 'b': Form(), 'c': Form(pixels, size, exam)}

    def stream(self, name, number, **more):
        form = self.forms[name]
        coded = ({'codec': 'ffv1'} if form.exam else {'crf': '12', 'preset': 'ultrafast'})
        outputs = [{'unix': self.path(name + '.nut'), 'video': {'codec': 'raw'}},
                   {'unix': self.path(name + '.fd')},
                   {'file': self.path(name + '-%s.mkv'), 'segment_time': 2, 'video': coded}]
        if not form.exam:
            outputs.append({'unix': self.path(name + '.ts'), 'video': coded})
        if self.loopback and form.width % 2 == 0:
            outputs.append({'v4l2': f'/dev/video{number}',
                            'video': {'size': f'{form.width}x{form.height}', 'fps': 50}})
        source = f'test:size={form.width}x{form.height}:rate={self.rate}:canary={number * 4096}'
        if form.exam:
            outputs.append({'unix': self.path(name + '2.nut'), 'video': {'codec': 'raw'},
                            'rendition': 'other'})
            more['renditions'] = {'other': {'filters': self.random.choice(self.chains[name])}}
            source += ':format=' + form.pixels
        return {'input': source, 'filters': self.random.choice(self.chains[name]),
                'backend': self.backend, 'gpu_timeout': 1,
                'privacy': 'changed', 'own_engine': True,
                'on_error': self.random.choice(('card', 'solid', 'last')),
                'outputs': outputs, **more}

    def write(self):
        settings = {'version': 1, 'control': {'path': self.path('control.sock')},
                    'http': {'listen': 'unix:' + self.path('http.sock')},
                    'streams': {name: self.stream(name, 10 + at) for at, name in enumerate('abc')}}
        with open(self.path('halod.yaml~'), 'w', encoding='utf-8') as file:
            json.dump(settings, file)
        os.rename(self.path('halod.yaml~'), self.path('halod.yaml'))

    def haloctl(self, *words):
        try:
            return subprocess.run([self.programs('haloctl'), '-s', self.path('control.sock'), *words],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10,
                                  check=False).stdout.decode()
        except subprocess.TimeoutExpired:
            return ''

    def engines(self):
        try:
            status = json.loads(self.haloctl('-j', 'status'))['status']
        except (ValueError, KeyError):
            return []
        return [engine['pid'] for engine in status['engines'] if engine['pid']]

    def fetch(self, path, name, seconds):
        """Over HTTP, for as long."""
        end = time.monotonic() + seconds
        try:
            with socket.socket(socket.AF_UNIX) as client, open(self.path(name), 'wb') as file:
                client.settimeout(6)
                client.connect(self.path('http.sock'))
                client.sendall(f'GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n'.encode())
                data = b''
                while time.monotonic() < end and (part := client.recv(1 << 16)):
                    data += part
                file.write(data.split(b'\r\n\r\n', 1)[1] if b' 200 ' in data[:20] else b'')
        except (OSError, IndexError):
            pass

    # ---- what happens to it ----

    def act(self, number):
        name = self.random.choice('abc')
        what = self.random.randrange(8)
        if what < 2:
            self.haloctl('set', name, 'filters=' + self.random.choice(self.chains[name]))
            self.figures.fault('set other filters, over the socket')
        elif what == 2:
            self.haloctl('snapshot', name, self.path(f'{name}-shot{number}.png'))
        elif what == 3:
            self.fetch(f'/{name}/snapshot.jpg', f'{name}-http{number}.jpg', 6)
        elif what == 4:
            self.fetch(f'/{name}/stream.mjpeg', f'{name}-http{number}.mjpeg', 1)
        elif what == 5:
            self.write()
            self.haloctl('reload')
            self.figures.fault('reload of the daemon')
        elif pids := self.engines():
            self.disturb(self.random.choice(pids), what == 6)

    def disturb(self, pid, for_good):
        try:
            os.kill(pid, signal.SIGKILL if for_good else signal.SIGSTOP)
            if not for_good:
                time.sleep(0.6)
                os.kill(pid, signal.SIGCONT)
        except OSError:
            return
        self.figures.fault("killed by SIGKILL, the daemon's engine" if for_good
                           else "stopped by SIGSTOP, the daemon's engine")

    def eyes(self):
        """A device has to be there before the daemon looks for it, other outputs come with it."""
        ret = [CameraEye(self, self.path(f'video{10 + at}'), self.forms[name])
               for at, name in enumerate('abc') if self.forms[name].width % 2 == 0
               ] if self.loopback else []
        yield ret
        for name, form in self.forms.items():
            ret += [Eye(self, f'unix:{self.path(name)}.nut', form),
                    Eye(self, f'unix:{self.path(name)}' + ('2.nut' if form.exam else '.ts'), form),
                    FrameEye(self, f'{self.path(name)}.fd', form)]
        yield ret

    def environment(self):
        plan = self.random.choice(PLANS)
        plan = plan % self.random.randrange(100, 1500) if '%' in plan else plan
        ret = {**os.environ, 'HALOD_FAULT': f'seed:{self.seed + self.rounds}' + (',' + plan if plan else ''),
               'HALOD_FAULT_LOG': self.path('faults')}
        if self.loopback:
            ret |= {'LD_PRELOAD': self.loopback, 'HALO_STANDIN_LOOPBACK': self.place}
        return ret

    def judged(self):
        """Pictures sample by sample, those of viewers that still look too."""
        return self.figures.judged + sum(eye.so_far for eye in self.opened)

    def wait_for_pictures(self, end):
        """Until one more was judged. Under a chain that paints all of a frame none ever is, so
        stream c gets others."""
        before, change = self.judged(), time.monotonic() + 5
        while self.judged() <= before and time.monotonic() < end:
            if time.monotonic() > change:
                self.haloctl('set', 'c', 'filters=' + self.random.choice(self.chains['c']))
                change = time.monotonic() + 5
            time.sleep(0.05)

    def round(self, seconds, least=0, most=0):
        """One daemon, for so long; or, where that is more, until so many pictures were judged
        sample by sample, of which some come between any two things that happen: for machines on
        which an engine would be killed before it shows one. That takes so many seconds at most."""
        self.place = os.path.join(self.folder, 'served')
        shutil.rmtree(self.place, ignore_errors=True)
        os.makedirs(self.place)
        self.rounds += 1
        self.choose_format()
        self.write()
        eyes = self.eyes()
        next(eyes)
        with open(self.path('log'), 'wb') as log:
            daemon = subprocess.Popen([self.programs('halod'), '-c', self.path('halod.yaml')],
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      env=self.environment(), start_new_session=True)
        self.opened = next(eyes)
        begin, number = time.monotonic(), 0
        time.sleep(min(1, seconds / 4))
        while daemon.poll() is None and (
                time.monotonic() < begin + seconds or
                (self.judged() < least and time.monotonic() < begin + most)):
            number += 1
            if least:
                self.wait_for_pictures(begin + most)
            self.act(number)
            time.sleep(0.1)
        self.finish(daemon)
        for eye in self.opened:
            eye.close()
        self.opened = []
        if self.lacked_memory(daemon):
            self.figures.fault('no memory when the daemon read its settings')
            self.round(seconds, least, most)
            return
        self.check_files()
        self.figures.add_log(self.path('faults'))

    def lacked_memory(self, daemon):
        """Whether a fault hit the daemon before it had begun: it says so in one line."""
        with open(self.path('log'), errors='replace', encoding='utf-8') as log:
            return daemon.returncode == 1 and log.read() == (
                f'halod: {self.path("halod.yaml")}: Cannot allocate memory\n')

    def finish(self, daemon):
        early = daemon.poll()
        if early is not None and self.lacked_memory(daemon):
            return
        if early is None:
            daemon.terminate()
            try:
                daemon.wait(30 * self.patience)
            except subprocess.TimeoutExpired:
                daemon.kill()
                early = 'does not end'
        daemon.wait()
        if early is not None:
            with open(self.path('log'), errors='replace', encoding='utf-8') as log:
                self.failures.append(f'round {self.rounds}: the daemon ended by itself, {early}:\n' +
                                     log.read()[-2000:])

    def check_files(self):
        for kind, suffix in (('snapshots', 'png'), ('HTTP', 'jpg'), ('HTTP', 'mjpeg'), ('files', 'mkv')):
            for stream, form in self.forms.items():
                files = [self.path(name) for name in os.listdir(self.place)
                         if name.startswith(stream + '-') and name.endswith('.' + suffix) and
                         os.path.getsize(self.path(name))]
                if files:
                    self.take(self.looker(files, form).communicate()[0], kind)
