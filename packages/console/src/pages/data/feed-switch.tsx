// feed-switch.tsx: turns a feed on or off, or states why that is not possible here.

import type { Feed } from "@inkling/server/admin-answers";
import { Action } from "../../components/operation.tsx";
import { formatCount } from "../../format.ts";

interface FeedSwitchProps {
  readonly feed: Pick<Feed, "id" | "on" | "needs_agreement" | "history">;
  readonly onChosen: () => void;
  /** Whether the component shows the reason if there is no switch. Set on the feed's own page. */
  readonly isExplained?: boolean;
}

export function FeedSwitch({ feed, onChosen, isExplained }: FeedSwitchProps) {
  const { id, on, needs_agreement, history } = feed;
  if (on === null) return isExplained ? <NoSwitch /> : null;
  if (!on && needs_agreement) return <small>{`To read its terms, run: inkling feeds enable ${id}`}</small>;
  const entries = history.at(-1)?.entries;
  const effect = entries === undefined ? "" : `, so its ${formatCount(entries)} entries no longer count`;
  const details = on ? `The next build leaves it out${effect}.` : "The next build includes it.";
  const word = on ? "off" : "on";
  return (
    <Action
      route="POST data/feeds"
      input={{ id, on: !on }}
      text={`Turn ${word}`}
      label={`Turn ${word} ${id}`}
      question={[`Turn ${id} ${word}?`, details, `Turn ${word}`]}
      isDanger={on}
      message={`${id} is ${word}: a build follows within seconds`}
      done={onChosen}
    />
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
