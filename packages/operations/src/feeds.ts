// feeds.ts: lists all feeds, and turns feeds on and off.

import { keysOf, recordOf } from "@inkling/contract";
import { feedsOf, findCurrent, keptManifests, readFeedsReport } from "@inkling/data";
import { feedStatusOf } from "@inkling/engine";
import { z } from "zod";
import { feedStatus } from "./answer-schemas.ts";
import { type FeedRow, feedFacts, feedRow, type OperationContext } from "./context.ts";
import { refuse } from "./data.ts";
import { count, operation, type Resource, text, time } from "./operation.ts";
import { AdminProblem, building } from "./problem.ts";

const history = z
  .array(z.strictObject({ release: text, at: time, entries: count }))
  .meta({ description: "Entries in each stored release that has the feed, oldest first" });
type Facts = typeof feedFacts;
const factsOrNull = recordOf(keysOf(feedFacts), (name) => feedFacts[name].nullable()) as {
  [Name in keyof Facts]: z.ZodNullable<Facts[Name]>;
};
const factsOf = (feed: FeedRow | undefined) =>
  recordOf(keysOf(feedFacts), (name) => feed?.[name] ?? null) as {
    [Name in keyof Facts]: FeedRow[Name] | null;
  };

export const FEEDS = {
  tag: "Data",
  command: { name: "feeds", summary: "list, enable, disable, add and check feeds" },
  operations: {
    list_feeds: operation({
      route: "GET data/feeds",
      summary: "List all feeds: on or off, state, age, licence, required settings",
      docs: "every feed: state, age, cadence, licence, last error, entries in each stored release. Facts about its publisher and terms are null on a server that does not build. `unused` lists the feeds that are not in the release",
      needsNoDatabase: true,
      input: {},
      output: z.strictObject({
        feeds: z.array(z.strictObject({ ...feedStatus.shape, ...factsOrNull, history })),
        unused: z
          .array(z.strictObject({ ...feedRow.shape, history }))
          .meta({ description: "Feeds that are not in the release in use" }),
      }),
      command: {
        words: "feeds list",
        examples: ["inkling feeds list", "inkling feeds list --json"],
      },
      run: async (context) => {
        const historyOf = feedHistories(context.dataDir);
        const all = new Map((await context.feeds())?.all.map((feed) => [feed.id, feed]));
        const feeds = statuses(context).map((status) => ({
          ...status,
          ...factsOf(all.get(status.id)),
          history: historyOf(status.id),
        }));
        const used = new Set(feeds.map(({ id }) => id));
        const unused = [...all.values()].filter(({ id }) => !used.has(id));
        return { feeds, unused: unused.map((feed) => ({ ...feed, history: historyOf(feed.id) })) };
      },
    }),
    choose_feed: operation({
      route: "POST data/feeds",
      summary: "Turn a feed on or off",
      docs: 'turns a feed on or off: `{"id":"ipsum-3","on":false}`. A build follows within seconds. If a feed\'s terms need your agreement, only `inkling feeds enable` can turn it on',
      audits: ["feed-enabled", "feed-disabled"],
      problems: ["ACTION_REFUSED"],
      needsNoDatabase: true,
      input: { id: z.string().max(64), on: z.boolean() },
      output: z.strictObject({ id: text, on: z.boolean(), changed: z.boolean() }),
      run: async (context, { id, on }) => {
        const feeds = building(await context.feeds());
        const feed = feeds.all.find((one) => one.id === id);
        if (feed === undefined)
          throw new AdminProblem("ACTION_REFUSED", `There is no feed ${JSON.stringify(id)}.`);
        if (feed.on === on) return { id, on, changed: false };
        // The command has shown the terms, and asked.
        if (on && feed.needs_agreement && context.server !== undefined)
          throw new AdminProblem("ACTION_REFUSED", "You must agree to this feed's terms.", [
            `\`inkling feeds enable ${id}\` shows the terms`,
          ]);
        const action = on ? "feed-enabled" : "feed-disabled";
        const entry = { action, subject: id, before: { on: feed.on }, after: { on } } as const;
        await context.audited(entry, () => feeds.choose(id, on)).catch(refuse);
        return { id, on, changed: true };
      },
    }),
  },
} as const satisfies Resource;

/** The feeds of the release in use. Without a release, those of the last build, which may be at fault. */
function statuses({ server, dataDir, now }: OperationContext) {
  if (server !== undefined) return server.status().feeds;
  const current = findCurrent(dataDir);
  const reports = current === undefined ? (readFeedsReport(dataDir)?.feeds ?? []) : feedsOf(dataDir, current);
  return reports.map((feed) => feedStatusOf(feed, now()));
}

/** Returns a function that lists a feed's entry count in each stored release, oldest first. */
function feedHistories(dataDir: string) {
  const releases = keptManifests(dataDir).reverse();
  return (id: string) =>
    releases.flatMap(({ name, manifest }) => {
      const then = manifest.feeds.find((feed) => feed.id === id);
      return then === undefined ? [] : [{ release: name, at: manifest.created_at, entries: then.entries }];
    });
}
