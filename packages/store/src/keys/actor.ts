// actor.ts: describes who makes a change, and how, for the audit trail (store/src/audit.ts).

/** How a change was made. `file` stands for settings that a server read from files, environment variables and flags. */
export const WAYS = ["api", "console", "cli", "file"] as const;
export type Way = (typeof WAYS)[number];

/** Who makes a change, and how. */
export interface Actor {
  readonly actor: string;
  /** Undefined in entries from versions that did not record the way. */
  readonly way: Way | undefined;
}
