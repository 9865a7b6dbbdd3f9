// network-parts.tsx: the cards about a network, or about the networks of an autonomous system in one address family.

import { REPUTATION_FLAGS } from "@inkling/contract";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { NetworkSummary } from "../../answers.ts";
import { Badge, Button, Card, Definitions, Notice } from "../../components/basics.tsx";
import { Table, TableCard } from "../../components/table.tsx";
import { countOf, countryName, flagName, formatCount, formatPercent } from "../../format.ts";
import { useAction } from "../../hooks.ts";
import { Flags, meterOf, SourcesTable } from "./evidence.tsx";
import { LookupLink } from "./links.tsx";

interface SummaryProps {
  /** For example "185.220.101.0/24" or "AS60729 over IPv4". */
  readonly name: string;
  /** Added to the cards' titles: " over IPv4". */
  readonly over?: string;
  readonly summary: NetworkSummary;
  /** The flags and answers for which no feed has data. */
  readonly missing: readonly string[];
  /** Content beside each flag. */
  readonly action?: (flag: (typeof REPUTATION_FLAGS)[number]) => ComponentChildren;
  /** Reads up to `count` parts. */
  readonly read: (count: number) => Promise<NetworkSummary | undefined>;
  /** The card beside the flags, and those below both. */
  readonly children: ComponentChildren;
}

export function Summary({ over = "", summary, read, children, ...shares }: SummaryProps) {
  const { owners = [], sources } = summary;
  const evidence = `Evidence${over}`;
  return (
    <div class="pair">
      <div>
        <FlagShares summary={summary} {...shares} />
        {owners.length > 0 && (
          <TableCard
            caption={`Owners${over}`}
            first={FIRST_OWNERS}
            rows={owners}
            rowKey={(_, i) => i}
            columns={[
              ["AS", ({ asn }) => asn !== undefined && <LookupLink value={`AS${asn}`} />],
              ["Organization", ({ organization = "unknown" }) => organization],
              ["Kind", ({ kind }) => kind],
              ["Share", ({ share }) => meterOf(share)],
            ]}
            empty=""
          />
        )}
      </div>
      {children}
      {sources && (
        <Card class="wide" title={evidence}>
          <SourcesTable caption={evidence} sources={sources} />
        </Card>
      )}
      <PartsCard title={`Parts${over} with a single answer`} summary={summary} read={read} />
    </div>
  );
}

/** The share of addresses for which each flag is set. */
function FlagShares({ name, summary, missing, action }: Omit<SummaryProps, "read" | "children">) {
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
      <Flags
        badge={(flag) =>
          missing.includes(flag) && flags[flag] === 0 ? (
            <Badge kind="faint">unknown</Badge>
          ) : (
            <Badge kind={flags[flag] > 0 ? "bad" : "good"}>{formatPercent(flags[flag])}</Badge>
          )
        }
        action={action}
      />
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

type Part = NetworkSummary["prefixes"][number];

/** Maximum number of parts that one request lists. */
const MAX_PARTS = 10_000;

function PartsCard({ title, summary, read }: Pick<SummaryProps, "summary" | "read"> & { title: string }) {
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
    <Card class="wide" title={title}>
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
