// actor.ts: who makes a change, and by which way, for the audit trail (store/audit.ts).

/** `file`: settings, which are files, environment variables and flags, as a server read them. */
export const WAYS = ["api", "console", "cli", "file"] as const;
export type Way = (typeof WAYS)[number];

/** Who makes a change, and how. */
export interface Actor {
  readonly actor: string;
  /** Undefined in entries of before it was recorded. */
  readonly way: Way | undefined;
}
