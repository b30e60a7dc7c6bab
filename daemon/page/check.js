// SPDX-License-Identifier: BSD-2-Clause
// Asks the daemon, a moment after each change, what a draft would hide and what is wrong with it.

import {callQuietly} from './api.js';
import {problemOf} from './chain.js';
import {debounce} from './dom.js';
import {changedLayers, wholeChain} from './draft.js';
import {plainError} from './format.js';

const DELAY_MS = 400;

// answered(answer, problem): the answer of Check, or a problem {layer, filter, option, text}; both
// are null if there is nothing to check. Answers that are out of date are dropped.
export function createCheck(name, answered) {
    let newest = 0;

    async function run(draft) {
        const number = ++newest;
        const {text, from} = wholeChain(draft);
        if (!changedLayers(draft).length || !text)
            return answered(null, null);
        let answer = null;
        let problem = null;
        try {
            answer = await callQuietly('Check', {name, filters: text});
        } catch (error) {
            const found = problemOf(text, error.message);
            const [layer, filter] = from[found.filter] ?? [];
            problem = {layer, filter, option: found.option, text: plainError(found.text)};
        }
        if (number === newest)
            answered(answer, problem);
    }

    const later = debounce(run, DELAY_MS);
    return {
        later,
        cancel() {
            later.cancel();
            newest++;
        },
    };
}
