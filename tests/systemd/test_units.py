# SPDX-License-Identifier: BSD-2-Clause
# The units as systemd-analyze judges them: no complaint, and how much they leave open.
"""$UNITS is the folder with the units that Meson made, $SYSTEMD_FILES the one with their rules."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from halotest.units import OLDEST, UNITS, analyze, calls, version

FILES = os.environ.get('SYSTEMD_FILES', '')
MAX_EXPOSED = 6  # tenths
SKIPPED = 77


class Units(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for path in glob.glob(os.path.join(UNITS, '*.s*')):
            if not path.endswith(('.service', '.socket')):
                continue
            with open(path) as unit:
                text = unit.read()
            # What is not installed yet cannot be found.
            text = re.sub(r'^ExecStart=\S+/halod ', 'ExecStart=/bin/true ', text, flags=re.M)
            with open(os.path.join(self.folder, os.path.basename(path)), 'w') as unit:
                unit.write(text)

    def analyze(self, *arguments):
        return analyze(*arguments, cwd=self.folder)

    def instance(self, template, name):
        made = template.replace('@', '@' + name)
        shutil.copy(os.path.join(self.folder, template), os.path.join(self.folder, made))
        return made

    def verify(self, *units):
        code, _, output = self.analyze('verify', '--man=no', *units)
        ours = [line for line in output.splitlines() if 'halod' in line]
        self.assertEqual((code, ours), (0, []), output)

    def test_services(self):
        self.verify('halod.service', self.instance('halod@.service', '046d_0825_5A3B-1'))

    def test_sockets(self):
        self.verify('halod.socket', self.instance('halod@.socket', 'door'), 'halod-http.socket',
                    self.instance('halod-stream@.socket', 'door.ts'))

    def test_user(self):
        """As a system's unit, for there may be no manager of a user: what it says is checked."""
        os.rename(os.path.join(self.folder, 'halod-user.service'),
                  os.path.join(self.folder, 'halod.service'))
        self.verify('halod.service')

    def test_a_complaint_is_seen(self):
        """That the test can fail: verify only warns of a key that it does not know."""
        with open(os.path.join(self.folder, 'halod.service'), 'a') as unit:
            unit.write('[Service]\nDynamicUsr=yes\n')
        with self.assertRaises(AssertionError):
            self.verify('halod.service')

    def test_exposure(self):
        for unit in ('halod.service', self.instance('halod@.service', 'door')):
            code, output, why = self.analyze('security', '--offline=true', '--no-pager',
                                           f'--threshold={MAX_EXPOSED}', './' + unit)
            self.assertEqual(code, 0, output + why)
            self.assertIn('Overall exposure level', output)

    def test_exposure_counts(self):
        """Two lines less, and it is too much."""
        path = os.path.join(self.folder, 'halod.service')
        with open(path) as unit:
            text = unit.read()
        for line in 'ProtectSystem=strict\n', 'PrivateNetwork=yes\n':
            self.assertIn(line, text)
            text = text.replace(line, '')
        with open(path, 'w') as unit:
            unit.write(text)
        code, output, why = self.analyze('security', '--offline=true', '--no-pager',
                                       f'--threshold={MAX_EXPOSED}', './halod.service')
        self.assertNotEqual(code, 0)
        self.assertIn('Overall exposure level', output, why)

    def test_calls(self):
        """What halod, FFmpeg's libraries and CUDA's driver make is allowed; of what engines give up
        some is not the service's to begin with."""
        for unit in ('halod.service', 'halod@.service', 'halod-user.service'):
            allowed = calls(os.path.join(self.folder, unit))
            for name in ('seccomp', 'landlock_create_ruleset', 'landlock_add_rule',
                         'landlock_restrict_self', 'prctl', 'clone', 'execve', 'ioctl', 'memfd_create', 'mbind',
                         'get_mempolicy', 'sched_setaffinity', 'mlock', 'eventfd2', 'recvmsg',
                         'inotify_init1', 'fsync', 'rename', 'prlimit64', 'fchmod', 'syncfs'):
                self.assertIn(name, allowed, unit)
            for name in ('ptrace', 'mount', 'bpf', 'kexec_load', 'init_module'):
                self.assertNotIn(name, allowed, unit)

    def test_memory(self):
        """All that run halod have a limit, beyond which one engine ends and the others go on."""
        for unit in ('halod.service', 'halod@.service', 'halod-user.service'):
            with open(os.path.join(self.folder, unit)) as file:
                text = file.read()
            self.assertRegex(text, r'(?m)^MemoryMax=75%$', unit)
            self.assertRegex(text, r'(?m)^OOMPolicy=continue$', unit)

    def test_drop_ins(self):
        for name in ('network.conf', 'recordings.conf'):
            folder = os.path.join(self.folder, 'halod.service.d')
            os.makedirs(folder, exist_ok=True)
            shutil.copy(os.path.join(FILES, name), folder)
        self.verify('halod.service')

    def test_names(self):
        """Nothing was left to be replaced."""
        for path in glob.glob(os.path.join(self.folder, '*')):
            with open(path) as unit:
                for line in unit:
                    self.assertNotRegex(line, r'@(bindir|sysconfdir|life|sandbox)@', path)


class Files(unittest.TestCase):
    """What others read, by the programs that do, where these are."""

    def lay(self, name, folder):
        root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, root)
        for made in ('etc', folder):
            os.makedirs(os.path.join(root, made), exist_ok=True)
        with open(os.path.join(root, 'etc/passwd'), 'w') as file:
            file.write('root:x:0:0:root:/root:/bin/sh\n')
        with open(os.path.join(root, 'etc/group'), 'w') as file:
            file.write('root:x:0:\nhalod:x:990:\n' if folder.endswith('tmpfiles.d') else 'root:x:0:\n')
        shutil.copy(os.path.join(FILES, name), os.path.join(root, folder, 'halod.conf'))
        return root

    def need(self, program):
        if not shutil.which(program):
            self.skipTest(f'{program} is not installed')

    def test_sysusers(self):
        self.need('systemd-sysusers')
        root = self.lay('sysusers.conf', 'usr/lib/sysusers.d')
        subprocess.run(['systemd-sysusers', '--root=' + root], check=True, capture_output=True)
        with open(os.path.join(root, 'etc/group')) as file:
            self.assertRegex(file.read(), r'(?m)^halod:')
        with open(os.path.join(root, 'etc/passwd')) as file:
            self.assertNotIn('halod', file.read())  # a user of this name would take the group

    @unittest.skipIf(os.geteuid() != 0, 'only root may give a folder away')
    def test_tmpfiles(self):
        self.need('systemd-tmpfiles')
        root = self.lay('tmpfiles.conf', 'usr/lib/tmpfiles.d')
        os.makedirs(os.path.join(root, 'run'))
        subprocess.run(['systemd-tmpfiles', '--root=' + root, '--create', 'halod.conf'],
                       check=True, capture_output=True)
        made = os.stat(os.path.join(root, 'run/halod'))
        self.assertEqual((made.st_mode & 0o7777, made.st_uid, made.st_gid), (0o1775, 0, 990))

    def test_rule(self):
        """Each line is of a form that udev reads: matches, assignments, commas."""
        with open(os.path.join(FILES, '70-halod.rules')) as file:
            lines = [line.strip() for line in file if line.strip() and line[0] != '#']
        part = r'(?:\w+(?:\{\w+\})?(?:==|!=|=|\+=)"[^"]*")'
        for line in lines:
            self.assertRegex(line, f'^{part}(?:, {part})*$')
        self.assertEqual(sum('SYSTEMD_WANTS' in line for line in lines), 1)


if __name__ == '__main__':
    if version() < OLDEST:
        print(f'systemd-analyze of systemd {OLDEST} or later is not installed')
        sys.exit(SKIPPED)
    unittest.main(verbosity=1)
