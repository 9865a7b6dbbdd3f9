// history.tsx: shows the published rulesets: what each ruleset changed, and a button that rolls back to it.

import type { ListedRuleset } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { Badge, Button, Card, RelativeTime } from "../../components/basics.tsx";
import { ConfirmButton } from "../../components/dialog.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Table, TwoLines } from "../../components/table.tsx";
import { notify, useLoad } from "../../hooks.ts";
import { Changes } from "./changes.tsx";
import { LoadedEffect } from "./effect.tsx";

interface HistoryProps {
  /** Newest first. */
  readonly rulesets: readonly ListedRuleset[];
  readonly onRollback: () => void;
}

const SHOWN = 10;

export function History({ rulesets, onRollback }: HistoryProps) {
  const [isWhole, setWhole] = useState(false);
  const [shown, setShown] = useState<number>();
  const changes = ({ number }: ListedRuleset) => {
    const isShown = number === shown;
    const text = isShown ? "Hide" : "Show";
    const toggle = () => setShown(isShown ? undefined : number);
    return <Button text={text} label={`${text} changes in ruleset ${number}`} onClick={toggle} />;
  };
  return (
    <Card title="History">
      <Table
        caption="History"
        rows={isWhole ? rulesets : rulesets.slice(0, SHOWN)}
        rowKey={({ number }) => number}
        columns={[
          ["Ruleset", (row) => <Name of={row} isActive={row === rulesets[0]} />],
          ["Published", ({ created_at }) => <RelativeTime iso={created_at} />],
          ["Author", ({ author }) => author],
          ["Note", ({ note }) => note],
          ["Changes", changes],
          [
            "Action",
            (row) => row !== rulesets[0] && <RollBack of={row} newest={rulesets[0]} onDone={onRollback} />,
          ],
        ]}
        empty="No ruleset yet, so the score decides. Publish the ruleset above to begin."
      />
      {!isWhole && rulesets.length > SHOWN && (
        <Button text={`Show all ${rulesets.length}`} onClick={() => setWhole(true)} />
      )}
      <div aria-live="polite">{shown !== undefined && <Comparison key={shown} number={shown} />}</div>
    </Card>
  );
}

const Name = ({ of: { number, restores }, isActive }: { of: ListedRuleset; isActive: boolean }) => (
  <TwoLines below={restores && `ruleset ${restores} again`}>
    {number} {isActive && <Badge kind="good">active</Badge>}
  </TwoLines>
);

/** What a ruleset changed compared with the previous number. Numbers have no gaps. */
function Comparison({ number }: { number: number }) {
  const textOf = async (id: number, signal: AbortSignal) =>
    id === 0 ? "" : (await call("GET rulesets/{id}", { id: String(id) }, signal)).text;
  const loading = useLoad(
    async (signal) => ({ before: await textOf(number - 1, signal), after: await textOf(number, signal) }),
    [],
  );
  const title = `Changes in ruleset ${number}`;
  return (
    <>
      <h3>{title}</h3>
      <Loaded from={loading} waiting="Comparing …">
        {(texts) => <Changes label={title} {...texts} />}
      </Loaded>
    </>
  );
}

interface RollBackProps {
  readonly of: ListedRuleset;
  readonly newest: ListedRuleset | undefined;
  readonly onDone: () => void;
}

function RollBack({ of: { number }, newest, onDone }: RollBackProps) {
  const run = async () => {
    const input = { id: String(number), current: newest?.number ?? 0 };
    const published = await call("POST rulesets/{id}/restore", input);
    notify(`Ruleset ${published.number} is active, with the text of ruleset ${number}.`);
    onDone();
  };
  const textOf = async (signal: AbortSignal) =>
    (await call("GET rulesets/{id}", { id: String(number) }, signal)).text;
  const details = (
    <>
      <p>Its text is published again under a new number. All servers apply it within a second.</p>
      <LoadedEffect load={textOf} />
    </>
  );
  const question = [`Roll back to ruleset ${number}?`, details, "Roll back"] as const;
  const label = `Roll back to ruleset ${number}`;
  return <ConfirmButton text="Roll back" label={label} question={question} isDanger run={run} />;
}
