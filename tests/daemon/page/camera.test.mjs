// SPDX-License-Identifier: BSD-2-Clause
// Tests of daemon/page/camera.js.
import assert from 'node:assert/strict';
import test from 'node:test';

import {nameFrom} from '../../../daemon/page/camera.js';

test('a name that is suggested is free', () => {
    assert.equal(nameFrom('HD Webcam (046d)', ['door']), 'hd-webcam-046d');
    assert.equal(nameFrom('HD Webcam', ['hd-webcam', 'hd-webcam-2']), 'hd-webcam-3');
});
