// assess.ts: assesses visitors for the operator, and checks rulesets while the server keeps time for its other work.

import { parseDraft } from "@inkling/operations/rulesets";
import { AdminProblem } from "../http/problems.ts";
import { assessVisitor, type Caller } from "../lookup/operator-lookup.ts";
import { Turns } from "../sharing/turns.ts";
import type { AdminContext } from "./handler.ts";
import { openCurrent, orRateLimited } from "./lookup.ts";

const turns = new Turns({ running: 1, waitingPerOwner: 4 });

/**
 * Runs one check of a ruleset at a time, and then rests for three times as long as the check took. The longest text takes
 * 40 ms, so however many checks are waiting, this thread keeps three quarters of its time for other work.
 * @throws AdminProblem RATE_LIMITED; the errors of `check`
 */
export function checkSparingly<T>({ owner, signal }: Caller, check: () => T): Promise<T> {
  return orRateLimited(
    turns.take(owner, signal, async () => {
      const start = performance.now();
      try {
        return check();
      } finally {
        await Bun.sleep(3 * (performance.now() - start));
      }
    }),
  );
}

export async function assessForOperator(
  { releases, overrides, rulesets, now }: AdminContext,
  visitor: unknown,
  draft: string | undefined,
  caller: Caller,
): Promise<object> {
  const release = openCurrent(releases);
  if (draft !== undefined) await checkSparingly(caller, () => parseDraft(draft));
  const { number, text } = rulesets.current;
  const source = { release, overrides: overrides.current, now: now() };
  const ruleset = draft === undefined ? { number, text } : { number: 0, text: draft };
  const found = assessVisitor(source, visitor, ruleset);
  if ("refused" in found)
    throw new AdminProblem("BODY_INVALID", "The visitor cannot be assessed.", found.refused);
  return found;
}
