# SPDX-License-Identifier: BSD-2-Clause
# Outputs tcp: every form for a client at an address, who is no viewer, and a port that is taken.
import re
import socket

from halotest.daemon import FFMPEG, PATIENCE, DaemonTest, free_port, main
from halotest import decodes_cleanly, probe_video, warm

SMALL = {'size': '160x120', 'fps': 10}
# What is not said is MPEG-TS. NUT may be raw.
FORMS = (({}, 'mpegts', 'h264'), ({'format': 'mkv'}, 'matroska', 'h264'),
         ({'format': 'nut'}, 'nut', 'h264'),
         ({'format': 'nut', 'video': {'codec': 'raw', **SMALL}}, 'nut', 'rawvideo'))


class Tcp(DaemonTest):
    def connect(self, port):
        client = socket.create_connection(('127.0.0.1', port), timeout=20 * PATIENCE)
        self.addCleanup(client.close)
        return client

    def viewers(self, daemon):
        return daemon.status('one')['outputs'][0]['viewers']

    def test_outputs(self):
        """One more has a port that is in use: it fails, and says so. Without reach: network, they listen
        at the addresses of no other interface."""
        with socket.create_server(('127.0.0.1', 0)) as taken:
            ports = [free_port() for _ in FORMS] + [taken.getsockname()[1]]
            daemon = self.start({'one': self.stream(outputs=[
                {'tcp': f'127.0.0.1:{port}', **output}
                for port, (output, *_) in zip(ports, (*FORMS, FORMS[0]))])})
            daemon.wait_state('one', 'running')
            outputs = daemon.status('one')['outputs']
        self.assertEqual((outputs[0]['kind'], outputs[0]['target']), ('tcp', f'127.0.0.1:{ports[0]}'))
        self.assertRegex(outputs[-1]['why'], re.escape(f'127.0.0.1:{ports[-1]}') + '.*ss -ltnp')
        with socket.socket() as other:
            self.assertNotEqual(other.connect_ex(('127.0.0.2', ports[0])), 0)
        for port, (output, form, codec) in zip(ports, FORMS):
            with self.subTest(output):
                copy = self.path(f'{port}.nut')
                run = warm.run([FFMPEG, '-nostdin', '-v', 'error', '-xerror', '-y', '-f', form, '-i',
                                f'tcp://127.0.0.1:{port}', '-t', '0.5', '-c', 'copy', copy],
                               timeout=60 * PATIENCE)
                self.assertEqual((run.returncode, run.stderr), (0, b''))
                self.assertEqual(probe_video(copy)['codec_name'], codec)
                self.assertTrue(decodes_cleanly(copy))
        self.check_clients(daemon, ports[0])

    def check_clients(self, daemon, port):
        """They come and go. Whoever speaks is closed, such as a browser that a page has sent there;
        another viewer notices nothing."""
        self.until(lambda: self.viewers(daemon) == 0)
        viewer, other, browser = [self.connect(port) for _ in range(3)]
        for client in viewer, other, browser:
            self.assertEqual(client.recv(1), b'G')  # of MPEG-TS
        self.assertEqual(self.viewers(daemon), 3)
        other.close()
        browser.sendall(b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
        try:
            while browser.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass
        self.until(lambda: viewer.recv(1 << 16) and self.viewers(daemon) == 1)
        viewer.close()
        self.until(lambda: self.viewers(daemon) == 0)


if __name__ == '__main__':
    main()
