// SPDX-License-Identifier: BSD-2-Clause
// Adding a stream: a camera of this machine, or any other input.

import {call} from './api.js';
import {createForm, openDialog} from './dialog.js';
import {field, h} from './dom.js';

const STARTING_FILTER = 'gblur=sigma=20';

// "HD Webcam (046d)" becomes "hd-webcam-046d".
export function nameFrom(text) {
    return text.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 31);
}

function deviceChoice(device, input, name) {
    const choose = () => {
        input.value = device.input;
        name.value ||= nameFrom(device.name);
        name.focus();
    };
    const used = device.stream ? `Used by ${device.stream}` : device.path;
    return h('button', {type: 'button', class: 'choice', onclick: choose,
        disabled: Boolean(device.stream)},
        h('strong', {}, device.name), h('span', {class: 'muted'}, used));
}

async function listDevices(place, input, name) {
    try {
        const {devices} = await call('Devices');
        place.replaceChildren(...devices.length
            ? devices.map((device) => deviceChoice(device, input, name))
            : [h('p', {class: 'muted'}, 'No camera is connected to this machine.')]);
    } catch (error) {
        place.replaceChildren(h('p', {class: 'error'}, error.message));
    }
}

// `done` is called once the stream has been added.
export function cameraForm(done = () => {}, cancel = null) {
    const input = field('Input', h('input', {required: true, spellcheck: 'false',
        autocapitalize: 'none', placeholder: 'rtsp://192.168.1.20/stream1'}),
    'An address (rtsp, http, srt), one of the cameras above, or test: for a moving picture.');
    const name = field('Name', h('input', {required: true, maxlength: 63, spellcheck: 'false',
        autocapitalize: 'none', placeholder: 'front-door'}), 'It becomes part of addresses.');
    const filters = field('Filters to begin with',
        h('input', {required: true, spellcheck: 'false', value: STARTING_FILTER}),
        'They apply to the whole picture until you change them.');
    const devices = h('div', {class: 'choices'}, h('p', {class: 'muted'}, 'Looking for cameras.'));
    listDevices(devices, input.input, name.input);
    const form = createForm({
        fields: [h('fieldset', {}, h('legend', {}, 'Cameras of this machine'), devices),
            input.element, name.element, filters.element],
        submit: 'Add the camera',
        cancel,
        send: async () => {
            await call('Keep', {name: name.input.value.trim(), settings: {
                input: input.input.value.trim(), filters: filters.input.value.trim()}});
            done(name.input.value.trim());
        },
    });
    return form;
}

export function addCamera() {
    const shown = openDialog('Add a camera',
        cameraForm(() => shown.close(), () => shown.close()), () => {}, true);
}
