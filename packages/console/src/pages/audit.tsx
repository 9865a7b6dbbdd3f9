// audit.tsx: shows the audit trail: who changed what, when, and through which interface. The list has filters and
// pages.

import type { Api } from "@inkling/operations";
import type { AuditEntry } from "@inkling/server/admin-answers";
import { call } from "../api.ts";
import { Card, Code, RelativeTime } from "../components/basics.tsx";
import { PeriodFilter, SelectFilter, TextFilter, useFilters } from "../components/filters.tsx";
import type { Options } from "../components/form.tsx";
import { Paged } from "../components/paged.tsx";
import { Table, TwoLines } from "../components/table.tsx";
import type { PageProps } from "../hooks.ts";

const ACTIONS: Readonly<Record<AuditEntry["action"], string>> = {
  "override-added": "override added",
  "override-changed": "override changed",
  "override-removed": "override removed",
  "key-created": "key created",
  "key-changed": "key changed",
  "key-rotated": "key rotated",
  "key-revoked": "key revoked",
  "admin-token-created": "admin token created",
  "admin-token-revoked": "admin token revoked",
  "feed-enabled": "feed enabled",
  "feed-disabled": "feed disabled",
  "feed-added": "feed added",
  "feed-removed": "feed removed",
  "data-update-asked": "update requested",
  "data-accepted": "large change accepted",
  "release-rolled-back": "release rolled back",
  "release-pinned": "release pinned",
  "release-unpinned": "release unpinned",
  "channel-published": "channel published",
  "channel-rolled-back": "channel rolled back",
  "settings-changed": "settings changed",
  "database-restored": "database restored",
  "database-copied": "database copied",
  "key-adopted": "key adopted from a copy",
  "ruleset-published": "ruleset published",
  "ruleset-rolled-back": "ruleset rolled back",
  "decision-labelled": "decision labelled",
  "decisions-deleted": "decisions deleted",
  "override-adopted": "override adopted from a copy",
  "database-confirmed": "database confirmed",
  "webhook-added": "webhook added",
  "webhook-rotated": "webhook secret rotated",
  "webhook-removed": "webhook removed",
  "webhook-disabled": "webhook disabled by its receiver",
  "webhook-enabled": "webhook enabled",
  "change-failed": "change failed",
};
const AUDIT_SOURCES: Readonly<Record<NonNullable<AuditEntry["source"]>, string>> = {
  api: "admin API",
  console: "console",
  cli: "command line",
  file: "settings",
};
const ALL = ["", "all"] as const;
const ACTION_OPTIONS: Options = [ALL, ...Object.entries(ACTIONS)];
const SOURCE_OPTIONS: Options = [ALL, ...Object.entries(AUDIT_SOURCES)];

export function AuditPage({ rest }: PageProps) {
  const filters = useFilters(rest);
  const { query } = filters;
  return (
    <Card title="Changes">
      <div class="filters">
        <SelectFilter of={filters} label="Action" name="action" options={ACTION_OPTIONS} />
        <SelectFilter of={filters} label="Source" name="source" options={SOURCE_OPTIONS} />
        <PeriodFilter of={filters} />
        <TextFilter of={filters} label="Who" name="author" />
        <TextFilter
          of={filters}
          label="Subject"
          name="subject"
          note="Enter the exact id, not a name or a value."
          placeholder="key_…, ovr_…, feed"
        />
      </div>
      <div aria-live="polite">
        <Entries key={query} query={query} />
      </div>
    </Card>
  );
}

function Entries({ query }: { query: string }) {
  const read = async (cursor: string, signal: AbortSignal | null) => {
    const filter = Object.fromEntries(new URLSearchParams(query)) as Api["GET audit"]["input"];
    const input = { ...filter, limit: 50, ...(cursor && { cursor }) };
    const { entries, next_cursor } = await call("GET audit", input, signal);
    return { items: entries, next: next_cursor };
  };
  return (
    <Paged read={read}>
      {(entries) => (
        <Table
          caption="Audit trail"
          rows={entries}
          rowKey={({ sequence }) => sequence}
          columns={[
            ["When", ({ at }) => <RelativeTime iso={at} />],
            ["Who", ({ author }) => author],
            ["Source", ({ source }) => (source === null ? "unknown" : AUDIT_SOURCES[source])],
            ["Action", ({ action }) => ACTIONS[action]],
            ["Subject", subjectOf],
            ["Details", detailsOf],
          ]}
          empty={query === "" ? "No changes yet." : "No change matches."}
        />
      )}
    </Paged>
  );
}

const subjectOf = (entry: AuditEntry) => (
  <TwoLines below={nameOf(entry)}>
    <code>{entry.subject}</code>
  </TwoLines>
);

/** Returns the name that people use: an override's value, a key's name, a webhook's URL. */
function nameOf({ before, after }: AuditEntry): string | undefined {
  const row = (after ?? before) as { value?: unknown; name?: unknown; url?: unknown } | null | undefined;
  const name = row?.value ?? row?.name ?? row?.url;
  return typeof name === "string" ? name : undefined;
}

const detailsOf = ({ before, after }: AuditEntry) => (
  <details>
    <summary>before, after</summary>
    <Code text={JSON.stringify({ before, after }, null, 2)} />
  </details>
);
