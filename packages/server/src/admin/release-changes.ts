// release-changes.ts: what changed between a release and the one before it, compared in a worker.
//
// err  AdminProblem

import { ADDRESS_FLAGS } from "@inkling/engine";
import { releaseNames } from "@inkling/release-store";
import { z } from "zod";
import type { ReleaseChanges } from "../releases/diff.ts";
import type { ChangesAnswer } from "../releases/diff-worker.ts";
import { AdminProblem } from "./problems.ts";
import { count, text } from "./schemas.ts";

const flagChange = z.strictObject({ ipv4_addresses: count, ipv6_networks: count });
const flagChanges = z.strictObject({ added: flagChange, removed: flagChange });
export const changesAnswer = z.strictObject({
  release: text,
  before: text.nullable(),
  changes: z
    .strictObject({
      flags: z.strictObject(Object.fromEntries(ADDRESS_FLAGS.map((flag) => [flag, flagChanges]))).optional(),
      disposable: z.strictObject({ added: count, removed: count }).optional(),
    })
    .nullable(),
});

const MAX_KEPT = 50;
/** Comparisons by data folder and names, kept for the process: a release never changes. */
const comparisons = new Map<string, Promise<ReleaseChanges>>();

export async function releaseChanges(dataDir: string, release: string) {
  const names = releaseNames(dataDir);
  const at = names.indexOf(release);
  if (at < 0) throw new AdminProblem("RELEASE_NOT_FOUND");
  const before = names[at + 1];
  if (before === undefined) return { release, before: null, changes: null };
  const pair = `${dataDir} ${before} ${release}`;
  let changes = comparisons.get(pair);
  if (changes === undefined) {
    if (comparisons.size >= MAX_KEPT) comparisons.clear();
    changes = compare(dataDir, before, release);
    comparisons.set(pair, changes);
    changes.catch(() => comparisons.delete(pair));
  }
  return { release, before, changes: await changes };
}

function compare(dataDir: string, before: string, after: string): Promise<ReleaseChanges> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("../releases/diff-worker.ts", import.meta.url).href, { smol: true });
    const settle = ({ changes, problem }: ChangesAnswer) => {
      worker.terminate();
      if (changes !== undefined) resolve(changes);
      else reject(new AdminProblem("ACTION_REFUSED", `The releases cannot be compared: ${problem}`));
    };
    worker.onmessage = ({ data }: MessageEvent<ChangesAnswer>) => settle(data);
    worker.onerror = ({ message }) => settle({ problem: message });
    worker.postMessage({ dataDir, before, after });
  });
}
