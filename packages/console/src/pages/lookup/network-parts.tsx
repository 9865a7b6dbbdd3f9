// network-parts.tsx: cards that are used for both networks and autonomous systems.

import { FLAG_ROWS, REPUTATION_FLAGS } from "@inkling/contract";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { NetworkSummary } from "../../answers.ts";
import { Badge, Button, Card, Definitions, Notice } from "../../components/basics.tsx";
import { Meter } from "../../components/chart.tsx";
import { Table } from "../../components/table.tsx";
import { countOf, countryName, flagName, formatCount, formatLabel, formatPercent } from "../../format.ts";
import { useAction } from "../../hooks.ts";
import { FeedLink, LookupLink } from "./links.tsx";

export const meterOf = (share: number) => <Meter part={share} text={formatPercent(share)} color="series-0" />;

interface SharesProps {
  /** For example "185.220.101.0/24" or "AS60729 over IPv4". */
  readonly name: string;
  readonly summary: NetworkSummary;
  /** The flags and answers for which no feed has data. */
  readonly missing: readonly string[];
  /** Content beside each flag. */
  readonly action?: (flag: (typeof REPUTATION_FLAGS)[number]) => ComponentChildren;
}

/** The share of addresses for which each flag is set. */
export function FlagShares({ name, summary, missing, action }: SharesProps) {
  const { examined, flagged, flags, prefix_count: count } = summary;
  const isPartial = examined < 1 || REPUTATION_FLAGS.some((flag) => missing.includes(flag));
  const none = isPartial ? `No known flags in ${name}` : `Nothing in ${name} is flagged`;
  const title = flagged > 0 ? `${formatPercent(flagged)} of ${name} is flagged` : none;
  return (
    <Card title={title}>
      {examined < 1 && (
        <Notice kind="warn">
          {`${name} has too many parts. Inkling examined only the first ${formatPercent(examined)}: ${countOf(count, "part")}.`}
        </Notice>
      )}
      <ul class="flags">
        {REPUTATION_FLAGS.map((flag) => (
          <li key={flag}>
            {missing.includes(flag) && flags[flag] === 0 ? (
              <Badge kind="faint">unknown</Badge>
            ) : (
              <Badge kind={flags[flag] > 0 ? "bad" : "good"}>{formatPercent(flags[flag])}</Badge>
            )}
            <span>
              <strong>{flagName(flag)}</strong>
              <small>{FLAG_ROWS[flag].meaning}</small>
            </span>
            {action?.(flag)}
          </li>
        ))}
      </ul>
    </Card>
  );
}

export const CountryRows = ({ summary: { countries, reserved } }: { summary: NetworkSummary }) => (
  <>
    <Definitions
      rows={[
        ...countries.map(({ iso_code, share }) => [countryName(iso_code), meterOf(share)] as const),
        ["Reserved", reserved > 0 && meterOf(reserved)],
      ]}
    />
    {countries.length === 0 && <p class="faint">No feed has a location here.</p>}
  </>
);

/** Number of owners to show at first, largest first. A /16 may have a hundred. */
const FIRST_OWNERS = 8;

interface OwnersProps extends Pick<NetworkSummary, "owners"> {
  readonly title: string;
}

/** The owners of the addresses, each with its AS. */
export function OwnersCard({ title, owners = [] }: OwnersProps) {
  const [isWhole, setWhole] = useState(false);
  if (owners.length === 0) return null;
  return (
    <Card title={title}>
      <Table
        caption={title}
        rows={isWhole ? owners : owners.slice(0, FIRST_OWNERS)}
        rowKey={(_, i) => i}
        columns={[
          ["AS", ({ asn }) => asn !== undefined && <LookupLink value={`AS${asn}`} />],
          ["Organization", ({ organization = "unknown" }) => organization],
          ["Kind", ({ kind }) => kind],
          ["Share", ({ share }) => meterOf(share)],
        ]}
        empty=""
      />
      {!isWhole && owners.length > FIRST_OWNERS && (
        <p class="actions">
          <Button text={`Show all ${formatCount(owners.length)} owners`} onClick={() => setWhole(true)} />
        </p>
      )}
    </Card>
  );
}

interface SourcesProps extends Pick<NetworkSummary, "sources"> {
  readonly title: string;
}

/** Each feed's claims, and what they do to the answers. */
export const SourcesCard = ({ title, sources }: SourcesProps) =>
  sources !== undefined && (
    <Card isWide title={title}>
      <Table
        caption={title}
        rows={sources}
        rowKey={(_, i) => i}
        columns={[
          ["Feed", FeedLink],
          ["Label", ({ label }) => formatLabel(label)],
          [
            "Effect",
            ({ effect, flags }) =>
              effect === "label" ? "label only" : `${effect} ${flags.map(flagName).join(", ")}`,
          ],
          ["Share", ({ share }) => meterOf(share), undefined, ({ share }) => share],
        ]}
        empty="No feed lists any address here."
      />
    </Card>
  );

type Part = NetworkSummary["prefixes"][number];

/** Maximum number of parts that one request lists. */
const MAX_PARTS = 10_000;

interface PartsCardProps {
  readonly title: string;
  readonly summary: NetworkSummary;
  /** Reads up to `count` parts. */
  readonly read: (count: number) => Promise<NetworkSummary | undefined>;
}

export function PartsCard({ title, summary, read }: PartsCardProps) {
  const [all, setAll] = useState({ of: summary, parts: summary.prefixes });
  // An override changes the summary, and its parts with it.
  const parts = all.of === summary ? all.parts : summary.prefixes;
  const [start, isBusy] = useAction();
  const count = summary.prefix_count;
  const most = Math.min(count, MAX_PARTS);
  const showAll = async () => {
    const found = await read(most);
    if (found !== undefined) setAll({ of: summary, parts: found.prefixes });
  };
  return (
    <Card isWide title={title}>
      {count > parts.length && (
        <p class="faint">{`${formatCount(parts.length)} of ${formatCount(count)}, flagged ones first.`}</p>
      )}
      <Table
        caption={title}
        rows={parts}
        rowKey={(row) => row.network}
        columns={[
          ["Network", ({ network }) => <LookupLink value={network} />, undefined, (row) => row.network],
          ["Flags", flagsOf, undefined, (row) => -row.flags.length],
          ["Location", locationOf, undefined, locationOf],
        ]}
        empty="None."
      />
      {most > parts.length && (
        <p class="actions">
          <Button
            text={most === count ? `Show all ${formatCount(count)}` : `Show the first ${formatCount(most)}`}
            isBusy={isBusy}
            onClick={() => start(showAll)}
          />
        </p>
      )}
    </Card>
  );
}

const flagsOf = ({ flags }: Part) =>
  flags.map((flag) => (
    <Badge key={flag} kind="bad">
      {flagName(flag)}
    </Badge>
  ));

const locationOf = ({ city, country }: Part) =>
  [city, country && countryName(country)].filter(Boolean).join(", ") || "unknown";
