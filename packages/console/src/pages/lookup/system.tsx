// system.tsx: shows facts about an autonomous system: its networks in each address family, their flagged share, the
// feeds behind that share, and the networks' locations.

import type { NetworkSummary, SystemAnswer } from "../../answers.ts";
import { Card } from "../../components/basics.tsx";
import { formatCount } from "../../format.ts";
import { FAMILIES, type Family } from "./answers.ts";
import { Copies } from "./evidence.tsx";
import { HistoryCard } from "./history.tsx";
import { LookupLink } from "./links.tsx";
import { CountryRows, FlagShares, OwnersCard, PartsCard, SourcesCard } from "./network-parts.tsx";
import { OverrideCard } from "./overrides.tsx";
import { lookUpOne } from "./requests.ts";

interface SystemResultProps {
  readonly answer: SystemAnswer;
  readonly missing: readonly string[];
  readonly reload: () => void;
}

async function readParts(asn: number, family: Family, count: number): Promise<NetworkSummary | undefined> {
  const answer = await lookUpOne(`AS${asn}`, count);
  return answer?.kind === "as" ? answer.system?.[family] : undefined;
}

export function SystemResult({ answer, missing, reload }: SystemResultProps) {
  const { asn, system, overrides } = answer;
  const name = `AS${asn}`;
  if (system === null)
    return (
      <Card title={name}>
        <p class="problem">No network of {name} is in the release.</p>
        <p>The AS announces nothing, or the release has no data about it.</p>
      </Card>
    );
  return (
    <>
      <h2>{[name, system.organization].filter(Boolean).join(" ")}</h2>
      {FAMILIES.map(([family, title]) => {
        const summary = system[family];
        if (summary === undefined) return null;
        return (
          <div key={family} class="pair">
            <div>
              <FlagShares name={`${name} over ${title}`} summary={summary} missing={missing} />
              <OwnersCard title={`Owners over ${title}`} owners={summary.owners} />
            </div>
            <Card title={countNetworks(summary.network_count, title)}>
              <Networks networks={summary.networks} count={summary.network_count} />
              <h3>Countries</h3>
              <CountryRows summary={summary} />
            </Card>
            <SourcesCard title={`Evidence over ${title}`} sources={summary.sources} />
            <PartsCard
              title={`Parts over ${title} with a single answer`}
              summary={summary}
              read={(count) => readParts(asn, family, count)}
            />
          </div>
        );
      })}
      <OverrideCard overrides={overrides} reload={reload} />
      <HistoryCard value={name} />
      <Card title="JSON">
        <Copies json={JSON.stringify(answer, null, 2)} />
      </Card>
    </>
  );
}

const countNetworks = (count: number, family: string) =>
  `${formatCount(count)} network${count === 1 ? "" : "s"} over ${family}`;

/** Number of networks to show at first; the others are folded. */
const OPEN_NETWORKS = 8;

function Networks({ networks, count }: { networks: readonly string[]; count: number }) {
  const links = (some: readonly string[]) => (
    <ul class="links">
      {some.map((network) => (
        <li key={network}>
          <LookupLink value={network} />
        </li>
      ))}
    </ul>
  );
  const rest = networks.slice(OPEN_NETWORKS);
  return (
    <>
      {links(networks.slice(0, OPEN_NETWORKS))}
      {rest.length > 0 && (
        <details>
          <summary>
            {networks.length < count
              ? `The first ${formatCount(networks.length)}`
              : `All ${formatCount(count)}`}
          </summary>
          {links(rest)}
        </details>
      )}
    </>
  );
}
