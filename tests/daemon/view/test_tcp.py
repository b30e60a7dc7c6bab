# SPDX-License-Identifier: BSD-2-Clause
# Outputs tcp: every form for a client at an address, who is no viewer, and a port that is taken.
import re
import socket

from halotest.daemon import FFMPEG, PATIENCE, DaemonTest, free_port, main, wait_until
from halotest import decodes_cleanly, probe_video, warm

SMALL = {'size': '160x120', 'fps': 10}


class TcpTest(DaemonTest):
    def begin(self, *outputs):
        """Ports of a stream with these outputs, and its daemon."""
        ports = [free_port() for _ in outputs]
        daemon = self.start({'one': self.stream(outputs=[
            {'tcp': f'127.0.0.1:{port}', **output} for port, output in zip(ports, outputs)])})
        daemon.wait_state('one', 'running')
        return ports, daemon

    def viewers(self, daemon):
        return [output['viewers'] for output in daemon.status('one')['outputs']]

    def connect(self, port):
        client = socket.create_connection(('127.0.0.1', port), timeout=20 * PATIENCE)
        self.addCleanup(client.close)
        return client


class Forms(TcpTest):
    def test_all(self):
        """What is not said is MPEG-TS. NUT may be raw."""
        forms = (({}, 'mpegts', 'h264'), ({'format': 'mkv'}, 'matroska', 'h264'),
                 ({'format': 'nut'}, 'nut', 'h264'),
                 ({'format': 'nut', 'video': {'codec': 'raw', **SMALL}}, 'nut', 'rawvideo'))
        ports, _ = self.begin(*(output for output, _, _ in forms))
        for port, (output, form, codec) in zip(ports, forms):
            with self.subTest(output):
                copy = self.path(f'{port}.nut')
                run = warm.run([FFMPEG, '-nostdin', '-v', 'error', '-xerror', '-y', '-f', form, '-i',
                                f'tcp://127.0.0.1:{port}', '-t', '1', '-c', 'copy', copy],
                               timeout=60 * PATIENCE)
                self.assertEqual((run.returncode, run.stderr), (0, b''))
                self.assertEqual(probe_video(copy)['codec_name'], codec)
                self.assertTrue(decodes_cleanly(copy))


class Clients(TcpTest):
    def test_come_and_go(self):
        (port,), daemon = self.begin({})
        output = daemon.status('one')['outputs'][0]
        self.assertEqual((output['kind'], output['target']), ('tcp', f'127.0.0.1:{port}'))
        clients = [self.connect(port) for _ in range(3)]
        for client in clients:
            self.assertEqual(client.recv(1), b'G')  # of MPEG-TS
        self.assertEqual(self.viewers(daemon), [3])
        for client in clients:
            client.close()
        self.assertTrue(wait_until(lambda: self.viewers(daemon) == [0]))

    def test_whoever_speaks_is_closed(self):
        """Such as a browser that a page has sent there; another viewer notices nothing."""
        (port,), daemon = self.begin({})
        viewer, browser = self.connect(port), self.connect(port)
        browser.sendall(b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
        try:
            while browser.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass
        self.assertTrue(wait_until(lambda: viewer.recv(1 << 16) and self.viewers(daemon) == [1]))


class Addresses(TcpTest):
    def test_a_port_in_use(self):
        """Its output fails, and says so; tests/daemon/test_daemon.py has what else does."""
        with socket.create_server(('127.0.0.1', 0)) as taken:
            address = '127.0.0.1:%d' % taken.getsockname()[1]
            daemon = self.start({'one': self.stream(outputs=[{'tcp': address}])})
            daemon.wait_state('one', 'running')
            self.assertRegex(daemon.status('one')['outputs'][0]['why'],
                             re.escape(address) + '.*ss -ltnp')

    def test_only_this_machine(self):
        """Without reach: network the address of no other interface is listened at."""
        (port,), _ = self.begin({})
        with socket.socket() as other:
            self.assertNotEqual(other.connect_ex(('127.0.0.2', port)), 0)


if __name__ == '__main__':
    main()
