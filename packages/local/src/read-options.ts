// read-options.ts: checks the options of createLocal before anything is opened.

import type { DataName, OnUnavailable } from "@inkling/client";
import { DATA_OF, ON_UNAVAILABLE, readRequire, refuseUnknown } from "@inkling/client/support";
import { type ChannelLocation, parseChannel } from "@inkling/data";
import { readPublicKey, S3_VARIABLES } from "@inkling/data/channel";
import type { LocalOptions } from "./options.ts";

/** The options for following releases, in a form that can be sent to the thread. */
export interface SourceOptions {
  readonly dataDir: string;
  readonly channel: (ChannelLocation & { readonly publicKeys: readonly string[] }) | undefined;
  /** Does the ruleset come from the channel instead of the options? */
  readonly isRulesetFollowed: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ReadLocalOptions<P extends OnUnavailable> {
  readonly source: SourceOptions;
  readonly allowMissing: boolean;
  readonly onUnavailable: P;
  readonly require: readonly DataName[];
}

/** The names of all options, as a `Record`, so that TypeScript reports a missing name. */
const LOCAL_OPTIONS: Readonly<Record<keyof LocalOptions, true>> = {
  data: true,
  channel: true,
  channelKey: true,
  ruleset: true,
  env: true,
  allowMissing: true,
  onUnavailable: true,
  require: true,
  onRelease: true,
  onError: true,
};

/** @throws TypeError */
export function readOptions<P extends OnUnavailable>(options: LocalOptions<P>): ReadLocalOptions<P> {
  refuseUnknown(options, LOCAL_OPTIONS, "of createLocal", wrong);
  const { data, env = {}, allowMissing = false, onUnavailable = "throw" as P } = options;
  if (typeof data !== "string" || data === "") throw wrong("data", "must be the path of a data folder");
  if (options.ruleset !== undefined && typeof options.ruleset !== "string")
    throw wrong("ruleset", "must be the text of a ruleset");
  if (typeof allowMissing !== "boolean") throw wrong("allowMissing", "must be true or false");
  if (!ON_UNAVAILABLE.includes(onUnavailable))
    throw wrong("onUnavailable", 'must be "throw", "allow" or "deny"');
  return {
    source: {
      dataDir: data,
      channel: readChannel(options),
      isRulesetFollowed: options.channel !== undefined && options.ruleset === undefined,
      env: Object.fromEntries(S3_VARIABLES.map((name) => [name, env[name]])),
    },
    allowMissing,
    onUnavailable,
    require: readRequire(options.require ?? [], Object.values(DATA_OF).flat()),
  };
}

function readChannel({ channel, channelKey }: LocalOptions): SourceOptions["channel"] {
  if (channel === undefined) {
    if (channelKey !== undefined) throw wrong("channelKey", "needs a channel: set `channel` as well");
    return undefined;
  }
  const location = typeof channel === "string" ? parseChannel(channel) : undefined;
  if (location === undefined)
    throw wrong("channel", "must be a folder, http(s)://host/path or s3://bucket/prefix");
  const publicKeys = typeof channelKey === "string" ? [channelKey] : (channelKey ?? []);
  if (publicKeys.length === 0)
    throw wrong("channelKey", "must be the public key that `inkling channel init` printed");
  try {
    for (const key of publicKeys) readPublicKey(key);
  } catch {
    throw wrong("channelKey", "must be 43 characters of base64url, as `inkling channel init` printed them");
  }
  return { ...location, publicKeys };
}

export function wrong(name: string, what: string): TypeError {
  return new TypeError(`@inkling/local: ${name} ${what}`);
}
