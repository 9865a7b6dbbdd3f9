// feed-switch.tsx: turns a feed on or off, or states why that is not possible here.

import type { Feed } from "@inkling/server/admin-answers";
import { api } from "../../api.ts";
import { ConfirmButton } from "../../components/dialog.tsx";
import { formatCount } from "../../format.ts";
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
  readonly feed: Pick<Feed, "id" | "on" | "needs_agreement" | "history">;
  readonly choose: Choose;
  /** Whether the component shows the reason if there is no switch. Set on the feed's own page. */
  readonly isExplained?: boolean;
}

export function FeedSwitch({ feed, choose, isExplained }: FeedSwitchProps) {
  const { id, on, needs_agreement, history } = feed;
  if (on === null) return isExplained ? <NoSwitch /> : null;
  if (on) {
    const entries = history.at(-1)?.entries;
    const effect = entries === undefined ? "" : `, so its ${formatCount(entries)} entries no longer count`;
    const details = `The next build leaves it out${effect}.`;
    const question = [`Turn ${id} off?`, details, "Turn off"] as const;
    const run = () => choose(id, false);
    return <ConfirmButton text="Turn off" label={`Turn off ${id}`} question={question} isDanger run={run} />;
  }
  if (needs_agreement) return <small>{`To read its terms, run: inkling feeds enable ${id}`}</small>;
  const question = [`Turn ${id} on?`, "The next build includes it.", "Turn on"] as const;
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
      This server does not build releases. Turn the feed on or off on the server that builds them, with{" "}
      <code>inkling feeds enable</code> or <code>inkling feeds disable</code>.
    </small>
  </>
);
