// feed-switch.tsx: turns a feed on or off, or says why that is not possible here.

import type { Feed } from "@inkling/server/admin-answers";
import { api } from "../../api.ts";
import { ConfirmButton } from "../../components/dialog.tsx";
import { notify } from "../../hooks.ts";

/** Turns a feed on or off. */
export type Choose = (id: string, on: boolean) => Promise<void>;

/** @param onChosen called after the change */
export const chooser =
  (onChosen: () => void): Choose =>
  async (id, on) => {
    await api("data/feeds", { method: "POST", body: { id, on } });
    notify(`${id} is ${on ? "on" : "off"}: a build follows within seconds`);
    onChosen();
  };

interface FeedSwitchProps {
  readonly feed: Pick<Feed, "id" | "on" | "needs_agreement">;
  readonly choose: Choose;
  /** Explains a switch that is missing: on a feed's own page. */
  readonly isExplained?: boolean;
}

export function FeedSwitch({ feed: { id, on, needs_agreement }, choose, isExplained }: FeedSwitchProps) {
  if (on === null) return isExplained ? <NoSwitch /> : null;
  if (on) {
    const details = "The next build leaves it out. What it says no longer counts then.";
    const question = [`Turn ${id} off?`, details, "Turn off"] as const;
    const run = () => choose(id, false);
    return <ConfirmButton text="Turn off" label={`Turn off ${id}`} question={question} isDanger run={run} />;
  }
  if (needs_agreement) return <small>{`To read its terms: inkling feeds enable ${id}`}</small>;
  const question = [`Turn ${id} on?`, "The next build reads it.", "Turn on"] as const;
  return (
    <ConfirmButton text="Turn on" label={`Turn on ${id}`} question={question} run={() => choose(id, true)} />
  );
}

const NoSwitch = () => (
  <>
    <button type="button" class="quiet" disabled>
      Turn off
    </button>
    <small>
      This server does not build releases. Turn the feed on or off where they are built, with{" "}
      <code>inkling feeds enable</code> or <code>inkling feeds disable</code>.
    </small>
  </>
);
