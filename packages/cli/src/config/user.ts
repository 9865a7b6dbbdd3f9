// user.ts: who runs the command, for the audit trail.
//
// cost a process, if the environment has no name

import { userInfo } from "node:os";
import type { Actor } from "@inkling/server";

/** Bun knows the name from the environment only, where containers and services often have none. */
const NOBODY_KNOWN = "unknown";

/** For the audit trail. @param author the name instead of the user's */
export const cliActor = (author = userName()): Actor => ({ actor: author, way: "cli" });

/** The user's name, or number where the name is not known. */
export function userName(
  { username, uid }: { username: string; uid: number } = userInfo(),
  accountName = nameFromAccounts,
): string {
  return username !== NOBODY_KNOWN || uid < 0 ? username : (accountName() ?? `user ${uid}`);
}

/** What the account data base calls this user; POSIX has the command, which asks LDAP and others, too. */
function nameFromAccounts(): string | undefined {
  try {
    const { success, stdout } = Bun.spawnSync(["id", "-un"], { stderr: "ignore" });
    // Without an entry it fails, and prints the number all the same.
    return success ? stdout.toString().trim() || undefined : undefined;
  } catch {
    return undefined; // a container without the command
  }
}
