// status.tsx: reads the server's state, and finds what needs a person's attention, with links to where it is fixed.

import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect } from "preact/hooks";
import type { DataOverview, Feed, Host, Queue, Webhook } from "./answers.ts";
import { call, isAbort } from "./api.ts";
import { RelativeTime } from "./components/basics.tsx";
import { countOf, firstOf } from "./format.ts";
import { type Loading, messageOf } from "./hooks.ts";

/** Keys and admin tokens that expire within this number of days need attention. */
const SOON_DAYS = 14;

type Link = readonly [text: string, href: string];

/** Something that needs attention. The links lead to the objects. */
export interface Concern {
  /** The page whose badge counts it. */
  readonly page: string;
  readonly kind: "bad" | "warn";
  readonly text: ComponentChildren;
  readonly links: readonly Link[];
  /** Number of objects, if not every object has its own link. */
  readonly count?: number;
}

/** What is wrong with the objects of one page. */
type Found = Omit<Concern, "page">;

export async function loadStatus(signal: AbortSignal) {
  const [overview, feeds] = [call("GET data", {}, signal), call("GET data/feeds", {}, signal)];
  const hosts = call("GET hosts", {}, signal);
  const parts: readonly (readonly [page: string, reading: Promise<Found[]>])[] = [
    ["data", overview.then(releaseConcerns)],
    ["data", feeds.then((answer) => feedConcerns(answer.feeds))],
    ["hosts", hosts.then((answer) => hostConcerns(answer.hosts))],
    ["webhooks", call("GET webhooks", {}, signal).then(({ webhooks }) => webhookConcerns(webhooks))],
    ["review", call("GET decisions/review", { limit: 1 }, signal).then(reviewConcerns)],
    [
      "keys",
      call("GET keys", { expires_in_days: SOON_DAYS }, signal).then(({ keys }) =>
        group("warn", `Keys that expire within ${SOON_DAYS} days:`, keys, ({ id, name }) => [
          name,
          `#/keys/${id}`,
        ]),
      ),
    ],
    [
      "tokens",
      call("GET admin-tokens", {}, signal).then(({ admin_tokens }) =>
        group(
          "warn",
          `Admin tokens that expire within ${SOON_DAYS} days:`,
          admin_tokens.filter(expiresSoon),
          ({ name }) => [name, "#/tokens"],
        ),
      ),
    ],
  ];
  // A part that cannot be read is a concern itself, so that the other parts are still shown.
  const concerns = parts.map(async ([page, reading]): Promise<Concern[]> => {
    const found = await reading.catch((error: unknown): Found[] => {
      if (isAbort(error)) throw error;
      return [{ kind: "bad", text: messageOf(error), links: [[`Open ${page}`, `#/${page}`]] }];
    });
    return found.map((one) => ({ page, ...one }));
  });
  return {
    concerns: (await Promise.all(concerns)).flat(),
    overview: await overview,
    ...(await feeds),
    hosts: await hosts.then((answer) => answer.hosts).catch(() => undefined), // the failure is a concern
  };
}
export type Status = Awaited<ReturnType<typeof loadStatus>>;

/** The server's state, which the frame loads. */
export const StatusContext = createContext<Loading<Status>>({
  data: undefined,
  error: undefined,
  reload: () => {},
  cancel: () => {},
});

/** Returns the server's state, and loads it again when the component appears. */
export function useStatus(): Loading<Status> {
  const status = useContext(StatusContext);
  useEffect(status.reload, []);
  return status;
}

const expiresSoon = ({ expires_at }: { readonly expires_at: string | null }) => {
  const days =
    expires_at === null ? Number.POSITIVE_INFINITY : (Date.parse(expires_at) - Date.now()) / 86_400_000;
  return days > 0 && days < SOON_DAYS;
};

/** Returns one concern for all objects with the same fault; none if there is no object. */
const group = <T,>(
  kind: Concern["kind"],
  text: string,
  objects: readonly T[],
  linkOf: (object: T) => Link,
): Found[] => (objects.length === 0 ? [] : [{ kind, text, links: objects.map(linkOf) }]);

/** Has the last attempt to deliver failed, or has the receiver turned the webhook off? */
export const isFailing = ({ disabled_at, recent: { last_attempt: last } }: Webhook) =>
  disabled_at !== null || (last !== null && last.outcome !== "delivered");

/** The state as pages show it. */
export const feedState = ({ held, stale, state }: Feed) => (held ? "held" : stale ? "stale" : state);

/** Sort rank; smaller ranks come first. */
export function feedRank(feed: Feed): number {
  const state = feedState(feed);
  if (state === "held") return 0;
  if (state === "loaded") return feed.error ? 3 : 4;
  return state === "stale" ? 2 : 1;
}
export const needsAttention = (feed: Feed) => feedRank(feed) < 4;

const feedLink = ({ id }: Feed): Link => [id, `#/data/${id}`];

function feedConcerns(feeds: readonly Feed[]): Found[] {
  const held = feeds.filter((feed) => feedState(feed) === "held");
  const failing = feeds.filter((feed) => needsAttention(feed) && !held.includes(feed));
  return [
    ...group("bad", "Feeds whose new copy looks wrong and is not used:", held, feedLink),
    ...group("warn", "Feeds that fail or are out of date:", failing, feedLink),
  ];
}

const webhookConcerns = (webhooks: readonly Webhook[]) =>
  group("bad", "Webhooks that fail:", webhooks.filter(isFailing), ({ id, url }) => [
    new URL(url).host,
    `#/webhooks/${id}`,
  ]);

/** Maximum number of names in a sentence. */
const MAX_NAMES = 5;

/** What is wrong or unusual about the release in use. */
export function releaseConcerns(overview: DataOverview): Found[] {
  const { release, pinned, missing, partial, refused_release: refused, failed_build: failed } = overview;
  const found: (false | null | readonly [kind: Concern["kind"], text: ComponentChildren])[] = [
    release === null && ["bad", "Lookups return 503 until there is a release. Start an update."],
    pinned !== null && ["warn", "Pinned: newer releases are kept but not used until you unpin."],
    release !== null && missing.length > 0 && ["bad", `No data for ${missing.join(", ")}.`],
    ...partial.map(
      ({ answer, why }) => ["warn", `${answer}: ${firstOf(why.split(", "), MAX_NAMES)}`] as const,
    ),
    failed && [
      "bad",
      ["The latest build failed ", <RelativeTime key="at" iso={failed.at} />, `: ${failed.why}`],
    ],
    refused && [
      "bad",
      ["Release refused ", <RelativeTime key="at" iso={refused.at} />, `: ${refused.reason}`],
    ],
  ];
  return found.flatMap((row) =>
    row ? [{ kind: row[0], text: row[1], links: [["Open Data", "#/data"]] } satisfies Found] : [],
  );
}

const reviewConcerns = ({ waiting: count }: Queue): Found[] =>
  count === 0
    ? []
    : [
        {
          kind: "warn",
          text: `${countOf(count, "decision")} to review:`,
          links: [["Open the queue", "#/review"]],
          count,
        },
      ];

const hostConcerns = (hosts: readonly Host[]) =>
  hosts.flatMap(({ name, state, reasons, warnings }): Found[] => {
    const isDown = state === "not-ready" || state === "silent";
    const why = [...(isDown ? [state.replace("-", " ")] : []), ...reasons, ...warnings].join("; ");
    if (why === "") return [];
    const text = `Host ${name}: ${why}.`;
    return [{ kind: isDown ? "bad" : "warn", text, links: [["Open Hosts", "#/hosts"]] }];
  });
