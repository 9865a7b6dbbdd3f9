// cache.ts: implements a least-recently-used cache of answers.
//
// Source: RFC 9111 4.2 (freshness), 4.3 (validation), 5.2.2 (max-age, no-store, no-cache). A cache belongs to one
// client, and therefore to one key and one server, so `Vary: Authorization` is respected. Cost: one entry of a Map; the
// text is parsed again each time, so that no caller can change another caller's answer.

import type { DataState } from "./data-state.ts";

interface Entry {
  readonly text: string;
  readonly data: DataState;
  readonly etag: string | null;
  readonly storedMs: number;
  readonly freshUntilMs: number;
}

/** A stored answer. */
export interface Stored {
  readonly text: string;
  readonly data: DataState;
  readonly isFresh: boolean;
  readonly etag: string | null;
}

export class AnswerCache {
  private readonly entries = new Map<string, Entry>();
  private readonly most: number;

  /** @param most maximum number of entries; 0 disables the cache */
  constructor(most: number) {
    this.most = most;
  }

  get size(): number {
    return this.entries.size;
  }

  find(path: string, nowMs: number): Stored | undefined {
    const entry = this.entries.get(path);
    if (entry === undefined) return undefined;
    this.entries.delete(path); // a Map keeps the insertion order, so this makes the entry the newest
    this.entries.set(path, entry);
    const { text, data, etag, storedMs, freshUntilMs } = entry;
    // Without this check, an entry would remain fresh for too long after the clock was set back.
    return { text, data, etag, isFresh: storedMs <= nowMs && nowMs < freshUntilMs };
  }

  /**
   * Stores an answer if its headers allow it. The headers of a 304 response apply to the answer that it
   * validates.
   */
  store(path: string, text: string, data: DataState, headers: Headers, nowMs: number): void {
    this.entries.delete(path);
    const directives = readCacheControl(headers.get("cache-control"));
    if (directives.isForbidden || this.most === 0) return;
    const etag = headers.get("etag");
    const ageSeconds = Number(headers.get("age")) || 0;
    const freshMs = Math.max(0, directives.maxAgeSeconds - ageSeconds) * 1000;
    if (freshMs === 0 && etag === null) return;
    this.entries.set(path, { text, data, etag, storedMs: nowMs, freshUntilMs: nowMs + freshMs });
    if (this.entries.size > this.most) this.entries.delete(this.entries.keys().next().value as string);
  }
}

function readCacheControl(header: string | null): { isForbidden: boolean; maxAgeSeconds: number } {
  const directives = (header ?? "")
    .toLowerCase()
    .split(",")
    .map((part) => part.trim());
  const age = /^max-age="?(\d{1,9})"?$/;
  const found = directives.map((directive) => age.exec(directive)?.[1]).find((text) => text !== undefined);
  return {
    isForbidden: directives.includes("no-store"),
    maxAgeSeconds: directives.includes("no-cache") ? 0 : Number(found ?? 0),
  };
}
