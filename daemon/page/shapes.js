// SPDX-License-Identifier: BSD-2-Clause
// The shapes of region=: reading, writing, moving and resizing them. Coordinates are percent of
// the frame; lengths in pixels are converted when the size of the frame is known.
//
// A shape is {kind: 'rect' | 'ellipse', x, y, w, h} or {kind: 'polygon', points: [[x, y], ...]}.

const SMALLEST = 0.5; // percent
export const MOST_CORNERS = 64;
export const MOST_SHAPES = 64;

function readLength(word, size) {
    const match = /^(-?[0-9.]+)(%?)$/.exec(word ?? '');
    const value = match ? Number(match[1]) : NaN;
    if (!Number.isFinite(value))
        return null;
    if (match[2] || value === 0)
        return value;
    return size > 0 ? value / size * 100 : null;
}

function readShape(words, kind, frame) {
    const numbers = [];
    while (words.length && /^[-0-9.]/.test(words[0])) {
        const size = numbers.length % 2 ? frame.height : frame.width;
        numbers.push(readLength(words.shift(), size));
    }
    if (numbers.includes(null))
        return null;
    if (kind === 'polygon') {
        const points = [];
        for (let i = 0; i + 1 < numbers.length; i += 2)
            points.push([numbers[i], numbers[i + 1]]);
        return numbers.length % 2 || points.length < 3 ? null : {kind, points};
    }
    const [x, y, w, height] = numbers;
    return numbers.length === 4 && w > 0 && height > 0 ? {kind, x, y, w, h: height} : null;
}

// Returns the shapes, or null if the text has others than rect, ellipse and polygon, or lengths in
// pixels while the size of the frame ({width, height}) is unknown.
export function parseShapes(text, frame = {}) {
    const words = text.split(/[ \n\t\r+]+/).filter(Boolean);
    const shapes = [];
    while (words.length) {
        const kind = words.shift();
        const known = ['rect', 'ellipse', 'polygon'].includes(kind);
        const shape = known ? readShape(words, kind, frame) : null;
        if (!shape)
            return null;
        shapes.push(shape);
    }
    return shapes.length ? shapes : null;
}

export function round(value) {
    return Math.round(value * 100) / 100;
}

function percent(value) {
    return `${round(value)}%`;
}

export function writeShape(shape) {
    const numbers = shape.kind === 'polygon' ? shape.points.flat()
        : [shape.x, shape.y, shape.w, shape.h];
    return `${shape.kind} ${numbers.map(percent).join(' ')}`;
}

export function writeShapes(shapes) {
    return shapes.map(writeShape).join('+');
}

export function bounds(shape) {
    if (shape.kind !== 'polygon')
        return {x: shape.x, y: shape.y, w: shape.w, h: shape.h};
    const xs = shape.points.map((p) => p[0]);
    const ys = shape.points.map((p) => p[1]);
    const [x, y] = [Math.min(...xs), Math.min(...ys)];
    return {x, y, w: Math.max(...xs) - x, h: Math.max(...ys) - y};
}

// Moves a shape in place, but keeps at least its middle in the frame.
export function moveShape(shape, dx, dy) {
    const box = bounds(shape);
    const [cx, cy] = [box.x + box.w / 2, box.y + box.h / 2];
    dx = Math.min(Math.max(dx, -cx), 100 - cx);
    dy = Math.min(Math.max(dy, -cy), 100 - cy);
    if (shape.kind === 'polygon') {
        shape.points = shape.points.map(([x, y]) => [round(x + dx), round(y + dy)]);
    } else {
        shape.x = round(shape.x + dx);
        shape.y = round(shape.y + dy);
    }
}

// The rectangle between two points, at least SMALLEST wide and high.
export function boxOf(kind, [ax, ay], [bx, by]) {
    return {
        kind, x: round(Math.min(ax, bx)), y: round(Math.min(ay, by)),
        w: round(Math.max(Math.abs(ax - bx), SMALLEST)),
        h: round(Math.max(Math.abs(ay - by), SMALLEST)),
    };
}

// Handles are [x, y, name]: the corners and edges of a box, or the corners of a polygon.
export function handlesOf(shape) {
    if (shape.kind === 'polygon')
        return shape.points.map(([x, y], i) => [x, y, String(i)]);
    const {x, y, w, h} = shape;
    return [
        [x, y, 'nw'], [x + w / 2, y, 'n'], [x + w, y, 'ne'], [x + w, y + h / 2, 'e'],
        [x + w, y + h, 'se'], [x + w / 2, y + h, 's'], [x, y + h, 'sw'], [x, y + h / 2, 'w'],
    ];
}

// Drags the handle of a shape, as it was when the drag began, to a point; returns the new shape.
export function dragHandle(shape, name, [x, y]) {
    if (shape.kind === 'polygon') {
        const points = shape.points.map((p, i) => String(i) === name ? [round(x), round(y)] : p);
        return {kind: 'polygon', points};
    }
    let [left, top, right, bottom] = [shape.x, shape.y, shape.x + shape.w, shape.y + shape.h];
    if (name.includes('w'))
        left = x;
    if (name.includes('e'))
        right = x;
    if (name.includes('n'))
        top = y;
    if (name.includes('s'))
        bottom = y;
    return boxOf(shape.kind, [left, top], [right, bottom]);
}

// A shape of moderate size in the middle, for those who do not draw with a pointer.
export function middleShape(kind) {
    if (kind === 'polygon')
        return {kind, points: [[50, 35], [65, 65], [35, 65]]};
    return {kind, x: 40, y: 40, w: 20, h: 20};
}

export function describe(shape) {
    const box = bounds(shape);
    const name = {rect: 'Rectangle', ellipse: 'Ellipse', polygon: 'Polygon'}[shape.kind];
    const corners = shape.kind === 'polygon' ? ` with ${shape.points.length} corners,` : '';
    return `${name}${corners} at ${percent(box.x)} ${percent(box.y)}, ` +
        `size ${percent(box.w)} by ${percent(box.h)}`;
}
