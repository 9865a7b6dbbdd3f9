// feeds.tsx: every feed's state, age and size; those that need attention first.

import type { Feed, UnusedFeed } from "@inkling/server/admin-answers";
import { Badge, ExternalLink, type Kind } from "../../components/basics.tsx";
import { Meter, Sparkline } from "../../components/chart.tsx";
import { ConfirmButton } from "../../components/dialog.tsx";
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

/** Turns a feed on or off. */
type Choose = (id: string, on: boolean) => Promise<void>;

export function FeedsCard({ feeds, choose }: { feeds: readonly Feed[]; choose: Choose }) {
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
        ["Change", (feed) => <Switch feed={feed} choose={choose} />],
      ]}
      empty="There is no release, or it names no feeds."
    />
  );
}

/** Feeds that the release does not have: off, or waiting for the next build. */
export const UnusedFeedsCard = ({ feeds, choose }: { feeds: readonly UnusedFeed[]; choose: Choose }) =>
  feeds.length > 0 && (
    <TableCard
      caption={`Not in use (${feeds.length})`}
      rows={feeds.toSorted((a, b) => a.id.localeCompare(b.id))}
      rowKey={({ id }) => id}
      columns={[
        ["Feed", nameOf],
        ["State", ({ on }) => <Badge kind="faint">{on ? "in the next build" : "off"}</Badge>],
        ["Licence", ({ licence }) => licence],
        ["Change", (feed) => <Switch feed={feed} choose={choose} />],
      ]}
      empty=""
    />
  );

interface SwitchProps {
  readonly feed: Pick<Feed, "id" | "on" | "needs_agreement">;
  readonly choose: Choose;
}

function Switch({ feed: { id, on, needs_agreement }, choose }: SwitchProps) {
  if (on === null) return null; // this server does not build
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

type Named = Pick<Feed, "id" | "title" | "homepage" | "sets" | "own">;

/** Lists that come with Inkling, and files, have a page of the documentation instead of a homepage. */
const nameOf = ({ id, title, homepage, sets, own }: Named) => (
  <TwoLines below={title === id ? sets : title}>
    {homepage?.startsWith("http") ? <ExternalLink href={homepage} text={id} /> : <strong>{id}</strong>}
    {own && <Badge kind="faint">your own</Badge>}
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
