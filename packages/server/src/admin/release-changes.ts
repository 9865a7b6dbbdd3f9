// release-changes.ts: what changed between a release and the one before it.
//
// err  AdminProblem

import { ADDRESS_FLAGS } from "@inkling/engine";
import { releaseNames } from "@inkling/release-store";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import type { AdminContext } from "./context.ts";
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

export async function releaseChanges({ comparisons, dataDir }: AdminContext, release: string) {
  const names = releaseNames(dataDir);
  const at = names.indexOf(release);
  if (at < 0) throw new AdminProblem("RELEASE_NOT_FOUND");
  const before = names[at + 1];
  if (before === undefined) return { release, before: null, changes: null };
  const changes = await comparisons.compare(before, release).catch(({ message }: Error) => {
    throw new AdminProblem("ACTION_REFUSED", `The releases cannot be compared: ${message}`);
  });
  return { release, before, changes };
}
