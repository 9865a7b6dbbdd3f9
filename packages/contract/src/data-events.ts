// data-events.ts: events of the log about updates of the data, channels and releases.

import type { LogEventRow } from "./log-event-row.ts";

export const DATA_EVENTS = {
  "data-update-done": {
    about: "updates",
    levels: ["info"],
    help: "Round finished: `published` or not, release, number of feeds that `failed`, `next_due`.",
  },
  "feed-not-updated": {
    about: "updates",
    levels: ["error", "info"],
    help: "Copy of `feed` refused, with `reason`; logged once per reason. At level info: no copy available.",
  },
  "feeds-not-reached": {
    about: "updates",
    levels: ["error"],
    help: "`count` publishers did not answer; their last copies stay in use.",
  },
  "answers-missing": {
    about: "updates",
    levels: ["error"],
    help: "`serve` has no data for these answers and returns 503.",
  },
  "feed-updated-again": {
    about: "updates",
    levels: ["info"],
    help: "The problem with `feed` is over.",
  },
  "data-update-failed": {
    about: "updates",
    levels: ["error"],
    help: "Nothing published, with `reason` and `hint`; retried after 1, 2, 4 … 60 minutes. `inkling doctor` and `inkling_build_failed` show it until a build succeeds.",
  },
  "release-held": {
    about: "updates",
    levels: ["error"],
    help: "Built, but it flags too much or too little: waits for `inkling data update --accept release` ([gates](feed-updates.md#gates)).",
  },
  "data-update-busy": {
    about: "updates",
    levels: ["info"],
    help: "Another process is building in this folder.",
  },
  "channel-followed": {
    about: "updates",
    levels: ["info"],
    help: "`version` of the channel was taken, and its `release` verified.",
  },
  "channel-refused": {
    about: "updates",
    levels: ["error"],
    help: "The channel is not followed: `fault` ([table](cluster.md#when-something-fails)), `reason`. Ends with `channel-back`.",
  },
  "channel-not-reported": {
    about: "updates",
    levels: ["info"],
    help: "This server may not, or cannot, write its report beside the channel; promotions do not count it.",
  },
  "channel-published": {
    about: "updates",
    levels: ["info"],
    help: "`inkling build --publish` has published or renewed the channel.",
  },
  "channel-not-published": {
    about: "updates",
    levels: ["error"],
    help: "The store could not be reached or refused, with `reason`; tried again every 10 seconds.",
  },
  "channel-failed": {
    about: "updates",
    levels: ["error"],
    help: "A bug, with its stack; following goes on.",
  },
  "channel-back": {
    about: "updates",
    levels: ["info"],
    help: "The channel is followed again.",
  },
  "channel-upload": {
    about: "updates",
    levels: ["info"],
    help: "`inkling build --publish` has uploaded `bytes` to `path`.",
  },
  "channel-warning": {
    about: "updates",
    levels: ["error"],
    help: "`inkling build --publish` goes on, but `reason` needs attention.",
  },
  "release-refused": {
    about: "releases",
    levels: ["error"],
    help: "Why `name` does not answer; with `retry_in_ms` it could not be read for now.",
  },
  "release-refusal-over": {
    about: "releases",
    levels: ["info"],
    help: "`name` answers as wanted; `refused` no longer matters.",
  },
  "release-serving": {
    about: "releases",
    levels: ["info"],
    help: "`name` answers, in place of `wanted` where that is given.",
  },
  "release-none": {
    about: "releases",
    levels: ["error"],
    help: "No sound release is left.",
  },
  "no-release": {
    about: "releases",
    levels: ["error"],
    help: "Started without one: 503 until the first is built, which begins at once.",
  },
  "release-unverified": {
    about: "releases",
    levels: ["error"],
    help: "`name` answers, and could not be verified again for now.",
  },
  "release-unmarked": {
    about: "releases",
    levels: ["info"],
    help: "Verified, but not noted: the next start takes a second longer.",
  },
  "release-verified": {
    about: "releases",
    levels: ["info"],
    help: "Every byte of `name` was read, and is as its manifest says.",
  },
  "release-watch-failed": {
    about: "releases",
    levels: ["info"],
    help: "The system reports no changes of the data folder: it is checked once a second.",
  },
} as const satisfies Readonly<Record<string, LogEventRow>>;
