# SPDX-License-Identifier: BSD-2-Clause
"""xdg-desktop-portal with a backend that allows every program to use the camera. As a program, this
file is that backend, and makes the file that its argument names once all are on the bus; it needs a
Python with gi."""
import contextlib
import os
import subprocess
import sys

NAME = 'org.freedesktop.impl.portal.desktop.halotest'
NAMES = (NAME, 'org.freedesktop.impl.portal.PermissionStore', 'org.freedesktop.portal.Desktop')
PORTAL, STORE = '/usr/libexec/xdg-desktop-portal', '/usr/libexec/xdg-permission-store'
ACCESS = '''<node><interface name="org.freedesktop.impl.portal.Access"><method name="AccessDialog">
    <arg type="o" direction="in"/><arg type="s" direction="in"/><arg type="s" direction="in"/>
    <arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="s" direction="in"/>
    <arg type="a{sv}" direction="in"/><arg type="u" direction="out"/><arg type="a{sv}" direction="out"/>
    </method></interface></node>'''


def python():
    """A Python that has gi, or None."""
    for program in (sys.executable, '/usr/bin/python3'):
        with contextlib.suppress(OSError):
            if subprocess.run([program, '-c', 'import gi'], capture_output=True,
                              check=False).returncode == 0:
                return program
    return None


def missing():
    return [path for path in (PORTAL, STORE) if not os.path.exists(path)] + \
        ([] if python() else ['python3-gi'])


def begin(session):
    """In a session of halotest.pipewire, which ends it. A client that asks too early does not ask again."""
    folder = session.path('portals')
    os.mkdir(folder)
    with open(os.path.join(folder, 'halotest.portal'), 'w', encoding='utf-8') as file:
        file.write(f'[portal]\nDBusName={NAME}\nUseIn=halotest\n'
                   'Interfaces=org.freedesktop.impl.portal.Access;\n')
    session.environment.update(XDG_DESKTOP_PORTAL_DIR=folder, XDG_CURRENT_DESKTOP='halotest')
    session.begin(STORE)
    session.begin(python(), os.path.abspath(__file__), session.path('portals-ready'))
    session.begin(PORTAL)
    session.wait_for('portals-ready')


def serve(ready):
    from gi.repository import Gio, GLib  # pylint: disable=import-outside-toplevel

    def allow(*call):
        call[-1].return_value(GLib.Variant('(ua{sv})', (0, {})))

    def export(bus, _):
        interface = Gio.DBusNodeInfo.new_for_xml(ACCESS).interfaces[0]
        bus.register_object('/org/freedesktop/portal/desktop', interface, allow, None, None)

    def appear(_, name, __):
        absent.discard(name)
        if not absent:
            with open(ready, 'w', encoding='utf-8'):
                pass
    absent = set(NAMES)
    for name in NAMES:
        Gio.bus_watch_name(Gio.BusType.SESSION, name, 0, appear, None)
    Gio.bus_own_name(Gio.BusType.SESSION, NAME, 0, export, None, None)
    GLib.MainLoop().run()


if __name__ == '__main__':
    serve(sys.argv[1])
