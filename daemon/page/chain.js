// SPDX-License-Identifier: BSD-2-Clause
// Reads and writes filter chains in FFmpeg's syntax, as pipeline/filter/chain.c does: quotes and
// backslashes are processed twice, for the chain and for the arguments of a filter.
//
// A filter is {kind, options: {NAME: text}, values: [text]}; values are those without a name.

const BLANKS = ' \n\t\r';

export class ChainError extends Error {}

function skipBlanks(text, at) {
    while (at < text.length && BLANKS.includes(text[at]))
        at++;
    return at;
}

// Reads up to one of the stops; returns the token without quotes, backslashes and outer blanks.
function readToken(text, at, stops) {
    let out = '';
    let keep = 0; // blanks before this are quoted
    for (at = skipBlanks(text, at); at < text.length && !stops.includes(text[at]); at++) {
        if (text[at] === '\\') {
            if (at + 1 === text.length)
                throw new ChainError('The backslash at the end has nothing to escape.');
            out += text[++at];
            keep = out.length;
        } else if (text[at] === "'") {
            const end = text.indexOf("'", at + 1);
            if (end < 0)
                throw new ChainError(`Column ${at + 1}: the closing quote is missing.`);
            out += text.slice(at + 1, end);
            at = end;
            keep = out.length;
        } else {
            out += text[at];
        }
    }
    let end = out.length;
    while (end > keep && BLANKS.includes(out[end - 1]))
        end--;
    return {token: out.slice(0, end), at};
}

function readOptions(args, filter) {
    for (let at = 0; ;) {
        const key = /^[ \n\t\r]*([A-Za-z0-9_]+)[ \n\t\r]*=/.exec(args.slice(at));
        const value = readToken(args, key ? at + key[0].length : at, ':');
        if (!key)
            filter.values.push(value.token);
        else if (key[1] in filter.options)
            throw new ChainError(`${filter.kind}: ${key[1]} is given twice.`);
        else
            filter.options[key[1]] = value.token;
        if (value.at >= args.length)
            return;
        at = value.at + 1;
    }
}

export function parseChain(text) {
    const filters = [];
    for (let at = 0; skipBlanks(text, at) < text.length;) {
        const name = readToken(text, at, '=,;[]');
        const filter = {kind: name.token, options: {}, values: []};
        at = name.at;
        if (!filter.kind)
            throw new ChainError(`Column ${at + 1}: the name of a filter is missing.`);
        if (text[at] === '=') {
            const args = readToken(text, at + 1, '[],;');
            at = args.at;
            readOptions(args.token, filter);
        }
        if (at < text.length && text[at] !== ',')
            throw new ChainError(`Column ${at + 1}: expected a comma, or the end.`);
        filters.push(filter);
        if (text[at] === ',' && skipBlanks(text, ++at) === text.length)
            throw new ChainError('A filter is missing after the last comma.');
    }
    return filters;
}

// Which filter of a chain has this column, from 1.
function filterAt(text, column) {
    let number = 0;
    for (let at = 0, quoted = false; at < Math.min(column - 1, text.length); at++) {
        if (text[at] === "'")
            quoted = !quoted;
        else if (text[at] === '\\' && !quoted)
            at++;
        else if (text[at] === ',' && !quoted)
            number++;
    }
    return number;
}

// What the daemon says of a chain, "column 13: gblur: sigma=abc: must be a number": the number of
// the filter, the option, and what is wrong, each for the place where the user has entered it.
export function problemOf(chain, message) {
    const [, column, text] = /^(?:filters: )?column (\d+): (.*)$/.exec(message) ?? [];
    if (!column)
        return {text: message};
    const filter = filterAt(chain, Number(column));
    const [, option, what] =
        /^\w+: (\w+)(?:=.*?|, column \d+): ((?:must be|an? |unknown |the ).*)$/.exec(text) ?? [];
    return option ? {filter, option, text: what} : {filter, text};
}

// Quotes for the second pass (options), then for the first (filters). Most values need neither.
function quoteValue(value) {
    const inner = value.replace(/[\\':]/g, '\\$&').replace(/^[ \n\t\r]|[ \n\t\r]$/g, '\\$&');
    return /[\\',;[\]]/.test(inner) ? `'${inner.replaceAll("'", "'\\''")}'` : inner;
}

export function writeFilter(filter) {
    const parts = [
        ...(filter.values ?? []).map(quoteValue),
        ...Object.entries(filter.options).map(([name, value]) => `${name}=${quoteValue(value)}`),
    ];
    return filter.kind + (parts.length ? `=${parts.join(':')}` : '');
}

export function writeChain(filters) {
    return filters.map(writeFilter).join(',');
}
