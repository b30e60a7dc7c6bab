# SPDX-License-Identifier: BSD-2-Clause
# Sources from the network that are cut: viewers see the card and stay, and all comes back by itself.
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from halotest.daemon import (FFMPEG, PATIENCE, DaemonTest, free_port, is_sanitized, main)
from halotest import Waits, alone

CARDS_S = 0.85 * PATIENCE  # between them it is 0.5; where one does not come, 0.9
SOON = ['-analyzeduration', '500k']  # no search for further streams
PATTERN = [FFMPEG, '-nostdin', '-v', 'error', '-re', '-f', 'lavfi', '-i',
           'testsrc2=size=320x240:rate=25', '-c:v', 'libx264', '-preset', 'ultrafast', '-tune',
           'zerolatency', '-g', '12']
SERVE = {  # what ffmpeg writes to, and what halod reads then
    'http': (['-f', 'mpegts', '-listen', '1', 'http://127.0.0.1:{}/live.ts'],
             'http://127.0.0.1:{}/live.ts'),
    'srt': (['-f', 'mpegts', 'srt://127.0.0.1:{}?mode=listener'], 'srt://127.0.0.1:{}'),
    'tcp': (['-f', 'mpegts', 'tcp://127.0.0.1:{}?listen=1'], 'tcp://127.0.0.1:{}'),
    'udp': (['-f', 'mpegts', 'udp://127.0.0.1:{}?pkt_size=1316'], 'udp://127.0.0.1:{}'),
}
if is_sanitized([b'__tsan_init']):  # FFmpeg ends a thread of its own there in a way that it minds
    SERVE['udp'] = (SERVE['udp'][0], 'udp://127.0.0.1:{}?fifo_size=0')


class Server:
    """ffmpeg that sends a pattern in its own time."""

    def __init__(self, kind, port):
        words = [word.format(port) for word in SERVE[kind][0]]
        self.process = subprocess.Popen([*PATTERN, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def close(self):
        self.process.kill()
        self.process.wait()


class Rtsp:
    """As much of a camera as RTSP over TCP needs: ffmpeg's RTP packets, handed on to one client."""

    def __init__(self, folder, port):
        self.sdp, self.port = os.path.join(folder, 'rtsp.sdp'), port
        self.rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rtp.bind(('127.0.0.1', 0))
        self.rtp.settimeout(0.2)
        self.sender = subprocess.Popen(
            [*PATTERN, '-flags', '+global_header', '-f', 'rtp', '-sdp_file', self.sdp,
             f'rtp://127.0.0.1:{self.rtp.getsockname()[1]}?pkt_size=1200'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.listener = socket.create_server(('127.0.0.1', port))
        self.listener.settimeout(0.2)
        self.over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        self.over = True
        self.sender.kill()
        self.sender.wait()
        self.thread.join()
        self.listener.close()
        self.rtp.close()

    def run(self):
        while not self.over:
            try:
                client, _ = self.listener.accept()
            except TimeoutError:
                continue
            with client, contextlib.suppress(OSError, EOFError):
                while not self.answer(client, self.request(client)):
                    pass
                self.play(client)

    def request(self, client):
        text = b''
        while not text.endswith(b'\r\n\r\n'):
            byte = client.recv(1)
            if not byte:
                raise EOFError
            text += byte
        lines = text.decode().split('\r\n')
        return lines[0].split()[0], dict(line.lower().split(': ', 1) for line in lines[1:] if line)

    def answer(self, client, request):
        """Whether it plays now."""
        method, words = request
        head, body, status = {'CSeq': words['cseq'], 'Session': '1'}, '', '200 OK'
        if method == 'OPTIONS':
            head['Public'] = 'DESCRIBE, SETUP, PLAY, TEARDOWN'
        elif method == 'DESCRIBE':
            with open(self.sdp) as file:
                body = re.sub(r'm=video \d+', 'm=video 0', file.read()) + 'a=control:track\r\n'
            head |= {'Content-Type': 'application/sdp', 'Content-Length': len(body)}
        elif method == 'SETUP' and 'tcp' in words['transport']:
            head['Transport'] = 'RTP/AVP/TCP;unicast;interleaved=0-1'
        elif method != 'PLAY':
            status = '461 Unsupported Transport'
        client.sendall((f'RTSP/1.0 {status}\r\n' + ''.join(
            f'{key}: {value}\r\n' for key, value in head.items()) + '\r\n' + body).encode())
        return method == 'PLAY'

    def play(self, client):
        while not self.over:
            with contextlib.suppress(TimeoutError):
                packet = self.rtp.recv(65536)
                client.sendall(b'$\0' + len(packet).to_bytes(2, 'big') + packet)


class Inputs(DaemonTest):
    def serve(self, kind, port):
        server = Rtsp(self.folder, port) if kind == 'rtsp' else Server('tcp' if kind == 'hung' else kind, port)
        self.addCleanup(server.close)
        return server

    @alone
    def test_cut(self):
        """Servers of each kind are killed at once and come again, one hangs; beside a stream of our own. The
        password of a URL is in no word."""
        urls = {**{kind: url for kind, (_, url) in SERVE.items()}, 'hung': SERVE['tcp'][1],
                'rtsp': 'rtsp://me:geheim@127.0.0.1:{}/cam'}
        ports = {kind: free_port() for kind in urls}
        servers = {kind: self.serve(kind, port) for kind, port in ports.items()}
        self.until(lambda: os.path.exists(servers['rtsp'].sdp))
        daemon = self.start({
            **{kind: self.stream(kind, input=url.format(ports[kind]), input_timeout=1)
               for kind, url in urls.items()}, 'own': self.stream('own')})
        for kind in urls:
            daemon.wait_state(kind, 'running')
        readers = {kind: self.reader(kind + '.ts') for kind in (*urls, 'own')}
        watchers = {kind: self.watcher(kind + '.ts', *SOON) for kind in urls}
        for kind, watcher in watchers.items():
            self.assertTrue(watcher.wait(card=False), kind)
        cut, waits = time.monotonic(), Waits()
        servers.pop('hung').process.send_signal(signal.SIGSTOP)
        for server in servers.values():
            server.close()
        for kind, watcher in watchers.items():
            with self.subTest(kind):
                self.assertTrue(watcher.wait(card=True, since=cut), daemon.logged())
                self.until(lambda: daemon.state(kind) == 'waiting')
                self.assertIn('127.0.0.1', daemon.status(kind)['why'])
                self.until(lambda: daemon.status(kind)['card'])
        self.assertTrue(daemon.runs('own'))
        time.sleep(2)  # how long the cut lasts
        for kind in servers:
            self.serve(kind, ports[kind])
        for kind in servers:
            daemon.wait_state(kind, 'running')
        back, late = time.monotonic(), waits.seconds()
        for kind in servers:
            with self.subTest(kind):
                self.assertTrue(watchers[kind].wait(card=False, since=back), daemon.logged())
                self.assertTrue(watchers[kind].is_alive_process())
                self.until(lambda: daemon.status(kind)['opened'] >= 2)
        for kind in urls:
            self.assertFalse(readers[kind].ended)
            self.assert_no_gap(readers[kind].gaps(cut), CARDS_S + late)
            self.assertEqual(daemon.status(kind)['restarts'], 0)
        self.assert_no_gap(readers['own'].gaps(cut), 0.5 * PATIENCE + late)
        self.assertNotIn('geheim', daemon.logged() + json.dumps(daemon.status()))

    def test_what_cannot_be_read(self):
        """A source that comes after the daemon; nobody sees anything before it. One that is silent from the
        start, the commonest fault of cameras, has words of its own, and those of FFmpeg are not told. Frames
        that are too large are said, and none is decoded; with another limit they are."""
        path, port = self.path('a.mkv'), free_port()
        subprocess.run([FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i',
                        'testsrc2=size=320x240:rate=25', '-t', '1', path], check=True)
        with socket.create_server(('127.0.0.1', 0)) as silent:
            streams = {'late': self.stream('late', input=f'tcp://127.0.0.1:{port}', input_timeout=600),
                       'silent': self.stream('silent', input_timeout=0.5,
                                             input='tcp://127.0.0.1:%d' % silent.getsockname()[1]),
                       'large': self.stream('large', input=path, loop=True, realtime=True, max_pixels=320 * 240 - 1)}
            daemon = self.start(streams)
            for name, why in (('late', 'refused'), ('silent', 'no data for 0.5 s (input_timeout)'),
                              ('large', 'frames of 320x240 are larger than max_pixels (76799)')):
                self.until(lambda: why in daemon.status(name)['why'])
            self.assertNotIn('Immediate exit', daemon.logged())
        self.assertEqual(daemon.status('large')['decoded'], 0)
        streams['large']['max_pixels'] += 1
        daemon.write(streams)
        daemon.control('Reload')
        self.serve('tcp', port)
        for name in 'large', 'late':
            daemon.wait_state(name, 'running')
        self.reader('late.ts')
        self.until(lambda: daemon.status('late')['opened'] == 1)


if __name__ == '__main__':
    main()
