// SPDX-License-Identifier: BSD-2-Clause
// Helpers to build elements. All text becomes text nodes, never HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (name.startsWith('on'))
            element.addEventListener(name.slice(2), value);
        else if (name === 'value')
            element.value = value;
        else if (value === true)
            element.setAttribute(name, '');
        else if (value !== false && value !== null && value !== undefined)
            element.setAttribute(name, value);
    }
    element.append(...children.flat(Infinity).filter(
        (child) => child !== null && child !== undefined && child !== false));
    return element;
}

// h('button', {type: 'button', onclick: f}, 'Stop'): an element with attributes, event listeners
// and children, which are elements or text. A select's value must be set after its options exist.
export function h(tag, attributes, ...children) {
    const {value, ...others} = attributes ?? {};
    const element = fill(document.createElement(tag), others, children);
    if (value !== undefined)
        element.value = value;
    return element;
}

export function svg(tag, attributes, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Changes an element's text only if it differs, so that screen readers do not repeat it.
export function setText(element, text) {
    if (element.textContent !== text)
        element.textContent = text;
}

export function button(label, onclick, more = {}) {
    return h('button', {type: 'button', onclick, ...more}, label);
}

let ids = 0;
export function newId(prefix) {
    return `${prefix}-${++ids}`;
}

// A labelled field. `input` is the control; `hint` may be empty. Returns the element; showError
// of the result shows an error under the control, or removes it.
export function field(label, input, hint = '') {
    input.id ||= newId('f');
    const note = h('p', {class: 'hint', id: `${input.id}-hint`}, hint);
    const error = h('p', {class: 'error', id: `${input.id}-error`, hidden: true});
    if (hint)
        input.setAttribute('aria-describedby', note.id);
    const element = h('div', {class: 'field'},
        h('label', {for: input.id}, label), input, hint && note, error);
    const showError = (text) => {
        setText(error, text);
        error.hidden = !text;
        input.toggleAttribute('aria-invalid', false);
        if (text)
            input.setAttribute('aria-invalid', 'true');
        const described = [hint && note.id, text && error.id].filter(Boolean).join(' ');
        if (described)
            input.setAttribute('aria-describedby', described);
        else
            input.removeAttribute('aria-describedby');
    };
    return {element, input, showError};
}

// A list of listeners.
export function topic() {
    const listeners = new Set();
    return {
        on(listener) {
            listeners.add(listener);
            return () => listeners.delete(listener);
        },
        say(...values) {
            for (const listener of [...listeners])
                listener(...values);
        },
    };
}

// Calls f once, `ms` after the last of several calls.
export function debounce(f, ms) {
    let timer = 0;
    const later = (...values) => {
        clearTimeout(timer);
        timer = setTimeout(() => f(...values), ms);
    };
    later.cancel = () => clearTimeout(timer);
    return later;
}
