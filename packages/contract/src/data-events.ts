// data-events.ts: log events about data updates, channels and releases.

/** A row that describes a log event. */
export interface LogEventRow {
  /** The table of docs/log-events.md that lists the event. */
  readonly about: "updates" | "releases" | "server";
  readonly levels: readonly ("error" | "info")[];
  /** Markdown that explains what happened and what to do. */
  readonly help: string;
}

export const DATA_EVENTS = {
  "data-update-done": {
    about: "updates",
    levels: ["info"],
    help: "An update has finished. The event shows whether the update `published` a release, the release's name, how many feeds `failed`, and when the next update is due (`next_due`).",
  },
  "feed-not-updated": {
    about: "updates",
    levels: ["error", "info"],
    help: "There is no new copy of `feed`, because of `reason`. Each reason has its own line. Level `info` means that the source has no copy.",
  },
  "feeds-not-reached": {
    about: "updates",
    levels: ["error"],
    help: "`count` publishers did not answer. Their last copies remain in use.",
  },
  "answers-missing": {
    about: "updates",
    levels: ["info"],
    help: "The server has no data for the answers in `missing` and returns 503. Run `inkling data status`.",
  },
  "feed-updated-again": {
    about: "updates",
    levels: ["info"],
    help: "The problem with `feed` is resolved.",
  },
  "data-update-failed": {
    about: "updates",
    levels: ["error"],
    help: "The build failed because of `reason`; `hint` suggests a fix. Inkling retries after 1, 2, 4 … 60 minutes. `inkling doctor` and `inkling_build_failed` show the failure until a build succeeds.",
  },
  "feed-held": {
    about: "updates",
    levels: ["error"],
    help: "The new copy of `feed` looks wrong, because of `reason`, so Inkling does not use it ([what to do](data.md#held-copies)).",
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
    help: "The server does not follow the channel, because of `reason`. [Several hosts](several-hosts.md#failures) explains `fault`. `channel-back` reports the recovery.",
  },
  "channel-published": {
    about: "updates",
    levels: ["info"],
    help: "`inkling build --publish` has published or renewed the channel.",
  },
  "channel-not-published": {
    about: "updates",
    levels: ["error"],
    help: "The store was unreachable or refused the request, because of `reason`. Inkling retries every 10 seconds.",
  },
  "channel-failed": {
    about: "updates",
    levels: ["error"],
    help: "A check of the channel failed because of a bug. The event has the stack trace. The server continues to follow the channel.",
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
    help: "`inkling build --publish`, or a server that follows the channel, continues, but `reason` needs attention.",
  },
  "release-refused": {
    about: "releases",
    levels: ["error"],
    help: "The server refuses release `name`, for the reason in the event. It retries every second.",
  },
  "release-refusal-over": {
    about: "releases",
    levels: ["info"],
    help: "The server uses `name`, the wanted release. `refused` is the release that the server refused before: a release that is no longer wanted, or `name` itself before its repair.",
  },
  "release-serving": {
    about: "releases",
    levels: ["info"],
    help: "The server uses release `name`. If the event has `wanted`, the server uses `name` instead of the release in `wanted`.",
  },
  "release-none": {
    about: "releases",
    levels: ["error"],
    help: "No intact release remains. A server that builds its data starts a build immediately. With a channel, the server fetches the damaged files again. Otherwise run `inkling data update`.",
  },
  "no-release": {
    about: "releases",
    levels: ["error"],
    help: "The server started without a release and returns 503 until the first build finishes. The build starts immediately.",
  },
  "release-verified": {
    about: "releases",
    levels: ["info"],
    help: "The server started three times within a minute with release `name`, so it verified the release in full. The release is sound.",
  },
  "release-watch-failed": {
    about: "releases",
    levels: ["info"],
    help: "The operating system does not report changes in the data folder, so the server checks it once a second.",
  },
} as const satisfies Readonly<Record<string, LogEventRow>>;
