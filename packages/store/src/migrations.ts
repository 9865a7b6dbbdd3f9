// migrations.ts: creates the store's tables in numbered steps, which cannot be undone.
//
// Unless a step has statements for each database, the same ones run on SQLite and PostgreSQL. All times are epoch
// milliseconds; days are UTC, "2026-06-01". Step 14 is the first one: other steps existed only during development. A
// released step never changes. To change the tables, add a step.

import type { SQL, TransactionSQL } from "bun";
import type { Address, Dialect } from "./address.ts";
import { StoreError } from "./error.ts";

export interface Migration {
  readonly id: number;
  readonly name: string;
  /** Statements for both databases, or one for each. */
  readonly statements: readonly (string | Readonly<Record<Dialect, string>>)[];
}

export const MIGRATIONS: readonly Migration[] = [
  {
    id: 14,
    name: "keys, usage, overrides, audit, rulesets, decisions, webhooks, traffic",
    statements: [
      `CREATE TABLE inkling_keys (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        mode TEXT NOT NULL,
        hint TEXT NOT NULL,
        scopes TEXT NOT NULL,
        networks TEXT NOT NULL,
        rate DOUBLE PRECISION,
        burst INTEGER,
        quota BIGINT,
        created_at BIGINT NOT NULL,
        expires_at BIGINT,
        revoked_at BIGINT,
        traced_until BIGINT
      )`,
      // A key has one token without an end. Each rotation adds a token, and the earlier tokens keep their rows.
      `CREATE TABLE inkling_tokens (
        hash TEXT PRIMARY KEY,
        key_id TEXT NOT NULL REFERENCES inkling_keys (id),
        created_at BIGINT NOT NULL,
        valid_until BIGINT
      )`,
      "CREATE INDEX inkling_tokens_key ON inkling_tokens (key_id)",
      // A single row. Its text changes with every change to keys or tokens.
      "CREATE TABLE inkling_key_stamp (id INTEGER PRIMARY KEY, stamp TEXT NOT NULL)",
      "INSERT INTO inkling_key_stamp (id, stamp) VALUES (1, 'new')",
      // No foreign key to inkling_keys: if a restored backup lacks a key, the key's usage must not block the other
      // rows.
      `CREATE TABLE inkling_usage (
        day TEXT NOT NULL,
        key_id TEXT NOT NULL,
        lookup TEXT NOT NULL,
        count BIGINT NOT NULL,
        PRIMARY KEY (day, key_id, lookup)
      )`,
      "CREATE INDEX inkling_usage_key ON inkling_usage (key_id, day)",
      // The last batch counted for each recorder, so that a batch that arrives twice counts once.
      `CREATE TABLE inkling_recorders (
        id TEXT PRIMARY KEY,
        sequence BIGINT NOT NULL,
        flushed_at BIGINT NOT NULL
      )`,
      `CREATE TABLE inkling_overrides (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        value TEXT NOT NULL,
        effect TEXT NOT NULL,
        argument TEXT NOT NULL,
        note TEXT NOT NULL,
        author TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT,
        removed_at BIGINT
      )`,
      "CREATE INDEX inkling_overrides_created ON inkling_overrides (created_at, id)",
      // A single row. Its text changes with every change to overrides.
      "CREATE TABLE inkling_override_stamp (id INTEGER PRIMARY KEY, stamp TEXT NOT NULL)",
      "INSERT INTO inkling_override_stamp (id, stamp) VALUES (1, 'new')",
      // Rows are only ever added. `was` and `became` are JSON.
      `CREATE TABLE inkling_audit (
        sequence BIGINT PRIMARY KEY,
        at BIGINT NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        was TEXT,
        became TEXT,
        way TEXT
      )`,
      "CREATE TABLE inkling_admin_tokens (hash TEXT PRIMARY KEY, created_at BIGINT NOT NULL)",
      // Usage per day remains, because quotas and bills need it permanently. Hours are for charts, and are deleted
      // after a month.
      `CREATE TABLE inkling_usage_hours (
        hour TEXT NOT NULL,
        key_id TEXT NOT NULL,
        lookup TEXT NOT NULL,
        count BIGINT NOT NULL,
        PRIMARY KEY (hour, key_id, lookup)
      )`,
      "CREATE INDEX inkling_usage_hours_key ON inkling_usage_hours (key_id, hour)",
      // `confirmed_at` is a time by the database's clock. `hosts` is the number by which this host divides each rate
      // while it is cut off. The next step replaces both tables.
      `CREATE TABLE inkling_hosts (
        id TEXT PRIMARY KEY,
        confirmed_at BIGINT NOT NULL,
        hosts INTEGER NOT NULL,
        alone_ms DOUBLE PRECISION NOT NULL,
        report TEXT
      )`,
      // A key's state as JSON, because it is always read and written as a whole.
      `CREATE TABLE inkling_leases (
        key_id TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        short_at BIGINT NOT NULL,
        version BIGINT NOT NULL DEFAULT 0
      )`,
      "CREATE INDEX inkling_leases_short ON inkling_leases (short_at)",
      // Rows are only ever added. A rollback publishes an older text again, with that ruleset's number in `restores`.
      `CREATE TABLE inkling_rulesets (
        number INTEGER PRIMARY KEY,
        text TEXT NOT NULL,
        note TEXT NOT NULL,
        author TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        restores INTEGER
      )`,
      // `reasons`, `shadow`, `degraded` and `facts` are JSON. `idempotency` is a hash of the request's Idempotency-Key,
      // and `body_hash` is a hash of its body. Both are keyed with the API key, and are NULL without that header.
      `CREATE TABLE inkling_decisions (
        id TEXT PRIMARY KEY,
        created_at BIGINT NOT NULL,
        event TEXT NOT NULL,
        ref TEXT,
        ruleset INTEGER NOT NULL,
        data_version TEXT NOT NULL,
        action TEXT NOT NULL,
        review INTEGER NOT NULL,
        score DOUBLE PRECISION NOT NULL,
        rule TEXT,
        reasons TEXT NOT NULL,
        shadow TEXT NOT NULL,
        degraded TEXT NOT NULL,
        facts TEXT NOT NULL,
        email_domain TEXT,
        idempotency TEXT,
        body_hash TEXT,
        outcome TEXT,
        outcome_at BIGINT
      )`,
      "CREATE INDEX inkling_decisions_created ON inkling_decisions (created_at, id)",
      "CREATE INDEX inkling_decisions_domain ON inkling_decisions (email_domain, created_at)",
      "CREATE INDEX inkling_decisions_ref ON inkling_decisions (ref) WHERE ref IS NOT NULL",
      "CREATE UNIQUE INDEX inkling_decisions_idempotency ON inkling_decisions (idempotency) WHERE idempotency IS NOT NULL",
      // `events` are names separated by spaces. After a rotation, `old_secret` also signs until `old_secret_until`.
      `CREATE TABLE inkling_webhooks (
        id TEXT PRIMARY KEY,
        url TEXT NOT NULL,
        events TEXT NOT NULL,
        allow_inner INTEGER NOT NULL,
        secret TEXT NOT NULL,
        old_secret TEXT,
        old_secret_until BIGINT,
        author TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        disabled_at BIGINT
      )`,
      // One message for one webhook. A claim moves `due_at` forward, which is the lease.
      `CREATE TABLE inkling_deliveries (
        webhook_id TEXT NOT NULL,
        id TEXT NOT NULL,
        event TEXT NOT NULL,
        body TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        due_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        last_at BIGINT,
        last_outcome TEXT,
        last_status INTEGER,
        last_reason TEXT,
        PRIMARY KEY (webhook_id, id)
      )`,
      "CREATE INDEX inkling_deliveries_due ON inkling_deliveries (state, due_at)",
      "CREATE INDEX inkling_deliveries_created ON inkling_deliveries (created_at)",
      // The last reported verdict on a domain.
      `CREATE TABLE inkling_domain_verdicts (
        domain TEXT PRIMARY KEY,
        disposable INTEGER NOT NULL,
        at BIGINT NOT NULL
      )`,
      // A single row: the host that detects changes.
      `CREATE TABLE inkling_webhook_watch (
        id INTEGER PRIMARY KEY,
        holder TEXT NOT NULL,
        held_until BIGINT NOT NULL
      )`,
      "INSERT INTO inkling_webhook_watch (id, holder, held_until) VALUES (1, '', 0)",
      // A separate table, because a server of an older version treats any row in the existing table as the root token.
      // A revoked token's row is deleted, and the audit trail keeps its details.
      `CREATE TABLE inkling_named_admin_tokens (
        name TEXT PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        scope TEXT NOT NULL,
        hint TEXT NOT NULL,
        author TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT,
        last_used_on TEXT
      )`,
      // What one host counted in one hour. `counts` is JSON (traffic-counts.ts), read and written as a whole.
      `CREATE TABLE inkling_traffic_hours (
        hour TEXT NOT NULL,
        host TEXT NOT NULL,
        counts TEXT NOT NULL,
        PRIMARY KEY (hour, host)
      )`,
    ],
  },
  {
    // Steps 15 to 25 existed only during development. The tables that this step drops hold nothing of value: a host's
    // state in a group begins again when the host starts.
    id: 26,
    name: "groups of hosts, changes of keys, what decisions remember and count",
    statements: [
      // `checked_at` is when rows were last checked for their age (retention.ts). 0 in a new database.
      "CREATE TABLE inkling_retention (id INTEGER PRIMARY KEY, checked_at BIGINT NOT NULL)",
      `INSERT INTO inkling_retention (id, checked_at) SELECT 1, COALESCE(MAX(at), 0) FROM (
        SELECT MAX(created_at) AS at FROM inkling_decisions UNION ALL
        SELECT MAX(flushed_at) FROM inkling_recorders UNION ALL
        SELECT MAX(at) FROM inkling_audit) newest`,
      "CREATE INDEX inkling_deliveries_webhook ON inkling_deliveries (webhook_id, created_at, id)",

      "DROP TABLE inkling_leases",
      "DROP TABLE inkling_hosts",
      // A host's last exchange. A process that starts has another `run`, and its `sequence` begins again. `late_at` and
      // `late_since`: when counts arrived late, and the age of the oldest (limits/group-counts.ts). Times are those of
      // the database's clock. `report` is JSON (packages/data, host-report.ts).
      `CREATE TABLE inkling_hosts (
        id TEXT PRIMARY KEY,
        run TEXT NOT NULL,
        sequence BIGINT NOT NULL,
        contact_at BIGINT NOT NULL,
        late_at BIGINT NOT NULL,
        late_since BIGINT NOT NULL,
        report TEXT
      )`,
      // The tokens that all hosts have taken from a key's rate. Never reset: hosts use the difference between two reads.
      "CREATE TABLE inkling_group_counts (key_id TEXT PRIMARY KEY, total BIGINT NOT NULL)",
      // The keys that have used most of a day's quota, so that a host that starts does not have to read all usage.
      `CREATE TABLE inkling_low_quotas (
        day TEXT NOT NULL,
        key_id TEXT NOT NULL,
        used BIGINT NOT NULL,
        changed_at BIGINT NOT NULL,
        PRIMARY KEY (day, key_id)
      )`,

      // The column keeps its name. To a server of an older version, any value except `write` allows no changes.
      "UPDATE inkling_named_admin_tokens SET scope = 'admin' WHERE scope = 'write'",
      // The token that created this one. NULL for the root token, the command line and earlier tokens.
      "ALTER TABLE inkling_named_admin_tokens ADD COLUMN parent TEXT",

      // Which keys changed with each stamp (key-changes.ts). `key_ids` are separated by spaces.
      `CREATE TABLE inkling_key_changes (
        number BIGINT PRIMARY KEY,
        before TEXT NOT NULL,
        stamp TEXT NOT NULL,
        key_ids TEXT NOT NULL
      )`,
      "CREATE INDEX inkling_key_changes_stamp ON inkling_key_changes (stamp)",

      // Usage by hour ends. Each count was added to its day as well, so a day has rows already, unless they were lost.
      // The empty table remains, because servers of the earlier version write to it until they are restarted. On
      // PostgreSQL, such a server's flush waits here. Otherwise, both could wait for each other's rows.
      { sqlite: "SELECT 1", postgres: "LOCK TABLE inkling_usage IN EXCLUSIVE MODE" },
      `INSERT INTO inkling_usage AS u (day, key_id, lookup, count)
        SELECT substr(hour, 1, 10), key_id, lookup, SUM(count) FROM inkling_usage_hours
        WHERE count > 0 GROUP BY 1, 2, 3
        ON CONFLICT (day, key_id, lookup) DO UPDATE SET count = excluded.count WHERE u.count < excluded.count`,
      "DELETE FROM inkling_usage_hours",
      // The countries of a key's locations are no longer counted.
      "DELETE FROM inkling_usage WHERE lookup LIKE 'country:%'",

      "UPDATE inkling_audit SET action = 'key-created' WHERE action = 'key-made'",
      "UPDATE inkling_audit SET action = 'admin-token-created' WHERE action = 'admin-token-made'",
      "UPDATE inkling_webhooks SET events = REPLACE(REPLACE(events, 'assessment.changed', 'decision.changed'), 'release.held', 'feed.held')",
      "UPDATE inkling_deliveries SET event = 'decision.changed', body = REPLACE(body, 'assessment.changed', 'decision.changed') WHERE event = 'assessment.changed'",
      "UPDATE inkling_decisions SET outcome = 'fraud' WHERE outcome = 'abuse'",

      // All are NULL in earlier decisions. `key_id` is the API key that asked for the decision. The hashes are what later
      // decisions recognize the visitor by (decisions/memory.ts). `unweighted` has the codes of the reasons that
      // applied with weight 0, separated by spaces.
      ..."key_id request_id trace_id mailbox_hash network_hash address_hash account_hash unweighted outcome_note"
        .split(" ")
        .map((column) => `ALTER TABLE inkling_decisions ADD COLUMN ${column} TEXT`),
      // The network in a decision's facts. A cast to JSON would make PostgreSQL refuse facts with \u0000; in JSON, the
      // quotation marks of this pattern occur only in names.
      {
        sqlite: `ALTER TABLE inkling_decisions ADD COLUMN network TEXT
          GENERATED ALWAYS AS (json_extract(facts, '$."ip.network"')) VIRTUAL`,
        postgres: `ALTER TABLE inkling_decisions ADD COLUMN network TEXT
          GENERATED ALWAYS AS (substring(facts from '"ip.network":"([^"]*)"')) STORED`,
      },
      "DROP INDEX inkling_decisions_created",
      // New rows are at the end of this index, and a list reads it backwards, without the rows. With an index by network,
      // decisions about visitors from different networks changed different pages, and each commit wrote all of them.
      "CREATE INDEX inkling_decisions_listed ON inkling_decisions (created_at, id, action, event, outcome, network)",
      "CREATE INDEX inkling_decisions_rule ON inkling_decisions (rule, created_at, id) WHERE rule IS NOT NULL",
      "CREATE INDEX inkling_decisions_outcome ON inkling_decisions (outcome, created_at, id) WHERE outcome IS NOT NULL",
      "CREATE INDEX inkling_decisions_review ON inkling_decisions (created_at, id) WHERE review = 1 AND outcome IS NULL",
      // A filter by reason or by shadow rule reads only the decisions that have any.
      "CREATE INDEX inkling_decisions_reasons ON inkling_decisions (created_at, id) WHERE reasons <> '[]'",
      "CREATE INDEX inkling_decisions_shadow ON inkling_decisions (created_at, id) WHERE shadow <> '[]'",
      // Each of these has only the rows that one part of a query reads (decisions/memory.ts), so a decision without
      // hashes costs nothing more, and a popular domain or network has no more rows than were labelled.
      "CREATE INDEX inkling_decisions_mailbox_seen ON inkling_decisions (mailbox_hash, created_at, id) WHERE mailbox_hash IS NOT NULL",
      "CREATE INDEX inkling_decisions_mailbox_fraud ON inkling_decisions (mailbox_hash, created_at) WHERE outcome = 'fraud'",
      "CREATE INDEX inkling_decisions_domain_fraud ON inkling_decisions (email_domain, created_at) WHERE outcome = 'fraud'",
      "CREATE INDEX inkling_decisions_network_fraud ON inkling_decisions (network_hash, created_at) WHERE outcome = 'fraud'",
      "CREATE INDEX inkling_decisions_network_logins ON inkling_decisions (network_hash, created_at, event, account_hash) WHERE network_hash IS NOT NULL AND event IN ('login', 'login_failed')",
      "CREATE INDEX inkling_decisions_address_failures ON inkling_decisions (address_hash, created_at) WHERE address_hash IS NOT NULL",
      "CREATE INDEX inkling_decisions_account ON inkling_decisions (account_hash, created_at, event, network_hash) WHERE account_hash IS NOT NULL",

      // `hour` is epoch ms (decision-counts.ts).
      `CREATE TABLE inkling_decision_counts (
        hour BIGINT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        decisions BIGINT NOT NULL,
        fraud BIGINT NOT NULL,
        legitimate BIGINT NOT NULL,
        PRIMARY KEY (hour, kind, name)
      )`,
      {
        sqlite: countsOf(
          "reasons",
          "COALESCE((SELECT group_concat(json_extract(value, '$.code'), ' ') FROM json_each(reasons)), '')",
        ),
        postgres: countsOf(
          "reasons",
          "COALESCE((SELECT string_agg(value ->> 'code', ' ') FROM jsonb_array_elements(reasons::jsonb)), '')",
        ),
      },
      countsOf("live", "rule", "inkling_decisions WHERE rule IS NOT NULL"),
      {
        sqlite: countsOf(
          "shadow",
          "json_extract(value, '$.rule')",
          "inkling_decisions, json_each(shadow) WHERE shadow <> '[]'",
        ),
        postgres: countsOf(
          "shadow",
          "value ->> 'rule'",
          "inkling_decisions, jsonb_array_elements(shadow::jsonb) WHERE shadow <> '[]'",
        ),
      },
    ],
  },
];

/** Counts the decisions that are stored already. */
function countsOf(kind: string, name: string, from = "inkling_decisions"): string {
  return `INSERT INTO inkling_decision_counts (hour, kind, name, decisions, fraud, legitimate)
    SELECT created_at - created_at % 3600000, '${kind}', ${name}, COUNT(*),
      SUM(CASE WHEN outcome = 'fraud' THEN 1 ELSE 0 END), SUM(CASE WHEN outcome = 'legitimate' THEN 1 ELSE 0 END)
    FROM ${from} GROUP BY 1, 3`;
}

/** An arbitrary number. Every process takes this lock while it migrates. */
const POSTGRES_LOCK = 0x696e6b6c; // "inkl"

/** The newest steps before and after an upgrade. */
export interface Upgrade {
  readonly from: number;
  readonly to: number;
}

const newestOf = (migrations: readonly Migration[]) => migrations.at(-1)?.id ?? 0;

export const isUpToDate = async (sql: SQL, migrations: readonly Migration[]): Promise<boolean> =>
  (await versionOf(sql)) === newestOf(migrations);

/**
 * Brings the tables up to date, in one transaction.
 * @param now epoch ms
 * @returns what happened to existing tables; undefined for an empty database, or if there was nothing to do
 * @throws StoreError
 */
export async function migrate(
  tx: TransactionSQL,
  { dialect, label }: Address,
  now: number,
  migrations: readonly Migration[],
): Promise<Upgrade | undefined> {
  const newest = newestOf(migrations);
  if (dialect === "postgres") await tx`SELECT pg_advisory_xact_lock(${POSTGRES_LOCK})`;
  await tx`CREATE TABLE IF NOT EXISTS inkling_migrations
    (id INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)`;
  const version = await versionOf(tx);
  if (version > newest) throw newer(label, version, newest);
  if (version > 0 && !migrations.some(({ id }) => id === version))
    throw new StoreError(
      "NEWER",
      `${label}: written by a development version of Inkling (tables at version ${version}), which cannot be upgraded`,
      "put this database aside, and restore a backup, or create new keys",
    );
  for (const { id, name, statements } of migrations) {
    if (id <= version) continue;
    for (const statement of statements)
      await tx.unsafe(typeof statement === "string" ? statement : statement[dialect]);
    await tx`INSERT INTO inkling_migrations (id, name, applied_at) VALUES (${id}, ${name}, ${now})`;
  }
  return version === 0 || version === newest ? undefined : { from: version, to: newest };
}

/** Returns the id of the last step that ran; 0 for an empty database. */
async function versionOf(sql: SQL): Promise<number> {
  try {
    const rows = await sql`SELECT id FROM inkling_migrations ORDER BY id DESC LIMIT 1`;
    return Number(rows[0]?.id ?? 0);
  } catch (error) {
    if (isMissingTable(error)) return 0;
    throw error;
  }
}

function isMissingTable(error: unknown): boolean {
  const { errno, message } = error as { errno?: unknown; message?: unknown };
  return errno === "42P01" || (typeof message === "string" && message.startsWith("no such table"));
}

function newer(label: string, version: number, newest: number): StoreError {
  return new StoreError(
    "NEWER",
    `${label}: written by a newer version of Inkling (tables at version ${version}; this version supports up to ${newest})`,
    "run the newer version, or follow docs/backup.md#downgrade: `inkling restore --force FILE` puts this database aside and restores the backup from before the upgrade",
  );
}
