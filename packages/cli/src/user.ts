// user.ts: who runs the command, for the audit trail.

import { userInfo } from "node:os";

/** Bun knows the name from the environment alone, where a service often has none. */
const NOBODY_KNOWN = "unknown";

/** The user's name, or number where the name is not known. */
export function userName({ username, uid }: { username: string; uid: number } = userInfo()): string {
  return username !== NOBODY_KNOWN || uid < 0 ? username : `user ${uid}`;
}
