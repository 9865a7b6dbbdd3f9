// feeds.tsx: every feed's state, age and size; those that need attention first.

import type { Feed } from "@inkling/server/admin-answers";
import { Badge, ExternalLink, type Kind } from "../../components/basics.tsx";
import { Meter, Sparkline } from "../../components/chart.tsx";
import { TableCard, TwoLines } from "../../components/table.tsx";
import { formatCount, formatDuration, shortenUrls } from "../../format.ts";

/** Smaller comes first. */
function rankOf({ pending, state, stale, error }: Feed): number {
  if (pending) return 0;
  if (state === "refused" || state === "expired") return 1;
  if (stale || error) return 2;
  return state === "loaded" ? 3 : 4;
}

const byRank = (a: Feed, b: Feed) => rankOf(a) - rankOf(b) || a.id.localeCompare(b.id);

export function FeedsCard({ feeds }: { feeds: readonly Feed[] }) {
  const loaded = feeds.filter(({ state }) => state === "loaded").length;
  return (
    <TableCard
      caption={`Feeds (${loaded} of ${feeds.length} loaded)`}
      rows={feeds.toSorted(byRank)}
      rowKey={({ id }) => id}
      columns={[
        ["Feed", nameOf],
        ["State", stateOf],
        ["Age", ageOf],
        ["Entries", entriesOf, "number"],
        ["Licence", ({ licence, attribution }) => <TwoLines below={attribution}>{licence}</TwoLines>],
      ]}
      empty="There is no release, or it names no feeds."
    />
  );
}

const nameOf = ({ id, title, homepage, sets }: Feed) => (
  <TwoLines below={title === id ? sets : title}>
    {homepage ? <ExternalLink href={homepage} text={id} /> : <strong>{id}</strong>}
  </TwoLines>
);

const KINDS: Readonly<Record<string, Kind>> = { loaded: "good", missing: "faint", stale: "warn" };

function stateOf({ id, state, stale, error, pending }: Feed) {
  const text = pending ? "needs review" : stale ? "stale" : state;
  return (
    <>
      <Badge kind={KINDS[text] ?? "bad"}>{text}</Badge>
      {error && (
        <small class="bad" title={error}>
          {shortenUrls(error)}
        </small>
      )}
      {pending && <small>{`${pending.why}. To accept it: inkling data update --accept ${id}`}</small>}
    </>
  );
}

/** Age against the age at which this feed is stale. */
function ageOf({ age_seconds, cadence_hours, stale_hours }: Feed) {
  if (age_seconds === null) return "–";
  const text = formatDuration(age_seconds);
  const part = age_seconds / 3600 / (stale_hours ?? Number.POSITIVE_INFINITY);
  const color = part > 1 ? "bad" : part > 0.7 ? "warn" : "good";
  const cadence = cadence_hours ? `published every ${formatDuration(cadence_hours * 3600)}` : undefined;
  return <span title={cadence}>{stale_hours ? <Meter part={part} text={text} color={color} /> : text}</span>;
}

function entriesOf({ entries, history }: Feed) {
  const values = history.map((release) => release.entries);
  const [first = 0, last = 0] = [values[0], values.at(-1)];
  const label = `Entries over ${values.length} releases, from ${formatCount(first)} to ${formatCount(last)}`;
  return (
    <>
      {formatCount(entries)}
      {values.length > 1 && <Sparkline values={values} label={label} />}
    </>
  );
}
