// network.tsx: what is known of a whole network: how much of it is flagged, where it is, and the parts that it consists of.

import { FLAG_ROWS, REPUTATION_FLAGS } from "@inkling/contract";
import type { NetworkAnswer } from "@inkling/server/admin-answers";
import { Badge, Card, Definitions, Notice } from "../../components/basics.tsx";
import { Meter } from "../../components/chart.tsx";
import { Table } from "../../components/table.tsx";
import { countryName, flagName, formatCount, formatPercent } from "../../format.ts";
import { isProblem } from "./answers.ts";
import { Copies, ValueProblemCard } from "./evidence.tsx";
import { OverrideButton } from "./override-button.tsx";
import { OverrideCard } from "./override-card.tsx";

interface NetworkResultProps {
  readonly answer: NetworkAnswer;
  readonly missing: readonly string[];
  readonly reload: () => void;
}

export function NetworkResult({ answer, missing, reload }: NetworkResultProps) {
  const { network, summary, overrides } = answer;
  if (isProblem(summary)) return <ValueProblemCard value={network} problem={summary} />;
  const { examined, flagged, flags, reserved, countries, prefixes, prefix_count: count } = summary;
  const title =
    flagged > 0 ? `${formatPercent(flagged)} of ${network} is flagged` : `Nothing in ${network} is flagged`;
  return (
    <div class="pair">
      <Card title={title}>
        {examined < 1 && (
          <Notice kind="warn">
            {`It has too many parts: this is its first ${formatPercent(examined)}, ${formatCount(count)} parts.`}
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
              <OverrideButton value={network} flag={flag} verdict={flags[flag] === 0} onDone={reload} />
            </li>
          ))}
        </ul>
      </Card>
      <Card title="Countries">
        <Definitions
          rows={[
            ...countries.map(({ iso_code, share }) => [countryName(iso_code), meterOf(share)] as const),
            ["Reserved", reserved > 0 && meterOf(reserved)],
          ]}
        />
        {countries.length === 0 && <p class="faint">No feed has a location for this network.</p>}
        <Copies json={JSON.stringify(answer, null, 2)} />
      </Card>
      <OverrideCard overrides={overrides} reload={reload} />
      <Card isWide title="Parts with one answer each">
        {count > prefixes.length && (
          <p class="faint">{`${formatCount(prefixes.length)} of ${formatCount(count)}, flagged ones first.`}</p>
        )}
        <Table
          caption="Parts with one answer each"
          rows={prefixes}
          rowKey={(row) => row.network}
          columns={[
            ["Network", partLink, undefined, (row) => row.network],
            ["Flags", flagsOf, undefined, (row) => -row.flags.length],
            ["Location", locationOf, undefined, locationOf],
          ]}
          empty="None."
        />
      </Card>
    </div>
  );
}

const meterOf = (share: number) => <Meter part={share} text={formatPercent(share)} color="series-0" />;

type Part = Extract<NetworkAnswer["summary"], { prefixes: unknown }>["prefixes"][number];

const partLink = ({ network }: Part) => {
  const [address = "", bits] = network.split("/");
  const isOne = bits === (address.includes(":") ? "128" : "32");
  const value = isOne ? address : network;
  return <a href={`#/lookup/${encodeURIComponent(value)}`}>{value}</a>;
};

const flagsOf = ({ flags }: Part) =>
  flags.map((flag) => (
    <Badge key={flag} kind="bad">
      {flagName(flag)}
    </Badge>
  ));

const locationOf = ({ city, country }: Part) =>
  [city, country && countryName(country)].filter(Boolean).join(", ") || "unknown";
