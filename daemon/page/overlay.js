// SPDX-License-Identifier: BSD-2-Clause
// The shapes over the picture: drawing, selecting, moving and resizing them. Coordinates are
// percent of the frame, and so is the coordinate system of the SVG element; lines and handles keep
// their width, because their strokes do not scale.

import {svg} from './dom.js';
import {
    MOST_CORNERS, boxOf, describe, dragHandle, handlesOf, moveShape, round,
} from './shapes.js';

const CLICK = 1.5; // percent: a shorter drag is a click
const STEPS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

function outlineOf(shape) {
    if (shape.kind === 'polygon')
        return `M${shape.points.map((p) => p.join(' ')).join('L')}Z`;
    const {x, y, w, h} = shape;
    if (shape.kind === 'rect')
        return `M${x} ${y}h${w}v${h}h${-w}Z`;
    const arc = `${w / 2} ${h / 2} 0 1 0`;
    return `M${x} ${y + h / 2}a${arc} ${w} 0a${arc} ${-w} 0Z`;
}

// A path of no length with round ends: a dot of constant size.
function dot(x, y, attributes) {
    return [['handle-edge'], ['handle']].map(([name]) => svg('path',
        {d: `M${x} ${y}h0`, class: name, ...attributes}));
}

// host: items() returns [{shape, label, editable, dashed}]; selected() the selected shape or null;
// select(shape or null), changed(shape), created(shape), remove(shape); toolChanged(tool).
export function createOverlay(host) {
    const shapes = svg('g', {});
    const handles = svg('g', {'aria-hidden': 'true'});
    const sketch = svg('path', {class: 'sketch'});
    const element = svg('svg', {class: 'overlay', viewBox: '0 0 100 100',
        preserveAspectRatio: 'none', role: 'group', 'aria-label': 'Regions in the picture'},
    shapes, sketch, handles);
    const groups = new Map(); // shape -> its elements
    let tool = 'select';
    let corners = []; // of the polygon that is being drawn
    let drag = null;

    function pointOf(event) {
        const box = element.getBoundingClientRect();
        const part = (at, from, size) => Math.min(Math.max((at - from) / size * 100, 0), 100);
        return [round(part(event.clientX, box.left, box.width)),
            round(part(event.clientY, box.top, box.height))];
    }

    function createGroup(item) {
        const under = svg('path', {class: 'under'});
        const line = svg('path', {class: 'outline'});
        const group = svg('g', {class: 'region-shape', 'data-shape': ''}, under, line);
        const made = {group, paths: [under, line]};
        if (item.editable) {
            group.setAttribute('tabindex', '0');
            group.setAttribute('role', 'button');
            group.addEventListener('keydown', (event) => onKey(event, item.shape));
            group.addEventListener('focus', () => host.select(item.shape));
            group.addEventListener('pointerdown', (event) => beginMove(event, item.shape));
        } else {
            group.setAttribute('role', 'img');
        }
        groups.set(item.shape, made);
        shapes.append(group);
        return made;
    }

    function drawItem(item) {
        const {group, paths} = groups.get(item.shape) ?? createGroup(item);
        for (const path of paths)
            path.setAttribute('d', outlineOf(item.shape));
        const selected = item.shape === host.selected();
        group.classList.toggle('selected', selected);
        group.classList.toggle('fixed', !item.editable);
        group.classList.toggle('dashed', Boolean(item.dashed));
        group.setAttribute('aria-label', `${item.label}: ${describe(item.shape)}`);
        if (item.editable)
            group.setAttribute('aria-pressed', String(selected));
    }

    function draw() {
        const items = host.items();
        for (const [shape, {group}] of groups)
            if (!items.some((item) => item.shape === shape)) {
                group.remove();
                groups.delete(shape);
            }
        items.forEach(drawItem);
        const chosen = items.find((item) => item.shape === host.selected() && item.editable);
        handles.replaceChildren(...(chosen ? handlesOf(chosen.shape) : []).flatMap(
            ([x, y, name]) => dot(x, y, {'data-handle': name})));
        sketch.setAttribute('d', sketchPath());
    }

    function sketchPath() {
        if (drag?.shape && drag.fresh)
            return outlineOf(drag.shape);
        const dots = corners.map(([x, y]) => `M${x} ${y}h0`).join('');
        return corners.length ? `${dots}M${corners.map((p) => p.join(' ')).join('L')}` : '';
    }

    function setTool(next) {
        tool = next;
        corners = [];
        drag = null;
        element.classList.toggle('drawing', tool !== 'select');
        host.toolChanged(tool, corners.length);
        draw();
    }

    function create(shape) {
        setTool('select');
        host.created(shape);
    }

    function finishPolygon() {
        if (corners.length < 3)
            return;
        create({kind: 'polygon', points: corners});
    }

    function addCorner(point) {
        const box = element.getBoundingClientRect();
        const near = ([x, y]) => Math.hypot((x - point[0]) * box.width,
            (y - point[1]) * box.height) / 100 < 10; // pixels
        if (corners.length >= 3 && (near(corners[0]) || near(corners.at(-1))))
            return finishPolygon();
        if (!corners.length || !near(corners.at(-1)))
            corners.push(point);
        host.toolChanged(tool, corners.length);
        if (corners.length === MOST_CORNERS)
            finishPolygon();
        draw();
    }

    function capture(event, next) {
        drag = {from: pointOf(event), moved: false, ...next};
        element.setPointerCapture(event.pointerId);
        event.preventDefault();
    }

    function beginMove(event, shape) {
        if (tool !== 'select' || event.button !== 0)
            return;
        event.stopPropagation();
        host.select(shape);
        capture(event, {shape, last: pointOf(event)});
        groups.get(shape)?.group.focus({preventScroll: true});
    }

    function onDown(event) {
        if (event.button !== 0)
            return;
        const handle = event.target.dataset.handle;
        const shape = host.selected();
        if (tool === 'polygon')
            addCorner(pointOf(event));
        else if (tool !== 'select')
            capture(event, {fresh: true, shape: null});
        else if (handle && shape)
            capture(event, {shape, handle, start: structuredClone(shape)});
        else
            host.select(null);
    }

    function onMove(event) {
        if (!drag)
            return;
        const point = pointOf(event);
        if (drag.fresh)
            drag.shape = boxOf(tool, drag.from, point);
        else if (drag.handle)
            Object.assign(drag.shape, dragHandle(drag.start, drag.handle, point));
        else
            moveShape(drag.shape, point[0] - drag.last[0], point[1] - drag.last[1]);
        drag.last = point;
        if (!drag.fresh)
            host.changed(drag.shape);
        draw();
    }

    // A click instead of a drag makes a shape of moderate size around the place.
    function onUp(event) {
        const done = drag;
        drag = null;
        if (!done?.fresh)
            return;
        const [x, y] = done.from;
        const [a, b] = pointOf(event);
        if (Math.hypot(a - x, b - y) < CLICK)
            create(boxOf(tool, [x - 8, y - 10], [x + 8, y + 10]));
        else
            create(boxOf(tool, done.from, [a, b]));
    }

    function onKey(event, shape) {
        const step = STEPS[event.key];
        if (step) {
            const size = event.shiftKey ? 5 : event.altKey ? 0.1 : 0.5;
            moveShape(shape, step[0] * size, step[1] * size);
            host.changed(shape);
        } else if (event.key === 'Delete' || event.key === 'Backspace') {
            host.remove(shape);
        } else if (event.key === 'Enter' || event.key === ' ') {
            host.select(shape);
        } else {
            return;
        }
        event.preventDefault();
        draw();
    }

    // Keys while something is being drawn, wherever the focus is.
    function onDrawingKey(event) {
        if (tool === 'select' || event.target.closest?.('input, textarea, select, dialog'))
            return;
        if (event.key === 'Escape')
            setTool('select');
        else if (event.key === 'Enter' && corners.length >= 3)
            finishPolygon();
        else if (event.key === 'Backspace' && corners.pop())
            draw();
        else
            return;
        event.preventDefault();
    }

    element.addEventListener('pointerdown', onDown);
    element.addEventListener('pointermove', onMove);
    element.addEventListener('pointerup', onUp);
    element.addEventListener('pointercancel', () => {
        drag = null;
        draw();
    });
    document.addEventListener('keydown', onDrawingKey);
    return {
        element, draw, setTool, finishPolygon,
        focus: (shape) => groups.get(shape)?.group.focus({preventScroll: true}),
        destroy: () => document.removeEventListener('keydown', onDrawingKey),
    };
}
