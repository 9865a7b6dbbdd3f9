// events.ts: what the compiler's process is asked, and what it says while it works: one JSON object a line.
//
// in   a BuildRequest as the only argument
// out  BuildEvents on standard output; "done" or "failed" is the last one
// Exit status: 0 done, 3 done but a feed was refused, 1 failed and nothing was published.

import { feedReport, release } from "@inkling/engine";
import { z } from "zod";

export const buildRequest = z.object({
  dataDir: z.string(),
  /** Folder or base URL with one file per feed. The only source of new copies when set. */
  mirror: z.string().optional(),
  /** May publishers be asked? Without: mirror, last good copies, seeds and our own lists only. */
  fetch: z.boolean(),
});
export type BuildRequest = z.infer<typeof buildRequest>;

export const buildEvent = z.discriminatedUnion("type", [
  /** A step of the build; `total` is absent while unknown. Sent at most ten times a second. */
  z.object({ type: z.literal("progress"), step: z.string(), done: z.number(), total: z.number().optional() }),
  z.object({ type: z.literal("feed"), feed: feedReport }),
  /** A domain that lists disagree on, and what policy made of it. */
  z.object({
    type: z.literal("conflict"),
    domain: z.string(),
    verdict: z.enum(["disposable", "not disposable"]),
    reason: z.string(),
  }),
  z.object({ type: z.literal("note"), text: z.string() }),
  z.object({
    type: z.literal("done"),
    /** false when the newest release had the same content already. */
    published: z.boolean(),
    name: z.string(),
    release,
    /** Feeds of which a copy was refused, whether or not an older one is in use. */
    refused: z.array(z.string()).readonly(),
    seconds: z.number(),
    peakBytes: z.number(),
  }),
  z.object({ type: z.literal("failed"), message: z.string(), hint: z.string() }),
]);
export type BuildEvent = z.infer<typeof buildEvent>;
