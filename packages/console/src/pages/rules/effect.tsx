// effect.tsx: shows how a ruleset would have decided about stored decisions, before somebody publishes it.

import type { Replayed } from "@inkling/server/admin-answers";
import { call } from "../../api.ts";
import { Button } from "../../components/basics.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { useLoad } from "../../hooks.ts";

type Effect = Pick<Replayed, "summary" | "stopped">;

export const effectOf = (text: string, signal?: AbortSignal): Promise<Effect> =>
  call("POST rulesets/replay", { text }, signal);

/** @param load returns the text of the ruleset */
export function LoadedEffect({ load }: { load: (signal: AbortSignal) => Promise<string> }) {
  const loading = useLoad(async (signal) => effectOf(await load(signal), signal), []);
  return (
    <Loaded from={loading} waiting="Replaying stored decisions …">
      {(effect) => <EffectText of={effect} />}
    </Loaded>
  );
}

const EffectText = ({ of: { summary, stopped } }: { of: Effect }) => (
  <p>
    <strong>{summary}</strong>
    {stopped && " Older decisions were left out."}
  </p>
);

export interface Question {
  readonly effect: Effect;
  readonly answer: (isYes: boolean) => void;
}

export function PublishDialog({ of: { effect, answer } }: { of: Question }) {
  return (
    <Dialog title="Publish this ruleset?" onClose={() => answer(false)}>
      <EffectText of={effect} />
      <p>All servers apply it within a second.</p>
      <p class="actions">
        <Button text="Cancel" onClick={() => answer(false)} />
        <Button text="Publish the ruleset" class="danger" onClick={() => answer(true)} />
      </p>
    </Dialog>
  );
}
