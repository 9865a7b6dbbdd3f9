// build-result.ts: the result of the builder's last build, signed like the channel's statement and stored next to it. A
// builder has no port, so this object tells followers that its builds fail, or that it no longer builds.

import type { KeyObject } from "node:crypto";
import { type FailedBuild, failedBuild } from "@inkling/engine";
import { z } from "zod";
import { ChannelError } from "./channel-error.ts";
import { seal, unseal } from "./envelope.ts";
import { type ObjectReader, type ObjectStore, readText } from "./object-store.ts";

const MAX_BYTES = 64 << 10;
/** Shortest cadence, in milliseconds: builds that are due every few minutes may be late by an hour. */
const SHORTEST_CADENCE_MS = 3_600_000;

const time = z.iso.datetime();
const buildResult = z.object({
  /** A statement has no such field, so neither text passes for the other. */
  type: z.literal("build"),
  channel: z.string(),
  /** When the build ended. */
  at: time,
  /** When the next build is due. */
  next_at: time,
  /** Why the build failed; null if it did not. */
  failed: failedBuild.nullable(),
});
export type BuildResult = Readonly<Omit<z.infer<typeof buildResult>, "type" | "channel">>;

const pathOf = (channel: string) => `builds/${channel}.json`;

export async function writeBuildResult(
  store: ObjectStore,
  channel: string,
  privateKey: KeyObject,
  result: BuildResult,
  signal: AbortSignal,
): Promise<void> {
  const text = JSON.stringify({ type: "build", channel, ...result });
  await store.write(pathOf(channel), seal(text, privateKey), signal);
}

/**
 * @returns undefined if the channel's builder has not written a result
 * @throws ChannelError, including if no trusted key signed the result
 */
export async function readBuildResult(
  store: ObjectReader,
  channel: string,
  publicKeys: readonly string[],
  signal: AbortSignal,
): Promise<BuildResult | undefined> {
  const envelope = await readText(store, pathOf(channel), MAX_BYTES, signal);
  if (envelope === undefined) return undefined;
  const read = buildResult.safeParse(JSON.parse(unseal(envelope, publicKeys)));
  if (read.success && read.data.channel === channel) return read.data;
  throw new ChannelError("unreadable", `${pathOf(channel)} is not the result of a build for ${channel}`);
}

/**
 * Returns why the latest build counts as failed: it failed, or two cadences have passed without another one.
 * @param now epoch ms
 */
export function failureOf({ at, next_at, failed }: BuildResult, now: number): FailedBuild | undefined {
  if (failed !== null) return { at: failed.at, why: `on the builder: ${failed.why}` };
  const due = Date.parse(next_at);
  const cadence = Math.max(SHORTEST_CADENCE_MS, due - Date.parse(at));
  if (now <= due + cadence) return undefined;
  return {
    at: next_at,
    why: `the builder has built nothing since ${at}, although a build was due at ${next_at}`,
  };
}
