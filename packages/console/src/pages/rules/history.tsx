// history.tsx: shows the published rulesets: what each ruleset changed, and a button that rolls back to it.

import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { Badge, Button, Card, RelativeTime } from "../../components/basics.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Action } from "../../components/operation.tsx";
import { ResourceList } from "../../components/resource.tsx";
import { TwoLines } from "../../components/table.tsx";
import { useLoad } from "../../hooks.ts";
import { Changes } from "./changes.tsx";
import { Effect } from "./effect.tsx";

interface HistoryProps {
  /** Number of the newest ruleset; 0 if there is none. */
  readonly newest: number;
  readonly onRollback: () => void;
}

export function History({ newest, onRollback }: HistoryProps) {
  const [shown, setShown] = useState<number>();
  const changes = (number: number) => {
    const isShown = number === shown;
    const text = isShown ? "Hide" : "Show";
    const toggle = () => setShown(isShown ? undefined : number);
    return <Button text={text} label={`${text} changes in ruleset ${number}`} onClick={toggle} />;
  };
  return (
    <>
      <ResourceList
        route="GET rulesets"
        rows={({ rulesets }) => rulesets}
        rowKey={({ number }) => `${number}`}
        caption="History"
        empty="No ruleset yet, so the score decides. Publish the ruleset above to begin."
        first={10}
        changes={newest}
        columns={[
          [
            "Ruleset",
            ({ number, restores }) => (
              <TwoLines below={restores && `ruleset ${restores} again`}>
                {number} {number === newest && <Badge kind="good">active</Badge>}
              </TwoLines>
            ),
          ],
          ["Published", ({ created_at }) => <RelativeTime iso={created_at} />],
          "author",
          ["Note", ({ note }) => note],
          ["Changes", ({ number }) => changes(number)],
        ]}
        actions={({ number }) =>
          number !== newest && <RollBack number={number} newest={newest} onDone={onRollback} />
        }
      />
      <div aria-live="polite">{shown !== undefined && <Comparison key={shown} number={shown} />}</div>
    </>
  );
}

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
    <Card title={title}>
      <Loaded from={loading} waiting="Comparing …">
        {(texts) => <Changes label={title} {...texts} />}
      </Loaded>
    </Card>
  );
}

interface RollBackProps {
  readonly number: number;
  readonly newest: number;
  readonly onDone: () => void;
}

function RollBack({ number, newest, onDone }: RollBackProps) {
  const id = `${number}`;
  const details = (
    <>
      <p>Its text is published again under a new number.</p>
      <Effect text={async (signal) => (await call("GET rulesets/{id}", { id }, signal)).text} />
    </>
  );
  return (
    <Action
      route="POST rulesets/{id}/restore"
      input={{ id, current: newest }}
      text="Roll back"
      label={`Roll back to ruleset ${number}`}
      question={[`Roll back to ruleset ${number}?`, details, "Roll back"]}
      isDanger
      message={(published) => `Ruleset ${published.number} is active, with the text of ruleset ${number}.`}
      done={onDone}
    />
  );
}
