// Tests the answer pipeline: failures, forced flags, and checks of an email address.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseIp } from "../address/ip.ts";
import { Overrides } from "../overrides/compiled.ts";
import type { Override, OverrideKind } from "../overrides/model.ts";
import { bitsOf, REPUTATION_ANSWERS } from "../overrides/reputation-flags.ts";
import { cleanAnswer, type EmailSegment } from "../segment/email-segment.ts";
import { IpSegment } from "../segment/ip-segment.ts";
import {
  Answerer,
  type AnswerSource,
  bodyOf,
  type ComposedAnswer,
  findFailure,
  type Outcome,
} from "./answerer.ts";
import type { LoadedRelease } from "./data-state.ts";
import { dataStates, LOOKUPS } from "./data-state.ts";
import { INCLUDE } from "./opt-ins.ts";

type Entry = Record<string, unknown> & { feed: string; span?: number };

/** Returns a record with these entries, in the format of segments (packages/engine/segment-format.md). */
function record(entries: readonly Entry[], truncated = 0): Uint8Array | undefined {
  if (entries.length === 0) return undefined;
  const bytes = entries.flatMap(({ span = 24, ...entry }) => {
    const text = new TextEncoder().encode(JSON.stringify(entry).slice(0, -1));
    return [0, 0, text.length & 255, text.length >> 8, span, ...text];
  });
  return Uint8Array.from([entries.length, 0, truncated, 0, ...bytes]);
}

/** Returns a release with the answer that the policy derives from these entries. */
function ofAddress(entries: readonly Entry[], truncated = 0): LoadedRelease {
  const flags = (effect: string) =>
    bitsOf(entries.filter((entry) => entry.effect === effect).flatMap((entry) => entry.flags as never[]));
  const answer = REPUTATION_ANSWERS[flags("sets") & ~flags("removes")]!;
  const reputation: IpSegment = Object.assign(Object.create(IpSegment.prototype), {
    lookup: () => answer,
    evidence: () => record(entries, truncated),
    networkBits: () => 24,
  });
  return loaded({ reputation });
}

const bytesOf = (value: object) => new TextEncoder().encode(JSON.stringify(value));

function ofEmail(answer: object, entries: readonly Entry[] = []): LoadedRelease {
  const email = {
    keys: new Int32Array(256),
    answerPlain: () => ("disposable" in answer && answer.disposable ? bytesOf(answer) : cleanAnswer(true)),
    evidenceFrom: () => record(entries),
  };
  return loaded({ email: email as unknown as EmailSegment });
}

function loaded(segments: Partial<LoadedRelease>, missing: readonly string[] = []): LoadedRelease {
  return {
    ...segments,
    states: dataStates({ missing: missing as never }),
    evidence: { geolocate: [], reputation: [], email: [], network: [] },
  } as unknown as LoadedRelease;
}

/** Creates overrides that use the local part instead of a hash. */
const overridesOf = (all: readonly Override[]) => new Overrides(all, (mailbox) => mailbox.split("@")[0]!);

function sourceOf(
  release: LoadedRelease | undefined,
  overrides: readonly Override[] = [],
  allowMissing = false,
): AnswerSource {
  return { release, overrides: overridesOf(overrides), now: 0, allowMissing };
}

const parsed = (outcome: Outcome) => JSON.parse(new TextDecoder().decode(bodyOf(outcome as Uint8Array)));

type Forced = Pick<Override, "flag" | "verdict">;
let count = 0;
function override(kind: OverrideKind, value: string, forced: Forced): Override {
  const id = `ovr_${++count}`;
  return {
    id,
    kind,
    value,
    ...forced,
    note: "secret",
    author: "x",
    createdAt: 0,
    expiresAt: undefined,
    removedAt: undefined,
  };
}
const force = (flag: Override["flag"], verdict: boolean): Forced => ({ flag, verdict });

const ADDRESS = parseIp("81.2.69.142")!;
const namesOf = (flags: Record<string, boolean>) => Object.keys(flags).filter((flag) => flags[flag]);

describe("an address", () => {
  const sets = (feed: string, flag: string) => ({ feed, label: "x", effect: "sets", flags: [flag] });
  const removes = (feed: string, ...flags: string[]) => ({ feed, label: "x", effect: "removes", flags });
  const rows: [name: string, entries: Entry[], forced: Forced[], flags: string[]][] = [
    ["and a guard", [removes("g", "is_abuser")], [force("is_abuser", true)], ["is_abuser"]],
    [
      "the other flags stay",
      [sets("a", "is_proxy")],
      [force("is_tor_exit", true)],
      ["is_proxy", "is_tor_exit"],
    ],
    ["no flag stays", [sets("a", "is_proxy")], [force("is_proxy", false)], []],
    ["nothing changes", [sets("a", "is_proxy")], [force("is_proxy", true)], ["is_proxy"]],
  ];
  for (const [name, entries, forced, flags] of rows) {
    test(name, () => {
      const release = ofAddress(entries);
      const overrides = forced.map((one) => override("network", "81.2.69.0/24", one));
      const answerer = new Answerer();
      const answer = answerer.answerAddress("reputation", ADDRESS, sourceOf(release, overrides));
      assert.deepEqual(namesOf(parsed(answer)), flags);
      const { body, plain, overridden } = answer as ComposedAnswer;
      assert.equal(overridden!.isChanged, body !== release.reputation!.lookup(ADDRESS));
      assert.equal(plain, body);
    });
  }

  test("evidence names the overrides, not their notes", () => {
    const all = [
      override("address", "81.2.69.142", force("is_abuser", true)),
      override("network", "81.2.0.0/16", force("is_proxy", false)),
    ];
    const source = sourceOf(ofAddress([sets("a", "is_proxy")]), all);
    const answer = new Answerer().answerAddress(
      "reputation",
      ADDRESS,
      source,
      INCLUDE.evidence,
    ) as ComposedAnswer;
    const { evidence } = parsed(answer);
    const common = { feed: "override", label: "override" };
    assert.deepEqual(evidence.slice(0, 2), [
      { ...common, effect: "sets", flags: ["is_abuser"], id: all[0]!.id, network: "81.2.69.142/32" },
      { ...common, effect: "removes", flags: ["is_proxy"], id: all[1]!.id, network: "81.2.0.0/16" },
    ]);
    assert.equal(answer.overridden!.mark, "o1");
    assert.deepEqual(
      answer.overridden!.verdict.applied.map((placed) => placed.override),
      all,
    );
  });
});

describe("email", () => {
  const sets = (feed: string, weight?: number) => ({
    feed,
    label: "disposable",
    effect: "sets",
    flags: ["disposable"],
    ...(weight && { weight }),
    span: 2,
  });
  const free = (feed: string, weight: number, effect = "label") => ({
    feed,
    label: "free_mail",
    effect,
    ...(effect === "removes" && { flags: ["disposable"] }),
    weight,
    span: 2,
  });
  const YES = { disposable: true, providers: ["shop.com", "service.com"] };
  const NO = { disposable: false, providers: [] };
  const NAMED = { disposable: true, providers: ["shop.com"] };
  const rows: [name: string, entries: Entry[], before: object, forced: Forced[], after: object][] = [
    ["forced on", [], NO, [force("disposable", true)], NAMED],
    ["forced off", [sets("a")], YES, [force("disposable", false)], NO],
  ];
  for (const [name, entries, before, forced, after] of rows) {
    test(name, () => {
      const release = ofEmail({ valid: true, ...before }, entries);
      const answer = (overrides: readonly Override[]) =>
        parsed(new Answerer().answerEmail("jane@mail.shop.com", sourceOf(release, overrides)));
      assert.deepEqual(answer([]), { valid: true, ...before });
      const overrides = forced.map((one) => override("domain", "shop.com", one));
      assert.deepEqual(answer(overrides), { valid: true, ...after });
    });
  }

  test("of a single address neither evidence nor answer names it", () => {
    const one = override("email_hash", "jane", force("disposable", true));
    const source = sourceOf(ofEmail({ valid: true, ...NO }), [one]);
    const answerer = new Answerer();
    assert.deepEqual(parsed(answerer.answerEmail("jane@shop.com", source, true)), {
      valid: true,
      disposable: true,
      providers: [],
      evidence: [{ feed: "override", label: "override", effect: "sets", flags: ["disposable"], id: one.id }],
    });
    assert.ok(answerer.answerEmail("jim@shop.com", source) instanceof Uint8Array);
  });

  test("a check runs after overrides and before evidence", () => {
    const one = override("domain", "shop.com", force("disposable", true));
    const source = sourceOf(ofEmail({ valid: true, ...NO }, [free("f", 1)]), [one]);
    const entry = { feed: "check", label: "x", effect: "sets" };
    const seen: unknown[] = [];
    const answerer = new Answerer();
    const answer = (withEvidence: boolean) =>
      answerer.answerEmail("jane@shop.com", source, withEvidence, (plain, explain) => {
        seen.push(
          parsed(plain),
          parsed(explain()).evidence.map(({ feed }: Entry) => feed),
        );
        const bytes = (value: object) => new TextEncoder().encode(JSON.stringify(value));
        return { body: bytes({ checked: true }), entry: bytes(entry) };
      });
    assert.deepEqual(parsed(answer(false)), { checked: true });
    assert.deepEqual(seen, [{ valid: true, ...NAMED }, ["override", "f"]]);
    const last = answer(true) as ComposedAnswer;
    const { checked, evidence } = parsed(last);
    assert.deepEqual(checked, true);
    assert.deepEqual(
      evidence.map(({ feed }: Entry) => feed),
      ["override", "check", "f"],
    );
    assert.deepEqual(parsed(last.plain), { valid: true, ...NAMED });
  });
});

describe("failures", () => {
  const KNOWN = new TextEncoder().encode("{}");
  const geo = (answer?: Uint8Array) => ({ lookup: () => answer }) as unknown as IpSegment;
  const answerer = new Answerer();
  const reasonOf = (outcome: Outcome) => (outcome instanceof Uint8Array ? undefined : outcome);

  test("a text that is no address; IPv4 inside IPv6 is that IPv4", () => {
    assert.deepEqual(answerer.readAddress("1.1.1"), { reason: "address_invalid" });
    assert.equal(answerer.readAddress("::ffff:81.2.69.142"), undefined);
    assert.deepEqual([answerer.address.family, answerer.address.words[0]], [4, ADDRESS.words[0]]);
    const bytes = new TextEncoder().encode('"::ffff:1.1.1.1"');
    assert.equal(answerer.readAddressBytes(bytes, 0, bytes.length), false);
    assert.equal(answerer.readAddressBytes(bytes, 1, bytes.length - 1), true);
    assert.deepEqual([answerer.address.family, answerer.address.words[0]], [4, 0x01010101]);
  });

  const rows: [name: string, address: string, source: AnswerSource, want: object | undefined][] = [
    [
      "a special-use address, before all",
      "10.0.0.1",
      sourceOf(undefined),
      { reason: "reserved", use: "private" },
    ],
    ["no release", "1.1.1.1", sourceOf(undefined), { reason: "no_release" }],
    [
      "no segment",
      "1.1.1.1",
      sourceOf(loaded({}), [], true),
      { reason: "data_missing", names: ["geolocate"] },
    ],
    [
      "missing data",
      "1.1.1.1",
      sourceOf(loaded({ geo: geo(KNOWN) }, ["geolocation"])),
      { reason: "data_missing", names: ["geolocation"] },
    ],
    [
      "missing data in up",
      "1.1.1.1",
      sourceOf(loaded({ geo: geo(KNOWN) }, ["geolocation"]), [], true),
      undefined,
    ],
    ["an unknown location", "1.1.1.1", sourceOf(loaded({ geo: geo() })), { reason: "not_found" }],
  ];
  for (const [name, address, source, want] of rows) {
    test(name, () => {
      const outcome = answerer.answerAddress("geolocate", parseIp(address)!, source);
      assert.deepEqual(reasonOf(outcome), want);
    });
  }

  test("an address without claims has no flags", () => {
    const source = sourceOf(loaded({ reputation: geo() }));
    assert.equal(answerer.answerAddress("reputation", ADDRESS, source), REPUTATION_ANSWERS[0]);
  });

  test("findFailure finds those that every value has", () => {
    const release = loaded({ geo: geo(), reputation: geo() }, ["is_proxy", "is_abuser", "disposable"]);
    assert.deepEqual(
      LOOKUPS.map((lookup) => findFailure(lookup, sourceOf(release))),
      [
        undefined,
        { reason: "data_missing", names: ["is_abuser", "is_proxy"] },
        { reason: "data_missing", names: ["disposable"] },
      ],
    );
  });
});
