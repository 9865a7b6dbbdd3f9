// results.tsx: several answers as a table that is filtered, sorted and saved.

import { REPUTATION_FLAGS } from "@inkling/contract";
import type { Answer, EmailVerdict, Flag, Reputation } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { Badge, Button, Card } from "../../components/basics.tsx";
import { Field, Select, TextField } from "../../components/form.tsx";
import { Table, TwoLines } from "../../components/table.tsx";
import { download } from "../../download.ts";
import { countryName, flagName, formatCount, formatPercent } from "../../format.ts";
import { isProblem, isUnknown } from "./answers.ts";
import { csvOf } from "./csv.ts";

type Missing = readonly string[];

/** One answer with what it is filtered and sorted by. */
interface Row {
  readonly answer: Answer;
  readonly location: string;
  readonly verdict: Verdict;
}
interface Verdict {
  readonly kind: "flagged" | "clean" | "problem";
  readonly texts: readonly string[];
  /** No flag is set, and of some it is not known. */
  readonly isPartial?: boolean;
}

const SHOWN = [
  ["", "all"],
  ["flagged", "flagged, disposable or not valid"],
  ["clean", "nothing against them"],
  ["problem", "no answer"],
  ["override", "with your overrides"],
] as const;

export function ResultList({ answers, missing }: { answers: readonly Answer[]; missing: Missing }) {
  const [filter, setFilter] = useState("");
  const [shown, setShown] = useState("");
  const rows = answers.map((answer) => ({
    answer,
    location: locationOf(answer),
    verdict: verdictOf(answer, missing),
  }));
  const text = filter.trim().toLowerCase();
  const found = rows.filter(
    ({ answer, location, verdict }) =>
      [answer.value, location, ...verdict.texts].some((part) => part.toLowerCase().includes(text)) &&
      (shown === "" || shown === verdict.kind || (shown === "override" && answer.overrides.length > 0)),
  );
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
          placeholder="value, location, verdict"
          value={filter}
          onInput={follow}
        />
        <Field label="Show">
          <Select options={SHOWN} value={shown} onChoose={setShown} />
        </Field>
        <Button text="Save as CSV" onClick={save} />
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
        columns={[
          ["Value", valueCell, undefined, ({ answer }) => answer.value],
          ["Location", ({ location }) => location, undefined, ({ location }) => location],
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

/** Empty where the verdict already names the problem. */
function locationOf(answer: Answer): string {
  if ("email" in answer) return "";
  if (answer.kind === "network") {
    if (isProblem(answer.summary)) return "";
    const names = answer.summary.countries.slice(0, 3).map(({ iso_code }) => countryName(iso_code));
    return names.join(", ") || "unknown";
  }
  const { geolocation, reputation } = answer;
  if (isProblem(reputation)) return "";
  if (isProblem(geolocation)) return geolocation.title;
  const { city, subdivisions, country } = geolocation;
  return [city.name, subdivisions[0]?.name, country.name].filter(Boolean).join(", ") || "unknown";
}

function verdictOf(answer: Answer, missing: Missing): Verdict {
  const found = "email" in answer ? answer.email : "summary" in answer ? answer.summary : answer.reputation;
  if (isProblem(found)) return { kind: "problem", texts: [found.title] };
  const bad = faultsOf(found);
  if (bad.length > 0) return { kind: "flagged", texts: bad };
  if ("valid" in found) return { kind: "clean", texts: ["valid"] };
  const isPartial =
    "flagged" in found
      ? REPUTATION_FLAGS.some((flag) => missing.includes(flag))
      : REPUTATION_FLAGS.some((flag) => isUnknown(found, flag, missing));
  return { kind: "clean", texts: [isPartial ? "no known flags" : "no flags"], isPartial };
}

type Summary = { readonly flagged: number; readonly flags: Readonly<Record<Flag, number>> };

function faultsOf(found: Reputation | EmailVerdict | Summary): string[] {
  if ("valid" in found) {
    return [...(found.valid ? [] : ["not valid"]), ...(found.disposable ? ["disposable"] : [])];
  }
  if (!("flagged" in found)) return REPUTATION_FLAGS.filter((flag) => found[flag]).map(flagName);
  return REPUTATION_FLAGS.filter((flag) => found.flags[flag] > 0).map(
    (flag) => `${flagName(flag)} ${formatPercent(found.flags[flag])}`,
  );
}

function verdictCell({ verdict: { kind, texts, isPartial } }: Row) {
  if (kind === "problem") return <span class="faint">{texts}</span>;
  const color = kind === "flagged" ? "bad" : isPartial ? "faint" : "good";
  return texts.map((text) => (
    <Badge key={text} kind={color}>
      {text}
    </Badge>
  ));
}
