// releases.tsx: the releases that are kept, and what changed between them.

import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Badge, Card, RelativeTime } from "../../components/basics.tsx";
import { ConfirmButton } from "../../components/dialog.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Table } from "../../components/table.tsx";
import { flagName, formatBytes, formatCount } from "../../format.ts";
import { useLoad } from "../../hooks.ts";
import type { Release, ReleaseChanges } from "../../types.ts";
import type { SwitchRelease } from "./switch-release.ts";

interface ReleasesCardProps {
  readonly releases: readonly Release[];
  /** The release in use. */
  readonly current: string | undefined;
  readonly switchRelease: SwitchRelease;
}

export const ReleasesCard = ({ releases, current, switchRelease }: ReleasesCardProps) => (
  <Card title="Releases">
    <Table
      caption="Releases"
      rows={releases}
      rowKey={({ name }) => name}
      columns={[
        {
          name: "Release",
          cell: (release) => (
            <>
              <code>{release.name}</code>
              {release.current && <Badge kind="good">in use</Badge>}
              {release.pinned && <Badge kind="warn">pinned</Badge>}
              {current && !release.current && (
                <ConfirmButton
                  class="quiet beside"
                  label={`Use release ${release.name}`}
                  title="Use this release?"
                  text={`The release ${release.name} is verified, then used and pinned. Lookups continue meanwhile.`}
                  confirm="Use it"
                  run={() => switchRelease("POST", "data/rollback", { current, to: release.name })}
                >
                  Use
                </ConfirmButton>
              )}
            </>
          ),
        },
        { name: "Created", cell: ({ created_at }) => <RelativeTime iso={created_at} /> },
        { name: "Size", isNumber: true, cell: ({ bytes }) => formatBytes(bytes) },
        { name: "Since the previous one", cell: (release) => <Changes release={release} /> },
      ]}
      empty="None yet: the first update creates one."
    />
  </Card>
);

const MAX_FEEDS = 4;

function Changes({ release: { name, feeds_changed } }: { release: Release }) {
  const [isShown, setShown] = useState(false);
  if (feeds_changed === null) return <small>the oldest that is kept</small>;
  const changed = feeds_changed
    .slice(0, MAX_FEEDS)
    .map(({ feed, entries_before, entries }) => `${feed} ${formatSigned(entries - entries_before)}`);
  const more = feeds_changed.length - changed.length;
  return (
    <>
      <small>
        {changed.length === 0 ? "no feed changed" : changed.join(", ")}
        {more > 0 && ` and ${more} more`}
      </small>
      {isShown ? (
        <Comparison name={name} />
      ) : (
        <button
          type="button"
          class="quiet"
          aria-label={`Show changes in ${name}`}
          onClick={() => setShown(true)}
        >
          Show changes
        </button>
      )}
    </>
  );
}

const formatSigned = (n: number) => (n === 0 ? "±0" : n > 0 ? `+${formatCount(n)}` : `−${formatCount(-n)}`);

/** What was flagged and unflagged since the release before. */
function Comparison({ name }: { name: string }) {
  const loading = useLoad(
    (signal) => api<{ changes: ReleaseChanges | null }>(`data/releases/${name}/changes`, { signal }),
    [name],
  );
  return (
    <Loaded from={loading} waiting="Comparing …">
      {({ changes }) => {
        const flags = Object.entries(changes?.flags ?? {});
        if (flags.length === 0 && !changes?.disposable) return <small>Nothing to compare.</small>;
        return (
          <ul class="changes">
            {flags.map(([flag, { added, removed }]) => (
              <li key={flag}>
                {flagName(flag)}:{" "}
                {formatChange("IPv4 addresses", added.ipv4_addresses, removed.ipv4_addresses)};{" "}
                {formatChange("IPv6 networks", added.ipv6_networks, removed.ipv6_networks)}
              </li>
            ))}
            {changes?.disposable && (
              <li>
                Disposable: {formatChange("domains", changes.disposable.added, changes.disposable.removed)}
              </li>
            )}
          </ul>
        );
      }}
    </Loaded>
  );
}

function formatChange(what: string, added: number, removed: number): string {
  if (added === 0 && removed === 0) return `${what} unchanged`;
  const parts = [
    added > 0 && `${formatCount(added)} added`,
    removed > 0 && `${formatCount(removed)} removed`,
  ];
  return `${what} ${parts.filter(Boolean).join(", ")}`;
}
