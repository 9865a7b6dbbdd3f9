// data-age.ts: how old data is, wherever that is shown: header, status, metrics, command line, console.
//
// in   reports of feeds, and the time
// out  the age of a feed's copy, and of the data behind each answer
// note docs/api.md and docs/feeds.md define both; how long ago something was downloaded or built is no age of data

import { ANSWERS, type Answer, type FeedReport } from "./release.ts";

/**
 * Seconds since a copy was published, or fetched when the publisher gives no date.
 * @param now epoch ms
 */
export function feedAgeSeconds(
  feed: { readonly published_at?: string | undefined; readonly fetched_at?: string | undefined },
  now: number,
): number | undefined {
  const made = feed.published_at ?? feed.fetched_at;
  return made === undefined ? undefined : Math.max(0, Math.round((now - Date.parse(made)) / 1000));
}

/** The share of an answer's entries from which on a feed counts for its age: a list of one address does not. */
const RELEVANT_SHARE = 0.01;

export interface DataAge {
  readonly answer: Answer;
  /** The feed that is so old. */
  readonly feed: string;
  readonly seconds: number;
}

/**
 * For each answer that has data, the age of the oldest feed that holds a relevant share of its entries, as far as known.
 * @param now epoch ms
 */
export function dataAges(
  feeds: readonly Pick<FeedReport, "id" | "sets" | "state" | "entries" | "published_at" | "fetched_at">[],
  now: number,
): DataAge[] {
  return ANSWERS.flatMap((answer) => {
    const loaded = feeds.filter(({ sets, state }) => sets === answer && state === "loaded");
    const least = RELEVANT_SHARE * loaded.reduce((sum, { entries }) => sum + entries, 0);
    const ages = loaded
      .filter(({ entries }) => entries >= least)
      .flatMap((feed): DataAge | [] => {
        const seconds = feedAgeSeconds(feed, now);
        return seconds === undefined ? [] : { answer, feed: feed.id, seconds };
      });
    return ages.sort((a, b) => b.seconds - a.seconds).slice(0, 1);
  });
}

/** The oldest of all data; undefined when no age is known. */
export function oldestAge(ages: readonly DataAge[]): DataAge | undefined {
  return ages.toSorted((a, b) => b.seconds - a.seconds)[0];
}

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** "171d", and below two days "47h": whole ones that have passed. */
export function ageText(seconds: number): string {
  return seconds < 2 * DAY ? `${Math.floor(seconds / HOUR)}h` : `${Math.floor(seconds / DAY)}d`;
}
