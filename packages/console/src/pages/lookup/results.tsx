// results.tsx: shows several answers as a list that can be searched, sorted, overridden and saved.

import type { Answer } from "../../answers.ts";
import { Badge, Button, Card } from "../../components/basics.tsx";
import { type BulkAction, type Choice, List } from "../../components/list.tsx";
import { TwoLines } from "../../components/table.tsx";
import type { Columns } from "../../components/value.tsx";
import { download } from "../../text-file.ts";
import { NEW_FIELDS, PRECEDENCE } from "../overrides/override.tsx";
import { locationOf, suggestionOf, type Verdict, verdictOf } from "./answers.ts";
import { csvOf, networkOf } from "./csv.ts";
import { LookupLink } from "./links.tsx";

/** An answer with the values for searching and sorting. */
interface Row {
  readonly answer: Answer;
  readonly location: string;
  readonly verdict: Verdict;
}

const CHOICES: readonly Choice<Row>[] = [
  ["", "all", () => true],
  ["flagged", "flagged, disposable or not valid", ({ verdict }) => verdict.kind === "flagged"],
  ["clean", "no findings", ({ verdict }) => verdict.kind === "clean"],
  ["problem", "no answer", ({ verdict }) => verdict.kind === "problem"],
  ["override", "with your overrides", ({ answer }) => answer.overrides.length > 0],
];

const OVERRIDE: BulkAction<Row, "POST overrides"> = {
  route: "POST overrides",
  verb: ["Override", "Overridden"],
  ask: () => PRECEDENCE,
  input: ({ answer }) => ({ value: answer.kind === "network" ? answer.network : answer.value, force: false }),
  fields: NEW_FIELDS,
  link: (value) => `#/lookup/${encodeURIComponent(value)}`,
};

interface ResultListProps {
  readonly answers: readonly Answer[];
  readonly missing: readonly string[];
  readonly reload: () => void;
}

export function ResultList({ answers, missing, reload }: ResultListProps) {
  const rows = answers.map((answer) => ({
    answer,
    location: locationOf(answer),
    verdict: verdictOf(answer, missing),
  }));
  const save = (found: readonly Row[]) => {
    const shown = found.map(({ answer }) => answer);
    download("inkling-lookups.csv", "text/csv", csvOf(shown, missing));
  };
  return (
    <Card>
      <List<Row>
        caption="Results"
        rows={rows}
        rowKey={({ answer }) => answer.value}
        textOf={({ answer, location, verdict }) =>
          [answer.value, location, networkOf(answer)?.organization, ...verdict.texts].join("\n")
        }
        choices={CHOICES}
        aside={(found) => <Button text="Save as CSV" onClick={() => save(found)} />}
        bulk={OVERRIDE}
        onChange={reload}
        columns={COLUMNS}
        empty=""
      />
    </Card>
  );
}

const ORDER = { flagged: 0, problem: 1, clean: 2 } as const;

const COLUMNS: Columns<Row> = [
  ["Value", valueCell, undefined, ({ answer }) => answer.value],
  ["Location", ({ location }) => location, undefined, ({ location }) => location],
  ["Network", networkCell, undefined, ({ answer }) => networkOf(answer)?.asn ?? 0],
  ["Verdict", verdictCell, undefined, ({ verdict }) => `${ORDER[verdict.kind]} ${verdict.texts.join()}`],
];

function valueCell({ answer: { value, overrides } }: Row) {
  return (
    <TwoLines below={overrides.length > 0 && "your override"}>
      <LookupLink value={value} />
    </TwoLines>
  );
}

function networkCell({ answer }: Row) {
  const { asn, organization, kind = "unknown" } = networkOf(answer) ?? {};
  if (asn === undefined && organization === undefined) return "";
  return (
    <TwoLines below={kind !== "unknown" && kind}>
      <span>
        {asn && <LookupLink value={`AS${asn}`} />} {organization}
      </span>
    </TwoLines>
  );
}

function verdictCell({ answer, verdict: { kind, texts, isPartial } }: Row) {
  if (kind === "problem") return <span class="faint">{texts}</span>;
  const color = kind === "flagged" ? "bad" : isPartial ? "faint" : "good";
  const suggestion = suggestionOf(answer);
  return (
    <TwoLines below={suggestion && `did they mean ${suggestion}?`}>
      {texts.map((text) => (
        <Badge key={text} kind={color}>
          {text}
        </Badge>
      ))}
    </TwoLines>
  );
}
