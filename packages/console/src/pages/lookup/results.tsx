// results.tsx: several answers as a table, and what an answer lacks for want of data.

import { Badge, Card } from "../../components/basics.tsx";
import { Table } from "../../components/table.tsx";
import { FLAG_NAMES, FLAGS, flagName } from "../../format.ts";
import type { Answer, Flag, Geolocation, Reputation, ValueProblem } from "../../types.ts";

export const isProblem = (answer: object): answer is ValueProblem => "code" in answer;

/** Is a flag false only because no feed is loaded for it? What an override sets is known. */
export function isUnknown(reputation: Reputation, flag: Flag, missing: readonly string[]): boolean {
  if (reputation[flag] || !missing.includes(flag)) return false;
  return !reputation.evidence?.some(({ feed, flags }) => feed === "override" && flags?.includes(flag));
}

/** Would this answer contain more if there were data for `gap`? */
export function lacksData(answer: Answer, gap: string): boolean {
  if (answer.kind === "email") return gap === "disposable";
  if (answer.kind !== "address" || gap === "disposable") return false;
  if (!(gap in FLAGS)) return isProblem(answer.geolocation);
  return !isProblem(answer.reputation) && isUnknown(answer.reputation, gap as Flag, [gap]);
}

interface ResultListProps {
  readonly answers: readonly Answer[];
  readonly missing: readonly string[];
}

export const ResultList = ({ answers, missing }: ResultListProps) => (
  <Card>
    <Table
      caption="Results"
      rows={answers}
      rowKey={(_, i) => i}
      columns={[
        {
          name: "Value",
          cell: ({ value }) => <a href={`#/lookup/${encodeURIComponent(value)}`}>{value}</a>,
        },
        {
          name: "Location",
          cell: (answer) =>
            answer.kind === "email" || isProblem(answer.reputation) ? null : (
              <LocationName location={answer.geolocation} />
            ),
        },
        { name: "Verdict", cell: (answer) => <Verdict answer={answer} missing={missing} /> },
      ]}
      empty=""
    />
  </Card>
);

function LocationName({ location }: { location: Geolocation | ValueProblem }) {
  if (isProblem(location)) return <span class="faint">{location.title}</span>;
  const { city, subdivisions, country } = location;
  const names = [city.name, subdivisions[0]?.name, country.name].filter(Boolean);
  return <>{names.length > 0 ? names.join(", ") : "unknown"}</>;
}

function Verdict({ answer, missing }: { answer: Answer; missing: readonly string[] }) {
  if (answer.kind === "email") {
    const { email } = answer;
    if (isProblem(email)) return <span class="faint">{email.title}</span>;
    return (
      <>
        {!email.valid && <Badge kind="bad">not valid</Badge>}
        {email.disposable && <Badge kind="bad">disposable</Badge>}
        {email.valid && !email.disposable && <Badge kind="good">valid</Badge>}
      </>
    );
  }
  const { reputation } = answer;
  if (isProblem(reputation)) return <span class="faint">{reputation.title}</span>;
  const set = FLAG_NAMES.filter((flag) => reputation[flag]);
  if (set.length > 0) {
    return (
      <>
        {set.map((flag) => (
          <Badge key={flag} kind="bad">
            {flagName(flag)}
          </Badge>
        ))}
      </>
    );
  }
  const isPartial = FLAG_NAMES.some((flag) => isUnknown(reputation, flag, missing));
  return isPartial ? <Badge kind="faint">no known flags</Badge> : <Badge kind="good">no flags</Badge>;
}
