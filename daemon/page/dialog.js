// SPDX-License-Identifier: BSD-2-Clause
// Dialogs: forms and questions above the page. The browser keeps the focus inside.

import {button, h, newId, setText} from './dom.js';

// A form whose submit button is disabled until `send` has finished, and that shows its error.
// send() may throw; an error with retryAfter counts down.
export function createForm({fields, submit, send, cancel, danger = false}) {
    const error = h('p', {class: 'error', role: 'alert'});
    const ok = h('button', {type: 'submit', class: danger ? 'primary danger' : 'primary'}, submit);
    const form = h('form', {novalidate: false}, fields, error,
        h('div', {class: 'actions'}, cancel && button('Cancel', cancel), ok));
    form.addEventListener('submit', async (event) => {
        event.preventDefault();
        if (ok.disabled)
            return;
        ok.disabled = true;
        setText(error, '');
        try {
            await send();
        } catch (e) {
            await showRefusal(error, e);
        }
        ok.disabled = false;
    });
    return form;
}

async function showRefusal(place, error) {
    for (let left = error.retryAfter ?? 0; left > 0 && place.isConnected; left--) {
        setText(place, `${error.message} Try again in ${left} s.`);
        await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    setText(place, error.message);
}

// Shows a dialog with a title and content. Returns {dialog, close}. onClose is called once.
export function openDialog(title, content, onClose = () => {}, wide = false) {
    const heading = h('h2', {id: newId('title')}, title);
    const dialog = h('dialog', {'aria-labelledby': heading.id, class: wide ? 'wide' : null},
        heading, content);
    dialog.addEventListener('close', () => {
        dialog.remove();
        onClose();
    });
    document.body.append(dialog);
    dialog.showModal();
    return {dialog, close: () => dialog.close()};
}

// Asks a question with buttons [[VALUE, LABEL, CLASS], ...]; resolves to a value, or to null.
export function ask(title, text, answers) {
    return new Promise((resolve) => {
        let chosen = null;
        const choose = (value) => () => {
            chosen = value;
            shown.close();
        };
        const shown = openDialog(title, [
            [text].flat().map((line) => h('p', {}, line)),
            h('div', {class: 'actions'}, button('Cancel', choose(null)),
                answers.map(([value, label, kind]) =>
                    button(label, choose(value), {class: kind ?? 'primary'}))),
        ], () => resolve(chosen));
    });
}

// Opens a form in a dialog; resolves to what send() returned, or null if it was cancelled.
export function askForm(title, {before = [], fields, submit, send, danger}) {
    return new Promise((resolve) => {
        let result = null;
        const form = createForm({
            fields, submit, danger,
            cancel: () => shown.close(),
            send: async () => {
                result = await send();
                shown.close();
            },
        });
        const shown = openDialog(title, [before, form], () => resolve(result));
    });
}
