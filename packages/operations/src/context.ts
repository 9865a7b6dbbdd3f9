// context.ts: defines what an operation runs with: the store, the data folder, and what only a running server or only
// the program with the compiler can do.

import type { LogLevel, Outcome, ServerSettings } from "@inkling/contract";
import type { HostReport, Verify } from "@inkling/data";
import type { ValidAdminToken } from "@inkling/store/admin-token";
import type { Author, HostEntry } from "@inkling/store/audit";
import type { LabelResult } from "@inkling/store/decisions/record";
import type { Attempt } from "@inkling/store/deliveries";
import type { Store } from "@inkling/store/store";
import type { Minute } from "@inkling/store/traffic-counts";
import { z } from "zod";
import type { FeedStatus, Status } from "./answer-schemas.ts";

/** Looks up and assesses with the release and the overrides in use. */
export interface Lookups {
  /** @throws AdminProblem */
  lookUp(values: readonly string[], parts: number): Promise<object>;
  /** Looks a value up in every stored release. @throws AdminProblem */
  lookUpHistory(value: string): Promise<object>;
  /** @param draft a ruleset to use instead of the newest one. @throws AdminProblem */
  assess(visitor: unknown, draft: string | undefined): Promise<object>;
}

/** What only a running server has and can do. */
export interface LiveServer {
  report(): HostReport;
  /** What `/v1/status` returns, with the texts that only operators may read. */
  status(): Status & { readonly feeds: readonly FeedStatus[] };
  /** The name of the release that answers lookups; undefined if there is none. */
  readonly release: string | undefined;
  /** Reads again which release is current. */
  checkRelease(): Promise<unknown>;
  /** The last 24 hours, oldest minute first. */
  readonly minutes: readonly Minute[];
  setLogLevel(level: LogLevel, author: string): void;
}

/** Facts about a feed that only the compiler's table has. */
export const feedFacts = {
  title: z.string(),
  homepage: z.string(),
  cadence_hours: z.number().meta({ description: "Hours between new copies from the publisher" }),
  stale_hours: z.number().meta({ description: "The age above which a copy is stale" }),
  weight: z.number().nullable().meta({
    description:
      "Weight of the feed's claims; to flag an address, claims must add up to 2. Null if the feed has no weight",
  }),
  on: z.boolean().meta({ description: "True if the next build uses the feed" }),
  on_by_default: z.boolean(),
  own: z.boolean().meta({ description: "True for the operator's own feeds" }),
  why_off: z.string().nullable().meta({ description: "Why the feed is off by default" }),
  terms: z.string().nullable(),
  needs_agreement: z
    .boolean()
    .meta({ description: "True if only `inkling feeds enable` can turn it on, after showing its terms" }),
  needs: z
    .array(z.string())
    .meta({ description: "Settings with the credentials that its publisher requires" }),
  not_set: z.array(z.string()).meta({ description: "Those of these settings that are not set" }),
};
/** A feed, whether or not it is used. */
export const feedRow = z.strictObject({
  id: z.string(),
  sets: z.string(),
  licence: z.string(),
  attribution: z.string().nullable(),
  ...feedFacts,
});
export type FeedRow = Readonly<z.output<typeof feedRow>>;

/** The feeds that builds may use. The program supplies them, because only the compiler has their table. */
export interface FeedTable {
  /** Every feed, used or not. */
  readonly all: readonly FeedRow[];
  /** Turns a feed on or off. The next build applies it. */
  choose(id: string, on: boolean): void;
}

/** The state of the current build, and the result of the last build. */
export const updateState = z
  .strictObject({
    running: z.boolean(),
    asked: z.boolean().meta({ description: "True if a build was requested but has not started yet" }),
    last: z
      .union([
        z.strictObject({
          at: z.iso.datetime(),
          release: z.string(),
          published: z.boolean(),
          failed: z
            .array(z.string())
            .meta({ description: "Feeds that are held, unreachable, expired or missing" }),
          seconds: z.number(),
        }),
        z.strictObject({ at: z.iso.datetime(), problem: z.string(), hint: z.string().nullable() }),
      ])
      .nullable()
      .meta({ description: "Null if no build has ended since startup" }),
  })
  .meta({ id: "Update" });
export type UpdateState = z.output<typeof updateState>;

/** The builds of a running server, or of the command `data update`. */
export interface Updates {
  readonly state: UpdateState;
  /** True if a build fetches all feeds, or will soon. */
  readonly isUnderWay: boolean;
  /**
   * Requests a build that fetches all feeds, after any build that is already running.
   * @param accept held copies that it uses (copyName), or ACCEPT_RELEASE
   */
  request(accept?: readonly string[]): unknown;
}

/** A computation in steps of a few milliseconds, between which a server does other work. */
export type Steps<T> = Generator<undefined, T>;

/** What an operation runs with, whichever face it was called through. */
export interface OperationContext {
  readonly store: Store;
  /** The author of the change and the interface, for the audit trail. */
  readonly by: Author;
  /** Epoch ms. */
  readonly now: () => number;
  /** The admin token of the request; undefined on the command line. */
  readonly token: ValidAdminToken | undefined;
  /** Milliseconds on a monotonic clock. */
  readonly elapsed: () => number;
  /** Runs a check of a ruleset, which may take 40 ms, so that a server keeps time for its other work. */
  readonly checkSparingly: <T>(check: () => T) => Promise<T>;
  readonly inSteps: <T>(steps: Steps<T>) => Promise<T>;
  /** Undefined on the command line. */
  readonly server: LiveServer | undefined;
  /** Undefined in commands, which look up without an operation. */
  readonly lookups: Lookups | undefined;
  readonly dataDir: string;
  /** Reads a whole release. @throws ReleaseError if the release is not sound */
  readonly verify: Verify;
  /** Undefined on a server that does not build releases. */
  readonly feeds: () => Promise<FeedTable | undefined>;
  /** Undefined in other commands, and on a server that does not build releases. */
  readonly updates: Updates | undefined;
  /** Records a change of this host in the audit trail, and then makes the change. */
  readonly audited: <T>(
    entry: Omit<HostEntry, "author" | "source">,
    change: () => T | Promise<T>,
  ) => Promise<T>;
  readonly settings: ServerSettings;
  /** On a server, the recorder, which also has decisions that are not stored yet. */
  readonly decisions: {
    label(
      id: string,
      outcome: Outcome | null,
      key: undefined,
      by: Author,
      note: string | undefined,
    ): Promise<LabelResult>;
    flush(): Promise<unknown>;
  };
  /** Sends a test message to a webhook. @returns undefined if the webhook does not exist */
  readonly sendTest: (webhookId: string) => Promise<(Attempt & { readonly delivery: string }) | undefined>;
}
