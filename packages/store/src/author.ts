// author.ts: describes who makes a change, and how, for the audit trail (store/src/audit.ts).

/** How a change was made. `file` stands for settings that a server read from files, environment variables and flags. */
export const AUDIT_SOURCES = ["api", "console", "cli", "file"] as const;
export type AuditSource = (typeof AUDIT_SOURCES)[number];

/** Who makes a change, and how. */
export interface Author {
  readonly author: string;
  /** Undefined in entries from versions that did not record the source. */
  readonly source: AuditSource | undefined;
}
