// history.tsx: shows the published rulesets, a page for each with what it changed, and a button that rolls back to it.

import { call } from "../../api.ts";
import { Badge, Card, Code } from "../../components/basics.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Action } from "../../components/operation.tsx";
import { ResourceDetail, ResourceList } from "../../components/resource.tsx";
import { TwoLines } from "../../components/table.tsx";
import { useLoad } from "../../hooks.ts";
import { Changes, Effect } from "./changes.tsx";

interface HistoryProps {
  /** Number of the newest ruleset; 0 if there is none. */
  readonly newest: number;
  readonly onRollback: () => void;
}

export const History = ({ newest, onRollback }: HistoryProps) => (
  <ResourceList
    route="GET rulesets"
    caption="History"
    empty="No ruleset yet, so the score decides. Publish the ruleset above to begin."
    first={10}
    changes={newest}
    columns={[
      [
        "Ruleset",
        ({ number, restores }) => (
          <TwoLines below={restores && `ruleset ${restores} again`}>
            <a href={`#/rules/${number}`}>{number}</a>{" "}
            {number === newest && <Badge kind="good">active</Badge>}
          </TwoLines>
        ),
      ],
      "created_at",
      "note",
    ]}
    actions={({ number }) =>
      number !== newest && <RollBack number={number} newest={newest} onDone={onRollback} />
    }
  />
);

/** A published ruleset, by its number. */
export const RulesetDetail = ({ id }: { id: string }) => (
  <ResourceDetail
    route="GET rulesets/{id}"
    id={id}
    noun="ruleset"
    page="rules"
    nameOf={({ number }) => `Ruleset ${number}`}
    fields={["created_at", "note", ["Text", ({ text }) => <Code text={text} />]]}
  >
    {({ number, text }) => <Comparison number={number} text={text} />}
  </ResourceDetail>
);

/** What a ruleset changed compared with the previous number. Numbers have no gaps. */
function Comparison({ number, text }: { number: number; text: string }) {
  const before = useLoad(
    async (signal) =>
      number === 1 ? "" : (await call("GET rulesets/{id}", { id: String(number - 1) }, signal)).text,
    [],
  );
  const title = `Changes in ruleset ${number}`;
  return (
    <Card title={title}>
      <Loaded from={before}>{(earlier) => <Changes label={title} before={earlier} after={text} />}</Loaded>
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
  return (
    <Action
      route="POST rulesets/{id}/restore"
      input={{ id, current: newest }}
      text="Roll back"
      of={`to ruleset ${number}`}
      ask={
        <>
          <p>Its text is published again under a new number.</p>
          <Effect text={async (signal) => (await call("GET rulesets/{id}", { id }, signal)).text} />
        </>
      }
      isDanger
      message={(published) => `Ruleset ${published.number} is active, with the text of ruleset ${number}.`}
      done={onDone}
    />
  );
}
