// network.tsx: shows a whole network, or an autonomous system with its networks in each address family: their flagged
// share and the feeds behind it, owners, locations and parts.

import type { NetworkAnswer, SystemAnswer } from "../../answers.ts";
import { Card } from "../../components/basics.tsx";
import { countOf, formatCount } from "../../format.ts";
import { FAMILIES, isProblem } from "./answers.ts";
import { Copies, ValueProblemCard } from "./evidence.tsx";
import { LookupLink } from "./links.tsx";
import { CountryRows, Summary } from "./network-parts.tsx";
import { OverrideButton } from "./overrides.tsx";
import { lookUpOne } from "./requests.ts";

interface ResultProps<Answer> {
  readonly answer: Answer;
  readonly missing: readonly string[];
  readonly reload: () => void;
}

export function NetworkResult({ answer, missing, reload }: ResultProps<NetworkAnswer>) {
  const { network, summary, overrides } = answer;
  if (isProblem(summary)) return <ValueProblemCard value={network} problem={summary} />;
  // The other overrides apply to parts of the network.
  const whole = overrides.filter(
    ({ id, value }) =>
      value === network || summary.sources?.some((source) => source.id === id && source.share === 1),
  );
  const action = (flag: keyof typeof summary.flags) => (
    <OverrideButton
      value={network}
      flag={flag}
      verdict={summary.flags[flag] === 0}
      overrides={whole}
      onDone={reload}
    />
  );
  const read = async (count: number) => {
    const found = await lookUpOne(network, count);
    return found?.kind === "network" && !isProblem(found.summary) ? found.summary : undefined;
  };
  return (
    <Summary name={network} summary={summary} missing={missing} action={action} read={read}>
      <Card title="Countries">
        <CountryRows summary={summary} />
        <Copies json={JSON.stringify(answer, null, 2)} />
      </Card>
    </Summary>
  );
}

export function SystemResult({ answer, missing }: Omit<ResultProps<SystemAnswer>, "reload">) {
  const { asn, system } = answer;
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
        const over = ` over ${title}`;
        const read = async (count: number) => {
          const found = await lookUpOne(name, count);
          return found?.kind === "as" ? found.system?.[family] : undefined;
        };
        return (
          <Summary
            key={family}
            name={name + over}
            over={over}
            summary={summary}
            missing={missing}
            read={read}
          >
            <Card title={`${countOf(summary.network_count, "network")} over ${title}`}>
              <Networks networks={summary.networks} count={summary.network_count} />
              <h3>Countries</h3>
              <CountryRows summary={summary} />
            </Card>
          </Summary>
        );
      })}
      <Card title="JSON">
        <Copies json={JSON.stringify(answer, null, 2)} />
      </Card>
    </>
  );
}

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
