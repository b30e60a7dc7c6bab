// SPDX-License-Identifier: BSD-2-Clause
// The shapes over the picture: drawing, selecting, moving and resizing them. Coordinates are
// percent of the frame, and so is the coordinate system of the SVG element; lines and handles keep
// their width, because their strokes do not scale.

import {svg} from './dom.js';
import {
    MOST_CORNERS, boxOf, describe, dragHandle, handlesOf, moveShape, round,
} from './shapes.js';

const CLICK = 1.5; // percent: a shorter drag is a click
const NEAR = 10;   // pixels: corners that are this close are the same
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

// A path of no length with round ends: a dot of constant size, with an edge.
function dot(x, y, name) {
    return ['handle-edge', 'handle'].map(
        (kind) => svg('path', {d: `M${x} ${y}h0`, class: kind, 'data-handle': name}));
}

// host: items() returns [{shape, label, editable, dashed}]; selected() the selected shape or null;
// select(shape or null), changed(shape), created(shape), remove(shape), dragBegins();
// toolChanged(tool, corners).
export class Overlay {
    constructor(host) {
        this.host = host;
        this.tool = 'select';
        this.corners = []; // of the polygon that is being drawn
        this.drag = null;  // {from, last, shape, handle and start, or fresh}
        this.groups = new Map(); // shape -> its elements
        this.shapes = svg('g', {});
        this.handles = svg('g', {'aria-hidden': 'true'});
        this.sketch = svg('path', {class: 'sketch'});
        this.element = svg('svg', {class: 'overlay', viewBox: '0 0 100 100',
            preserveAspectRatio: 'none', role: 'group', 'aria-label': 'Regions in the picture',
            onpointerdown: (event) => this.onDown(event),
            onpointermove: (event) => this.onMove(event),
            onpointerup: (event) => this.onUp(event),
            onpointercancel: () => this.setTool('select')},
        this.shapes, this.sketch, this.handles);
        this.onKey = (event) => this.onDrawingKey(event);
        document.addEventListener('keydown', this.onKey);
    }

    destroy() {
        document.removeEventListener('keydown', this.onKey);
    }

    focus(shape) {
        this.groups.get(shape)?.group.focus({preventScroll: true});
    }

    /* ---- drawing what there is ---- */

    createGroup({shape, editable}) {
        const under = svg('path', {class: 'under'});
        const line = svg('path', {class: 'outline'});
        const group = editable
            ? svg('g', {class: 'region-shape', tabindex: '0', role: 'button',
                onkeydown: (event) => this.onShapeKey(event, shape),
                onfocus: () => this.host.select(shape),
                onpointerdown: (event) => this.beginMove(event, shape)}, under, line)
            : svg('g', {class: 'region-shape fixed', role: 'img'}, under, line);
        const made = {group, paths: [under, line]};
        this.groups.set(shape, made);
        this.shapes.append(group);
        return made;
    }

    drawItem(item) {
        const {group, paths} = this.groups.get(item.shape) ?? this.createGroup(item);
        for (const path of paths)
            path.setAttribute('d', outlineOf(item.shape));
        const selected = item.shape === this.host.selected();
        group.classList.toggle('selected', selected);
        group.classList.toggle('dashed', Boolean(item.dashed));
        group.setAttribute('aria-label', `${item.label}: ${describe(item.shape)}`);
        if (item.editable)
            group.setAttribute('aria-pressed', String(selected));
    }

    draw() {
        const items = this.host.items();
        for (const [shape, {group}] of this.groups)
            if (!items.some((item) => item.shape === shape)) {
                group.remove();
                this.groups.delete(shape);
            }
        items.forEach((item) => this.drawItem(item));
        const chosen = items.find(
            (item) => item.shape === this.host.selected() && item.editable);
        this.handles.replaceChildren(...(chosen ? handlesOf(chosen.shape) : []).flatMap(
            ([x, y, name]) => dot(x, y, name)));
        this.sketch.setAttribute('d', this.sketchPath());
    }

    sketchPath() {
        if (this.drag?.fresh && this.drag.shape)
            return outlineOf(this.drag.shape);
        if (!this.corners.length)
            return '';
        const dots = this.corners.map(([x, y]) => `M${x} ${y}h0`).join('');
        return `${dots}M${this.corners.map((p) => p.join(' ')).join('L')}`;
    }

    /* ---- making new shapes ---- */

    setTool(tool) {
        this.tool = tool;
        this.corners = [];
        this.drag = null;
        this.element.classList.toggle('drawing', tool !== 'select');
        this.host.toolChanged(tool, 0);
        this.draw();
    }

    create(shape) {
        this.setTool('select');
        this.host.created(shape);
    }

    finishPolygon() {
        if (this.corners.length >= 3)
            this.create({kind: 'polygon', points: this.corners});
    }

    // A corner on the first or the last one ends the polygon.
    addCorner(point) {
        const {width, height} = this.element.getBoundingClientRect();
        const near = ([x, y]) => Math.hypot((x - point[0]) * width / 100,
            (y - point[1]) * height / 100) < NEAR;
        const {corners} = this;
        if (corners.length >= 3 && (near(corners[0]) || near(corners.at(-1))))
            return this.finishPolygon();
        if (!corners.length || !near(corners.at(-1)))
            corners.push(point);
        this.host.toolChanged(this.tool, corners.length);
        if (corners.length === MOST_CORNERS)
            this.finishPolygon();
        this.draw();
    }

    /* ---- pointer ---- */

    pointOf(event) {
        const box = this.element.getBoundingClientRect();
        const part = (at, from, size) => Math.min(Math.max((at - from) / size * 100, 0), 100);
        return [round(part(event.clientX, box.left, box.width)),
            round(part(event.clientY, box.top, box.height))];
    }

    beginDrag(event, drag) {
        this.host.dragBegins();
        const from = this.pointOf(event);
        this.drag = {from, last: from, ...drag};
        this.element.setPointerCapture(event.pointerId);
        event.preventDefault();
    }

    beginMove(event, shape) {
        if (this.tool !== 'select' || event.button !== 0)
            return;
        event.stopPropagation();
        this.host.select(shape);
        this.beginDrag(event, {shape});
        this.focus(shape);
    }

    onDown(event) {
        if (event.button !== 0)
            return;
        const {handle} = event.target.dataset;
        const shape = this.host.selected();
        if (this.tool === 'polygon')
            this.addCorner(this.pointOf(event));
        else if (this.tool !== 'select')
            this.beginDrag(event, {fresh: true, shape: null});
        else if (handle && shape)
            this.beginDrag(event, {shape, handle, start: structuredClone(shape)});
        else
            this.host.select(null);
    }

    onMove(event) {
        const {drag} = this;
        if (!drag)
            return;
        const point = this.pointOf(event);
        if (drag.fresh)
            drag.shape = boxOf(this.tool, drag.from, point);
        else if (drag.handle)
            Object.assign(drag.shape, dragHandle(drag.start, drag.handle, point));
        else
            moveShape(drag.shape, point[0] - drag.last[0], point[1] - drag.last[1]);
        drag.last = point;
        if (!drag.fresh)
            this.host.changed(drag.shape);
        this.draw();
    }

    // Takes the last corner back, or ends drawing. Returns whether something was being drawn.
    undoCorner() {
        if (this.tool === 'select')
            return false;
        this.corners.pop();
        if (this.corners.length) {
            this.host.toolChanged(this.tool, this.corners.length);
            this.draw();
        } else {
            this.setTool('select');
        }
        return true;
    }

    // A click instead of a drag makes a shape of moderate size around the place.
    onUp(event) {
        const {drag} = this;
        this.drag = null;
        if (!drag?.fresh)
            return;
        const [x, y] = drag.from;
        const [a, b] = this.pointOf(event);
        if (Math.hypot(a - x, b - y) < CLICK)
            this.create(boxOf(this.tool, [x - 8, y - 10], [x + 8, y + 10]));
        else
            this.create(boxOf(this.tool, drag.from, [a, b]));
    }

    /* ---- keyboard ---- */

    onShapeKey(event, shape) {
        const step = STEPS[event.key];
        if (step) {
            const size = event.shiftKey ? 5 : event.altKey ? 0.1 : 0.5;
            moveShape(shape, step[0] * size, step[1] * size);
            this.host.changed(shape);
        } else if (event.key === 'Delete' || event.key === 'Backspace') {
            this.host.remove(shape);
        } else if (event.key === 'Enter' || event.key === ' ') {
            this.host.select(shape);
        } else {
            return;
        }
        event.preventDefault();
        this.draw();
    }

    // Keys while something is being drawn, wherever the focus is.
    onDrawingKey(event) {
        if (this.tool === 'select' || event.target.closest?.('input, textarea, select, dialog'))
            return;
        if (event.key === 'Escape')
            this.setTool('select');
        else if (event.key === 'Enter' && this.corners.length >= 3)
            this.finishPolygon();
        else if (event.key === 'Backspace' && this.corners.pop())
            this.draw();
        else
            return;
        event.preventDefault();
    }
}
