// SPDX-License-Identifier: BSD-2-Clause
// Whether the filters in force are kept when the daemon restarts, for administrators.

import {call, mayBe} from './api.js';
import {ask} from './dialog.js';
import {button, h, setText} from './dom.js';
import {say} from './notices.js';

async function forget(name) {
    const sure = await ask(`Discard the kept settings of ${name}?`,
        'The settings file applies again. A stream that was added on this page is removed.',
        [[true, 'Forget', 'primary danger']]);
    if (sure)
        await call('Forget', {name});
    return sure;
}

export function createKeep(name) {
    const text = h('p', {class: 'hint'});
    const run = (action, done) => async () => {
        try {
            if (await action())
                say(done);
        } catch (error) {
            say(error.message, 'bad');
        }
    };
    const keep = button('Keep', run(async () => {
        await call('Keep', {name});
        return true;
    }, 'The filters will survive a restart of halod.'), {class: 'small'});
    const undo = button('Forget', run(() => forget(name), 'The settings file applies again.'),
        {class: 'small'});
    const element = h('div', {class: 'keep', hidden: !mayBe('admin')}, text,
        h('div', {class: 'actions'}, undo, keep));
    return {
        element,
        update(stream) {
            element.hidden = !stream || !mayBe('admin');
            undo.hidden = !stream?.kept;
            setText(text, stream?.kept ? 'The kept settings are used instead of the settings file.'
                : 'Added regions survive a restart. Changes to the base filters last until ' +
                    'halod restarts or reloads its settings, unless you keep them.');
        },
        allow(yes) {
            keep.disabled = !yes;
        },
    };
}
