// data-events.ts: events of the log about updates of the data, channels and releases.

import type { LogEventRow } from "./log-event-row.ts";

export const DATA_EVENTS = {
  "data-update-done": {
    about: "updates",
    levels: ["info"],
    help: "An update is done. The event says whether it `published` a release, which one, how many feeds `failed`, and when the next update is due (`next_due`).",
  },
  "feed-not-updated": {
    about: "updates",
    levels: ["error", "info"],
    help: "The server refused the copy of `feed`, because of `reason`. One line per reason. At level info, there was no copy.",
  },
  "feeds-not-reached": {
    about: "updates",
    levels: ["error"],
    help: "`count` publishers did not answer. Their last copies remain in use.",
  },
  "answers-missing": {
    about: "updates",
    levels: ["error"],
    help: "`inkling serve` has no data for these answers and returns 503. Run `inkling data status`.",
  },
  "feed-updated-again": {
    about: "updates",
    levels: ["info"],
    help: "The problem with `feed` is over.",
  },
  "data-update-failed": {
    about: "updates",
    levels: ["error"],
    help: "The build published nothing, because of `reason`; `hint` says what to do. Inkling retries after 1, 2, 4 … 60 minutes. `inkling doctor` and `inkling_build_failed` show the failure until a build succeeds.",
  },
  "release-held": {
    about: "updates",
    levels: ["error"],
    help: "A new release flags too much or too little, so it waits for `inkling data update --accept release` ([why](feed-updates.md#releases-that-wait)).",
  },
  "data-update-busy": {
    about: "updates",
    levels: ["info"],
    help: "Another process is building in this folder.",
  },
  "channel-followed": {
    about: "updates",
    levels: ["info"],
    help: "The server verified the `release` of the channel's `version` and uses it.",
  },
  "channel-refused": {
    about: "updates",
    levels: ["error"],
    help: "The server does not follow the channel, because of `reason`. [Cluster](cluster-failures.md#when-something-fails) explains `fault`. `channel-back` reports the end.",
  },
  "channel-not-reported": {
    about: "updates",
    levels: ["info"],
    help: "This server cannot write its report beside the channel, or lacks the permission. Promotions do not count it.",
  },
  "channel-published": {
    about: "updates",
    levels: ["info"],
    help: "`inkling build --publish` has published or renewed the channel.",
  },
  "channel-not-published": {
    about: "updates",
    levels: ["error"],
    help: "The store was unreachable or refused, because of `reason`. Inkling retries every 10 seconds.",
  },
  "channel-failed": {
    about: "updates",
    levels: ["error"],
    help: "A bug. The event has the stack. The server continues to follow the channel.",
  },
  "channel-back": {
    about: "updates",
    levels: ["info"],
    help: "The server follows the channel again.",
  },
  "channel-upload": {
    about: "updates",
    levels: ["info"],
    help: "`inkling build --publish` has uploaded `bytes` to `path`.",
  },
  "channel-warning": {
    about: "updates",
    levels: ["error"],
    help: "`inkling build --publish` continues, but `reason` needs attention.",
  },
  "release-refused": {
    about: "releases",
    levels: ["error"],
    help: "The server refuses the release `name`, for the reason in the event. With `retry_in_ms`, the release is temporarily unreadable.",
  },
  "release-refusal-over": {
    about: "releases",
    levels: ["info"],
    help: "The server uses `name`, as wanted. The release in `refused` no longer matters.",
  },
  "release-serving": {
    about: "releases",
    levels: ["info"],
    help: "The server uses the release `name`, or uses it instead of `wanted`.",
  },
  "release-none": {
    about: "releases",
    levels: ["error"],
    help: "No intact release is left. Run `inkling data update`.",
  },
  "no-release": {
    about: "releases",
    levels: ["error"],
    help: "The server started without a release and returns 503 until the first build is done. The build starts at once.",
  },
  "release-unverified": {
    about: "releases",
    levels: ["error"],
    help: "The server uses `name` and cannot verify it again at the moment.",
  },
  "release-unmarked": {
    about: "releases",
    levels: ["info"],
    help: "The server verified the release but could not note it. The next start takes a second longer.",
  },
  "release-verified": {
    about: "releases",
    levels: ["info"],
    help: "The server has read every byte of `name`, and it matches its manifest.",
  },
  "release-watch-failed": {
    about: "releases",
    levels: ["info"],
    help: "The system reports no changes of the data folder, so the server checks it once a second.",
  },
} as const satisfies Readonly<Record<string, LogEventRow>>;
