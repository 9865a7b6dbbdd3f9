// idempotency.ts: requests that must not be done twice, such as making a key, by their `Idempotency-Key`.
//
// in   the header, and a digest of the request
// out  the reply to the first request with this key, for ten minutes, also while it is still being made
// err  AdminProblem where the same key comes with another request
// note Kept in memory, replies and the new tokens in them included, for as long as a client might retry.

import { AdminProblem } from "../http/problems.ts";
import type { Reply } from "./operation.ts";

const KEEP_MS = 600_000;
const MAX_KEPT = 1_000;
const KEY = /^[\x21-\x7e]{1,200}$/;

interface Kept {
  readonly digest: string;
  readonly at: number;
  readonly reply: Promise<Reply>;
}

export class Idempotency {
  private readonly kept = new Map<string, Kept>();
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** @param digest of method, path, query and body */
  async run(key: string, digest: string, work: () => Promise<Reply>): Promise<Reply> {
    if (!KEY.test(key)) throw new AdminProblem("IDEMPOTENCY_KEY_INVALID");
    this.removeExpired();
    const before = this.kept.get(key);
    if (before !== undefined && before.digest !== digest) {
      throw new AdminProblem(
        "IDEMPOTENCY_KEY_INVALID",
        "This `Idempotency-Key` was sent before with another request.",
      );
    }
    if (before !== undefined) return before.reply;
    const reply = work();
    this.kept.set(key, { digest, at: this.now(), reply });
    reply.catch(() => this.kept.delete(key)); // what failed may be tried again
    return reply;
  }

  private removeExpired(): void {
    const now = this.now();
    for (const [key, { at }] of this.kept) {
      const isKept = at >= now - KEEP_MS && at <= now; // a clock that was set back keeps nothing for longer
      if (isKept && this.kept.size < MAX_KEPT) return; // the rest is younger
      this.kept.delete(key);
    }
  }
}
