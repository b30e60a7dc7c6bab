// SPDX-License-Identifier: BSD-2-Clause
// A stream's picture as JPEG images, drawn into a canvas. Only the newest image is decoded.

import {h, setText} from './dom.js';
import {connectionChanged, connection, pictureArrived, pictureEnded} from './live.js';

const OLD_MS = 6000; // cards, too, come more often than that

// Returns {element, destroy}. The element has the class `stale` while the picture is old.
export function createPicture(name) {
    const canvas = h('canvas', {role: 'img', 'aria-label': `Picture of ${name}`,
        width: 480, height: 270});
    const note = h('span', {class: 'stale-note', hidden: true});
    const element = h('div', {class: 'picture'}, canvas, note);
    let arrived = Date.now();
    let waiting = null;
    let busy = false;

    async function draw() {
        busy = true;
        while (waiting && !document.hidden) {
            const bytes = waiting;
            waiting = null;
            try {
                const image = await createImageBitmap(new Blob([bytes], {type: 'image/jpeg'}));
                if (canvas.width !== image.width || canvas.height !== image.height)
                    Object.assign(canvas, {width: image.width, height: image.height});
                canvas.getContext('2d').drawImage(image, 0, 0);
                image.close();
            } catch {
                // A damaged image: the next one is due soon.
            }
        }
        busy = false;
    }

    function mark(why) {
        element.classList.toggle('stale', Boolean(why));
        note.hidden = !why;
        setText(note, why);
    }

    function check() {
        if (!connection.up)
            mark('Not connected');
        else if (Date.now() - arrived > OLD_MS)
            mark('No picture');
        else
            mark('');
    }

    const timer = setInterval(check, 1000);
    const ends = [
        pictureArrived.on((of, bytes) => {
            if (of !== name)
                return;
            waiting = bytes;
            arrived = Date.now();
            check();
            if (!busy)
                draw();
        }),
        pictureEnded.on((of) => {
            if (of === name)
                arrived = 0;
        }),
        connectionChanged.on(check),
    ];
    return {
        element,
        destroy() {
            clearInterval(timer);
            ends.forEach((end) => end());
        },
    };
}
