// feeds.tsx: shows every feed's state, age and size. Feeds that need attention come first. An error that several feeds
// share is shown once.

import type { Feed, UnusedFeed } from "../../answers.ts";
import { Badge, Card, LinkList, Notice, State } from "../../components/basics.tsx";
import { Meter } from "../../components/chart.tsx";
import { List } from "../../components/list.tsx";
import { TableCard, TwoLines } from "../../components/table.tsx";
import { formatCount, formatDuration, shortenUrls } from "../../format.ts";
import { feedRank, feedState, needsAttention } from "../../status.tsx";
import { Accept, FeedSwitch } from "./feed-switch.tsx";

/** Number of rows to show at first. On a phone, each row is a block. */
const FIRST_ROWS = 10;

export const StateBadge = ({ of }: { of: Feed }) => (
  <>
    <State of={feedState(of)} />
    {of.on === false && <Badge kind="faint">off from the next build on</Badge>}
  </>
);

const byRank = (a: Feed, b: Feed) => feedRank(a) - feedRank(b) || a.id.localeCompare(b.id);

interface CardProps<One> {
  readonly feeds: readonly One[];
  readonly onChosen: () => void;
}

export function FeedsCard({ feeds, onChosen }: CardProps<Feed>) {
  const loaded = feeds.filter(({ state }) => state === "loaded").length;
  const states = [...new Set(feeds.map(feedState))].sort();
  const groups = groupErrors(feeds);
  const grouped = new Set(groups.flatMap((group) => group.ids));
  const caption = `Feeds (${loaded} of ${feeds.length} loaded)`;
  return (
    <Card title={caption}>
      {groups.map((group) => (
        <ErrorGroup key={group.error} {...group} />
      ))}
      <List
        caption={caption}
        first={FIRST_ROWS}
        rows={feeds.toSorted(byRank)}
        rowKey={({ id }) => id}
        textOf={({ id, title, sets }) => `${id} ${title} ${sets}`}
        choices={[
          ["", `all (${feeds.length})`, () => true],
          ["attention", `needs attention (${feeds.filter(needsAttention).length})`, needsAttention],
          ...states.map((state) => [state, state, (feed: Feed) => feedState(feed) === state] as const),
        ]}
        columns={[
          ["Feed", nameOf],
          ["State", (feed) => <StateOf of={feed} isGrouped={grouped.has(feed.id)} onChosen={onChosen} />],
          ["Age", ageOf],
          ["Entries", ({ entries }) => formatCount(entries), "number"],
        ]}
        actions={(feed) => <FeedSwitch feed={feed} onChosen={onChosen} />}
        empty="There is no release, or the release has no feeds."
      />
    </Card>
  );
}

/** Feeds that the release does not contain, because they are off or wait for the next build. */
export const UnusedFeedsCard = ({ feeds, onChosen }: CardProps<UnusedFeed>) =>
  feeds.length > 0 && (
    <TableCard
      caption={`Not in use (${feeds.length})`}
      first={FIRST_ROWS}
      rows={feeds.toSorted((a, b) => a.id.localeCompare(b.id))}
      rowKey={({ id }) => id}
      columns={[
        ["Feed", nameOf],
        ["State", unusedState],
        ["Change", (feed) => <FeedSwitch feed={feed} onChosen={onChosen} />],
      ]}
      empty=""
    />
  );

export const unusedState = ({ on }: Pick<Feed, "on">) => (
  <Badge kind="faint">{on ? "in the next build" : "off"}</Badge>
);

interface ErrorOfSeveral {
  readonly error: string;
  readonly ids: readonly string[];
}

/** Groups errors that several feeds share. URLs and feed names in the errors are ignored. */
function groupErrors(feeds: readonly Feed[]): ErrorOfSeveral[] {
  const byText = new Map<string, string[]>();
  for (const { id, error } of feeds) {
    if (error === null) continue;
    const text = error.replaceAll(/https?:\/\/[^\s,;)]+/g, "…").replaceAll(id, "…");
    byText.set(text, [...(byText.get(text) ?? []), id]);
  }
  return [...byText].map(([error, ids]) => ({ error, ids })).filter(({ ids }) => ids.length > 1);
}

const ErrorGroup = ({ error, ids }: ErrorOfSeveral) => (
  <Notice kind="bad">
    <details>
      <summary>{`${ids.length} feeds: ${error}`}</summary>
      <p>
        <LinkList links={ids.map((id) => [id, `#/data/${id}`])} />
      </p>
    </details>
  </Notice>
);

type Named = Pick<Feed, "id" | "title" | "sets" | "own">;

const nameOf = ({ id, title, sets, own }: Named) => (
  <TwoLines below={title === id || title === null ? sets : title}>
    <a href={`#/data/${id}`}>{id}</a>
    {own && <Badge kind="faint">your own</Badge>}
  </TwoLines>
);

interface StateProps {
  readonly of: Feed;
  readonly isGrouped: boolean;
  readonly onChosen: () => void;
}

function StateOf({ of: feed, isGrouped, onChosen }: StateProps) {
  const { error, held } = feed;
  return (
    <>
      <StateBadge of={feed} />
      {error && !isGrouped && (
        <small class="bad" title={error}>
          {shortenUrls(error)}
        </small>
      )}
      {error && isGrouped && <small>see above</small>}
      {held && <Accept of={feed} onChosen={onChosen} />}
    </>
  );
}

/** The age, compared with the age at which the feed becomes stale. */
function ageOf({ age_seconds, cadence_hours, stale_hours }: Feed) {
  if (age_seconds === null) return "–";
  const text = formatDuration(age_seconds);
  const part = age_seconds / 3600 / (stale_hours ?? Number.POSITIVE_INFINITY);
  const color = part > 1 ? "bad" : part > 0.7 ? "warn" : "good";
  const cadence = cadence_hours ? `published every ${formatDuration(cadence_hours * 3600)}` : undefined;
  return <span title={cadence}>{stale_hours ? <Meter part={part} text={text} color={color} /> : text}</span>;
}
