// SPDX-License-Identifier: BSD-2-Clause
// Shows a draft on the picture before it is applied. The daemon filters frames as viewers see them
// by what the draft would add; what the draft takes away stays hidden until it is applied.

import {preview} from './api.js';
import {button, h, setText} from './dom.js';
import {changedLayers, layerText} from './draft.js';

const PAUSE_MS = 400; // from one image to the request for the next

// The chains that the draft adds or changes, as one; '': none.
export function previewChain(draft) {
    return changedLayers(draft).map((layer) => layerText(layer).trim()).filter(Boolean).join(',');
}

// frame: the element that holds the picture; draftNow() returns the draft; failed(text) shows why
// there is no preview, or '' once there is one.
export function createPreview(frame, draftNow, failed) {
    const canvas = h('canvas', {role: 'img', 'aria-label': 'Preview'});
    const note = h('span', {class: 'stale-note', role: 'status'});
    const element = h('div', {class: 'preview', hidden: true}, canvas, note);
    const toggle = button('Preview', () => (on ? end() : begin()), {'aria-pressed': 'false',
        title: 'Show the changes on the picture, without applying them'});
    let on = false;
    let round = 0; // only the newest one goes on

    frame.append(element);

    async function draw(blob) {
        const image = await createImageBitmap(blob);
        Object.assign(canvas, {width: image.width, height: image.height});
        canvas.getContext('2d').drawImage(image, 0, 0);
        image.close();
        canvas.hidden = false;
        setText(note, 'Preview: others do not see this yet');
    }

    // While there is no preview, nothing is shown that could be taken for it.
    function cover(why) {
        canvas.hidden = true;
        setText(note, why);
        element.hidden = false;
    }

    async function play(mine) {
        while (mine === round) {
            const chain = previewChain(draftNow());
            try {
                const blob = chain && !document.hidden ? await preview(draftNow().name, chain)
                    : null;
                if (mine !== round)
                    return;
                if (blob)
                    await draw(blob);
                failed('');
            } catch (error) {
                if (mine !== round)
                    return;
                cover('No preview: the changes have an error');
                failed(error.message);
            }
            await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        }
    }

    function set(value) {
        on = value;
        toggle.setAttribute('aria-pressed', String(on));
        setText(toggle, on ? 'End preview' : 'Preview');
    }

    function begin() {
        set(true);
        cover('The preview is starting');
        play(++round);
    }

    function end() {
        round++;
        set(false);
        element.hidden = true;
    }

    return {
        toggle,
        end,
        // `possible`: the draft has something to show.
        allow(possible) {
            toggle.disabled = !possible;
            if (!possible && on)
                end();
        },
        destroy() {
            end();
            element.remove();
        },
    };
}
