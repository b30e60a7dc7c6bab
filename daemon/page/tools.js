// SPDX-License-Identifier: BSD-2-Clause
// The tools under the picture. Chosen with the keyboard, a tool places its shape in the middle.

import {button, h, setText} from './dom.js';
import {middleShape} from './shapes.js';

const TOOLS = [['select', 'Select'], ['rect', 'Rectangle'], ['ellipse', 'Ellipse'],
    ['polygon', 'Polygon']];

function hintOf(tool, corners) {
    if (tool === 'polygon')
        return corners < 3 ? 'Click the corners, one after the other.'
            : 'Click the first corner again, or press Enter, to finish.';
    return tool === 'select' ? '' : 'Drag across the picture. Escape ends drawing.';
}

// choose(tool), place(shape), finish(), outlines(on). Returns {element, show(tool, corners)}.
export function createTools({choose, place, finish, outlines}) {
    const buttons = TOOLS.map(([tool, label]) => button(label, (event) => {
        if (event.detail === 0 && tool !== 'select') // not a pointer
            place(middleShape(tool));
        else
            choose(tool);
    }, {class: 'small', 'aria-pressed': String(tool === 'select'), 'data-tool': tool}));
    const seen = button('Outlines', () => {
        const on = seen.getAttribute('aria-pressed') !== 'true';
        seen.setAttribute('aria-pressed', String(on));
        outlines(on);
    }, {class: 'small', 'aria-pressed': 'true', title: 'Show the regions on the picture'});
    const done = button('Finish', finish, {class: 'small primary', hidden: true});
    const hint = h('span', {class: 'hint', role: 'status'});
    return {
        element: h('div', {class: 'tools', role: 'group', 'aria-label': 'Drawing'}, buttons, seen,
            done, hint),
        show(tool, corners) {
            if (tool !== 'select' && seen.getAttribute('aria-pressed') === 'false')
                seen.click();
            for (const b of buttons)
                b.setAttribute('aria-pressed', String(b.dataset.tool === tool));
            done.hidden = !(tool === 'polygon' && corners >= 3);
            setText(hint, hintOf(tool, corners));
        },
    };
}
