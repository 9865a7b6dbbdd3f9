// zoom.tsx: shows a map that can be zoomed and moved with buttons, keyboard, wheel, dragging or two fingers.
//
// The map takes over only the gestures that it needs. The wheel zooms the map only while the map has the focus or Ctrl
// is pressed. Touchpads report a two-finger pinch as a wheel event with Ctrl. One finger scrolls the page until the map
// is zoomed. d3-zoom does the same, but adds 15 KB (compressed) and nine packages.

import type { ComponentChildren, TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Position of the map: the point `p` of the map is drawn at `k * p + (x, y)`. */
export interface View {
  readonly k: number;
  readonly x: number;
  readonly y: number;
}

type Box = readonly [left: number, top: number, right: number, bottom: number];

interface ZoomMapProps {
  readonly label: string;
  readonly width: number;
  readonly height: number;
  /** Minimum and maximum zoom; the initial zoom is 1. */
  readonly range: readonly [min: number, max: number];
  /** The area with content, at zoom 1. */
  readonly content: Box;
  /** Drawn above the map, without scaling. */
  readonly marks?: (view: View) => ComponentChildren;
  readonly children: ComponentChildren;
}

const START: View = { k: 1, x: 0, y: 0 };
const STEP = 1.6;
/** Share of the drawing by which an arrow key moves the map. */
const SHIFT = 0.15;

export function ZoomMap({ label, width, height, range, content, marks, children }: ZoomMapProps) {
  const [view, setView] = useState(START);
  const box = useRef<HTMLElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const fingers = useRef(new Map<number, readonly [x: number, y: number]>());

  const limit = ({ k, x, y }: View): View => {
    const [left, top, right, bottom] = content;
    return { k, x: inside(x, k * left, k * right, width), y: inside(y, k * top, k * bottom, height) };
  };
  const move = (dx: number, dy: number) => setView(({ k, x, y }) => limit({ k, x: x + dx, y: y + dy }));
  /** Zooms around a point of the drawing, which does not move. */
  const zoom = (factor: number, px = width / 2, py = height / 2) =>
    setView(({ k, x, y }) => {
      const next = Math.min(range[1], Math.max(range[0], k * factor));
      return limit({ k: next, x: px - ((px - x) * next) / k, y: py - ((py - y) * next) / k });
    });
  const reset = () => setView(START);
  const pointOf = ({ clientX, clientY }: MouseEvent) => {
    const { left, top, width: shown = width } = svg.current?.getBoundingClientRect() ?? { left: 0, top: 0 };
    const scale = width / shown;
    return [(clientX - left) * scale, (clientY - top) * scale] as const;
  };

  useLayoutEffect(() => {
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !box.current?.contains(document.activeElement)) return;
      event.preventDefault();
      zoom(
        2 ** (-event.deltaY * (event.ctrlKey ? 0.01 : event.deltaMode === 1 ? 0.05 : 0.002)),
        ...pointOf(event),
      );
    };
    // Preact's own listeners cannot prevent the default action
    svg.current?.addEventListener("wheel", onWheel, { passive: false });
    return () => svg.current?.removeEventListener("wheel", onWheel);
  }, []);

  const keys: Readonly<Record<string, () => void>> = {
    "+": () => zoom(STEP),
    "=": () => zoom(STEP),
    "-": () => zoom(1 / STEP),
    "0": reset,
    ArrowLeft: () => move(width * SHIFT, 0),
    ArrowRight: () => move(-width * SHIFT, 0),
    ArrowUp: () => move(0, height * SHIFT),
    ArrowDown: () => move(0, -height * SHIFT),
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
  const onPointerDown = (event: TargetedPointerEvent<SVGSVGElement>) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    fingers.current.set(event.pointerId, pointOf(event));
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: TargetedPointerEvent<SVGSVGElement>) => {
    const before = fingers.current.get(event.pointerId);
    if (before === undefined) return;
    const now = pointOf(event);
    fingers.current.set(event.pointerId, now);
    const other = Array.from(fingers.current).find(([id]) => id !== event.pointerId)?.[1];
    if (other !== undefined) zoom(distance(now, other) / Math.max(1, distance(before, other)), ...other);
    else move(now[0] - before[0], now[1] - before[1]);
  };
  const onPointerEnd = (event: TargetedPointerEvent<SVGSVGElement>) => {
    fingers.current.delete(event.pointerId);
  };
  const { k, x, y } = view;
  return (
    <section
      ref={box}
      class="zoom"
      aria-label={`${label}. Zoom with plus and minus, move with the arrow keys, press 0 to show everything.`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is moved by keyboard
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <svg
        ref={svg}
        class={k === 1 ? undefined : "zoomed"}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={label}
        onDblClick={(event) => zoom(STEP, ...pointOf(event))}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerEnd}
        onPointerCancel={onPointerEnd}
      >
        <g transform={`translate(${x} ${y}) scale(${k})`}>{children}</g>
        {marks?.(view)}
      </svg>
      <div class="zoom-buttons">
        <ZoomButton text="+" label="Zoom in" onClick={() => zoom(STEP)} />
        <ZoomButton text="−" label="Zoom out" onClick={() => zoom(1 / STEP)} />
        <ZoomButton text="⟲" label="Show the whole map" onClick={reset} />
      </div>
    </section>
  );
}

interface ZoomButtonProps {
  readonly text: string;
  readonly label: string;
  readonly onClick: () => void;
}

const ZoomButton = ({ text, label, onClick }: ZoomButtonProps) => (
  <button type="button" class="quiet" aria-label={label} title={label} onClick={onClick}>
    {text}
  </button>
);

/**
 * Limits an offset so that the content fills the drawing. Centres content that is smaller than the drawing.
 */
function inside(offset: number, from: number, to: number, size: number): number {
  if (to - from <= size) return (size - from - to) / 2;
  return Math.min(-from, Math.max(size - to, offset));
}

const distance = ([a, b]: readonly [number, number], [c, d]: readonly [number, number]) =>
  Math.hypot(a - c, b - d);
