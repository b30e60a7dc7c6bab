// SPDX-License-Identifier: BSD-2-Clause
// Who uses the page: logging in and out, the first administrator, and the own password.

import * as api from './api.js';
import {ask, askForm} from './dialog.js';
import {field, h, topic} from './dom.js';
import * as kept from './kept.js';

export const sessionChanged = topic();

function adopt(session) {
    api.setSession(session);
    sessionChanged.say(session);
    return true;
}

function textField(label, attributes, hint) {
    return field(label, h('input', {required: true, ...attributes}), hint);
}

function passwordField(label, autocomplete, hint) {
    return textField(label, {type: 'password', autocomplete}, hint);
}

let asking = null;
let refused = false; // the last login was cancelled

// Shows the login dialog, once for all requests that wait for it. Resolves to true after a login.
export function logIn(why = '') {
    asking ??= askLogin(why).finally(() => {
        asking = null;
    });
    return asking;
}

async function askLogin(why) {
    const user = textField('User', {autocomplete: 'username', autocapitalize: 'none',
        value: api.getSession().user, spellcheck: 'false'});
    const password = passwordField('Password', 'current-password');
    const done = await askForm('Log in', {
        before: why ? [h('p', {}, why)] : [],
        fields: [user.element, password.element],
        submit: 'Log in',
        send: async () => adopt(await api.enter('login',
            {user: user.input.value, password: password.input.value})),
    });
    refused = done !== true;
    return !refused;
}

export function setUp() {
    const code = textField('One-time code', {autocomplete: 'off', spellcheck: 'false'});
    const user = textField('User', {autocomplete: 'username', autocapitalize: 'none',
        spellcheck: 'false'});
    const password = passwordField('Password', 'new-password');
    const again = passwordField('Password again', 'new-password');
    return askForm('Set up the first administrator', {
        before: [
            h('p', {}, 'The code proves that you administer this machine. To read it, run one of ' +
                'these commands there:'),
            h('pre', {tabindex: '0'}, 'sudo cat /var/lib/halod/setup-code\nsudo haloctl user code'),
        ],
        fields: [code.element, user.element, password.element, again.element],
        submit: 'Create the administrator',
        send: async () => {
            requireSame(password, again);
            return adopt(await api.enter('setup', {code: code.input.value.trim(),
                user: user.input.value, password: password.input.value}));
        },
    });
}

function requireSame(password, again) {
    const differs = password.input.value !== again.input.value;
    again.showError(differs ? 'The two passwords differ.' : '');
    if (differs)
        throw new Error(''); // the field tells
}

export function changePassword() {
    const old = passwordField('Current password', 'current-password');
    const next = passwordField('New password', 'new-password');
    const again = passwordField('New password again', 'new-password');
    return askForm('Change the password', {
        fields: [old.element, next.element, again.element],
        submit: 'Change',
        send: async () => {
            requireSame(next, again);
            await api.call('SetPassword', {old: old.input.value, new: next.input.value});
            return true;
        },
    });
}

export async function logOut() {
    const sure = !kept.changed().length || await ask('Discard what you have drawn?',
        `There are changes that were not applied: ${kept.changed().join(', ')}.`,
        [[true, 'Discard and log out', 'primary danger']]);
    if (!sure)
        return;
    kept.forgetAll();
    adopt(await api.enter('logout', {}));
}

// Learns who uses the page. Retries until the daemon can be reached.
export async function begin() {
    api.onSessionEnd((quiet) => quiet && refused ? false
        : logIn('The session has ended. Log in to go on: nothing is lost.'));
    for (let delay = 1; ; delay = Math.min(delay * 2, 10)) {
        try {
            return adopt(await api.loadSession());
        } catch {
            await new Promise((resolve) => setTimeout(resolve, delay * 1000));
        }
    }
}
