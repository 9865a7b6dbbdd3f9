// user.ts: finds the name of the user who runs the command, for the audit trail.
//
// Cost: one extra process if the environment does not contain the name.

import { userInfo } from "node:os";
import type { Author } from "@inkling/store";

/** What Bun returns if the environment contains no user name, as in many containers and services. */
const NOBODY_KNOWN = "unknown";

/**
 * Returns the author for the audit trail.
 * @param author a name to use instead of the user's
 */
export const cliAuthor = (author = userName()): Author => ({ author: author, source: "cli" });

/** Returns the user's name, or the numeric user id if the name is unknown. */
export function userName(
  { username, uid }: { username: string; uid: number } = userInfo(),
  accountName = nameFromAccounts,
): string {
  return username !== NOBODY_KNOWN || uid < 0 ? username : (accountName() ?? `user ${uid}`);
}

/** Looks up the user's name in the account database. The POSIX command `id` also asks LDAP and other sources. */
function nameFromAccounts(): string | undefined {
  try {
    const { success, stdout } = Bun.spawnSync(["id", "-un"], { stderr: "ignore" });
    // If the user has no entry, `id` fails but still prints the numeric id.
    return success ? stdout.toString().trim() || undefined : undefined;
  } catch {
    return undefined; // a container without `id`
  }
}
