# SPDX-License-Identifier: BSD-2-Clause
# Cameras that come while the service runs, and the service that a camera starts.
import os

from servicetest import (ETC, RUN, ServiceTest, is_active, main, main_pid, show, stream, systemctl,
                         until, write)
from devices import UsbCamera, call


def camera_stream(serial, **more):
    return stream(input=f'v4l2:serial={serial}',
                  capture={'size': '320x240', 'format': 'yuyv', 'fps': 5}, **more)


class CameraTest(ServiceTest):
    def plug(self, serial):
        camera = UsbCamera(serial)
        self.addCleanup(camera.close)
        return camera


class Later(CameraTest):
    """The service, with its devices closed but for cameras, started before there was a driver."""

    def begin(self):
        call(['modprobe', '-r', 'vhci_hcd', 'uvcvideo'])
        self.serve({'one': camera_stream('SIM0002')})
        self.addCleanup(write, {'one': stream()})  # what is to run after the reboot

    def test_a_camera_appears(self):
        self.wait_words('^1 stream, one: no camera$')
        viewer = self.reader(f'{RUN}/one.ts')
        self.wait_words('one: no camera, showing card')
        pid = main_pid(self.UNIT)
        camera = self.plug('SIM0002')
        self.wait_words('^1 stream, 1 filtering on cpu')
        camera.unplug()
        self.wait_words('one: no camera, showing card')
        camera.plug()
        self.wait_words('^1 stream, 1 filtering on cpu')
        self.assertEqual(main_pid(self.UNIT), pid)
        self.assertFalse(viewer.ended)


class Rule(CameraTest):
    """udev's rule, by the serial."""
    UNIT = 'halod@SIM0001.service'

    def begin(self):
        path = f'{ETC}/SIM0001.yaml'
        write({'one': camera_stream('SIM0001', folder=f'{RUN}/SIM0001')}, path)
        self.addCleanup(os.unlink, path)
        self.addCleanup(systemctl, 'stop', self.UNIT)

    def test_a_camera_starts_its_service(self):
        """Which stays, with a card, when the camera goes."""
        camera = self.plug('SIM0001')
        until(lambda: is_active(self.UNIT), lambda: systemctl('status', self.UNIT, code=None))
        self.wait_words('^1 stream, 1 filtering on cpu')
        self.wait_data(self.reader(f'{RUN}/SIM0001/one.ts'))
        pid = main_pid(self.UNIT)
        camera.unplug()
        self.wait_words('one: no camera')
        camera.plug()
        self.wait_words('^1 stream, 1 filtering on cpu')
        self.assertEqual(main_pid(self.UNIT), pid)

    def test_others_start_nothing(self):
        self.plug('SIM0003')
        self.assertEqual(show('halod@SIM0003.service', 'ActiveState'), 'inactive')
        self.assertEqual(systemctl('--failed', '--no-legend'), '')


if __name__ == '__main__':
    main()
