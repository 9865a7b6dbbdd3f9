// feed.tsx: shows one feed: its state, ages, last error, licence and entries, and its claims about a value.

import { useState } from "preact/hooks";
import type { Answer, Evidence, Feed, UnusedFeed } from "../../answers.ts";
import { Card, ExternalLink, Linked, Notice, RelativeTime } from "../../components/basics.tsx";
import { Form, TextField, textOf } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { TableCard } from "../../components/table.tsx";
import { type Columns, Fields } from "../../components/value.tsx";
import { formatCount, formatDuration } from "../../format.ts";
import { type PageProps, useLoad, useObjectName } from "../../hooks.ts";
import { useStatus } from "../../status.tsx";
import { isProblem, summariesOf, verdictOf } from "../lookup/answers.ts";
import { EvidenceTable, SourcesTable } from "../lookup/evidence.tsx";
import { LookupLink } from "../lookup/links.tsx";
import { lookUp } from "../lookup/requests.ts";
import { Accept, FeedSwitch } from "./feed-switch.tsx";
import { StateBadge, unusedState } from "./feeds.tsx";

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
                {feed ? <Fields of={feed} columns={FACTS} /> : <Fields of={one} columns={NAMES} />}
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

/** Fields of every feed, whether or not the release contains it. */
const NAMES: Columns<Feed | UnusedFeed> = [
  "title",
  "sets",
  [
    "Weight",
    ({ weight }) => weight && `${weight}: ${weight < DECIDES ? "another list must agree" : "decides alone"}`,
  ],
  [
    "Publisher",
    // Lists that come with Inkling, and files, have a documentation page instead of a homepage.
    ({ homepage, own }) =>
      homepage?.startsWith("http") ? <ExternalLink href={homepage} /> : (homepage ?? (own && "your own")),
  ],
  "licence",
];

const FACTS: Columns<Feed> = [
  ...NAMES,
  ["Notice", ({ attribution }) => attribution && <Linked text={attribution} />],
  "entries",
  [
    "Ignored entries",
    ({ skipped }) => skipped && `${formatCount(skipped.entries)}; the first: ${skipped.first}`,
  ],
  "age_seconds",
  ["Published every", ({ cadence_hours: hours }) => hours !== null && formatDuration(hours * 3600)],
  ["Stale after", ({ stale_hours: hours }) => hours !== null && formatDuration(hours * 3600)],
  "published_at",
  "fetched_at",
  ["Copy in use", ({ source }) => source],
  ["Last check", ({ checked_at }) => checked_at && <RelativeTime iso={checked_at} />],
  ["Next check", ({ next_check_at }) => next_check_at && <RelativeTime iso={next_check_at} />],
  ["Failed checks in a row", ({ failures }) => failures > 0 && formatCount(failures)],
  ["SHA-256", ({ sha256 }) => sha256 && <code>{sha256}</code>],
];

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
        if (answer === undefined || verdictOf(answer, []).kind === "problem")
          return <Notice kind="warn">{value} cannot be looked up.</Notice>;
        const sources = summariesOf(answer).flatMap((summary) => (summary.sources ?? []).filter(isOwn));
        const entries = evidenceIn(answer).filter(isOwn);
        return (
          <>
            {[...sources, ...entries].length > 0 && <h3>{title}</h3>}
            {sources.length > 0 ? (
              <SourcesTable {...table} sources={sources} />
            ) : (
              <EvidenceTable {...table} entries={entries} />
            )}
            <p>
              <LookupLink value={value}>All evidence about {value}</LookupLink>
            </p>
          </>
        );
      }}
    </Loaded>
  );
}

/** Returns the evidence about an address, a domain or an email address. A network has sources instead. */
function evidenceIn(answer: Answer): readonly Evidence[] {
  const parts =
    "email" in answer
      ? [answer.email]
      : "reputation" in answer
        ? [answer.geolocation, answer.reputation]
        : [];
  return parts.flatMap((part) => (isProblem(part) ? [] : (part.evidence ?? [])));
}
