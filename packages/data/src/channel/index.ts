// @inkling/data/channel: distributes releases to many servers, with a signed pointer in a folder, behind a URL
// or in a bucket.

export { type BuildResult, failureOf, readBuildResult, writeBuildResult } from "./build-result.ts";
export { CHANNEL_FAULTS, ChannelError } from "./channel-error.ts";
export { keyId, makeKeyPair, publicKeyOf, readPrivateKey, readPublicKey } from "./envelope.ts";
export {
  CHANNEL_POLL_MS,
  ChannelFollower,
  type Followed,
  type FollowerOptions,
  parseTrustState,
  readTrustState,
} from "./follower.ts";
export type { ObjectReader } from "./object-store.ts";
export { openReader, openStore } from "./open-store.ts";
export { Publisher, type PublisherOptions } from "./publisher.ts";
export { S3_VARIABLES, type S3Environment } from "./s3-objects.ts";
export {
  type ChannelRuleset,
  findStatement,
  parseChannelRuleset,
  readChannelRuleset,
  rolledBack,
  type Statement,
} from "./statement.ts";
