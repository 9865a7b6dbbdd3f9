// @inkling/data: manages the data folder: its releases, the current release, and atomic publishing.
// `@inkling/data/channel` is separate, because few processes need channels.

export * from "./atomic-file.ts";
export * from "./byte-buffer.ts";
export { CHANNEL_FAULTS } from "./channel/channel-error.ts";
export * from "./channel/location.ts";
export * from "./errors.ts";
export * from "./fingerprints.ts";
export * from "./host-report.ts";
export * from "./layout.ts";
export * from "./live/live.ts";
export * from "./live/poller.ts";
export * from "./live/snapshot-file.ts";
export * from "./live/store-source.ts";
export * from "./lock.ts";
export * from "./open.ts";
export * from "./publish.ts";
export * from "./releases.ts";
export * from "./reports.ts";
export * from "./servable.ts";
export * from "./switch.ts";
export * from "./verify.ts";
