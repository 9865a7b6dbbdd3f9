// history.tsx: shows every stored release's answer about a value, and thus when the answer changed.

import { useState } from "preact/hooks";
import type { Answer, History } from "../../answers.ts";
import { call } from "../../api.ts";
import { Badge, Button, Card, RelativeTime } from "../../components/basics.tsx";
import { Table, TwoLines } from "../../components/table.tsx";
import { useAction } from "../../hooks.ts";
import { locationOf, verdictOf } from "./answers.ts";

type Row = History["history"][number];

/** Formats a release's answer about a value as one text. */
const textOf = (answer: Answer) =>
  [locationOf(answer), verdictOf(answer, []).texts.join(", ")].filter(Boolean).join(": ");

/** Loads the answers on demand, because opening every stored release takes time. */
export function HistoryCard({ value }: { value: string }) {
  const [rows, setRows] = useState<readonly Row[]>();
  const [start, isBusy] = useAction();
  const load = async () => setRows((await call("POST lookup/history", { value })).history);
  return (
    <Card class="wide" title="History">
      {rows === undefined ? (
        <p class="actions">
          <Button text="Look up in every stored release" isBusy={isBusy} onClick={() => start(load)} />
        </p>
      ) : (
        <Table
          caption="History"
          rows={rows}
          rowKey={({ release }) => release}
          columns={[
            ["Release", releaseCell],
            ["Answer without overrides", (row) => answerCell(row, rows)],
          ]}
          empty="No release is kept."
        />
      )}
    </Card>
  );
}

const releaseCell = ({ release, created_at, current }: Row) => (
  <TwoLines below={<RelativeTime iso={created_at} />}>
    <code>{release}</code> {current && <Badge kind="good">current</Badge>}
  </TwoLines>
);

function answerCell({ answer, problem, release }: Row, rows: readonly Row[]) {
  if (answer === null) return <span class="problem">{problem}</span>;
  const before = rows[rows.findIndex((row) => row.release === release) + 1]?.answer;
  const text = textOf(answer);
  return (
    <>
      {text} {before && textOf(before) !== text && <Badge kind="warn">changed</Badge>}
    </>
  );
}
