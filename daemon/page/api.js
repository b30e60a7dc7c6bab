// SPDX-License-Identifier: BSD-2-Clause
// Requests to the daemon. When the session has ended, a request waits until the user has logged in
// again, and is then repeated.

let session = {role: 'none', user: '', token: '', users: true, setup: false, version: ''};
let askToLogIn = async () => false;

const RANKS = ['none', 'view', 'operate', 'admin'];

export class ApiError extends Error {
    constructor(status, body, retryAfter = 0) {
        super(body?.what || (status ? `The daemon answered with status ${status}.`
            : 'The daemon cannot be reached.'));
        this.status = status;
        this.body = body ?? {};
        this.retryAfter = retryAfter;
    }
}

export function getSession() {
    return session;
}

export function setSession(next) {
    session = next;
}

// ask(quiet) shows the login dialog, and resolves to whether the user has logged in. With `quiet`,
// it does not ask again after the user has refused.
export function onSessionEnd(ask) {
    askToLogIn = ask;
}

export function mayBe(role) {
    return RANKS.indexOf(session.role) >= RANKS.indexOf(role);
}

async function request(path, options, read = (response) => response.json()) {
    let response;
    try {
        response = await fetch(path, {cache: 'no-store', credentials: 'same-origin', ...options});
    } catch {
        throw new ApiError(0, null);
    }
    if (response.ok)
        return read(response).catch(() => null);
    const body = await response.json().catch(() => null);
    throw new ApiError(response.status, body, Number(response.headers.get('Retry-After')) || 0);
}

function send(path, body, read) {
    return request(path, {
        method: 'POST',
        headers: {'Content-Type': 'application/json', 'X-Halod-Token': session.token},
        body: JSON.stringify(body),
    }, read);
}

// Another tab may have logged in: then this one has an old token. Returns whether it is new now.
async function tokenChanged() {
    const old = session.token;
    session = await request('/api/session');
    return session.token !== old;
}

async function again(action, quiet = false) {
    try {
        return await action();
    } catch (error) {
        if (error.status === 401 && await askToLogIn(quiet))
            return action();
        if (error.status === 403 && await tokenChanged())
            return action();
        throw error;
    }
}

export function loadSession() {
    return request('/api/session');
}

// login, setup, logout: answers with the session.
export function enter(how, body) {
    return send(`/api/${how}`, body);
}

export function get(path) {
    return again(() => request(path));
}

export function call(method, parameters = {}, quiet = false) {
    return again(() => send(`/api/call/${method}`, parameters), quiet);
}

// For requests that the user did not make.
export function callQuietly(method, parameters) {
    return call(method, parameters, true);
}

// The next frame of a stream as a Blob, additionally filtered by this chain. Nothing changes.
export function preview(name, filters) {
    return again(() => send('/api/call/Snapshot', {name, format: 'jpg', filters},
        (response) => response.blob()), true);
}

let filters = null;
// The JSON Schema of all filters: {NAME: {description, properties}}.
export function filterSchema() {
    filters ??= get('/api/filters').then((schema) => schema.$defs, (error) => {
        filters = null;
        throw error;
    });
    return filters;
}
