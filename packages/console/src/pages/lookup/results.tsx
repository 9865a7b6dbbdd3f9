// results.tsx: shows several answers as a table that can be filtered, sorted and saved.

import { useState } from "preact/hooks";
import type { Answer } from "../../answers.ts";
import { Badge, Button, Card } from "../../components/basics.tsx";
import { RowChoice } from "../../components/bulk.tsx";
import { Field, Select, TextField } from "../../components/form.tsx";
import { Table, TwoLines } from "../../components/table.tsx";
import { formatCount } from "../../format.ts";
import { download } from "../../text-file.ts";
import { locationOf, suggestionOf, type Verdict, verdictOf } from "./answers.ts";
import { csvOf, networkOf } from "./csv.ts";
import { LookupLink } from "./links.tsx";
import { OverrideMany } from "./override-many.tsx";

/** An answer with the values for filtering and sorting. */
interface Row {
  readonly answer: Answer;
  readonly location: string;
  readonly verdict: Verdict;
}
const SHOWN = [
  ["", "all"],
  ["flagged", "flagged, disposable or not valid"],
  ["clean", "no findings"],
  ["problem", "no answer"],
  ["override", "with your overrides"],
] as const;

interface ResultListProps {
  readonly answers: readonly Answer[];
  readonly missing: readonly string[];
  readonly reload: () => void;
}

export function ResultList({ answers, missing, reload }: ResultListProps) {
  const [filter, setFilter] = useState("");
  const [shown, setShown] = useState("");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const rows = answers.map((answer) => ({
    answer,
    location: locationOf(answer),
    verdict: verdictOf(answer, missing),
  }));
  const text = filter.trim().toLowerCase();
  const found = rows.filter(
    ({ answer, location, verdict }) =>
      [answer.value, location, networkOf(answer)?.organization ?? "", ...verdict.texts].some((part) =>
        part.toLowerCase().includes(text),
      ) &&
      (shown === "" || shown === verdict.kind || (shown === "override" && answer.overrides.length > 0)),
  );
  const chosen = found.filter(({ answer }) => selected.has(answer.value));
  const select = (values: readonly string[]) => setSelected(new Set(values));
  const save = () =>
    download(
      "inkling-lookups.csv",
      "text/csv",
      csvOf(
        found.map(({ answer }) => answer),
        missing,
      ),
    );
  const follow = (event: { currentTarget: HTMLInputElement }) => setFilter(event.currentTarget.value);
  return (
    <Card>
      <div class="filters">
        <TextField
          label="Filter"
          type="search"
          placeholder="value, location, organization, verdict"
          value={filter}
          onInput={follow}
        />
        <Field label="Show">
          <Select options={SHOWN} value={shown} onChoose={setShown} />
        </Field>
        <Button text="Save as CSV" onClick={save} />
        <OverrideMany
          title={chosen.length > 0 ? `Override ${formatCount(chosen.length)} selected` : "Override all shown"}
          answers={(chosen.length > 0 ? chosen : found).map(({ answer }) => answer)}
          onDone={reload}
        />
      </div>
      <p class="faint" role="status">
        {found.length === rows.length
          ? `${formatCount(rows.length)} results`
          : `${formatCount(found.length)} of ${formatCount(rows.length)} results`}
      </p>
      <Table
        caption="Results"
        rows={found}
        rowKey={({ answer }) => answer.value}
        before={({ answer }) => <RowChoice rowKey={answer.value} selected={selected} onSelect={select} />}
        columns={[
          ["Value", valueCell, undefined, ({ answer }) => answer.value],
          ["Location", ({ location }) => location, undefined, ({ location }) => location],
          ["Network", networkCell, undefined, ({ answer }) => networkOf(answer)?.asn ?? 0],
          [
            "Verdict",
            verdictCell,
            undefined,
            ({ verdict }) => `${ORDER[verdict.kind]} ${verdict.texts.join()}`,
          ],
        ]}
        empty="No result matches."
      />
    </Card>
  );
}

const ORDER = { flagged: 0, problem: 1, clean: 2 } as const;

const valueCell = ({ answer: { value, overrides } }: Row) => (
  <TwoLines below={overrides.length > 0 && "your override"}>
    <a href={`#/lookup/${encodeURIComponent(value)}`}>{value}</a>
  </TwoLines>
);

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
