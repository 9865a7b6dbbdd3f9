// results.tsx: several answers as a table, and members that lack data.

import type { Answer, EmailVerdict, Flag, Reputation, ValueProblem } from "@inkling/server/admin-answers";
import { Badge, Card } from "../../components/basics.tsx";
import { Table } from "../../components/table.tsx";
import { FLAG_NAMES, FLAGS, flagName } from "../../format.ts";

export const isProblem = (answer: object): answer is ValueProblem => "code" in answer;

type Missing = readonly string[];

/** Is a flag false only because no feed is loaded for it? What an override sets is known. */
export function isUnknown(reputation: Reputation, flag: Flag, missing: Missing): boolean {
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

export const ResultList = ({ answers, missing }: { answers: readonly Answer[]; missing: Missing }) => (
  <Card>
    <Table
      caption="Results"
      rows={answers}
      rowKey={(_, i) => i}
      columns={[
        ["Value", ({ value }) => <a href={`#/lookup/${encodeURIComponent(value)}`}>{value}</a>],
        ["Location", locationOf],
        ["Verdict", (answer) => verdictOf(answer, missing)],
      ]}
      empty=""
    />
  </Card>
);

/** None where the verdict already names the problem. */
function locationOf(answer: Answer) {
  if (answer.kind === "email" || isProblem(answer.reputation)) return null;
  const { geolocation } = answer;
  if (isProblem(geolocation)) return <span class="faint">{geolocation.title}</span>;
  const { city, subdivisions, country } = geolocation;
  const names = [city.name, subdivisions[0]?.name, country.name].filter(Boolean);
  return names.join(", ") || "unknown";
}

function verdictOf(answer: Answer, missing: Missing) {
  const verdict = answer.kind === "email" ? answer.email : answer.reputation;
  if (isProblem(verdict)) return <span class="faint">{verdict.title}</span>;
  const bad =
    "valid" in verdict ? emailFaults(verdict) : FLAG_NAMES.filter((flag) => verdict[flag]).map(flagName);
  if (bad.length > 0)
    return bad.map((text) => (
      <Badge key={text} kind="bad">
        {text}
      </Badge>
    ));
  if ("valid" in verdict) return <Badge kind="good">valid</Badge>;
  const isPartial = FLAG_NAMES.some((flag) => isUnknown(verdict, flag, missing));
  return isPartial ? <Badge kind="faint">no known flags</Badge> : <Badge kind="good">no flags</Badge>;
}

const emailFaults = ({ valid, disposable }: EmailVerdict) => [
  ...(valid ? [] : ["not valid"]),
  ...(disposable ? ["disposable"] : []),
];
