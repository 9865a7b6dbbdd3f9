// audit.tsx: the audit trail: who changed what, when, by which way; filtered, and page by page.

import type { AuditEntry } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { Button, Card, Code, RelativeTime } from "../components/basics.tsx";
import { Field, type Options, Select, TextField } from "../components/form.tsx";
import { Loaded } from "../components/loaded.tsx";
import { Table, TwoLines } from "../components/table.tsx";
import { useAction, useLoad } from "../hooks.ts";

const ACTIONS: Readonly<Record<AuditEntry["action"], string>> = {
  "override-added": "override added",
  "override-changed": "override changed",
  "override-removed": "override removed",
  "key-made": "key created",
  "key-changed": "key changed",
  "key-rotated": "key rotated",
  "key-revoked": "key revoked",
  "admin-token-made": "admin token created",
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
  "channel-promoted": "channel promoted",
  "channel-rolled-back": "channel rolled back",
  "settings-changed": "settings changed",
  "database-restored": "database restored",
  "key-adopted": "key adopted from a copy",
  "ruleset-published": "ruleset published",
  "ruleset-rolled-back": "ruleset rolled back",
  "decisions-deleted": "decisions deleted",
  "override-adopted": "override adopted from a copy",
  "database-confirmed": "database confirmed",
  "webhook-added": "webhook added",
  "webhook-rotated": "webhook secret rotated",
  "webhook-removed": "webhook removed",
  "webhook-disabled": "webhook disabled by its receiver",
  "change-failed": "change failed",
};
const WAYS: Readonly<Record<NonNullable<AuditEntry["way"]>, string>> = {
  api: "admin API",
  console: "console",
  cli: "command line",
  file: "settings",
};
const ALL = ["", "all"] as const;
const ACTION_OPTIONS: Options = [ALL, ...Object.entries(ACTIONS)];
const WAY_OPTIONS: Options = [ALL, ...Object.entries(WAYS)];
const PERIODS: Options = [
  ["", "any time"],
  ["1", "last day"],
  ["7", "last week"],
  ["30", "last 30 days"],
  ["365", "last year"],
];
const DAY_MS = 86_400_000;

interface Trail {
  readonly entries: readonly AuditEntry[];
  readonly next_cursor: string | null;
}

export function AuditPage() {
  const [filter, setFilter] = useState<Readonly<Record<string, string>>>({});
  const take = (name: string) => (value: string) => setFilter((old) => ({ ...old, [name]: value.trim() }));
  const follow = (name: string) => (event: { currentTarget: HTMLInputElement }) =>
    take(name)(event.currentTarget.value);
  const takeDays = (days: string) =>
    take("since")(days && new Date(Date.now() - Number(days) * DAY_MS).toISOString());
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== "")).toString();
  return (
    <Card title="Changes">
      <div class="filters">
        <Field label="Action">
          <Select options={ACTION_OPTIONS} onChoose={take("action")} />
        </Field>
        <Field label="Way">
          <Select options={WAY_OPTIONS} onChoose={take("way")} />
        </Field>
        <Field label="Time">
          <Select options={PERIODS} onChoose={takeDays} />
        </Field>
        <TextField label="Who" type="search" onChange={follow("actor")} />
        <TextField
          label="Subject"
          type="search"
          placeholder="key_…, ovr_…, feed"
          onChange={follow("subject")}
        />
      </div>
      <div aria-live="polite">
        <Entries key={query} query={query} />
      </div>
    </Card>
  );
}

function Entries({ query }: { query: string }) {
  const read = (cursor: string, signal: AbortSignal | null = null) =>
    api<Trail>(`audit?limit=50${query && `&${query}`}${cursor && `&cursor=${cursor}`}`, { signal });
  const loading = useLoad((signal) => read("", signal), []);
  const [older, setOlder] = useState<Trail>();
  const [start, isBusy] = useAction();
  return (
    <Loaded from={loading}>
      {(first) => {
        const cursor = (older ?? first).next_cursor;
        const showOlder = async () => {
          const page = await read(cursor ?? "");
          setOlder({ ...page, entries: [...(older?.entries ?? []), ...page.entries] });
        };
        return (
          <>
            <Table
              caption="Audit trail"
              rows={[...first.entries, ...(older?.entries ?? [])]}
              rowKey={({ sequence }) => sequence}
              columns={[
                ["When", ({ at }) => <RelativeTime iso={at} />],
                ["Who", ({ actor }) => actor],
                ["Way", ({ way }) => (way === null ? "unknown" : WAYS[way])],
                ["Action", ({ action }) => ACTIONS[action]],
                ["Subject", subjectOf],
                ["Details", detailsOf],
              ]}
              empty={query === "" ? "No changes yet." : "No change matches."}
            />
            {cursor !== null && <Button text="Show older" isBusy={isBusy} onClick={() => start(showOlder)} />}
          </>
        );
      }}
    </Loaded>
  );
}

const subjectOf = (entry: AuditEntry) => (
  <TwoLines below={nameOf(entry)}>
    <code>{entry.subject}</code>
  </TwoLines>
);

/** What people call it: the value of an override, the name of a key, the address of a webhook. */
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
