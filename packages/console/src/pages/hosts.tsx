// hosts.tsx: shows the hosts of the group. With SQLite, there is only the current host.

import type { Host } from "../answers.ts";
import { Badge, RelativeTime, State } from "../components/basics.tsx";
import { ResourceList } from "../components/resource.tsx";
import { TwoLines } from "../components/table.tsx";
import { formatCount, formatDuration } from "../format.ts";

const REFRESH_MS = 5_000;
/** The page shows the deviation of a host's clock if it exceeds this number of seconds. */
const CLOCK_SECONDS = 5;

export const HostsPage = () => (
  <ResourceList
    route="GET hosts"
    caption="Hosts"
    empty="No host is connected to the database."
    columns={COLUMNS}
    everyMs={REFRESH_MS}
    note={({ shared }) =>
      shared
        ? "A host that stops cleanly is removed from the list immediately; a host that disappears is removed after ten minutes."
        : "The database is SQLite, so only one host can use it. A group of hosts needs PostgreSQL."
    }
  />
);

const stateOf = ({ state, reasons, warnings }: Host) => (
  <TwoLines below={[...reasons, ...warnings].join("; ")}>
    <State of={state} />
  </TwoLines>
);

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
