// network.tsx: shows a whole network: its flagged share and the feeds behind it, its owner, its location, and its
// parts.

import type { NetworkAnswer, NetworkSummary } from "../../answers.ts";
import { Card } from "../../components/basics.tsx";
import { isProblem } from "./answers.ts";
import { Copies, ValueProblemCard } from "./evidence.tsx";
import { HistoryCard } from "./history.tsx";
import { CountryRows, FlagShares, OwnersCard, PartsCard, SourcesCard } from "./network-parts.tsx";
import { OverrideButton, OverrideCard } from "./overrides.tsx";
import { lookUpOne } from "./requests.ts";

interface NetworkResultProps {
  readonly answer: NetworkAnswer;
  readonly missing: readonly string[];
  readonly reload: () => void;
}

/** Reads up to `count` of the network's parts. */
async function readParts(network: string, count: number): Promise<NetworkSummary | undefined> {
  const answer = await lookUpOne(network, count);
  return answer?.kind === "network" && !isProblem(answer.summary) ? answer.summary : undefined;
}

export function NetworkResult({ answer, missing, reload }: NetworkResultProps) {
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
  return (
    <div class="pair">
      <div>
        <FlagShares name={network} summary={summary} missing={missing} action={action} />
        <OwnersCard title="Owners" owners={summary.owners} />
      </div>
      <Card title="Countries">
        <CountryRows summary={summary} />
        <Copies json={JSON.stringify(answer, null, 2)} />
      </Card>
      <OverrideCard overrides={overrides} reload={reload} />
      <SourcesCard title="Evidence" sources={summary.sources} />
      <PartsCard
        title="Parts with a single answer"
        summary={summary}
        read={(count) => readParts(network, count)}
      />
      <HistoryCard value={network} />
    </div>
  );
}
