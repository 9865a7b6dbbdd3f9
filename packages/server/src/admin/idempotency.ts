// idempotency.ts: requests that must not be done twice, such as making a key: known by the `Idempotency-Key` they carry.
//
// in   the header, and a digest of the request
// out  the answer of the first request with this key, for ten minutes, also while it is still being made
// err  AdminProblem where the same key comes with another request
// note Kept in memory, answers and the new tokens in them included: as long as a client might still try again.

import type { Reply } from "./call.ts";
import { AdminProblem } from "./problems.ts";

const KEEP_MS = 600_000;
const MOST = 1_000;
const KEY = /^[\x21-\x7e]{1,200}$/;

interface Done {
  readonly digest: string;
  readonly at: number;
  readonly reply: Promise<Reply>;
}

export class Once {
  private readonly done = new Map<string, Done>();
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /**
   * @param key of the header; null where there is none, and then it is done each time
   * @param digest of method, path and body
   */
  async run(key: string | null, digest: string, work: () => Promise<Reply>): Promise<Reply> {
    if (key === null) return work();
    if (!KEY.test(key)) throw new AdminProblem("IDEMPOTENCY_KEY_INVALID");
    this.forget();
    const before = this.done.get(key);
    if (before !== undefined && before.digest !== digest) {
      throw new AdminProblem(
        "IDEMPOTENCY_KEY_INVALID",
        "This `Idempotency-Key` came with another request before.",
      );
    }
    if (before !== undefined) return before.reply;
    const reply = work();
    this.done.set(key, { digest, at: this.now(), reply });
    reply.catch(() => this.done.delete(key)); // what failed may be tried again
    return reply;
  }

  private forget(): void {
    const oldest = this.now() - KEEP_MS;
    for (const [key, { at }] of this.done) {
      if (at >= oldest && this.done.size < MOST) return; // the rest is younger
      this.done.delete(key);
    }
  }
}
