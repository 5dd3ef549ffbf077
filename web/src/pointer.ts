// SPDX-License-Identifier: MIT
// What the pointer does in a picture over time: the wheel zooms and moves, a drag selects a range, a click is a click.

import { toTime } from './bars';
import { Shared, turnWheel } from './graph';

const DRAG = 4; // pixels that a click may move

export interface Pointed {
    time: number;
    x: number; // within the canvas
    y: number;
}

export interface Pointing {
    hover?(at: Pointed, event: PointerEvent): void;
    leave?(): void;
    click?(at: Pointed): void;
}

export function followPointer(scroller: HTMLElement, canvas: HTMLCanvasElement, shared: Shared, does: Pointing): void {
    const at = (event: MouseEvent): Pointed => {
        const box = canvas.getBoundingClientRect();
        const x = event.clientX - box.left;
        const time = Math.max(0, Math.min(shared.length, toTime(x, shared.window, box.width || 1)));
        return { time, x, y: event.clientY - box.top };
    };
    scroller.addEventListener('wheel', event => turnWheel(event, at(event).time, shared), { passive: false });
    canvas.addEventListener('pointermove', event => {
        const place = at(event);
        shared.setHover(place.time);
        does.hover?.(place, event);
    });
    canvas.addEventListener('pointerleave', () => {
        shared.setHover(null);
        does.leave?.();
    });
    canvas.addEventListener('pointerdown', event => {
        const from = at(event);
        let moved = false;
        canvas.setPointerCapture(event.pointerId);
        const move = (next: PointerEvent) => {
            const to = at(next);
            moved = moved || Math.abs(to.x - from.x) > DRAG;
            if (moved) {
                shared.setRange({ start: Math.floor(Math.min(from.time, to.time)), end: Math.ceil(Math.max(from.time, to.time)) });
            }
        };
        const end = (last: PointerEvent) => {
            canvas.removeEventListener('pointermove', move);
            canvas.removeEventListener('pointerup', end);
            canvas.removeEventListener('pointercancel', end);
            if (!moved && last.type === 'pointerup') {
                does.click?.(from);
            }
        };
        canvas.addEventListener('pointermove', move);
        canvas.addEventListener('pointerup', end);
        canvas.addEventListener('pointercancel', end);
    });
}
