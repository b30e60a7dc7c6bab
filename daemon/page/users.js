// SPDX-License-Identifier: BSD-2-Clause
// Users and tokens, for administrators.

import {call, getSession} from './api.js';
import {ask, askForm, openDialog} from './dialog.js';
import {button, field, h} from './dom.js';
import {say} from './notices.js';
import * as live from './live.js';

const ROLES = [['view', 'View'], ['operate', 'Operate'], ['admin', 'Administer']];

function roleSelect(value, more = {}) {
    return h('select', {value, ...more}, ROLES.map(([role, label]) =>
        h('option', {value: role}, label)));
}

function nameField() {
    return field('Name', h('input', {required: true, maxlength: 31, autocomplete: 'off',
        autocapitalize: 'none', spellcheck: 'false'}));
}

function passwordField(label) {
    return field(label, h('input', {type: 'password', required: true,
        autocomplete: 'new-password'}));
}

function addUser() {
    const name = nameField();
    const role = field('Role', roleSelect('view'));
    const password = passwordField('Password');
    return askForm('Add a user', {
        fields: [name.element, role.element, password.element],
        submit: 'Add',
        send: () => call('SetUser', {name: name.input.value, role: role.input.value,
            password: password.input.value}),
    });
}

function newPassword(user) {
    const password = passwordField('New password');
    return askForm(`New password for ${user.name}`, {
        fields: [password.element],
        submit: 'Change',
        send: () => call('SetUser', {name: user.name, role: user.role,
            password: password.input.value}),
    });
}

async function addToken() {
    const name = nameField();
    const role = field('Role', roleSelect('view'));
    const answer = await askForm('Add a token', {
        fields: [name.element, role.element],
        submit: 'Add',
        send: () => call('AddToken', {name: name.input.value, role: role.input.value}),
    });
    if (answer)
        showToken(answer.token);
    return answer;
}

function showToken(token) {
    const copy = button('Copy', async () => {
        await navigator.clipboard?.writeText(token);
        copy.textContent = 'Copied';
    });
    const shown = openDialog('The new token', [
        h('p', {}, 'Copy it now: it is not shown again.'),
        h('pre', {tabindex: '0'}, token),
        h('div', {class: 'actions'}, navigator.clipboard && copy,
            button('Done', () => shown.close(), {class: 'primary'})),
    ]);
}

export function showUsers(root) {
    const users = h('tbody', {});
    const tokens = h('tbody', {});
    live.show([]);

    // Runs a change, then shows the lists again; the answer null means that it was cancelled.
    async function change(action) {
        try {
            await action();
        } catch (error) {
            say(error.message, 'bad');
        }
        await refresh();
    }

    async function remove(what, method, name) {
        const sure = await ask(`Remove the ${what} ${name}?`, 'Open sessions end at once.',
            [[true, 'Remove', 'primary danger']]);
        if (sure)
            await change(() => call(method, {name}));
    }

    function userRow(user) {
        const own = user.name === getSession().user;
        const role = roleSelect(user.role, {'aria-label': `Role of ${user.name}`, disabled: own,
            onchange: () => change(() => call('SetUser', {name: user.name, role: role.value}))});
        return h('tr', {}, h('th', {scope: 'row'}, user.name, own && ' (you)'), h('td', {}, role),
            h('td', {class: 'end'},
                !own && button('Password', () => change(() => newPassword(user)),
                    {class: 'small', 'aria-label': `Password of ${user.name}`}),
                !own && button('Remove', () => remove('user', 'RemoveUser', user.name),
                    {class: 'small', 'aria-label': `Remove the user ${user.name}`})));
    }

    function tokenRow(token) {
        const label = ROLES.find(([role]) => role === token.role)?.[1] ?? token.role;
        return h('tr', {}, h('th', {scope: 'row'}, token.name), h('td', {}, label),
            h('td', {class: 'end'}, button('Remove',
                () => remove('token', 'RemoveToken', token.name),
                {class: 'small', 'aria-label': `Remove the token ${token.name}`})));
    }

    async function refresh() {
        try {
            const lists = await call('Users');
            users.replaceChildren(...lists.users.map(userRow));
            tokens.replaceChildren(...(lists.tokens.length ? lists.tokens.map(tokenRow)
                : [h('tr', {}, h('td', {colspan: 3, class: 'muted'}, 'There are no tokens.'))]));
        } catch (error) {
            say(error.message, 'bad');
        }
    }

    const table = (body) => h('table', {}, h('thead', {}, h('tr', {},
        h('th', {scope: 'col'}, 'Name'), h('th', {scope: 'col'}, 'Role'),
        h('th', {scope: 'col', class: 'end'}, h('span', {class: 'unseen'}, 'Actions')))), body);
    root.append(h('div', {class: 'head'}, h('h1', {}, 'Users')),
        h('section', {class: 'card'}, h('div', {class: 'head'}, h('h2', {}, 'People'),
            button('Add a user', () => change(addUser))), table(users),
        h('p', {class: 'muted'}, 'View: see pictures and statistics. Operate: also hide regions, ' +
            'start and stop streams. Administer: everything.')),
        h('section', {class: 'card'}, h('div', {class: 'head'}, h('h2', {}, 'Tokens for programs'),
            button('Add a token', () => change(addToken))), table(tokens),
        h('p', {class: 'muted'}, 'A program sends its token instead of a user and a password.')));
    refresh();
    return () => {};
}
