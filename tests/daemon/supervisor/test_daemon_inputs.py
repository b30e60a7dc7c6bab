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
        """ffmpeg that sends a pattern in its own time."""
        words = [word.format(port) for word in SERVE[kind][0]]
        server = subprocess.Popen(
            [*PATTERN, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(self.kill, server)
        return server

    def kill(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def wait_running(self, daemon):
        for kind in SERVE:
            daemon.wait_state(kind, 'running')

    @alone
    def test_cut(self):
        """Servers are killed and come again: of each kind at once, beside a stream of our own."""
        ports = {kind: free_port() for kind in SERVE}
        servers = {kind: self.serve(kind, port) for kind, port in ports.items()}
        daemon = self.start({
            **{kind: self.stream(kind, input=SERVE[kind][1].format(port), input_timeout=1)
               for kind, port in ports.items()},
            'own': self.stream('own')})
        self.wait_running(daemon)
        readers = {kind: self.reader(kind + '.ts') for kind in (*SERVE, 'own')}
        watchers = {kind: self.watcher(kind + '.ts', *SOON) for kind in SERVE}
        for kind, watcher in watchers.items():
            self.assertTrue(watcher.wait(card=False), kind)
        cut, waits = time.monotonic(), Waits()
        for server in servers.values():
            self.kill(server)
        for kind, watcher in watchers.items():
            with self.subTest(kind):
                self.assertTrue(watcher.wait(card=True, since=cut), daemon.logged())
                self.until(lambda: daemon.state(kind) == 'waiting')
                self.assertIn('127.0.0.1', daemon.status(kind)['why'])
                self.until(lambda: daemon.status(kind)['card'])
        self.assertTrue(daemon.runs('own'))
        time.sleep(2)  # how long the cut lasts
        for kind, port in ports.items():
            self.serve(kind, port)
        self.wait_running(daemon)
        back, late = time.monotonic(), waits.seconds()
        for kind, watcher in watchers.items():
            with self.subTest(kind):
                self.assertTrue(watcher.wait(card=False, since=back), daemon.logged())
                self.assertTrue(watcher.is_alive_process())
                self.assertFalse(readers[kind].ended)
                self.assert_no_gap(readers[kind].gaps(cut), CARDS_S + late)
                self.until(lambda: daemon.status(kind)['opened'] >= 2)
                self.assertEqual(daemon.status(kind)['restarts'], 0)
        self.assert_no_gap(readers['own'].gaps(cut), 0.5 * PATIENCE + late)

    @alone
    def test_a_camera_that_is_cut(self):
        """RTSP, whose sessions begin again; the password of the URL is in no word."""
        port = free_port()
        camera = Rtsp(self.folder, port)
        self.until(lambda: os.path.exists(camera.sdp))
        daemon = self.start({'one': self.stream(
            input=f'rtsp://me:geheim@127.0.0.1:{port}/cam', input_timeout=1)})
        daemon.wait_state('one', 'running')
        reader, watcher = self.reader('one.ts'), self.watcher('one.ts', *SOON)
        self.assertTrue(watcher.wait(card=False))
        cut, waits = time.monotonic(), Waits()
        camera.close()
        self.assertTrue(watcher.wait(card=True, since=cut), daemon.logged())
        daemon.wait_state('one', 'waiting')
        self.assertIn('rtsp://', daemon.status('one')['why'])
        again = Rtsp(self.folder, port)
        self.addCleanup(again.close)
        daemon.wait_state('one', 'running')
        self.assertTrue(watcher.wait(card=False, since=time.monotonic()), daemon.logged())
        self.assertFalse(reader.ended)
        self.assert_no_gap(reader.gaps(cut), CARDS_S + waits.seconds())
        self.assertEqual(daemon.status('one')['restarts'], 0)
        self.assertNotIn('geheim', daemon.logged() + json.dumps(daemon.status()))

    def test_too_large(self):
        """Said, and nothing is decoded; with another limit it runs."""
        path = self.path('a.mkv')
        subprocess.run([FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i',
                        'testsrc2=size=320x240:rate=25', '-t', '1', path], check=True)
        stream = self.stream(input=path, loop=True, realtime=True, max_pixels=320 * 240 - 1)
        daemon = self.start({'one': stream})
        wanted = 'frames of 320x240 are larger than max_pixels (76799)'
        self.until(lambda: wanted in daemon.status('one')['why'])
        self.assertEqual(daemon.status('one')['decoded'], 0)
        daemon.write({'one': {**stream, 'max_pixels': 320 * 240}})
        daemon.control('Reload')
        daemon.wait_state('one', 'running')

    def test_nobody_is_there_yet(self):
        """A source that comes after the daemon; nobody sees anything before it."""
        port = free_port()
        daemon = self.start({'one': self.stream(input=f'tcp://127.0.0.1:{port}', input_timeout=600)})
        daemon.wait_state('one', 'waiting')
        self.until(lambda: 'refused' in daemon.status('one')['why'])
        self.serve('tcp', port)
        daemon.wait_state('one', 'running')
        self.reader('one.ts')
        self.until(lambda: daemon.status('one')['opened'] == 1)

    def test_silent_from_the_start(self):
        """The commonest fault of cameras has words of its own, and those of FFmpeg are not told."""
        with socket.create_server(('127.0.0.1', 0)) as silent:
            daemon = self.start({'one': self.stream(
                input='tcp://127.0.0.1:%d' % silent.getsockname()[1], input_timeout=0.5)})
            self.until(lambda: 'no data for 0.5 s (input_timeout)' in daemon.status('one')['why'])
            self.assertNotIn('Immediate exit', daemon.logged())

    @alone
    def test_hung(self):
        """A server that is there and says nothing more."""
        port = free_port()
        server = self.serve('tcp', port)
        daemon = self.start({'one': self.stream(input=f'tcp://127.0.0.1:{port}', input_timeout=1)})
        daemon.wait_state('one', 'running')
        reader = self.reader('one.ts')
        server.send_signal(signal.SIGSTOP)
        self.addCleanup(server.kill)
        stopped, waits = time.monotonic(), Waits()
        daemon.wait_state('one', 'waiting')
        self.until(lambda: daemon.status('one')['card'])
        self.assert_no_gap(reader.gaps(stopped), CARDS_S + waits.seconds())


if __name__ == '__main__':
    main()
