// feed-switch.tsx: turns a feed on or off, and accepts its held copy, or states why that is not possible here.

import { copyName } from "@inkling/contract";
import type { Feed } from "../../answers.ts";
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
  const effect = entries === undefined ? "" : `, so its entries (${formatCount(entries)}) no longer count`;
  const details = on ? `The next build leaves it out${effect}.` : "The next build includes it.";
  const word = on ? "off" : "on";
  return (
    <Action
      route="POST data/feeds"
      input={{ id, on: !on }}
      text={`Turn ${word}`}
      of={id}
      ask={details}
      isDanger={on}
      message={`${id} is ${word}. A build starts within seconds.`}
      done={onChosen}
    />
  );
}

interface AcceptProps {
  readonly of: Feed;
  readonly onChosen: () => void;
}

/** Uses a feed's held copy, or states how if this server does not build. */
export function Accept({ of: { id, on, held }, onChosen }: AcceptProps) {
  if (held === null) return null;
  const copy = copyName(id, held.sha256);
  if (on === null)
    return <small>{`To use it, run on the host that builds: inkling data update --accept ${copy}`}</small>;
  return (
    <Action
      route="POST data/accept"
      input={{ copies: [copy] }}
      text="Use the new copy"
      of={`of ${id}`}
      ask={`It is held: ${held.why}. Use it only if it is right.`}
      isDanger
      message={`A build with the new copy of ${id} starts within seconds.`}
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
