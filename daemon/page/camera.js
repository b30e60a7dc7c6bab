// SPDX-License-Identifier: BSD-2-Clause
// Adding a stream: a camera of this machine, or any other input.

import {call} from './api.js';
import {createForm, openDialog} from './dialog.js';
import {field, h} from './dom.js';
import {plainError} from './format.js';

const STARTING_FILTER = 'gblur=sigma=20';

// "HD Webcam (046d)" becomes "hd-webcam-046d", or "hd-webcam-046d-2" if that is taken.
export function nameFrom(text, taken) {
    const words = text.toLowerCase().replace(/[^a-z0-9]+/g, '-');
    const name = words.replace(/^-+|-+$/g, '').slice(0, 31);
    let free = name;
    for (let n = 2; taken.includes(free); n++)
        free = `${name}-${n}`;
    return free;
}

function deviceChoice(device, input, name, taken) {
    const choose = () => {
        input.value = device.input;
        name.value ||= nameFrom(device.name, taken());
        name.focus();
    };
    const used = device.stream ? `Used by ${device.stream}` : device.path;
    return h('button', {type: 'button', class: 'choice', onclick: choose,
        disabled: Boolean(device.stream)},
        h('strong', {}, device.name), h('span', {class: 'muted'}, used));
}

async function listDevices(place, input, name, taken) {
    try {
        const {devices} = await call('Devices');
        place.replaceChildren(...devices.length
            ? devices.map((device) => deviceChoice(device, input, name, taken))
            : [h('p', {class: 'muted'}, 'No camera is connected to this machine.')]);
    } catch (error) {
        place.replaceChildren(h('p', {class: 'error'}, error.message));
    }
}

// taken() returns the names of all streams; `done` is called once the stream has been added.
export function cameraForm(taken, done = () => {}, cancel = null) {
    const input = field('Input', h('input', {required: true, spellcheck: 'false',
        autocapitalize: 'none', placeholder: 'rtsp://192.168.1.20/stream1'}),
    'An address (rtsp, http, srt), one of the cameras above, or test: for a moving picture.');
    const name = field('Name', h('input', {required: true, maxlength: 63, spellcheck: 'false',
        pattern: '[A-Za-z0-9_\\-]+', title: 'Letters, digits, - and _',
        autocapitalize: 'none', placeholder: 'front-door', oninput: () => name.showError('')}),
    'It becomes part of addresses.');
    const filters = field('Filters to begin with',
        h('input', {required: true, spellcheck: 'false', value: STARTING_FILTER}),
        'They filter the whole picture until you change them.');
    const devices = h('div', {class: 'choices'}, h('p', {class: 'muted'}, 'Looking for cameras.'));
    listDevices(devices, input.input, name.input, taken);
    const form = createForm({
        fields: [h('fieldset', {}, h('legend', {}, 'Cameras of this machine'), devices),
            input.element, name.element, filters.element],
        submit: 'Add the camera',
        cancel,
        send: async () => {
            const wanted = name.input.value.trim();
            if (taken().includes(wanted)) {
                name.showError('There is a stream with this name.');
                return name.input.focus();
            }
            [input, filters].forEach((one) => one.showError(''));
            try {
                await call('Keep', {name: wanted, new: true, settings: {
                    input: input.input.value.trim(), filters: filters.input.value.trim()}});
            } catch (error) {
                const wrong = {input, filters}[error.body?.field];
                if (!wrong)
                    throw error;
                wrong.showError(plainError(error.message));
                wrong.input.focus();
                throw new Error(''); // the field tells
            }
            done();
        },
    });
    return form;
}

export function addCamera(taken) {
    const close = () => shown.close();
    const shown = openDialog('Add a camera', cameraForm(taken, close, close), () => {}, true);
}
