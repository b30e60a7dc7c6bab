// SPDX-License-Identifier: BSD-2-Clause
// The entry point: the header, the address in the fragment (#/...), and the session.

import {showActivity} from './activity.js';
import {mayBe, getSession} from './api.js';
import {button, h} from './dom.js';
import {showGrid} from './grid.js';
import * as live from './live.js';
import {createBanner, say} from './notices.js';
import * as session from './session.js';
import {showStream} from './stream.js';
import {showUsers} from './users.js';

const PAGES = [['#/', 'Streams'], ['#/activity', 'Activity'], ['#/users', 'Users']];

const header = document.getElementById('header');
const content = document.getElementById('content');
const lost = createBanner('warn', button('Log in', () => session.logIn(), {class: 'small'}));
const insecure = createBanner('info');
const nav = h('nav', {'aria-label': 'Pages'});
const account = h('div', {class: 'account'});

let leave = () => {};

function showWelcome(root) {
    root.append(h('section', {class: 'card welcome'}, h('h1', {}, 'You are not logged in'),
        h('p', {}, 'Log in to see the streams.'),
        button('Log in', () => session.logIn(), {class: 'primary'})));
    return () => {};
}

function showMissing(root) {
    root.append(h('h1', {}, 'There is no such page'), h('a', {href: '#/'}, 'To the streams'));
    return () => {};
}

function pageOf(address) {
    const stream = /^#\/stream\/(.+)$/.exec(address);
    if (getSession().role === 'none')
        return showWelcome;
    if (stream)
        return (root) => showStream(root, decodeURIComponent(stream[1]));
    if (address === '#/users' && mayBe('admin'))
        return showUsers;
    return {'': showGrid, '#/': showGrid, '#/activity': showActivity}[address] ?? showMissing;
}

let shown = '';
function route(force = false) {
    const address = location.hash;
    if (shown === address && force !== true)
        return;
    shown = address;
    leave();
    content.replaceChildren();
    leave = pageOf(address)(content);
    document.title = `${content.querySelector('h1')?.textContent ?? 'halod'} - halod`;
    for (const link of nav.children)
        link.toggleAttribute('aria-current', false);
    const current = [...nav.children].find((link) => link.hash === (address || '#/'));
    current?.setAttribute('aria-current', 'page');
    if (document.activeElement === document.body || !document.activeElement?.isConnected)
        content.focus({preventScroll: true});
    scrollTo(0, 0);
}

async function changePassword() {
    if (await session.changePassword())
        say('The password was changed.');
}

function accountButtons({role, user, setup}) {
    return [
        setup && button('Set up the first administrator', session.setUp, {class: 'primary'}),
        user && h('span', {class: 'user'}, user),
        user && button('Password', changePassword, {class: 'quiet'}),
        user && button('Log out', session.logOut, {class: 'quiet'}),
        !user && !setup && role === 'none' && button('Log in', () => session.logIn()),
    ];
}

let previous = null;
function onSession(now) {
    const pages = now.role === 'none' ? []
        : PAGES.filter(([address]) => address !== '#/users' || mayBe('admin'));
    nav.replaceChildren(...pages.map(([address, label]) => h('a', {href: address}, label)));
    account.replaceChildren(...accountButtons(now).filter(Boolean));
    const other = previous?.role !== now.role || previous?.user !== now.user;
    previous = now;
    if (now.role === 'none')
        live.stop();
    else
        live.start();
    // The same user goes on where the session ended: nothing is drawn again.
    if (other)
        route(true);
    if (now.role === 'none' && now.users)
        session.logIn();
}

function showConnection({up, retryAt, ended}) {
    if (up || getSession().role === 'none')
        return lost.show('');
    if (ended)
        return lost.show('The session has ended: this page is out of date.', true);
    const seconds = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
    lost.show(seconds ? `Not connected: this page is out of date. Trying again in ${seconds} s.`
        : 'Not connected: this page is out of date. Trying again.');
}

function warnAboutPlainHttp({tls, users}) {
    const local = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);
    insecure.show(users && !tls && !local && location.protocol === 'http:'
        ? 'This connection is not encrypted: others on the network can read the password.' : '');
}

header.append(h('a', {href: '#/', class: 'brand'},
    h('img', {src: '/page/icon.svg', alt: '', width: 26, height: 26}), 'halod'), nav, account);
header.after(lost.element, insecure.element);
document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    content.focus();
});
session.sessionChanged.on(onSession);
session.sessionChanged.on(warnAboutPlainHttp);
live.connectionChanged.on(showConnection);
let tick = 0;
live.connectionChanged.on(() => {
    clearInterval(tick);
    if (!live.connection.up)
        tick = setInterval(() => showConnection(live.connection), 1000);
});
addEventListener('hashchange', route);
lost.show('Connecting.');
await session.begin();
