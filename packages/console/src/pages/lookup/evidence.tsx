// evidence.tsx: shows the details behind every verdict: the evidence, the same lookup through the public API, or a
// problem.

import { FLAG_ROWS, REPUTATION_FLAGS } from "@inkling/contract";
import type { ComponentChildren } from "preact";
import type {
  EmailVerdict,
  Evidence,
  Flag,
  Geolocation,
  NetworkSummary,
  Reputation,
  ValueProblem,
} from "../../answers.ts";
import { Button, Card, Code, CopyButton, RelativeTime } from "../../components/basics.tsx";
import { Meter } from "../../components/chart.tsx";
import { Table, TwoLines } from "../../components/table.tsx";
import { flagName, formatLabel, formatPercent } from "../../format.ts";
import { assessVisitor } from "../assess/visitor.ts";
import { FeedLink } from "./links.tsx";

export const ValueProblemCard = ({ value, problem }: { value: string; problem: ValueProblem }) => (
  <Card title={value}>
    <p class="problem">{problem.title}</p>
    <p>{problem.detail}</p>
  </Card>
);

interface FlagsProps {
  readonly badge: (flag: Flag) => ComponentChildren;
  /** Content beside a flag. */
  readonly action?: ((flag: Flag) => ComponentChildren) | undefined;
}

/** Every flag of an address or a network, with what it means. */
export const Flags = ({ badge, action }: FlagsProps) => (
  <ul class="flags">
    {REPUTATION_FLAGS.map((flag) => (
      <li key={flag}>
        {badge(flag)}
        <span>
          <strong>{flagName(flag)}</strong>
          <small>{FLAG_ROWS[flag].meaning}</small>
        </span>
        {action?.(flag)}
      </li>
    ))}
  </ul>
);

const EFFECTS: Readonly<Record<string, string>> = { fills: "fills in", label: "label only" };

type Effect = Omit<Evidence, "effect"> & { readonly effect: string };
function effectOf({ effect, flags = [], fields = [], weight, did_you_mean, provider, why }: Effect) {
  const what = [...flags.map(flagName), ...fields].join(", ");
  const rule = [provider, why].filter(Boolean).join(": ");
  const isPlace = effect === "sets" && what === "";
  const text = [
    EFFECTS[effect] ?? effect,
    isPlace ? "the location" : what,
    weight !== undefined && `(weight ${weight})`,
  ];
  return (
    <TwoLines below={did_you_mean ? `did they mean ${did_you_mean}?` : rule.replaceAll("_", " ")}>
      {text.filter(Boolean).join(" ")}
    </TwoLines>
  );
}

function matchOf({ network, domain, id }: Evidence) {
  const match = network ?? domain ?? id;
  return match && <code>{match}</code>;
}

/** The publisher's time of the data if there is one, otherwise the time of the download. */
function timeOf({ published_at, fetched_at }: Evidence) {
  const time = published_at ?? fetched_at;
  return time && <RelativeTime iso={time} />;
}

interface EvidenceTableProps {
  readonly caption: string;
  readonly entries: readonly Evidence[];
  /** A button for an entry. */
  readonly action?: ((entry: Evidence) => ComponentChildren) | undefined;
  readonly empty?: string;
}

/** The feeds that list a value, and what each did to the answer. */
export const EvidenceTable = ({
  entries,
  action,
  empty = "No feed lists it.",
  ...table
}: EvidenceTableProps) => (
  <Table
    {...table}
    rows={entries}
    rowKey={(_, i) => i}
    columns={[
      ["Feed", ({ feed }) => <FeedLink feed={feed} />],
      ["Label", ({ label }) => formatLabel(label)],
      ["Match", matchOf],
      ["Effect", effectOf],
      ["Data of", timeOf],
      ...(action ? [["Action", action] as const] : []),
    ]}
    empty={empty}
  />
);

interface EvidenceCardProps extends Pick<EvidenceTableProps, "action"> {
  readonly title?: string;
  readonly from: Reputation | EmailVerdict | Geolocation;
}

export const EvidenceCard = ({ title = "Evidence", from, action }: EvidenceCardProps) => (
  <Card class="wide" title={title}>
    <EvidenceTable caption={title} entries={from.evidence ?? []} action={action} />
    {from.evidence_truncated && (
      <p class="faint">Not all evidence is shown, but the evidence shown here decides the answer.</p>
    )}
  </Card>
);

interface SourcesTableProps {
  readonly caption: string;
  readonly sources: NonNullable<NetworkSummary["sources"]>;
  readonly empty?: string;
}

/** Each feed's claims about a network, and what they do to the answers. */
export const SourcesTable = ({
  sources,
  empty = "No feed lists any address here.",
  ...table
}: SourcesTableProps) => (
  <Table
    {...table}
    rows={sources}
    rowKey={(_, i) => i}
    columns={[
      ["Feed", FeedLink],
      ["Label", ({ label }) => formatLabel(label)],
      ["Effect", effectOf],
      ["Share", ({ share }) => meterOf(share), undefined, ({ share }) => share],
    ]}
    empty={empty}
  />
);

export const meterOf = (share: number) => <Meter part={share} text={formatPercent(share)} color="series-0" />;

/** $URL remains a variable, because this listener does not have the public API's URL. */
function curlOf(value: string): string {
  const curl = 'curl -H "Authorization: Bearer $KEY"';
  if (!value.includes("@")) return `${curl} "$URL/v1/ip-intel/reputation/${value}?include=evidence"`;
  const body = JSON.stringify({ values: [value] }).replaceAll("'", "'\\''");
  return `${curl} -H "Content-Type: application/json" \\\n  -d '${body}' $URL/v1/user-intel/email`;
}

export function ApiRequest({ value, answer }: { value: string; answer: unknown }) {
  const curl = curlOf(value);
  const json = JSON.stringify(answer, null, 2);
  return (
    <Card title="API request">
      <Code text={curl} />
      <Copies json={json}>
        <Button text="Assess this visitor" onClick={() => assessVisitor(value)} />
        <CopyButton text={curl.replaceAll("\\\n", "")} label="Copy curl" />
      </Copies>
    </Card>
  );
}

interface CopiesProps {
  readonly json: string;
  readonly title?: string;
  readonly children?: ComponentChildren;
}

/** The answer as JSON, folded, with a button that copies it. */
export const Copies = ({ json, title = "JSON answer with evidence", children }: CopiesProps) => (
  <>
    <p class="actions">
      {children}
      <CopyButton text={json} label="Copy JSON" />
    </p>
    <details>
      <summary>{title}</summary>
      <Code text={json} />
    </details>
  </>
);
