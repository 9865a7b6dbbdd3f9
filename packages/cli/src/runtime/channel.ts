// channel.ts: opens the configured channel to publish or follow it, and finds its location and keys.

import { existsSync, readFileSync } from "node:fs";
import { type Settings, variableName } from "@inkling/contract";
import { type ChannelLocation, messageOf, parseChannel } from "@inkling/data";
import {
  ChannelError,
  ChannelFollower,
  type ChannelRuleset,
  type FollowerOptions,
  openReader,
  openStore,
  Publisher,
  type PublisherOptions,
  publicKeyOf,
  readPrivateKey,
  type Statement,
} from "@inkling/data/channel";
import type { RunningServer } from "@inkling/server";
import { verifyInThread } from "@inkling/server/verify";
import { maskUrl } from "../config/setting-types.ts";
import { databaseFile } from "../config/settings.ts";
import { CliError, usage } from "../terminal/errors.ts";
import type { ErrorOutput } from "../terminal/terminal.ts";
import type { Context } from "./command.ts";
import { withExistingStore } from "./store.ts";

/** Turns an expected failure of a channel into an error for the terminal. */
export async function withChannel<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error;
    throw new CliError(`${error.message} (${error.fault})`, error.remedy);
  }
}

export function channelOf({ channel }: Settings): ChannelLocation {
  if (channel === undefined) {
    const hint = `set ${variableName("channel")} to a folder, http(s)://host/path or s3://bucket/prefix`;
    throw usage("no channel is set", hint);
  }
  return parseChannel(channel)!; // the setting is already validated
}

export function signingKey({ channelSigningKey }: Settings) {
  const variable = variableName("channelSigningKey");
  if (channelSigningKey === undefined) {
    const hint = `set ${variable} to the file that \`inkling channel init\` wrote`;
    throw usage("publishing needs the channel's private key", hint);
  }
  try {
    return readPrivateKey(readFileSync(channelSigningKey, "utf8"));
  } catch (error) {
    const hint = "`inkling channel init` creates one";
    throw usage(`${channelSigningKey} does not contain a private key: ${messageOf(error)}`, hint);
  }
}

/**
 * Returns the keys that this host trusts: the keys in the setting, or if there are none, the public key that
 * belongs to its private key.
 */
export function trustedKeys(settings: Settings): readonly string[] {
  if (settings.channelKey.length > 0) return settings.channelKey;
  if (settings.channelSigningKey === undefined) {
    const hint = `set ${variableName("channelKey")} to the public key that \`inkling channel init\` printed`;
    throw usage("a channel cannot be verified without its public key", hint);
  }
  return [publicKeyOf(signingKey(settings))];
}

/** @param progress callbacks that report uploads and warnings */
export function openPublisher(
  settings: Settings,
  { env, stopper, terminal }: Pick<Context, "env" | "stopper" | "terminal">,
  progress: Pick<PublisherOptions, "onUpload" | "onWarning" | "audited">,
): Publisher {
  const { base, channel } = channelOf(settings);
  const store = openStore(base, env);
  if (store === undefined) {
    throw usage(`${maskUrl(base)} is read only`, "publish to its folder or bucket instead");
  }
  return new Publisher({
    store,
    channel,
    privateKey: signingKey(settings),
    trusted: settings.channelKey,
    ruleset: () => newestRuleset(settings, terminal, progress.onWarning),
    now: Date.now,
    signal: stopper.signal,
    ...progress,
  });
}

/**
 * Returns the newest ruleset for the channel; undefined if there is no database or no ruleset, or if the database is
 * unreachable.
 */
export async function newestRuleset(
  settings: Settings,
  terminal: ErrorOutput,
  onWarning: PublisherOptions["onWarning"],
): Promise<ChannelRuleset | undefined> {
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return undefined; // publishing must not create a database
  const { StoreError } = await import("@inkling/store"); // only publishers need this
  try {
    const { number, text } = await withExistingStore(settings, terminal, (store) => store.rulesets.newest());
    return number === 0 ? undefined : { number, text };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    onWarning?.(`cannot read the newest ruleset, so the channel keeps its current one: ${error.message}`);
    return undefined;
  }
}

const RENEW_MS = 86_400_000;

/**
 * Publishes a release or a ruleset that the channel does not have yet, and renews the channel once a day.
 * @returns undefined if there was nothing to do
 */
export async function renewIfDue(
  publisher: Publisher,
  dataDir: string,
  name: string,
  ruleset: ChannelRuleset | undefined,
): Promise<Statement | undefined> {
  const before = await publisher.read();
  const isSame = before?.release.name === name;
  const isOld = before !== undefined && Date.now() - Date.parse(before.published_at) >= RENEW_MS;
  // After a rollback, the channel keeps the release that it was rolled back to. The rolled-back release is not
  // published again, but the next newer release is.
  if (isSame || before?.kept.some((each) => each.name === name)) {
    const isOtherRuleset = ruleset !== undefined && ruleset.number !== before.ruleset?.number;
    return isOld || isOtherRuleset ? publisher.renew() : undefined;
  }
  return publisher.publish(dataDir, name);
}

/** @param server returns the server on this data folder once it is running; the files that it uses are kept */
export function openFollower(
  settings: Settings,
  env: Context["env"],
  {
    onProgress,
    server,
  }: Pick<FollowerOptions, "onProgress"> & { readonly server?: () => RunningServer | undefined },
): ChannelFollower {
  const { base, channel } = channelOf(settings);
  const { dataDir } = settings;
  return new ChannelFollower({
    store: openReader(base, env),
    channel,
    publicKeys: trustedKeys(settings),
    dataDir,
    verify: verifyInThread,
    served: () => server?.()?.report().release?.name,
    now: Date.now,
    ...(onProgress && { onProgress }),
  });
}
