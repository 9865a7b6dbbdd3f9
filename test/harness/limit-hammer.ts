// limit-hammer.ts: one of several threads that take tokens from the same cell as fast as they can.

import { LimitCells, type SharedCells } from "../../packages/server/src/limits/cells.ts";

export interface HammerOrder {
  readonly shared: SharedCells;
  readonly milliseconds: number;
  /** Nanoseconds for one token, and for a whole bucket. */
  readonly each: number;
  readonly whole: number;
  readonly quota: number;
}

export interface HammerReport {
  readonly tokens: number;
  readonly tries: number;
  readonly quota: number;
  /** Epoch ms. */
  readonly first: number;
  readonly last: number;
}

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<HammerOrder>) => {
  const { shared, milliseconds, each, whole, quota } = data;
  const cells = new LimitCells(shared.base, shared);
  const first = Date.now();
  let last = first;
  const taken = { tokens: 0, tries: 0, quota: 0 };
  while (last - first < milliseconds) {
    last = Date.now();
    for (let i = 0; i < 20; i++) {
      taken.tries++;
      if (i % 4 === 0) taken.tokens += cells.takeUpTo(0, last, each, 3, whole);
      else if (cells.take(0, last, each, 1, whole)) taken.tokens++;
      const got = cells.takeQuota(0, last, quota, 2);
      if (got === 2 && i % 2 === 0) cells.giveQuotaBack(0, cells.chargedDay, 1);
      taken.quota += got === 2 && i % 2 === 0 ? 1 : got;
      cells.count(0, "email", last, 1);
    }
  }
  self.postMessage({ ...taken, first, last } satisfies HammerReport);
};
