// feed.tsx: one feed: state, ages, last error, licence, entries, and what it claims about a value.

import type { Answer, Evidence, Feed, Lookup, UnusedFeed } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Card, Definitions, ExternalLink, Linked, Notice, RelativeTime } from "../../components/basics.tsx";
import { Form, TextField, textOf } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Table, TableCard } from "../../components/table.tsx";
import { flagName, formatCount, formatDuration, formatLabel, formatPercent } from "../../format.ts";
import { type PageProps, useLoad } from "../../hooks.ts";
import { isProblem } from "../lookup/answers.ts";
import { chooser, FeedSwitch } from "./feed-switch.tsx";
import { entriesOf, StateBadge, unusedState } from "./feeds.tsx";

interface AllFeeds {
  readonly feeds: readonly Feed[];
  readonly unused: readonly UnusedFeed[];
}

export function FeedPage({ rest: id, onRelease }: PageProps) {
  const loading = useLoad((signal) => api<AllFeeds>("data/feeds", { signal }), []);
  const choose = chooser(() => {
    loading.reload();
    onRelease();
  });
  return (
    <>
      <p>
        <a href="#/data">All feeds and releases</a>
      </p>
      <Loaded from={loading}>
        {({ feeds, unused }) => {
          const feed = feeds.find((one) => one.id === id);
          if (feed !== undefined)
            return (
              <>
                <Problems of={feed} />
                <Card title={[id, " ", <StateBadge key="state" of={feed} />]}>
                  <Definitions rows={[...namesOf(feed), ...factsOf(feed)]} />
                  <FeedSwitch feed={feed} choose={choose} isExplained />
                </Card>
                <Claims id={id} />
                <Releases of={feed} />
              </>
            );
          const other = unused.find((one) => one.id === id);
          if (other === undefined)
            return (
              <Card>
                There is no feed <code>{id}</code>.
              </Card>
            );
          return (
            <Card title={[id, " ", <span key="state">{unusedState(other)}</span>]}>
              <Definitions rows={namesOf(other)} />
              <FeedSwitch feed={other} choose={choose} isExplained />
            </Card>
          );
        }}
      </Loaded>
    </>
  );
}

/** What a feed with a release and one without share. */
function namesOf({ id, title, homepage, sets, licence, own }: Feed | UnusedFeed) {
  // lists that come with Inkling, and files, have a page of the documentation instead of a homepage
  const publisher = homepage?.startsWith("http") ? <ExternalLink href={homepage} /> : homepage;
  return [
    ["Title", title !== id && title],
    ["Sets", sets],
    ["Publisher", own && !publisher ? "your own" : publisher],
    ["Licence", licence],
  ] as const;
}

const timeOf = (iso: string | null) => iso && <RelativeTime iso={iso} />;
const durationOf = (seconds: number | null) => seconds !== null && formatDuration(seconds);

const factsOf = (feed: Feed) =>
  [
    ["Notice", feed.attribution && <Linked text={feed.attribution} />],
    ["Entries", <span key="entries">{entriesOf(feed)}</span>],
    [
      "Ignored entries",
      feed.skipped && `${formatCount(feed.skipped.entries)}; the first: ${feed.skipped.first}`,
    ],
    ["Age", durationOf(feed.age_seconds)],
    ["Published every", feed.cadence_hours !== null && formatDuration(feed.cadence_hours * 3600)],
    ["Stale after", feed.stale_hours !== null && formatDuration(feed.stale_hours * 3600)],
    ["Published", timeOf(feed.published_at)],
    ["Fetched", timeOf(feed.fetched_at)],
    ["Copy in use", feed.source],
    ["Last check", timeOf(feed.checked_at)],
    ["Next check", timeOf(feed.next_check_at)],
    ["Failed checks in a row", feed.failures > 0 && formatCount(feed.failures)],
    ["SHA-256", feed.sha256 && <code>{feed.sha256}</code>],
  ] as const;

/** What the operator has to know or do. */
const Problems = ({ of: { id, error, pending, state, stale } }: { of: Feed }) => (
  <>
    {error && <Notice kind="bad">Last error: {error}</Notice>}
    {state === "missing" && (
      <Notice kind="bad">
        No copy of this feed could be loaded, so nothing that it lists counts.{" "}
        <code>inkling data update</code> tries again.
      </Notice>
    )}
    {stale && <Notice kind="warn">The copy in use is older than this feed's copies may be.</Notice>}
    {pending && (
      <Notice kind="warn">
        A new copy waits for you: {pending.why}. To accept it: <code>inkling data update --accept {id}</code>
      </Notice>
    )}
  </>
);

const Releases = ({ of: { history } }: { of: Feed }) => (
  <TableCard
    caption="Entries in each kept release"
    first={5}
    rows={history.toReversed()}
    rowKey={({ release }) => release}
    columns={[
      ["Release", ({ release }) => <code>{release}</code>],
      ["Created", ({ at }) => <RelativeTime iso={at} />],
      ["Entries", ({ entries }) => formatCount(entries), "number"],
    ]}
    empty="No kept release has this feed."
  />
);

interface Claim {
  readonly label: string;
  readonly match: string;
  readonly effect: string;
  readonly why?: string | undefined;
}

/** `claims` are undefined if the server did not look up the value. */
interface Claimed {
  readonly value: string;
  readonly claims: readonly Claim[] | undefined;
}

/** Looks a value up, and shows the part of the evidence that is this feed's. */
function Claims({ id }: { id: string }) {
  const [claimed, setClaimed] = useState<Claimed>();
  const ask = async (values: FormData) => {
    const value = textOf(values, "value");
    const { answers } = await api<Lookup>("lookup", { method: "POST", body: { values: [value] } });
    const [answer] = answers;
    if (answer) setClaimed({ value, claims: claimsIn(answer, id) });
  };
  return (
    <Card title="What it claims about a value">
      <Form action="Look up" submit={ask}>
        <TextField
          label="Value"
          note="An address, a network, a domain or an email address. It is looked up in the release in use, and not logged."
          name="value"
          maxLength={320}
          required
        />
      </Form>
      <div aria-live="polite">
        {claimed && !claimed.claims && (
          <Notice kind="warn">{claimed.value} is no value that can be looked up.</Notice>
        )}
        {claimed?.claims && (
          <>
            <Table
              caption={`Claims of ${id} about ${claimed.value}`}
              rows={claimed.claims}
              rowKey={(_, i) => i}
              columns={CLAIM_COLUMNS}
              empty={`${id} is not in the evidence about ${claimed.value}.`}
            />
            <p>
              <a href={`#/lookup/${encodeURIComponent(claimed.value)}`}>All evidence about it</a>
            </p>
          </>
        )}
      </div>
    </Card>
  );
}

const CLAIM_COLUMNS = [
  ["Label", ({ label }: Claim) => formatLabel(label)],
  ["Match", ({ match }: Claim) => <code>{match}</code>],
  ["Effect", ({ effect }: Claim) => effect],
  ["Why", ({ why }: Claim) => why ?? "–"],
] as const;

function claimsIn(answer: Answer, id: string): readonly Claim[] | undefined {
  if ("summary" in answer) {
    if (isProblem(answer.summary)) return undefined;
    const sources = answer.summary.sources ?? [];
    return sources
      .filter(({ feed }) => feed === id)
      .map(({ share, ...source }) => ({
        label: source.label,
        match: `${formatPercent(share)} of ${answer.network}`,
        effect: describe(source),
      }));
  }
  if ("system" in answer) return undefined;
  const parts = "email" in answer ? [answer.email] : [answer.geolocation, answer.reputation];
  const answered = parts.flatMap((part) => (isProblem(part) ? [] : [part]));
  if (answered.length === 0) return undefined;
  return answered
    .flatMap(({ evidence }): readonly Evidence[] => evidence ?? [])
    .filter(({ feed }) => feed === id)
    .map((one) => ({
      label: one.label,
      match: one.network ?? one.domain ?? answer.value,
      effect: describe(one),
      why: one.why?.replaceAll("_", " "),
    }));
}

function describe({
  effect,
  flags = [],
  members = [],
}: Pick<Evidence, "flags" | "members"> & { effect: string }) {
  const what = [...flags.map(flagName), ...members].join(", ");
  return `${effect === "label" ? "label only" : effect} ${what}`.trim();
}
