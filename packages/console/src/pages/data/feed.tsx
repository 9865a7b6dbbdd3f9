// feed.tsx: shows one feed: its state, ages, last error, licence and entries, and its claims about a value.

import { useState } from "preact/hooks";
import type {
  Answer,
  EmailVerdict,
  Evidence,
  Feed,
  Geolocation,
  Reputation,
  UnusedFeed,
} from "../../answers.ts";
import { Card, Definitions, ExternalLink, Linked, Notice, RelativeTime } from "../../components/basics.tsx";
import { Form, TextField, textOf } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { TableCard } from "../../components/table.tsx";
import { formatCount, formatDuration } from "../../format.ts";
import { type PageProps, useLoad, useObjectName } from "../../hooks.ts";
import { useStatus } from "../../status.tsx";
import { isProblem } from "../lookup/answers.ts";
import { EvidenceTable, SourcesTable } from "../lookup/evidence.tsx";
import { lookUp } from "../lookup/requests.ts";
import { Accept, FeedSwitch } from "./feed-switch.tsx";
import { entriesOf, StateBadge, unusedState } from "./feeds.tsx";

export function FeedPage({ rest: id }: PageProps) {
  const loading = useStatus();
  const onChosen = loading.reload;
  useObjectName(id);
  return (
    <>
      <p>
        <a href="#/data">All feeds and releases</a>
      </p>
      <Loaded from={loading}>
        {({ feeds, unused }) => {
          const feed = feeds.find((one) => one.id === id);
          const one = feed ?? unused.find((other) => other.id === id);
          if (one === undefined)
            return (
              <Card>
                There is no feed <code>{id}</code>.
              </Card>
            );
          return (
            <>
              {feed && <Problems of={feed} onChosen={onChosen} />}
              <Card title={feed ? <StateBadge of={feed} /> : unusedState(one)}>
                <Definitions rows={[...namesOf(one), ...(feed ? factsOf(feed) : [])]} />
                <FeedSwitch feed={one} onChosen={onChosen} isExplained />
              </Card>
              {feed && <Claims id={id} />}
              <Releases of={one} />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

/** The weight needed to set an address's flag (docs/policy.md#weights). */
const DECIDES = 2;

/** Rows for every feed, whether or not the release contains it. */
function namesOf({ id, title, homepage, sets, licence, own, weight }: Feed | UnusedFeed) {
  // Lists that come with Inkling, and files, have a documentation page instead of a homepage.
  const publisher = homepage?.startsWith("http") ? <ExternalLink href={homepage} /> : homepage;
  return [
    ["Title", title !== id && title],
    ["Sets", sets],
    ["Weight", weight && `${weight}: ${weight < DECIDES ? "another list must agree" : "decides alone"}`],
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
const Problems = ({ of, onChosen }: { of: Feed; onChosen: () => void }) => (
  <>
    {of.error && <Notice kind="bad">Last error: {of.error}</Notice>}
    {of.state === "missing" && (
      <Notice kind="bad">
        No copy of this feed could be loaded, so its entries do not count. <code>inkling data update</code>{" "}
        tries again.
      </Notice>
    )}
    {of.stale && <Notice kind="warn">The copy in use is older than this feed allows.</Notice>}
    {of.held && (
      <Notice kind="warn">
        The new copy is held, because it looks wrong. <Accept of={of} onChosen={onChosen} />
      </Notice>
    )}
  </>
);

const Releases = ({ of: { history } }: { of: Pick<Feed, "history"> }) => (
  <TableCard
    caption="Entries in each stored release"
    first={5}
    rows={history.toReversed()}
    rowKey={({ release }) => release}
    columns={[
      ["Release", ({ release }) => <code>{release}</code>],
      ["Created", ({ at }) => <RelativeTime iso={at} />],
      ["Entries", ({ entries }) => formatCount(entries), "number"],
    ]}
    empty="No stored release has this feed."
  />
);

/** Looks up a value and shows this feed's part of the evidence. */
function Claims({ id }: { id: string }) {
  const [asked, setAsked] = useState<{ readonly value: string }>();
  // a new object, so that the same value is looked up again
  const ask = async (values: FormData) => setAsked({ value: textOf(values, "value") });
  return (
    <Card title="What this feed claims about a value">
      <Form needs="read" action="Look up" submit={ask}>
        <TextField
          label="Value"
          note="An address, a network, a domain or an email address. The server looks it up in the release in use, and does not log it."
          name="value"
          maxLength={320}
          required
        />
      </Form>
      <div aria-live="polite">{asked && <ClaimsAbout key={asked} id={id} {...asked} />}</div>
    </Card>
  );
}

function ClaimsAbout({ id, value }: { id: string; value: string }) {
  const loading = useLoad((signal) => lookUp([value], signal), []);
  const title = `Claims of ${id} about ${value}`;
  const table = { caption: title, empty: `${id} is not in the evidence about ${value}.` };
  const isOwn = ({ feed }: { readonly feed: string }) => feed === id;
  return (
    <Loaded from={loading} waiting={`Looking up ${value} …`}>
      {({ answers: [answer] }) => {
        const evidence = answer && evidenceIn(answer);
        if (evidence === undefined) return <Notice kind="warn">{value} cannot be looked up.</Notice>;
        const { sources = [], entries = [] } = evidence;
        return (
          <>
            {[...sources, ...entries].some(isOwn) && <h3>{title}</h3>}
            {evidence.sources ? (
              <SourcesTable {...table} sources={sources.filter(isOwn)} />
            ) : (
              <EvidenceTable {...table} entries={entries.filter(isOwn)} />
            )}
            <p>
              <a href={`#/lookup/${encodeURIComponent(value)}`}>All evidence about {value}</a>
            </p>
          </>
        );
      }}
    </Loaded>
  );
}

/** An email address that cannot be read gets an answer, but no evidence. */
const isNoMailbox = (part: Reputation | Geolocation | EmailVerdict) =>
  "valid" in part && !part.valid && !part.evidence?.length;

/**
 * Returns the evidence in an answer: the sources of a network, or entries. Undefined if there is none, because the
 * value is unreadable or an AS.
 */
function evidenceIn(answer: Answer) {
  if ("summary" in answer)
    return isProblem(answer.summary) ? undefined : { sources: answer.summary.sources ?? [] };
  if ("system" in answer) return undefined;
  const parts = "email" in answer ? [answer.email] : [answer.geolocation, answer.reputation];
  const answered = parts.flatMap((part) => (isProblem(part) || isNoMailbox(part) ? [] : [part]));
  if (answered.length === 0) return undefined;
  return { entries: answered.flatMap(({ evidence }): readonly Evidence[] => evidence ?? []) };
}
