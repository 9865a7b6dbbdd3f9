// options.ts: the options of createLocal.

import type { DataName, OnUnavailable } from "@inkling/client";

export interface LocalOptions<P extends OnUnavailable = OnUnavailable> {
  /** The data folder: that of a server on this machine or, with `channel`, where this application keeps its releases. */
  readonly data: string;
  /** Where releases come from: a folder, `https://host/path` or `s3://bucket/prefix`, each with `#name` unless "stable". */
  readonly channel?: string;
  /** The public key that `inkling channel init` printed, or several of which any may have signed. */
  readonly channelKey?: string | readonly string[];
  /**
   * The text of a ruleset for `assess`, instead of the channel's. Without either, the published reasons and weights
   * decide. Decisions name it as number 1.
   */
  readonly ruleset?: string;
  /** AWS_ACCESS_KEY_ID and the others of an S3 bucket: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** "serve" (the default): a lookup with missing data fails with DATA_NOT_LOADED. "up": `data.missing` names it. */
  readonly mode?: "serve" | "up";
  /** As of the client: what a lookup does when there is no answer. */
  readonly onUnavailable?: P;
  /** As of the client: a lookup whose answer lacks data for one of these fails with DATA_INCOMPLETE. */
  readonly require?: readonly DataName[];
  /** Called with the name of each release from which answers come from then on. What it throws is uncaught. */
  readonly onRelease?: (name: string) => void;
  /** Called when a release or the channel is refused: what is in use continues answering. Once for each reason. What it throws is uncaught. */
  readonly onError?: (error: Error) => void;
}
