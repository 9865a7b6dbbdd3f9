// @inkling/release-store: the data folder: its releases, which one is current, and publishing without a gap.

export * from "./open.ts";
