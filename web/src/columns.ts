// SPDX-License-Identifier: MIT
// The binary answer about rows: shares of states by column of time, and exactly what is wide.

const MAGIC = 0x31434c4c;
const HEADER = 24;
export const STATES_SENT = 3;

// Columns of a row: state and share (in 1/255) of column c are data[2 * i * count + c] and data[(2 * i + 1) * count + c].
export interface Block {
    start: number;
    width: number; // ns a column
    count: number;
    data: Uint8Array;
}

export interface Span {
    start: number;
    end: number;
    state: number;
    label: string;
}

export interface RowPicture {
    block: Block;
    spans: Span[];
}

export function decode(buffer: ArrayBuffer): RowPicture[] {
    const view = new DataView(buffer);
    if (buffer.byteLength < HEADER || view.getUint32(0, true) !== MAGIC) {
        throw new Error('the answer about rows is not what it should be');
    }
    const rows = view.getUint32(4, true), count = view.getUint32(8, true), width = Math.pow(2, view.getUint32(12, true));
    const start = view.getFloat64(16, true);
    const size = count * 2 * STATES_SENT;
    const pictures: RowPicture[] = [];
    for (let i = 0; i < rows; i++) {
        const data = new Uint8Array(buffer, HEADER + i * size, size);
        pictures.push({ block: { start, width, count, data }, spans: [] });
    }
    const text = new TextDecoder().decode(new Uint8Array(buffer, HEADER + rows * size));
    for (const [row, state, from, to, label] of JSON.parse(text) as [number, number, number, number, string?][]) {
        pictures[row].spans.push({ start: from, end: to, state, label: label || '' });
    }
    return pictures;
}

export function covers(block: Block, start: number, end: number): boolean {
    return block.start <= start && block.start + block.count * block.width >= end;
}
