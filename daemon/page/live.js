// SPDX-License-Identifier: BSD-2-Clause
// The one connection to /api/live: pictures of all tiles, the large video, events and the status.
// To show something else, a second connection is opened, and the first is closed once the second
// has answered. A connection that breaks, or is silent, is opened again.

import {createReader, decodeJson} from './frames.js';
import {topic} from './dom.js';
import {getSession} from './api.js';
import {logIn} from './session.js';

const SILENCE_MS = 8000; // the status comes once a second
const LONGEST_DELAY_S = 10;
const MOST_EVENTS = 200;
const MOST_TILES = 255; // slots

export const pictureArrived = topic();   // name, JPEG bytes
export const pictureEnded = topic();     // name, why
export const videoMessage = topic();     // kind B, I, F or X, payload; kind '' before the first
export const statusArrived = topic();    // status
export const eventArrived = topic();     // event
export const connectionChanged = topic(); // connection

export const connection = {up: false, retryAt: 0, ended: false}; // ended: until the next login
export const events = []; // newest first
export let status = null;

let wanted = {tiles: [], video: ''};
let current = null; // the connection in use: {abort, heard, tiles, video}
let next = null;    // the one that will replace it
let failures = 0;
let retryTimer = 0;

function noteStatus(message) {
    status = message.status;
    statusArrived.say(status);
}

function noteEvent(event) {
    events.unshift(event);
    events.length = Math.min(events.length, MOST_EVENTS);
    eventArrived.say(event);
}

function deliver(link, {kind, slot, payload}) {
    const name = link.tiles[slot];
    if (kind === 'J' && name !== undefined)
        pictureArrived.say(name, payload);
    else if (kind === 'X' && slot !== 255)
        pictureEnded.say(name, decodeJson(payload).why);
    else if (kind === 'S')
        noteStatus(decodeJson(payload));
    else if (kind === 'E')
        noteEvent(decodeJson(payload));
    else if ('BIFX'.includes(kind))
        videoMessage.say(kind, payload);
}

function setUp(up, retryAt = 0, ended = false) {
    Object.assign(connection, {up, retryAt, ended});
    connectionChanged.say(connection);
}

// `link` has answered: it replaces the connection in use.
function adopt(link) {
    if (next !== link)
        return;
    next = null;
    current?.abort.abort();
    current = link;
    failures = 0;
    if (link.video)
        videoMessage.say('', null);
    setUp(true);
}

function addressOf({tiles, video}) {
    const query = [];
    if (tiles.length)
        query.push(`tiles=${tiles.map(encodeURIComponent).join(',')}`);
    if (video)
        query.push(`video=${encodeURIComponent(video)}`);
    return `/api/live?${query.join('&')}`;
}

async function read(link) {
    const response = await fetch(addressOf(link), {
        signal: link.abort.signal, cache: 'no-store', credentials: 'same-origin',
    });
    if (!response.ok)
        throw Object.assign(new Error('refused'), {status: response.status});
    const reader = createReader((message) => link === current && deliver(link, message));
    const body = response.body.getReader();
    for (;;) {
        const {done, value} = await body.read();
        link.heard = Date.now();
        if (done)
            return;
        adopt(link);
        reader.feed(value);
    }
}

async function open() {
    clearTimeout(retryTimer);
    next?.abort.abort();
    const link = {...wanted, abort: new AbortController(), heard: Date.now()};
    next = link;
    let code = 0;
    try {
        await read(link);
    } catch (error) {
        code = error.status ?? 0;
    }
    link.abort.abort();
    if (link === current)
        current = null;
    else if (link === next)
        next = null;
    else
        return; // replaced
    await retry(code);
}

// A connection has broken. Another one may still be in use, or under way.
async function retry(code) {
    if (next)
        return;
    if (code === 401 && !(await logIn('The session has ended. Log in to go on: nothing is lost.')))
        return setUp(false, 0, true);
    if (getSession().role === 'none' || next)
        return setUp(false);
    const delay = code === 401 ? 0 : Math.min(2 ** failures++, LONGEST_DELAY_S);
    if (!current)
        setUp(false, Date.now() + delay * 1000);
    clearTimeout(retryTimer);
    retryTimer = setTimeout(open, delay * 1000);
}

// Shows the streams `tiles` as pictures, and the stream `video` ('': none) as video.
export function show(tiles, video = '') {
    if (video === wanted.video && tiles.slice(0, MOST_TILES).join('\n') === wanted.tiles.join('\n'))
        return;
    wanted = {tiles: tiles.slice(0, MOST_TILES), video};
    if (current || next || connection.retryAt)
        open();
}

export function start() {
    if (!current && !next)
        open();
}

export function stop() {
    clearTimeout(retryTimer);
    for (const link of [current, next])
        link?.abort.abort();
    current = next = null;
    setUp(false);
}

// Also after the computer was asleep, when a dead connection may not be noticed otherwise.
function checkSilence() {
    for (const link of [current, next])
        if (link && Date.now() - link.heard > SILENCE_MS)
            link.abort.abort();
    if (!document.hidden && !current && !next && connection.retryAt &&
        Date.now() > connection.retryAt + SILENCE_MS)
        open();
}
setInterval(checkSilence, 1000);
document.addEventListener('visibilitychange', checkSilence);
globalThis.addEventListener?.('online', () => {
    if (!current && connection.retryAt)
        open();
});
