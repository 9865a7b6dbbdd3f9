// outcomes.tsx: labels decisions from a file, such as a payment provider's list of chargebacks, and shows the lines
// that labelled nothing, or not everything.

import { useState } from "preact/hooks";
import type { OutcomeProblem } from "../../answers.ts";
import { call, UserError } from "../../api.ts";
import { Card, State } from "../../components/basics.tsx";
import { Field, Form } from "../../components/form.tsx";
import { Table } from "../../components/table.tsx";
import { countOf, formatBytes, formatCount } from "../../format.ts";
import { messageOf } from "../../hooks.ts";
import { readText } from "../../text-file.ts";

const MAX_BYTES = 50_000_000;
/** Maximum lines in one request, and maximum characters of each line: even escaped, the body is smaller than 1 MiB. */
const CHUNK = 100;
const MAX_LINE = 1_500;
/** Maximum lines to list. The others are counted. */
const MAX_LISTED = 1_000;

interface Report {
  /** Number of lines that the server has read. */
  readonly read: number;
  readonly lines: number;
  readonly labelled: number;
  readonly problems: number;
  readonly listed: readonly OutcomeProblem[];
}

/** @param onImported called when decisions may have got outcomes */
export function ImportOutcomes({ onImported }: { onImported: () => void }) {
  const [shown, setShown] = useState<Report>();
  const submit = async (values: FormData, form: HTMLFormElement) => {
    const file = values.get("file") as File;
    if (file.size > MAX_BYTES)
      throw new UserError(
        `The file is larger than ${formatBytes(MAX_BYTES)}. Use the command inkling decisions import-outcomes.`,
      );
    const lines = (await readText(file)).trimEnd().split(/\r?\n/);
    const report = { read: 0, lines: lines.length, labelled: 0, problems: 0, listed: [] as OutcomeProblem[] };
    setShown(undefined);
    try {
      for (let start = 0; start < lines.length; start += CHUNK) {
        const some = lines.slice(start, start + CHUNK).map((line) => line.slice(0, MAX_LINE));
        const input = { lines: some, replace: values.has("replace") };
        const { labelled, problems } = await call("POST decisions/outcomes", input);
        report.read += some.length;
        report.labelled += labelled;
        report.problems += problems.length;
        report.listed.push(...problems.map((one) => ({ ...one, line: one.line + start })));
        setShown({ ...report, listed: report.listed.slice(0, MAX_LISTED) });
      }
      form.reset();
    } catch (error) {
      if (report.read === 0) throw error;
      const text = messageOf(error).replace(/\.$/, "");
      throw new UserError(
        `${text}. The lines after line ${formatCount(report.read)} may not have been imported. You can import the whole file again.`,
      );
    } finally {
      onImported();
    }
  };
  return (
    <Card title="Import outcomes">
      <Form needs="analyst" action="Import" submit={submit}>
        <Field
          label="File"
          note="A CSV file with the columns `ref,outcome,at`, or one JSON object with these fields per line. `ref` may also be a decision's id. The outcome is `fraud` or `legitimate`; if outcomes that differ are replaced, `none` removes one. A line labels the decisions up to the time `at`, or all if it has none. Good lines apply even if others are wrong."
        >
          <input type="file" name="file" accept=".csv,.txt,.ndjson,.jsonl,text/*" required />
        </Field>
        <label class="inline">
          <input type="checkbox" name="replace" /> Replace outcomes that differ
        </label>
      </Form>
      {shown && <ImportReport of={shown} />}
    </Card>
  );
}

const ImportReport = ({ of: { read, lines, labelled, problems, listed } }: { of: Report }) => (
  <>
    <p role="status">
      {`Read ${formatCount(read)} of ${countOf(lines, "line")}. Labelled ${countOf(labelled, "decision")}; ${countOf(problems, "line")} with a problem.`}
    </p>
    <Table
      caption="Lines with a problem"
      rows={listed}
      rowKey={({ line }) => line}
      columns={[
        ["Line", ({ line }) => formatCount(line)],
        ["Problem", ({ problem }) => <State of={problem} />],
        ["Reason", ({ message }) => message],
      ]}
      empty="No line has a problem."
      first={20}
    />
    {problems > listed.length && (
      <p class="faint">{`The first ${formatCount(listed.length)} of ${formatCount(problems)}.`}</p>
    )}
  </>
);
