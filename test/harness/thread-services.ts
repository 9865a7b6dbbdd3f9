// thread-services.ts: the services of an App for tests, with one key whose token is "good", no limits, no overrides, and a
// clock at noon.

import {
  cleanAnswer,
  dataStates,
  type EmailSegment,
  IpSegment,
  type LoadedRelease,
  OVERRIDE_FLAGS,
  Overrides,
  parseEmail,
  type Release,
} from "@inkling/engine";
import { cellsOnDemand } from "../../packages/server/src/limits/key-cells.testing.ts";
import { BatchMemory } from "../../packages/server/src/limits/memory.ts";
import { Buckets } from "../../packages/server/src/limits/token-bucket.ts";
import { VisitorCounts } from "../../packages/server/src/limits/visitor-counts.ts";
import type { EmailChecks } from "../../packages/server/src/lookup/mx.ts";
import { Pipeline } from "../../packages/server/src/lookup/pipeline.ts";
import type { ThreadServices } from "../../packages/server/src/lookup/thread-services.ts";
import { Counts } from "../../packages/server/src/telemetry/counts.ts";
import { Log } from "../../packages/server/src/telemetry/log.ts";
import type { Decisions } from "../../packages/store/src/decisions/record.ts";
import { type Counted, type Key, type KeyId, REFUSALS, SCOPES } from "../../packages/store/src/keys/key.ts";
import { NO_RULESET } from "../../packages/store/src/rulesets/record.ts";
import { testSettings } from "./server-options.ts";

export const NOON = Date.UTC(2026, 5, 1, 12);
export const encode = (text: string) => new TextEncoder().encode(text);

export const KEY: Key = {
  id: "key_1",
  name: "test",
  mode: "live",
  hint: "ink_live_aaaa…",
  scopes: SCOPES,
  networks: [],
  createdAt: 0,
  revokedAt: undefined,
};

const onlyGood: Authenticate = (header) =>
  header === "Bearer good" ? { ok: true, key: KEY } : { ok: false, code: "KEY_INVALID" };
const NO_CHECKS: Pick<EmailChecks, "checkMx"> = { checkMx: () => ({ outcome: "found", known: [] }) };

const refuse = () => {
  throw new Error("this server stores no decisions");
};
/** Stores no decisions, and accepts every label. */
const NO_DECISIONS: Decisions = {
  record: refuse,
  claim: refuse,
  label: async () => "labelled",
  recall: refuse,
};

/** Returns the state of a release that is in use. */
export const inUse = (current: LoadedRelease | undefined): ThreadServices["releases"] => ({
  current,
  feeds: current?.manifest.feeds ?? [],
  channel: undefined,
  refused: undefined,
  since: NOON,
});

type Authenticate = ThreadServices["keyring"]["authenticate"];

export interface Over extends Partial<ThreadServices> {
  /** The release in use. */
  readonly release?: LoadedRelease | undefined;
  readonly authenticate?: Authenticate;
  readonly checks?: Pick<EmailChecks, "checkMx">;
}

/**
 * @param over services that replace the defaults
 * @param row what the test keeps of each recorded lookup, refusal and batch value
 * @param used the key's earlier lookups
 */
export function testServices<T>(
  { release, authenticate = onlyGood, checks = NO_CHECKS, ...over }: Over,
  row: (keyId: KeyId, counted: Counted, count: number) => T,
  used = 0,
) {
  const recorded: T[] = [];
  const refused: T[] = [];
  const batched: T[] = [];
  const lines: string[] = [];
  let today = used;
  const { counts = new Counts() } = over;
  const services: Omit<ThreadServices, "pipeline"> = {
    version: "0.0.0",
    memoryKeys: [],
    releases: inUse(release),
    keyring: {
      state: { loaded: true, keys: 1, checkedAt: NOON, failures: 0, lastError: undefined },
      authenticate,
    },
    buckets: new Buckets({ rate: 0, burst: 1 }, cellsOnDemand(NOON)),
    usage: {
      record: (keyId, counted, _, count = 1) => {
        const isLookup = SCOPES.some((scope) => scope === counted);
        if (isLookup) today += count;
        const isRefusal = REFUSALS.some((reason) => reason === counted);
        if (OVERRIDE_FLAGS.some((flag) => flag === counted)) return;
        (isLookup ? recorded : isRefusal ? refused : batched).push(row(keyId, counted, count));
      },
      countToday: () => today,
      takeQuota: ({ quota = Infinity }, _, most) => Math.max(0, Math.min(most, quota - today)),
      giveQuotaBack: () => {},
      chargedDay: 0,
    },
    overrides: { current: Overrides.NONE },
    rulesets: { current: NO_RULESET },
    precisions: { current: {} },
    visits: new VisitorCounts(new Uint8Array(32)),
    decisions: NO_DECISIONS,
    settings: testSettings(),
    trustedProxies: [],
    memory: new BatchMemory(),
    tracer: undefined,
    counts,
    log: new Log({ level: "access", write: (text) => lines.push(text), now: () => NOON }),
    now: () => NOON,
    elapsed: () => 0,
    newRequestId: () => "aaaaaaaaaa",
    randomBytes: (n) => new Uint8Array(n),
    ...over,
  };
  const pipeline = new Pipeline(checks, counts, services.usage);
  return { services: { ...services, pipeline }, counts, recorded, refused, batched, lines };
}

/** Returns a segment that knows nothing about any address, except what `over` does. */
export const testSegment = (over: Partial<IpSegment> = {}): IpSegment =>
  Object.assign(Object.create(IpSegment.prototype), {
    lookup: () => undefined,
    record: () => 1,
    evidence: () => undefined,
    networkBits: () => 24,
    countryOf: () => undefined,
    ...over,
  });

/**
 * Returns a release with one disposable domain.
 * @param emailRecord the domain's evidence
 */
export function testRelease(
  name: string,
  over: Partial<Release> & Pick<Release, "id">,
  parts: Pick<LoadedRelease, "geo" | "reputation" | "evidence"> & Partial<Pick<LoadedRelease, "network">>,
  emailRecord?: Uint8Array,
): LoadedRelease {
  const manifest: Release = {
    format: 1,
    created_at: "2026-06-01T00:00:00Z",
    code: "",
    segments: {},
    feeds: [],
    missing: [],
    partial: [],
    ...over,
  };
  const isListed = (host: string) => host === "mailinator.com";
  const listedAnswer = encode('{"valid":true,"disposable":true,"providers":["mailinator.com"]}');
  const email = {
    providersFrom: (host: string) => (isListed(host) ? encode('["mailinator.com"]') : undefined),
    keys: new Int32Array(256),
    answerPlain: (text: string) =>
      text.endsWith("@mailinator.com") ? listedAnswer : cleanAnswer(parseEmail(text).valid),
    evidenceFrom: (host: string) => (isListed(host) ? emailRecord : undefined),
  } as unknown as EmailSegment;
  const states = dataStates(manifest);
  return { name, manifest, email, network: undefined, states, etag: `"${manifest.id}"`, ...parts };
}
