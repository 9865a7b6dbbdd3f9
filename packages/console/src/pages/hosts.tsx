// hosts.tsx: shows the hosts of the group. With SQLite, there is only the current host.

import type { Host } from "@inkling/server/admin-answers";
import { call } from "../api.ts";
import { Badge, type Kind, RelativeTime } from "../components/basics.tsx";
import { Loaded } from "../components/loaded.tsx";
import { TableCard, TwoLines } from "../components/table.tsx";
import { formatCount, formatDuration } from "../format.ts";
import { useLoad } from "../hooks.ts";

const REFRESH_MS = 5_000;
/** The page shows the deviation of a host's clock if it exceeds this number of seconds. */
const CLOCK_SECONDS = 5;

export function HostsPage() {
  const hosts = useLoad((signal) => call("GET hosts", {}, signal), [], REFRESH_MS);
  return (
    <Loaded from={hosts}>
      {({ shared, hosts: rows }) => (
        <>
          <TableCard
            caption="Hosts"
            rows={rows}
            rowKey={({ id }) => id}
            columns={COLUMNS}
            empty="No host is connected to the database."
          />
          <p class="faint">
            {shared
              ? "A host that stops cleanly is removed from the list immediately; a host that disappears is removed after ten minutes."
              : "The database is SQLite, so only one host can use it. A group of hosts needs PostgreSQL."}
          </p>
        </>
      )}
    </Loaded>
  );
}

const STATES: Readonly<Record<Host["state"], readonly [text: string, kind: Kind]>> = {
  ready: ["ready", "good"],
  "not-ready": ["not ready", "bad"],
  silent: ["silent", "bad"],
  unknown: ["unknown", "faint"],
};

const COLUMNS = [
  ["Host", ({ name, version }: Host) => <TwoLines below={version}>{name}</TwoLines>],
  ["State", stateOf],
  ["Release", releaseOf],
  [
    "Requests/s",
    ({ requests_per_second: load }: Host) => (load === null ? "–" : formatCount(load)),
    "number",
  ],
  ["Last contact", contactOf],
] as const;

function stateOf({ state, reasons, warnings }: Host) {
  const [text, kind] = STATES[state];
  return (
    <TwoLines below={[...reasons, ...warnings].join("; ")}>
      <Badge kind={kind}>{text}</Badge>
    </TwoLines>
  );
}

function releaseOf({ release }: Host) {
  if (release === null) return "none";
  return (
    <TwoLines below={<RelativeTime iso={release.created_at} />}>
      <code>{release.name}</code>
      {release.pinned && <Badge kind="warn">pinned</Badge>}
    </TwoLines>
  );
}

function contactOf({ last_contact, clock_offset_seconds: offset }: Host) {
  const isOff = offset !== null && Math.abs(offset) > CLOCK_SECONDS;
  const text = isOff && (
    <span class="bad">
      clock {formatDuration(Math.abs(offset))} {offset < 0 ? "behind" : "ahead"}
    </span>
  );
  return (
    <TwoLines below={text}>
      <RelativeTime iso={last_contact} />
    </TwoLines>
  );
}
