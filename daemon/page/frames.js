// SPDX-License-Identifier: BSD-2-Clause
// Splits the bytes of /api/live into messages, whatever the pieces in which they arrive.

const HEADER = 8;
const MOST = 64 << 20; // no message is longer: beyond this, the bytes are not what they should be

// feed(bytes) calls onMessage({kind, slot, payload}) for each message that is complete. The payload
// is a copy. Throws if a length is impossible.
export function createReader(onMessage) {
    const header = new Uint8Array(HEADER);
    const view = new DataView(header.buffer);
    let got = 0; // bytes of the header, then of the payload
    let payload = null;

    function take(bytes, at) {
        const target = payload ?? header;
        const part = bytes.subarray(at, at + target.length - got);
        target.set(part, got);
        got += part.length;
        return part.length;
    }

    function begin() {
        const length = view.getUint32(4);
        if (length > MOST)
            throw new Error(`a message of ${length} bytes`);
        payload = new Uint8Array(length);
        got = 0;
    }

    function finish() {
        const message = {kind: String.fromCharCode(header[0]), slot: header[1], payload};
        payload = null;
        got = 0;
        onMessage(message);
    }

    return {
        feed(bytes) {
            for (let at = 0; at < bytes.length;) {
                at += take(bytes, at);
                if (!payload && got === HEADER)
                    begin();
                if (payload && got === payload.length)
                    finish();
            }
        },
    };
}

export function decodeJson(payload) {
    return JSON.parse(new TextDecoder().decode(payload));
}
