// feeds.tsx: every feed's state, age and size; those that need attention first.

import { Badge, Card, ExternalLink, type Kind } from "../../components/basics.tsx";
import { Meter, Sparkline } from "../../components/meter.tsx";
import { Table } from "../../components/table.tsx";
import { formatCount, formatDuration, shortenUrls } from "../../format.ts";
import type { Feed } from "../../types.ts";

/** Smaller comes first. */
function rankOf({ pending, state, stale, error }: Feed): number {
  if (pending) return 0;
  if (state === "refused" || state === "expired") return 1;
  if (stale || error) return 2;
  return state === "loaded" ? 3 : 4;
}

export function FeedsCard({ feeds }: { feeds: readonly Feed[] }) {
  const loaded = feeds.filter(({ state }) => state === "loaded").length;
  return (
    <Card title={`Feeds (${loaded} of ${feeds.length} loaded)`}>
      <Table
        caption="Feeds"
        rows={[...feeds].sort((a, b) => rankOf(a) - rankOf(b) || a.id.localeCompare(b.id))}
        rowKey={({ id }) => id}
        columns={[
          { name: "Feed", cell: (feed) => <FeedName feed={feed} /> },
          { name: "State", cell: (feed) => <FeedState feed={feed} /> },
          { name: "Age", cell: (feed) => <Age feed={feed} /> },
          { name: "Entries", isNumber: true, cell: (feed) => <Entries feed={feed} /> },
          {
            name: "Licence",
            cell: ({ licence, attribution }) => (
              <>
                {licence}
                {attribution && <small>{attribution}</small>}
              </>
            ),
          },
        ]}
        empty="There is no release, or it names no feeds."
      />
    </Card>
  );
}

const FeedName = ({ feed: { id, title, homepage, sets } }: { feed: Feed }) => (
  <>
    {homepage ? <ExternalLink href={homepage}>{id}</ExternalLink> : <strong>{id}</strong>}
    <small>{title === id ? sets : title}</small>
  </>
);

const STATE_KINDS: Readonly<Record<Feed["state"], Kind>> = {
  loaded: "good",
  missing: "faint",
  refused: "bad",
  expired: "bad",
};

function FeedState({ feed: { id, state, stale, error, pending } }: { feed: Feed }) {
  const kind = pending ? "bad" : stale ? "warn" : STATE_KINDS[state];
  return (
    <>
      <Badge kind={kind}>{pending ? "needs review" : stale ? "stale" : state}</Badge>
      {error && (
        <small class="bad" title={error}>
          {shortenUrls(error)}
        </small>
      )}
      {pending && (
        <small>
          {pending.why}. To accept it: inkling data update --accept {id}
        </small>
      )}
    </>
  );
}

/** Age against the age at which this feed is stale. */
function Age({ feed: { age_seconds, cadence_hours, stale_hours } }: { feed: Feed }) {
  if (age_seconds === null) return <>–</>;
  const text = formatDuration(age_seconds);
  const part = stale_hours ? age_seconds / 3600 / stale_hours : undefined;
  return (
    <span title={cadence_hours ? `published every ${formatDuration(cadence_hours * 3600)}` : undefined}>
      {part === undefined ? (
        text
      ) : (
        <Meter part={part} text={text} kind={part > 1 ? "bad" : part > 0.7 ? "warn" : "good"} />
      )}
    </span>
  );
}

function Entries({ feed: { entries, history } }: { feed: Feed }) {
  const values = history.map((release) => release.entries);
  const [first = 0, last = 0] = [values[0], values.at(-1)];
  return (
    <>
      {formatCount(entries)}
      {values.length > 1 && (
        <Sparkline
          values={values}
          label={`Entries over ${values.length} releases, from ${formatCount(first)} to ${formatCount(last)}`}
        />
      )}
    </>
  );
}
