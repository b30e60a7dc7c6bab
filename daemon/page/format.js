// SPDX-License-Identifier: BSD-2-Clause
// Numbers, sizes and times as people read them.

const UNKNOWN = '-';

export function number(value, digits = 0) {
    return Number.isFinite(value) ? value.toFixed(digits) : UNKNOWN;
}

export function milliseconds(value) {
    return Number.isFinite(value) ? `${value.toFixed(value < 10 ? 1 : 0)} ms` : UNKNOWN;
}

export function rate(value) {
    return Number.isFinite(value) ? `${value.toFixed(1)} fps` : UNKNOWN;
}

export function bytes(value) {
    if (!Number.isFinite(value))
        return UNKNOWN;
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let at = 0;
    for (; value >= 1024 && at < units.length - 1; at++)
        value /= 1024;
    return `${value.toFixed(value < 10 && at > 0 ? 1 : 0)} ${units[at]}`;
}

export function count(n, one, many = `${one}s`) {
    return `${n} ${n === 1 ? one : many}`;
}

export function clock(seconds) {
    return new Date(seconds * 1000).toLocaleTimeString([], {hour12: false});
}

export function duration(seconds) {
    if (!Number.isFinite(seconds))
        return UNKNOWN;
    const units = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]];
    const [unit, size] = units.find(([, s]) => seconds >= s) ?? units.at(-1);
    return count(Math.floor(seconds / size), unit);
}

// Addresses, chains and the like stay as they are.
export function capital(text = '') {
    return /^[a-z]+(-[a-z]+)*([ ,;.]|: |:?$)/.test(text) ? text[0].toUpperCase() + text.slice(1)
        : text;
}

// An error of the daemon, for the field that it is about: without the key and the column.
export function plainError(text) {
    return capital(text.replace(/^filters: |^input: /, '').replace(/^column \d+: /, ''));
}

// "24 % of the picture"; a share is never said to be larger than it is.
export function hiddenPart(coverage) {
    const [luma, ...colours] = coverage?.planes ?? [];
    if (luma === undefined)
        return coverage?.words || 'not known yet';
    const colour = Math.min(luma, ...colours);
    const part = (value) => value >= 1 ? 'all' : value <= 0 ? 'nothing'
        : value < 0.01 ? 'less than 1 %' : `${Math.floor(value * 100)} %`;
    if (luma <= 0 && colour <= 0)
        return 'nothing';
    return luma - colour < 0.02 ? `${part(colour)} of the picture`
        : `${part(luma)} of the brightness, ${part(colour)} of the colours`;
}

// The numbers of a stream's status that tiles and the large view show.
export function figures(stream) {
    const total = stream.stages?.total ?? {};
    const has = total.count > 0;
    // `rate` counts what an encoding leaves out on purpose, such as tiles.
    const {rate: _, ...dropped} = stream.dropped ?? {};
    const drops = Object.values(dropped).reduce((sum, n) => sum + n, 0);
    return {
        rate: rate(stream.rate),
        p50: has ? milliseconds(total.p50) : UNKNOWN,
        p99: has ? milliseconds(total.p99) : UNKNOWN,
        drops: String(drops),
        viewers: String(stream.viewers ?? 0),
        coverage: hiddenPart(stream.coverage),
    };
}
