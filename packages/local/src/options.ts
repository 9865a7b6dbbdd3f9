// options.ts: declares the options of createLocal. It is apart from read-options.ts, because the types of the published
// package must not need @inkling/data.

import type { DataName, OnUnavailable } from "@inkling/client";

export interface LocalOptions<P extends OnUnavailable = OnUnavailable> {
  /**
   * The data folder of a server on this machine. With `channel`, the folder in which this application keeps its
   * releases.
   */
  readonly data: string;
  /**
   * Where releases come from: a folder, `https://host/path` or `s3://bucket/prefix`, with `#name` for a channel other
   * than stable.
   */
  readonly channel?: string;
  /**
   * The public key that `inkling channel init` printed. If there are several keys, any of them may have signed the
   * channel.
   */
  readonly channelKey?: string | readonly string[];
  /**
   * The text of a ruleset for `assess`, which replaces the channel's ruleset. Decisions refer to it as ruleset 1.
   * Without any ruleset, the default reasons and weights decide.
   */
  readonly ruleset?: string;
  /** The variables for an S3 bucket, AWS_ACCESS_KEY_ID and others. Usually `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * By default, a lookup with missing data fails with DATA_NOT_LOADED. With `true`, it returns an answer from the
   * available data, and `data.missing` lists the missing data.
   */
  readonly allowMissing?: boolean;
  /** What a lookup does if there is no answer, as in @inkling/client. */
  readonly onUnavailable?: P;
  /**
   * Data that answers must be based on. If any of it is missing, a lookup fails with DATA_INCOMPLETE, as in
   * @inkling/client.
   */
  readonly require?: readonly DataName[];
  /** Called with the name of each new release when it comes into use. Errors that it throws are not caught. */
  readonly onRelease?: (name: string) => void;
  /**
   * Called once for each reason if a release or the channel is refused. The release in use keeps answering. Errors that
   * it throws are not caught.
   */
  readonly onError?: (error: Error) => void;
}
