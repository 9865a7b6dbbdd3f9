// rate-line.ts: how far a file is enriched, and how fast.

import { LiveLine, renderBar } from "./progress.ts";
import { formatBytes, formatCount, type Terminal } from "./terminal.ts";

const REDRAW_MS = 100;

/** `██████░░░░  43 %  1,234,567 rows/s  12 s left`, rewritten in place. */
export class RateLine extends LiveLine {
  private readonly size: number | undefined;
  private readonly started = performance.now();
  private drawnAt = 0;

  constructor(terminal: Terminal, size: number | undefined) {
    super(terminal);
    this.size = size;
  }

  showRate(bytes: number, rows: number): void {
    const now = performance.now();
    if (now - this.drawnAt < REDRAW_MS) return;
    this.drawnAt = now;
    const seconds = (now - this.started) / 1000;
    const rate = `${formatCount(Math.round(rows / seconds))} rows/s`;
    const { size } = this;
    if (!size) {
      this.show(`  ${rate}  ${formatBytes(bytes)}`);
      return;
    }
    const part = bytes / size;
    const percent = `${String(Math.floor(part * 100)).padStart(3)} %`;
    const left = bytes > 0 ? `${Math.ceil((seconds * (size - bytes)) / bytes)} s left` : formatBytes(0);
    this.show(`  ${renderBar(part, 24)} ${percent}  ${rate}  ${left}`);
  }
}
