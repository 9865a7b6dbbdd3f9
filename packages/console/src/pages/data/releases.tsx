// releases.tsx: shows the stored releases, and the changes between them.

import { useState } from "preact/hooks";
import type { Release, ReleaseChanges } from "../../answers.ts";
import { call } from "../../api.ts";
import { Badge, Button, RelativeTime } from "../../components/basics.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Action } from "../../components/operation.tsx";
import { TableCard } from "../../components/table.tsx";
import { firstOf, flagName, formatBytes, formatCount } from "../../format.ts";
import { useLoad } from "../../hooks.ts";

/** What the page does after it has switched to another release, or could not. */
export interface Switching {
  readonly message: (output: { readonly to: string }) => string;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

interface ReleasesProps {
  readonly releases: readonly Release[];
  /** The release in use. */
  readonly current: string | undefined;
  readonly switching: Switching;
}

export const ReleasesCard = ({ releases, empty, ...rest }: ReleasesProps & { empty: string }) => (
  <TableCard
    caption="Releases"
    first={5}
    rows={releases}
    rowKey={({ name }) => name}
    columns={[
      ["Release", (release) => <ReleaseName of={release} {...rest} />],
      ["Created", ({ created_at }) => <RelativeTime iso={created_at} />],
      ["Size", ({ bytes }) => formatBytes(bytes), "number"],
      ["Since the previous release", (release) => <Changes release={release} />],
    ]}
    empty={empty}
  />
);

function ReleaseName({ of, current, switching }: Omit<ReleasesProps, "releases"> & { of: Release }) {
  const { name, pinned } = of;
  const text = `The server verifies release ${name}, and then uses and pins it. Lookups continue in the meantime.`;
  return (
    <>
      <code>{name}</code>
      {of.current && <Badge kind="good">in use</Badge>}
      {pinned && <Badge kind="warn">pinned</Badge>}
      {current !== undefined && !of.current && (
        <Action
          route="POST data/rollback"
          input={{ current, to: name }}
          text="Use"
          of={`release ${name}`}
          ask={text}
          isDanger
          {...switching}
        />
      )}
    </>
  );
}

const MAX_FEEDS = 4;

function Changes({ release: { name, feeds_changed } }: { release: Release }) {
  const [isShown, setShown] = useState(false);
  if (feeds_changed === null) return <small>the oldest stored release</small>;
  const changed = feeds_changed.map(
    ({ feed, entries_before, entries }) => `${feed} ${formatSigned(entries - entries_before)}`,
  );
  const show = () => setShown(true);
  return (
    <>
      <small>{firstOf(changed, MAX_FEEDS) || "no feed changed"}</small>
      {isShown && <Comparison name={name} />}
      {!isShown && <Button text="Show changes" label={`Show changes in ${name}`} onClick={show} />}
    </>
  );
}

/** Formats a difference as "+1,234", "-7" or "0". */
const formatSigned = (n: number) => n.toLocaleString("en-US", { signDisplay: "exceptZero" });

/** What was flagged and unflagged since the previous release. */
function Comparison({ name }: { name: string }) {
  const loading = useLoad((signal) => call("GET data/releases/{id}/changes", { id: name }, signal), [name]);
  return (
    <Loaded from={loading} waiting="Comparing …">
      {({ changes }) => {
        const lines = linesOf(changes ?? {});
        if (lines.length === 0) return <small>Nothing to compare.</small>;
        return (
          <ul>
            {lines.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}

function linesOf({ flags, disposable }: ReleaseChanges): string[] {
  const change = (added: number, removed: number) =>
    `${formatCount(added)} added, ${formatCount(removed)} removed`;
  const lines = Object.entries(flags ?? {}).map(([flag, { added, removed }]) => {
    const ipv4 = change(added.ipv4_addresses, removed.ipv4_addresses);
    return `${flagName(flag)}: IPv4 addresses ${ipv4}; IPv6 networks ${change(added.ipv6_networks, removed.ipv6_networks)}`;
  });
  if (disposable) lines.push(`Disposable: domains ${change(disposable.added, disposable.removed)}`);
  return lines;
}
