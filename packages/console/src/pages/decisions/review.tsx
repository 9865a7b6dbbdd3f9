// review.tsx: shows the decisions that a rule sent to review, one at a time, oldest first, to be labelled by keyboard.

import type { Outcome } from "@inkling/contract";
import { useContext, useState } from "preact/hooks";
import type { Queue as LoadedQueue } from "../../answers.ts";
import { call } from "../../api.ts";
import { Button, Card } from "../../components/basics.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { formatCount } from "../../format.ts";
import { useAction, useLoad } from "../../hooks.ts";
import { useRefusal } from "../../session.ts";
import { StatusContext } from "../../status.tsx";
import { OutcomeForm, StoredDecision, setOutcome } from "./decision.tsx";

/** Decisions to load at a time. */
const BATCH = 100;

export function ReviewPage() {
  const loading = useLoad((signal) => call("GET decisions/review", { limit: BATCH }, signal), []);
  const done = useState<readonly string[]>([]);
  return (
    <Loaded from={loading}>
      {(queue) => <Queue key={queue} queue={queue} done={done} again={loading.reload} />}
    </Loaded>
  );
}

interface QueueProps {
  readonly queue: LoadedQueue;
  /** Ids of the decisions that were labelled since the page was opened, oldest first. */
  readonly done: readonly [ids: readonly string[], setIds: (ids: readonly string[]) => void];
  /** Loads the queue again. */
  readonly again: () => void;
}

function Queue({ queue: { decisions, waiting }, done: [ids, setIds], again }: QueueProps) {
  const [at, setAt] = useState(0);
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const [start, isBusy] = useAction();
  const refusal = useRefusal("analyst");
  const { reload: reloadStatus } = useContext(StatusContext);
  const decision = decisions[at];
  const last = ids.at(-1);
  const left = waiting - outcomes.size;
  const go = (index: number) => {
    if (index > decisions.length) return again();
    setAt(Math.max(0, index));
    scrollTo(0, 0);
  };
  const labelled = (id: string, outcome: Outcome) => {
    const known = new Map(outcomes).set(id, outcome);
    setOutcomes(known);
    setIds([...ids.filter((one) => one !== id), id]);
    reloadStatus();
    const next = decisions.findIndex((one, i) => i > at && !known.has(one.id));
    go(next < 0 ? decisions.length : next);
    if (known.size === decisions.length && waiting > known.size) again();
  };
  const undo = () =>
    start(async () => {
      if (last === undefined) return;
      await setOutcome(last, "none");
      setIds(ids.slice(0, -1));
      reloadStatus();
      const index = decisions.findIndex(({ id }) => id === last);
      if (index < 0) return again();
      setOutcomes(new Map([...outcomes].filter(([id]) => id !== last)));
      go(index);
    });
  return (
    <>
      <Card>
        <p role="status">
          {decision
            ? `Decision ${at + 1} of ${formatCount(waiting)}. `
            : decisions.length > 0 && "This is the end of the queue. "}
          {left === 0 ? "No decisions are waiting for review." : `${formatCount(left)} without an outcome.`}
        </p>
        {decisions.length === 0 && (
          <p class="faint">
            A rule with <code>review = true</code> sends its decisions here.
          </p>
        )}
        {decision && (
          <OutcomeForm
            of={{ ...decision, outcome: outcomes.get(decision.id) ?? null }}
            hasKeys
            done={(outcome) => outcome && labelled(decision.id, outcome)}
          />
        )}
        <p class="actions">
          <Button text="Previous" shortcut="k" onClick={() => go(at - 1)} />
          <Button text="Next" shortcut="j" onClick={() => go(at + 1)} />
          <Button
            text="Undo"
            shortcut="u"
            isBusy={isBusy}
            refusal={refusal ?? (last === undefined ? "You have not labelled a decision yet." : undefined)}
            onClick={undo}
          />
        </p>
      </Card>
      {decision && <StoredDecision key={`facts of ${decision.id}`} of={decision} />}
    </>
  );
}
